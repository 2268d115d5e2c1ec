"""The store's contract, sentence by sentence, on every store there is (style rule 32)."""

from itertools import product
from typing import Any

import pytest
from store_samples import (
    ACKNOWLEDGED,
    BODY,
    BUYER,
    CARRIER,
    NOTICE,
    OTHER_PAIR,
    PACKAGE,
    PAIR,
    QUEUED,
    SELLER,
    SENDING,
    commit,
    handed_over,
    message,
    receive,
    row,
    spooled,
    stored,
    submit,
    submitted,
)

from onceonly.journal.record import CHAIN_START, chain
from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.message.word import changed
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.receiving import ReceivingPair
from onceonly.protocol.sending import Exposure, Outbound, OutboundStatus, Silence
from onceonly.store.contract.conditions import StoreMisused, StoreRefused
from onceonly.store.contract.counting import COUNTED_AS
from onceonly.store.contract.entries import (
    MessageFilter,
    OutboundEntry,
    OutboundView,
    Role,
    StoredPayload,
)
from onceonly.store.contract.store import Store


class TestTransactions:
    def test_a_transaction_sees_its_own_writes(self, store: Store) -> None:
        """Reads on a transaction include what it wrote."""
        transaction = store.begin()
        submit(transaction, message("m-1"))
        found = transaction.find_outbound("m-1")
        assert found is not None
        assert found.state == SENDING
        store.rollback()

    def test_a_snapshot_sees_only_committed_rows(self, store: Store) -> None:
        """A snapshot sees nothing of an open transaction, and all of it after the commit."""
        snapshot = store.snapshot()
        transaction = store.begin()
        submit(transaction, message("m-1"))
        transaction.append([row(Event.SUBMITTED, "m-1")])
        assert snapshot.find_outbound("m-1") is None
        assert snapshot.list_journal(0, 10) == []
        assert snapshot.count_by_status()["sending"] == 0
        store.commit()
        assert snapshot.find_outbound("m-1") is not None

    def test_a_rollback_leaves_no_trace(self, store: Store) -> None:
        """After a rollback the store answers as if the transaction had never been."""
        submitted(store, "m-1")
        transaction = store.begin()
        submit(transaction, message("m-2"), state=QUEUED, idempotency_key="k")
        transaction.put_outbound("m-1", ACKNOWLEDGED, at=5)
        transaction.append([row(Event.SUBMITTED, "m-2")])
        transaction.add_notice(NOTICE)
        store.rollback()
        snapshot = store.snapshot()
        assert snapshot.find_outbound("m-2") is None
        assert snapshot.find_message_id_by_key("k") is None
        assert snapshot.count_by_status()["sending"] == 1
        assert snapshot.list_journal(0, 10) == []
        assert snapshot.list_notices(0, 10) == []
        assert snapshot.find_outbound("m-1").state == SENDING

    def test_a_rollback_without_a_transaction_is_harmless(self, store: Store) -> None:
        """Rolling back nothing changes nothing."""
        store.rollback()
        submitted(store, "m-1")
        assert store.snapshot().find_outbound("m-1") is not None

    def test_journal_and_offsets_go_on_after_a_rollback(self, store: Store) -> None:
        """Numbers given in a transaction that was rolled back are given again or skipped safely."""
        arrived = message("m-1")
        commit(store, lambda tx: receive(tx, arrived))
        transaction = store.begin()
        transaction.append([row(Event.STORED, "m-1")])
        transaction.hand_over(arrived.key, at=9)
        store.rollback()
        commit(
            store,
            lambda tx: tx.append([row(Event.ACK_SENT, "m-1")]),
            lambda tx: tx.hand_over(arrived.key, at=9),
        )
        assert [record.seq for record in store.snapshot().list_journal(0, 10)] == [1]
        assert len(store.snapshot().list_inbox(0, 10)) == 1

    def test_the_write_count_grows_with_writes_only(self, store: Store) -> None:
        """A step that only read can be told from one that wrote."""
        transaction = store.begin()
        before = transaction.write_count
        transaction.find_outbound("m-1")
        transaction.get_sending_pair(PAIR)
        assert transaction.write_count == before
        transaction.put_sending_pair(PAIR, SendingPair(), at=5)
        assert transaction.write_count > before
        store.rollback()


class TestOpenings:
    def test_the_first_epoch_is_one_and_each_opening_counts(self, openings: Any) -> None:
        """The epoch numbers the openings of the store, from 1."""
        for epoch in (1, 2, 3):
            store = openings.open()
            assert store.epoch == epoch
            store.close()

    def test_a_second_opener_is_refused(self, openings: Any) -> None:
        """One process, one store (R-23, fault C5)."""
        openings.open()
        with pytest.raises(StoreRefused, match="in use by"):
            openings.open()

    def test_a_store_can_be_opened_after_it_was_closed(self, openings: Any) -> None:
        """Closing lets the next process in, and closing twice is harmless."""
        store = openings.open()
        store.close()
        store.close()
        openings.open()

    @pytest.mark.statement("S1-03")
    def test_committed_rows_survive_and_open_ones_do_not(self, openings: Any) -> None:
        """A new opening finds every committed transaction and nothing else (I14)."""
        store = openings.open()
        submitted(store, "m-1")
        submit(store.begin(), message("m-2"))
        store.close()
        snapshot = openings.open().snapshot()
        assert snapshot.find_outbound("m-1") is not None
        assert snapshot.find_outbound("m-2") is None

    def test_monotonic_deadlines_are_forgotten_at_a_restart(self, openings: Any) -> None:
        """All of `Outbound` is durable except `due_ns`, which another process's clock gave."""
        store = openings.open()
        state = changed(SENDING, due_ns=99, expires_at=7)
        submitted(store, "m-1", state)
        assert store.snapshot().find_outbound("m-1").state == state
        store.close()
        found = openings.open().snapshot().find_outbound("m-1")
        assert found.state == changed(state, due_ns=None)

    def test_what_the_to_party_said_outlives_a_restart(self, openings: Any) -> None:
        """A doubt may come at any later time, and is measured by it."""
        store = openings.open()
        submitted(store, "m-1", ACKNOWLEDGED)
        submitted(store, "m-2", ACKNOWLEDGED)
        arrived = changed(ACKNOWLEDGED, has_arrived=True)
        commit(store, lambda tx: tx.put_outbound("m-1", arrived, at=9))
        store.close()
        views = openings.open().snapshot().list_messages(MessageFilter()).messages
        assert [view.state for view in views] == [arrived, ACKNOWLEDGED]


class TestOutbound:
    def test_a_submission_is_found_whole(self, store: Store) -> None:
        """Every field of message, state and submission comes back as it was put."""
        parts = (stored(BODY), spooled(10**8, "f" * 64), stored(b"", 3))
        sent = message("m-1", *parts, ref_to_message_id="earlier")
        state = Outbound(
            OutboundStatus.IN_DOUBT,
            attempt=3,
            episode=2,
            exposure=Exposure.LEFT,
            sequence_number=999_999_999,
            expires_at=2**52,
            transients=4,
            silence=Silence.PINGING,
            pings=3,
            error_code=ErrorCode.TRANSIENT_ERROR,
            has_arrived=True,
            is_certain=True,
            due_ns=2**60,
        )
        commit(store, lambda tx: submit(tx, sent, *parts, state=state))
        view = store.snapshot().find_outbound_view("m-1")
        assert view is not None
        assert view == OutboundView(sent, state, 2_000_000, None, "d" * 64, "1" * 64, None, None)
        entry = store.snapshot().find_outbound("m-1")
        assert entry == OutboundEntry("m-1", PAIR, "tpa-1", state)
        assert list(store.snapshot().list_payloads("m-1")) == list(parts)

    def test_an_unknown_message_is_none(self, store: Store) -> None:
        """What was never stored is not found, and has no payloads and no package."""
        snapshot = store.snapshot()
        assert snapshot.find_outbound("m-1") is None
        assert snapshot.find_outbound_view("m-1") is None
        assert list(snapshot.list_payloads("m-1")) == []
        with pytest.raises(KeyError):
            snapshot.get_package("m-1")

    def test_a_message_is_added_once(self, store: Store) -> None:
        """A second submission under one MessageId is our bug, that of its step alone (R-43)."""
        submitted(store, "m-1")
        with pytest.raises(StoreMisused):
            submit(store.begin(), message("m-1"))
        store.rollback()

    def test_an_idempotency_key_leads_to_its_message(self, store: Store) -> None:
        """The MessageId of a submission is found by its Idempotency-Key."""
        commit(store, lambda tx: submit(tx, message("m-1"), idempotency_key="key-1"))
        assert store.snapshot().find_message_id_by_key("key-1") == "m-1"
        assert store.snapshot().find_message_id_by_key("key-2") is None

    @pytest.mark.statement("S0-27", "S1-45", ruling="R-04")
    def test_a_package_comes_back_byte_for_byte(self, store: Store) -> None:
        """Segments keep their number, order and bytes, empty ones too (R-04)."""
        submitted(store, "m-1")
        commit(store, lambda tx: tx.put_package("m-1", PACKAGE))
        assert store.snapshot().get_package("m-1") == PACKAGE

    def test_a_status_that_turns_final_is_settled_once(self, store: Store) -> None:
        """`settled_at` is the instant of the final status, and later news do not move it."""
        submitted(store, "m-1")
        commit(store, lambda tx: tx.put_outbound("m-1", changed(SENDING, attempt=2), at=5))
        assert store.snapshot().find_outbound_view("m-1").settled_at is None
        commit(store, lambda tx: tx.put_outbound("m-1", ACKNOWLEDGED, at=6))
        commit(store, lambda tx: tx.put_outbound("m-1", ACKNOWLEDGED, at=7))
        view = store.snapshot().find_outbound_view("m-1")
        assert view is not None
        assert (view.state, view.settled_at) == (ACKNOWLEDGED, 6)

    def test_the_longest_waiting_message_is_next(self, store: Store) -> None:
        """Queued messages of a pair take turns in submission order; other pairs do not count."""
        submitted(store, "other", QUEUED, to=CARRIER)
        for message_id in ("z-first", "a-second"):
            submitted(store, message_id, QUEUED)
        assert store.snapshot().find_next_queued(PAIR).message_id == "z-first"
        commit(store, lambda tx: tx.put_outbound("z-first", SENDING, at=5))
        assert store.snapshot().find_next_queued(PAIR).message_id == "a-second"
        assert store.snapshot().find_next_queued(OTHER_PAIR).message_id == "other"

    def test_messages_in_flight_are_those_with_the_turn_in_an_open_pair(self, store: Store) -> None:
        """A suspended pair owes nothing after a restart (I27)."""
        submitted(store, "m-1")
        submitted(store, "m-2", to=CARRIER)
        submitted(store, "waits", QUEUED)
        assert [entry.message_id for entry in store.snapshot().list_in_flight()] == ["m-1", "m-2"]
        closed = SendingPair(PairStatus.SUSPENDED, 1, ("m-1",), "operator")
        commit(store, lambda tx: tx.put_sending_pair(PAIR, closed, at=5))
        assert [entry.message_id for entry in store.snapshot().list_in_flight()] == ["m-2"]

    def test_waiting_pairs_are_open_and_have_a_queued_message(self, store: Store) -> None:
        """A pair that others are in flight on may have a turn left; a closed one gives none."""
        submitted(store, "m-1", QUEUED)
        submitted(store, "m-2", QUEUED, to=CARRIER)
        assert list(store.snapshot().list_waiting_pairs()) == [PAIR, OTHER_PAIR]
        commit(
            store,
            lambda tx: tx.put_sending_pair(PAIR, SendingPair(in_flight=("m-1",)), at=5),
            lambda tx: tx.put_sending_pair(OTHER_PAIR, SendingPair(PairStatus.SUSPENDED), at=5),
        )
        assert list(store.snapshot().list_waiting_pairs()) == [PAIR]

    def test_waiting_pairs_are_listed_once_each_whoever_sends(self, store: Store) -> None:
        """Also where we carry messages of others: by From Party, then by To Party (R-13)."""
        parties = (BUYER, CARRIER, SELLER)
        pairs = [(one, other) for one in parties for other in parties if one != other]
        for number, (one, other) in enumerate(pairs * 2):
            sent = changed(message(f"m-{number}", to=other), from_ids=(one,))
            commit(store, lambda tx, sent=sent: submit(tx, sent, state=QUEUED))
        expected = sorted(Pair(str(one), str(other)) for one, other in pairs)
        assert list(store.snapshot().list_waiting_pairs()) == expected

    def test_overdue_messages_are_unsettled_and_past_their_expiry(self, store: Store) -> None:
        """Overdue: queued, sending or in doubt with `expires_at` before now; soonest first."""
        submitted(store, "late", changed(QUEUED, expires_at=20))
        submitted(store, "doubt", Outbound(OutboundStatus.IN_DOUBT, expires_at=10))
        submitted(store, "done", changed(ACKNOWLEDGED, expires_at=1))
        submitted(store, "never", QUEUED)
        submitted(store, "now", changed(QUEUED, expires_at=30))
        found = store.snapshot().list_overdue(30, 10)
        assert [entry.message_id for entry in found] == ["doubt", "late"]
        assert len(store.snapshot().list_overdue(31, 1)) == 1

    def test_agreements_of_unsettled_messages_are_named_once(self, store: Store) -> None:
        """A start must find the agreement of every message without a verdict."""
        submitted(store, "m-1", agreement_id="tpa-b")
        submitted(store, "m-2", QUEUED, agreement_id="tpa-b")
        submitted(store, "m-3", ACKNOWLEDGED, agreement_id="tpa-done")
        commit(store, lambda tx: receive(tx, message("m-4", agreement_id="tpa-a")))
        assert list(store.snapshot().list_unsettled_agreements()) == ["tpa-a", "tpa-b"]


class TestListing:
    def listed(self, store: Store, **criteria: Any) -> list[str]:
        page = store.snapshot().list_messages(MessageFilter(**criteria))
        return [view.message.message_id for view in page.messages]

    def test_pages_follow_submission_order_and_end(self, store: Store) -> None:
        """Following `next_after` shows every message once; the last page has none."""
        for message_id in ("e", "d", "c", "b", "a"):
            submitted(store, message_id, QUEUED)
        seen: list[str] = []
        after: int | None = 0
        while after is not None:
            page = store.snapshot().list_messages(MessageFilter(after=after, limit=2))
            seen += [view.message.message_id for view in page.messages]
            after = page.next_after
        assert seen == ["e", "d", "c", "b", "a"]

    def test_a_full_last_page_is_the_last(self, store: Store) -> None:
        """`next_after` is None exactly when nothing follows."""
        submitted(store, "a")
        submitted(store, "b")
        assert store.snapshot().list_messages(MessageFilter(limit=2)).next_after is None
        assert store.snapshot().list_messages(MessageFilter(limit=1)).next_after is not None

    def test_criteria_hold_together(self, store: Store) -> None:
        """Status, party and conversation narrow the list, alone and together."""
        submitted(store, "q", QUEUED, conversation_id="c-1")
        submitted(store, "s", SENDING, conversation_id="c-2")
        submitted(store, "t", SENDING, to=CARRIER, conversation_id="c-2")
        submitted(store, "k", ACKNOWLEDGED, conversation_id="c-2")
        assert self.listed(store, status=OutboundStatus.SENDING) == ["s", "t"]
        assert self.listed(store, status=OutboundStatus.ACKNOWLEDGED) == ["k"]
        assert self.listed(store, status=OutboundStatus.EXPIRED) == []
        assert self.listed(store, to_party=str(CARRIER)) == ["t"]
        assert self.listed(store, conversation_id="c-2") == ["s", "t", "k"]
        assert self.listed(store, conversation_id="c-2", status=OutboundStatus.SENDING) == [
            "s",
            "t",
        ]
        assert self.listed(store, status=OutboundStatus.SENDING, to_party=PAIR.to_party) == ["s"]
        assert self.listed(store, conversation_id="c-2", to_party=str(CARRIER)) == ["t"]

    def test_every_combination_of_criteria_finds_what_fits(self, store: Store) -> None:
        """Whichever index serves it: all that fits, nothing else, in submission order."""
        parties, conversations = {"s": SELLER, "k": CARRIER}, ("c-1", "c-2")
        facts = list(product(OutboundStatus, parties, conversations))
        for status, party, conversation in facts:
            name, state = f"{status}-{party}-{conversation}", Outbound(status, attempt=1)
            submitted(store, name, state, to=parties[party], conversation_id=conversation)
        for status, party, conversation in product(
            (None, *OutboundStatus), (None, *parties), (None, *conversations)
        ):
            found = self.listed(
                store,
                status=status,
                to_party=None if party is None else str(parties[party]),
                conversation_id=conversation,
            )
            assert found == [
                "-".join(one)
                for one in facts
                if status in (None, one[0])
                and party in (None, one[1])
                and conversation in (None, one[2])
            ]

    def test_messages_are_counted_by_every_status_word(self, store: Store) -> None:
        """Each status has its count, zero included, as of the last commit."""
        submitted(store, "q", QUEUED)
        submitted(store, "s")
        commit(store, lambda tx: tx.put_outbound("s", ACKNOWLEDGED, at=5))
        handed_over(store, "in-1")
        commit(store, lambda tx: receive(tx, message("in-2")))
        counts = store.snapshot().count_by_status()
        assert set(counts) == {*OutboundStatus, *COUNTED_AS.values()}
        assert {word: count for word, count in counts.items() if count} == {
            "queued": 1,
            "acknowledged": 1,
            "stored": 1,
            "handed_over": 1,
        }


class TestPairs:
    def test_a_pair_is_fresh_before_it_is_put(self, store: Store) -> None:
        """Nobody has to create a pair."""
        assert store.snapshot().get_sending_pair(PAIR) == SendingPair()
        assert store.snapshot().get_receiving_pair(PAIR) == ReceivingPair()

    def test_a_pair_comes_back_as_it_was_put(self, store: Store) -> None:
        """Both sides of a pair are kept apart, each with all its fields."""
        sending = SendingPair(PairStatus.QUARANTINED, 17, ("m-1", "m-2"), "wrong number")
        receiving = ReceivingPair(PairStatus.QUARANTINED, 3, "m-9", takes_any_number=True)
        commit(
            store,
            lambda tx: tx.put_sending_pair(PAIR, SendingPair(), at=5),
            lambda tx: tx.put_sending_pair(PAIR, sending, at=5),
            lambda tx: tx.put_receiving_pair(PAIR, receiving),
        )
        assert store.snapshot().get_sending_pair(PAIR) == sending
        assert store.snapshot().get_receiving_pair(PAIR) == receiving
        assert store.snapshot().get_receiving_pair(PAIR).takes_any_number is True

    def test_operators_see_every_pair_with_its_queue(self, store: Store) -> None:
        """Senders first, then by name; the queue counts messages without the turn."""
        submitted(store, "m-1")
        submitted(store, "m-2", QUEUED)
        submitted(store, "m-3", QUEUED)
        commit(
            store,
            lambda tx: tx.put_receiving_pair(PAIR, ReceivingPair(sequence_number=4)),
            lambda tx: tx.put_sending_pair(OTHER_PAIR, SendingPair(PairStatus.SUSPENDED), at=5),
        )
        views = store.snapshot().list_pairs()
        assert [(view.role, view.pair, view.queued, view.in_flight) for view in views] == [
            (Role.SENDER, PAIR, 2, ("m-1",)),
            (Role.SENDER, OTHER_PAIR, 0, ()),
            (Role.RECEIVER, PAIR, 0, ()),
        ]
        assert views[2].sequence_number == 4


class TestJournal:
    def test_rows_are_numbered_chained_and_stamped_with_the_epoch(self, openings: Any) -> None:
        """seq has no gaps over restarts, and each row's hash covers the one before (E3)."""
        for events in ((Event.STARTED, Event.SUBMITTED), (Event.STARTED,), (Event.STOPPED,)):
            store = openings.open()
            commit(store, lambda tx, events=events: tx.append(row(event) for event in events))
            store.close()
        rows = openings.open().snapshot().list_journal(0, 100)
        assert [(record.seq, record.store_epoch) for record in rows] == [
            (1, 1),
            (2, 1),
            (3, 2),
            (4, 3),
        ]
        before = CHAIN_START
        for record in rows:
            assert record.chain_hash == chain(before, record)
            before = record.chain_hash

    def test_a_row_comes_back_with_every_column(self, store: Store) -> None:
        """What a step wrote is what a reader gets, words as Enum members."""
        written = row(
            Event.ACK_RECEIVED,
            "m-1",
            from_party="a:b",
            to_party="c:d",
            ref_to_message_id="m-0",
            conversation_id="c",
            agreement_id="t",
            profile="rm-2000",
            semantics="OnceAndOnlyOnce",
            service="Orders",
            action="",
            sequence_number=3,
            attempt=2,
            transport="http",
            endpoint="http://127.0.0.1/",
            outcome="unknown",
            status_code=504,
            error_code="Unknown",
            severity="Warning",
            size_bytes=0,
            digest="0" * 64,
            hop=1,
            actor="operator",
            reason="Grüße",
            header_digest="1" * 64,
            message_timestamp_at=2,
            time_to_live_at=2**52,
            ack_requested="Unsigned",
            receipt_requested="None",
        )
        commit(store, lambda tx: tx.append([written]))
        [found] = store.snapshot().list_journal(0, 10)
        given = changed(found, seq=0, store_epoch=0, chain_hash="")
        assert given == written
        assert found.event is Event.ACK_RECEIVED
        assert found.direction is written.direction

    def test_rows_are_read_by_range_and_by_message(self, store: Store) -> None:
        """Ranges are exclusive below and bounded by the limit; both lists are in order."""
        names = ("m-1", None, "m-2", "m-1")
        commit(store, lambda tx: tx.append(row(Event.SUBMITTED, name) for name in names))
        snapshot = store.snapshot()
        assert [record.seq for record in snapshot.list_journal(1, 2)] == [2, 3]
        assert list(snapshot.list_journal(4, 10)) == []
        assert [record.seq for record in snapshot.list_journal_of("m-1")] == [1, 4]
        assert list(snapshot.list_journal_of("m-3")) == []

    def test_the_last_outcomes_of_a_message_come_first(self, store: Store) -> None:
        """Of its transmissions and of the Pings before them, and of no other row."""
        told = (Event.SUBMITTED, Event.PING_SENT, Event.TRANSMITTED, Event.ACK_SENT)
        commit(store, lambda tx: tx.append(row(event, "m-1") for event in (*told, *told[1:3])))
        commit(store, lambda tx: tx.append([row(Event.TRANSMITTED, "m-2")]))
        with_one_open = store.begin()
        with_one_open.append([row(Event.TRANSMITTED, "m-1")])
        assert [one.seq for one in with_one_open.list_outcomes("m-1", 9)] == [8, 6, 5, 3, 2]
        store.commit()
        snapshot = store.snapshot()
        assert [one.seq for one in snapshot.list_outcomes("m-1", 2)] == [8, 6]
        assert list(snapshot.list_outcomes("m-1", 0)) == []
        assert list(snapshot.list_outcomes("m-3", 9)) == []


def test_bodies_of_different_messages_do_not_mix(store: Store) -> None:
    """Each message has its own bytes, outbound and inbound, in one store."""
    for number in range(1, 4):
        part: StoredPayload = stored(b"body %d" % number)
        sent = message(f"m-{number}", part)
        commit(
            store,
            lambda tx, sent=sent, part=part: submit(tx, sent, part, state=QUEUED),
            lambda tx, sent=sent, part=part: receive(tx, sent, part),
            lambda tx, sent=sent: tx.hand_over(sent.key, at=9),
        )
    for number in range(1, 4):
        [sent_part] = store.snapshot().list_payloads(f"m-{number}")
        [received_part] = store.snapshot().list_inbox_payloads(number)
        assert sent_part.body == received_part.body == b"body %d" % number
