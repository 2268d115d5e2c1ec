"""The store's contract on recovery, business responses, relays and what they owe."""

from typing import Any

import pytest
from store_samples import (
    ACKNOWLEDGED,
    BODY,
    CARRIER,
    PACKAGE,
    PAIR,
    QUEUED,
    RESPONSE,
    SENDING,
    commit,
    handed_over,
    message,
    receive,
    spooled,
    stored,
    submit,
    submitted,
)

from onceonly.message.errors import Severity
from onceonly.message.identity import MessageKey, PartyId
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    DeliverySemantics,
    SyncReplyMode,
)
from onceonly.message.signals import MessageStatus, ReportedProcessing
from onceonly.message.word import changed
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.recovering import Recovery, RecoveryPhase, ResponseStatus
from onceonly.protocol.relaying import Transit, TransitStatus
from onceonly.protocol.sending import OutboundStatus
from onceonly.store.contract.conditions import StoreMisused
from onceonly.store.contract.entries import MessageFilter, OwedNotice, TransitEntry
from onceonly.store.contract.store import Store

KEY = MessageKey("urn:a", "urn:b", "m-1")
PASSING = TransitEntry(
    KEY,
    "route-1",
    "http://buyer.example/",
    "cpa-1",
    "c-1",
    AckRequested.UNSIGNED,
    "d" * 64,
    2,
    Transit(),
)
NOTICE = OwedNotice(
    KEY, "tpa-1", "c-1", DeliverySemantics.AT_MOST_ONCE, Severity.WARNING, "nobody is there"
)


def recover(store: Store, message_id: str, **fields: Any) -> None:
    commit(store, lambda tx: tx.put_recovery(message_id, Recovery(**fields)))


class TestRecovery:
    def test_a_recovery_comes_back_but_for_its_deadline(self, store: Store) -> None:
        """All of `Recovery` is durable except `due_ns`."""
        whole = Recovery(
            RecoveryPhase.CANCELLING,
            2,
            "inquiry-2",
            True,
            "m-2",
            ResponseStatus.OVERDUE,
            99,
            MessageStatus.NOT_RECOGNIZED,
            ReportedProcessing.NOT_KNOWN,
            98,
            due_ns=7,
        )
        submitted(store, "m-1")
        assert store.snapshot().get_recovery("m-1") == Recovery()
        commit(store, lambda tx: tx.put_recovery("m-1", whole))
        found = store.snapshot().get_recovery("m-1")
        assert found == changed(whole, due_ns=None)
        assert found.wants_new_version is True

    def test_recoveries_at_work_are_owed_in_submission_order(self, store: Store) -> None:
        """One that came to rest is owed nothing."""
        for message_id in ("z", "a", "done"):
            submitted(store, message_id)
        recover(store, "done", phase=RecoveryPhase.AT_REST, asked=3)
        recover(store, "a", phase=RecoveryPhase.PINGING)
        recover(store, "z", phase=RecoveryPhase.ASKING_AGAIN)
        assert list(store.snapshot().list_recovering()) == ["z", "a"]

    def test_responses_that_wait_longest_are_due_first(self, store: Store) -> None:
        """Only awaited ones whose time has passed, and no more than asked for."""
        for message_id, response, due_at in (
            ("m-1", ResponseStatus.AWAITED, 20),
            ("m-2", ResponseStatus.AWAITED, 10),
            ("m-3", ResponseStatus.RECEIVED, 5),
            ("m-4", ResponseStatus.AWAITED, 30),
            ("m-5", ResponseStatus.OVERDUE, 5),
        ):
            submitted(store, message_id, ACKNOWLEDGED)
            recover(store, message_id, response=response, response_due_at=due_at)
        assert list(store.snapshot().list_responses_due(30, 10)) == ["m-2", "m-1"]
        assert list(store.snapshot().list_responses_due(31, 1)) == ["m-2"]

    def test_a_recovery_needs_its_agreement(self, store: Store) -> None:
        """A start must find the agreement of whatever may still have to be asked about."""
        for number, fields in enumerate(
            (
                {"phase": RecoveryPhase.ASKING},
                {"response": ResponseStatus.AWAITED, "response_due_at": 9},
                {"response": ResponseStatus.AWAITED},
                {"response": ResponseStatus.RECEIVED},
            )
        ):
            submitted(store, f"m-{number}", ACKNOWLEDGED, agreement_id=f"tpa-{number}")
            recover(store, f"m-{number}", **fields)
        assert list(store.snapshot().list_unsettled_agreements()) == ["tpa-0", "tpa-1", "tpa-2"]

    def test_a_response_is_found_by_what_it_answers(self, store: Store) -> None:
        """First or latest, to that party, and only where its package exists (seed 001 §1.3.3).

        Never one of which the application was told that it will not arrive (I26).
        """
        for status in ("failed", "expired", "cancelled"):
            over = changed(QUEUED, status=OutboundStatus(status))
            submitted(store, status, over, ref_to_message_id="asked")
            commit(store, lambda tx, name=status: tx.put_package(name, PACKAGE))
        for message_id, to in (("r-1", None), ("r-2", None), ("r-3", CARRIER), ("r-4", None)):
            fields = {"to": to} if to else {}
            submitted(store, message_id, QUEUED, ref_to_message_id="asked", **fields)
            if message_id != "r-4":
                commit(store, lambda tx, name=message_id: tx.put_package(name, PACKAGE))
        snapshot = store.snapshot()
        assert snapshot.find_response("asked", PAIR.to_party) == "r-1"
        assert snapshot.find_response("asked", PAIR.to_party, is_most_recent=True) == "r-2"
        assert snapshot.find_response("asked", str(CARRIER)) == "r-3"
        assert snapshot.find_response("other", PAIR.to_party) is None


class TestTransit:
    def test_a_transit_is_found_whole_on_its_route(self, store: Store) -> None:
        """Entry, package and payloads come back as they were put; one per route and message."""
        parts = (stored(BODY), spooled(10**8, "f" * 64))
        other = changed(PASSING, route_id="route-2", ack_requested=None)
        commit(
            store,
            lambda tx: tx.add_transit(PASSING, PACKAGE, parts, keep_until_at=9),
            lambda tx: tx.add_transit(other, RESPONSE, (), keep_until_at=None),
        )
        snapshot = store.snapshot()
        assert snapshot.find_transit("route-1", "m-1") == PASSING
        assert snapshot.find_transit("route-2", "m-1") == other
        assert snapshot.find_transit("route-3", "m-1") is None
        assert snapshot.get_transit_package("route-1", "m-1") == PACKAGE
        assert list(snapshot.list_transit_payloads("route-1", "m-1")) == list(parts)
        assert list(snapshot.list_transit_payloads("route-2", "m-1")) == []
        assert list(snapshot.list_transit_payloads("route-3", "m-1")) == []
        with pytest.raises(KeyError):
            snapshot.get_transit_package("route-3", "m-1")

    def test_a_transit_is_added_once_per_route(self, store: Store) -> None:
        """A second row for one copy is our bug, and that of its step alone (R-43)."""
        commit(store, lambda tx: tx.add_transit(PASSING, PACKAGE, (), keep_until_at=None))
        with pytest.raises(StoreMisused):
            store.begin().add_transit(PASSING, PACKAGE, (), keep_until_at=None)
        store.rollback()

    def test_only_what_was_added_can_be_replaced(self, store: Store) -> None:
        """Putting the state of an unknown transit is our bug."""
        with pytest.raises(AssertionError):
            store.begin().put_transit(PASSING)
        store.rollback()

    def test_a_transit_is_owed_until_the_next_hop_answers(self, store: Store) -> None:
        """What is owed after a restart is listed in the order of arrival."""
        second = changed(PASSING, key=KEY._replace(message_id="a"))
        for entry in (PASSING, second):
            commit(
                store,
                lambda tx, entry=entry: tx.add_transit(entry, PACKAGE, (), keep_until_at=None),
            )
        again = changed(PASSING, upstream_uri="http://detour.example/", state=Transit(copies=2))
        commit(store, lambda tx: tx.put_transit(again))
        assert list(store.snapshot().list_forwarding()) == [again, second]
        done = changed(again, state=Transit(TransitStatus.ACKNOWLEDGED, 2))
        commit(store, lambda tx: tx.put_transit(done))
        assert list(store.snapshot().list_forwarding()) == [second]
        assert store.snapshot().find_transit("route-1", "m-1") == done


class TestOwedNotices:
    def test_a_notice_is_owed_once_per_message_until_it_is_removed(self, store: Store) -> None:
        """Putting it again counts attempts and keeps its place; removing twice is harmless."""
        second = changed(NOTICE, key=KEY._replace(message_id="a"))
        tried = changed(NOTICE, attempts=1, severity=Severity.ERROR, reason="still nobody")
        for notice in (NOTICE, second, tried):
            commit(store, lambda tx, notice=notice: tx.put_owed_notice(notice))
        assert list(store.snapshot().list_owed_notices()) == [tried, second]
        assert store.snapshot().find_owed_notice(KEY) == tried
        commit(store, lambda tx: tx.remove_owed_notice(KEY))
        commit(store, lambda tx: tx.remove_owed_notice(KEY))
        assert list(store.snapshot().list_owed_notices()) == [second]
        assert store.snapshot().find_owed_notice(KEY) is None


class TestWholeProtocol:
    def test_what_the_second_profile_adds_to_a_message_is_kept(self, store: Store) -> None:
        """Every field of a message comes back, sent and received."""
        element = AcknowledgmentElement(
            timestamp_at=3, from_ids=(PartyId("urn:x"), PartyId("y", "name")), is_signed=True
        )
        whole = message(
            "m-1",
            ref_to_message_id="earlier",
            time_to_live_at=2**52,
            sync_reply_mode=SyncReplyMode.SIGNALS_AND_RESPONSE,
            delivery_receipt_requested=AckRequested.UNSIGNED,
            acknowledgment=element,
        )
        commit(
            store,
            lambda tx: submit(tx, whole),
            lambda tx: receive(tx, whole),
        )
        assert store.snapshot().find_inbound_message(whole.key) == whole
        assert store.snapshot().find_inbound_message(whole.key._replace(to_party="x:y")) is None
        commit(store, lambda tx: tx.hand_over(whole.key, at=9))
        assert store.snapshot().find_outbound_view("m-1").message == whole
        assert store.snapshot().find_inbox_item(1).message == whole
        [listed] = store.snapshot().list_inbox(0, 10)
        assert listed.message == whole

    def test_an_empty_acknowledgment_differs_from_none(self, store: Store) -> None:
        """An element that names nobody is an acknowledgement all the same."""
        bare = message("m-1", acknowledgment=AcknowledgmentElement(timestamp_at=3))
        commit(store, lambda tx: submit(tx, bare))
        assert store.snapshot().find_outbound_view("m-1").message == bare

    def test_a_sent_message_is_settled(self, store: Store) -> None:
        """BestEffort ends with *sent*, which is listed and counted like any other end."""
        submitted(store, "m-1")
        sent = changed(SENDING, status=OutboundStatus.SENT)
        commit(store, lambda tx: tx.put_outbound("m-1", sent, at=6))
        assert store.snapshot().find_outbound_view("m-1").settled_at == 6
        page = store.snapshot().list_messages(MessageFilter(status=OutboundStatus.SENT))
        assert [view.message.message_id for view in page.messages] == ["m-1"]
        assert store.snapshot().count_by_status()["sent"] == 1
        assert list(store.snapshot().list_unsettled_agreements()) == []

    def test_a_verdict_that_was_taken_back_settles_nothing(self, store: Store) -> None:
        """Reported as undelivered after all (seed 001 §1.6): it meets its fence, and no purge."""
        submitted(store, "m-1")
        acknowledged = changed(SENDING, status=OutboundStatus.ACKNOWLEDGED, expires_at=9)
        commit(store, lambda tx: tx.put_outbound("m-1", acknowledged, at=6))
        in_doubt = changed(acknowledged, status=OutboundStatus.IN_DOUBT)
        commit(store, lambda tx: tx.put_outbound("m-1", in_doubt, at=7))
        snapshot = store.snapshot()
        view = snapshot.find_outbound_view("m-1")
        assert view.settled_at is None
        assert [entry.message_id for entry in snapshot.list_overdue(10, 5)] == ["m-1"]
        assert list(snapshot.list_unsettled_agreements()) == [view.message.agreement_id]
        assert commit(store, lambda tx: tx.purge_outbound(view.message.agreement_id, 99, 5)) == [0]
        failed = changed(in_doubt, status=OutboundStatus.FAILED)
        commit(store, lambda tx: tx.put_outbound("m-1", failed, at=11))
        assert store.snapshot().find_outbound_view("m-1").settled_at == 11

    def test_every_message_of_a_window_is_in_flight(self, store: Store) -> None:
        """Several turns of one pair, listed in the order of submission (seed 001)."""
        names = tuple(f"m-{number}" for number in range(16))
        for name in names:
            submitted(store, name)
        turns = (names[3], names[0], "unknown", names[15])
        commit(store, lambda tx: tx.put_sending_pair(PAIR, SendingPair(in_flight=turns), at=5))
        assert store.snapshot().get_sending_pair(PAIR).in_flight == turns
        found = [entry.message_id for entry in store.snapshot().list_in_flight()]
        assert found == [names[0], names[3], names[15]]

    def test_the_answer_to_repeats_can_be_replaced(self, store: Store) -> None:
        """A later response takes the place of the first where that was agreed (R-03)."""
        handed_over(store, "m-1")
        arrived = message("m-2")
        commit(store, lambda tx: receive(tx, arrived, response=None))
        for one in (message("m-1").key, arrived.key):
            commit(store, lambda tx, one=one: tx.put_response(one, PACKAGE))
            assert store.snapshot().get_response(one) == PACKAGE
