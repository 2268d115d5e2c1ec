"""The store's contract on what may be forgotten, taken back or delivered twice (R-16, R-19)."""

from typing import Any

import pytest
from store_samples import (
    ACKNOWLEDGED,
    BODY,
    CARRIER,
    OTHER_PAIR,
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
from onceonly.message.identity import ConversationKey, MessageKey
from onceonly.message.message import DeliverySemantics
from onceonly.message.package import Package
from onceonly.message.word import changed
from onceonly.protocol.ordering import OrderStatus, SendingOrder
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery, RecoveryPhase, ResponseStatus
from onceonly.protocol.relaying import Transit
from onceonly.store.contract.entries import InboxStanding, MessageFilter, OwedNotice, TransitEntry
from onceonly.store.contract.store import Store, Transaction

KEY = message("m-1").key


def arrived(store: Store, message_id: str, *, keep_until_at: int | None, **facts: Any) -> None:
    """Commit an arrival that may be forgotten after `keep_until_at`, once it is finished."""
    one = message(message_id, stored(BODY))
    commit(store, lambda tx: receive(tx, one, stored(BODY), keep_until_at=keep_until_at, **facts))


def finish(transaction: Transaction, message_id: str) -> None:
    """The application has the message and says so."""
    offset = transaction.hand_over(message(message_id).key, at=9)
    transaction.put_processing(offset, ProcessingState.COMPLETE)


def purged(store: Store, now_at: int, limit: int = 100) -> int:
    [count] = commit(store, lambda tx: tx.purge_inbound(now_at, limit))
    assert isinstance(count, int)
    return count


class TestInboundPurge:
    @pytest.mark.statement("S1-18", ruling="R-19")
    def test_a_finished_message_is_forgotten_past_its_time_and_not_before(
        self, store: Store
    ) -> None:
        """A purge takes the message with its key, response, payloads and place in the inbox."""
        arrived(store, "m-1", keep_until_at=20)
        commit(store, lambda tx: finish(tx, "m-1"))
        assert purged(store, 20) == 0
        assert store.snapshot().find_inbound(KEY) is not None
        assert purged(store, 21) == 1
        snapshot = store.snapshot()
        assert snapshot.find_inbound(KEY) is None
        assert snapshot.find_inbox_item(1) is None
        assert list(snapshot.list_inbox_offsets("m-1", 9)) == []
        assert list(snapshot.list_inbox(0, 10)) == []
        assert list(snapshot.list_inbox_payloads(1)) == []
        assert snapshot.count_by_status()["handed_over"] == 0
        with pytest.raises(KeyError):
            snapshot.get_response(KEY)

    @pytest.mark.statement("S1-06", ruling="R-19")
    def test_what_nobody_has_confirmed_is_never_forgotten(self, store: Store) -> None:
        """Stored, untouched, or marked "in progress" by a reader that has yet to read it (§1.1.1).

        Ours may be the only copy until the application calls it complete.
        """
        for message_id in ("stored", "unread", "marked"):
            arrived(store, message_id, keep_until_at=20)
        commit(store, lambda tx: tx.hand_over(message("unread").key, at=9))
        [marked] = commit(store, lambda tx: tx.hand_over(message("marked").key, at=9))
        commit(store, lambda tx: tx.put_processing(marked, ProcessingState.IN_PROGRESS))
        assert purged(store, 10**9) == 0
        assert [item.offset for item in store.snapshot().list_inbox(0, 10)] == [1, marked]
        commit(store, lambda tx: tx.put_processing(marked, ProcessingState.COMPLETE))
        assert purged(store, 10**9) == 1
        assert store.snapshot().find_inbound(message("marked").key) is None

    @pytest.mark.parametrize("processing", list(ProcessingState))
    def test_what_the_application_refused_is_forgotten(
        self, store: Store, processing: ProcessingState
    ) -> None:
        """A refusal is its last word, however far it had come."""
        arrived(store, "m-1", keep_until_at=20)
        [offset] = commit(store, lambda tx: tx.hand_over(KEY, at=9))
        commit(store, lambda tx: tx.put_processing(offset, processing))
        commit(store, lambda tx: tx.put_refused(offset))
        assert store.snapshot().find_inbox_standing(offset) == InboxStanding(
            InboundStatus.HANDED_OVER, processing, is_refused=True
        )
        assert purged(store, 20) == 0
        assert purged(store, 21) == 1
        assert store.snapshot().find_inbox_standing(offset) is None

    @pytest.mark.statement("S3-14", ruling="R-17")
    def test_a_message_without_a_time_is_kept_for_ever(self, store: Store) -> None:
        """ExactlyOnce: its id is never forgotten (R-17)."""
        arrived(store, "m-1", keep_until_at=None)
        commit(store, lambda tx: finish(tx, "m-1"))
        assert purged(store, 2**60) == 0

    def test_a_forwarded_message_is_forgotten_and_never_in_the_inbox(self, store: Store) -> None:
        """An accepting intermediary needs it to know repeats only (R-13)."""
        arrived(store, "m-1", keep_until_at=20, status=InboundStatus.FORWARDED)
        assert list(store.snapshot().list_stored()) == []
        assert store.snapshot().find_inbound(KEY).status is InboundStatus.FORWARDED
        assert store.snapshot().count_by_status()["forwarded"] == 1
        assert purged(store, 21) == 1
        assert store.snapshot().count_by_status()["forwarded"] == 0

    def test_a_forwarded_message_is_kept_as_long_as_it_may_have_to_be_told_of(
        self, store: Store
    ) -> None:
        """What the previous hop is told of it names the agreement under which it came."""
        owed = OwedNotice(
            KEY, "route", "c-1", DeliverySemantics.ONCE_AND_ONLY_ONCE, Severity.WARNING, "over"
        )
        arrived(store, "m-1", keep_until_at=20, status=InboundStatus.FORWARDED)
        commit(
            store,
            lambda tx: submit(tx, message("m-1")),
            lambda tx: tx.put_outbound("m-1", ACKNOWLEDGED, at=5),
            lambda tx: tx.put_owed_notice(owed),
        )
        assert purged(store, 99) == 0
        assert commit(store, lambda tx: tx.purge_outbound("tpa-1", 99, 10)) == [1]
        assert purged(store, 99) == 0
        commit(store, lambda tx: tx.remove_owed_notice(KEY))
        assert purged(store, 99) == 1

    def test_a_purge_takes_no_more_than_its_limit_the_earliest_first(self, store: Store) -> None:
        """Small steps, so that nobody waits behind a purge."""
        for number, keep_until_at in enumerate((30, 10, 20)):
            arrived(store, f"m-{number}", keep_until_at=keep_until_at)
            commit(store, lambda tx, number=number: finish(tx, f"m-{number}"))
        assert purged(store, 99, limit=2) == 2
        assert store.snapshot().find_inbound(message("m-0").key) is not None
        assert purged(store, 99, limit=2) == 1
        assert purged(store, 99, limit=2) == 0

    def test_offsets_of_forgotten_messages_are_never_given_again(self, openings: Any) -> None:
        """A reader's place in the inbox stays good over a purge and a restart."""
        store = openings.open()
        arrived(store, "m-1", keep_until_at=20)
        commit(store, lambda tx: finish(tx, "m-1"))
        purged(store, 99)
        store.close()
        store = openings.open()
        assert handed_over(store, "m-1") == 2

    def test_a_forgotten_message_may_be_stored_again(self, store: Store) -> None:
        """Nothing of it is left; that its copies are too old is the receiver's to see (R-19)."""
        for _ in range(2):
            arrived(store, "m-1", keep_until_at=20)
            commit(store, lambda tx: finish(tx, "m-1"))
            assert purged(store, 99) == 1

    @pytest.mark.statement("S1-18", ruling="R-19")
    def test_the_pair_keeps_up_to_when_it_has_forgotten(self, store: Store) -> None:
        """So that no later agreement about age can let a forgotten message in again."""
        pair, timestamp_at = KEY.pair, message("m-1").timestamp_at
        assert store.snapshot().get_receiving_pair(pair).forgotten_at is None
        arrived(store, "m-1", keep_until_at=20)
        before = ReceivingPair(sequence_number=7)
        commit(
            store,
            lambda tx: finish(tx, "m-1"),
            lambda tx: tx.put_receiving_pair(pair, before),
        )
        assert purged(store, 99) == 1
        after = changed(before, forgotten_at=timestamp_at)
        assert store.snapshot().get_receiving_pair(pair) == after
        commit(
            store,
            lambda tx: tx.cancel_inbound(message("m-2").key, at=5, keep_until_at=20),
            lambda tx: tx.cancel_inbound(message("m-3").key, at=timestamp_at + 1, keep_until_at=20),
        )
        assert purged(store, 99) == 2
        assert store.snapshot().get_receiving_pair(pair).forgotten_at == timestamp_at + 1

    def test_a_purge_that_is_rolled_back_forgets_nothing(self, store: Store) -> None:
        """Forgetting is part of the transaction like everything else."""
        arrived(store, "m-1", keep_until_at=20)
        commit(store, lambda tx: finish(tx, "m-1"))
        transaction = store.begin()
        assert transaction.purge_inbound(99, 10) == 1
        assert transaction.find_inbound(KEY) is None
        store.rollback()
        assert store.snapshot().find_inbound(KEY) is not None
        assert store.snapshot().count_by_status()["handed_over"] == 1

    def test_messages_tombstones_and_transits_share_the_limit(self, store: Store) -> None:
        """One purge, one bound."""
        entry = TransitEntry(KEY, "r", "http://a/", "tpa", "c", None, "d" * 64, 2, Transit())
        arrived(store, "m-1", keep_until_at=20)
        commit(
            store,
            lambda tx: finish(tx, "m-1"),
            lambda tx: tx.cancel_inbound(message("m-2").key, at=5, keep_until_at=20),
            lambda tx: tx.add_transit(entry, PACKAGE, (stored(BODY),), keep_until_at=20),
        )
        assert purged(store, 20) == 0
        assert purged(store, 21, limit=2) == 2
        assert store.snapshot().find_transit("r", "m-1") == entry
        assert purged(store, 21, limit=2) == 1
        assert store.snapshot().find_transit("r", "m-1") is None
        assert list(store.snapshot().list_transit_payloads("r", "m-1")) == []


class TestTombstones:
    def test_a_message_that_is_yet_to_come_is_forbidden(self, store: Store) -> None:
        """A cancel binds before the message arrives (R-08)."""
        commit(store, lambda tx: tx.cancel_inbound(KEY, at=5, keep_until_at=20))
        snapshot = store.snapshot()
        assert snapshot.is_cancelled(KEY)
        assert snapshot.find_inbound(KEY) is None
        assert not snapshot.is_cancelled(KEY._replace(from_party="x:y"))
        assert not snapshot.is_cancelled(message("m-2").key)

    def test_a_stored_message_turns_cancelled_and_is_owed_to_nobody(self, store: Store) -> None:
        """It is not handed over after a restart, and its repeats are still known."""
        arrived(store, "m-1", keep_until_at=None)
        commit(store, lambda tx: tx.cancel_inbound(KEY, at=5, keep_until_at=20))
        snapshot = store.snapshot()
        assert list(snapshot.list_stored()) == []
        assert snapshot.find_inbound(KEY).status is InboundStatus.CANCELLED
        assert snapshot.get_response(KEY) == RESPONSE
        counts = snapshot.count_by_status()
        assert (counts["stored"], counts["cancelled_by_sender"], counts["cancelled"]) == (0, 1, 0)
        with pytest.raises(AssertionError):
            store.begin().hand_over(KEY, at=9)
        store.rollback()

    def test_a_cancelled_message_leaves_a_gap_in_the_inbox(self, store: Store) -> None:
        """Whoever lists does not see it; whoever names it does, to be told why it is gone."""
        for message_id in ("m-1", "m-2"):
            handed_over(store, message_id)
        commit(store, lambda tx: tx.cancel_inbound(KEY, at=5, keep_until_at=20))
        assert [item.offset for item in store.snapshot().list_inbox(0, 10)] == [2]
        assert [item.offset for item in store.snapshot().list_inbox(0, 1)] == [2]
        item = store.snapshot().find_inbox_item(1)
        assert item is not None
        assert item.message.key == KEY
        assert list(store.snapshot().list_inbox_offsets("m-1", 9)) == [1]

    def test_an_offset_is_known_until_its_message_is_purged(self, store: Store) -> None:
        """Also where its sender took the message back; the count is of the range alone."""
        for message_id in ("m-1", "m-2", "m-3"):
            arrived(store, message_id, keep_until_at=20)
            commit(store, lambda tx, one=message_id: finish(tx, one))
        commit(store, lambda tx: tx.cancel_inbound(KEY, at=5, keep_until_at=20))
        ranges = ((0, 3), (1, 3), (1, 2), (3, 9), (2, 2))
        counted = [store.snapshot().count_offsets(*one) for one in ranges]
        assert counted == [3, 2, 1, 0, 0]
        assert purged(store, 99) > 0
        assert store.snapshot().count_offsets(0, 3) == 0
        assert store.snapshot().last_offset() == 3

    def test_cancelling_again_can_only_make_it_last_longer(self, store: Store) -> None:
        """The later end counts, and no end at all is the latest."""
        for keep_until_at in (30, 20):
            commit(
                store, lambda tx, at=keep_until_at: tx.cancel_inbound(KEY, at=5, keep_until_at=at)
            )
        assert purged(store, 25) == 0
        commit(store, lambda tx: tx.cancel_inbound(KEY, at=6, keep_until_at=None))
        commit(store, lambda tx: tx.cancel_inbound(KEY, at=7, keep_until_at=40))
        assert purged(store, 99) == 0
        assert store.snapshot().is_cancelled(KEY)

    def test_a_cancelled_message_is_forgotten_in_its_time(self, store: Store) -> None:
        """Message and tombstone go each when its own time is over."""
        arrived(store, "m-1", keep_until_at=10)
        commit(store, lambda tx: tx.cancel_inbound(KEY, at=5, keep_until_at=30))
        assert purged(store, 20) == 1
        assert store.snapshot().find_inbound(KEY) is None
        assert store.snapshot().is_cancelled(KEY)
        assert purged(store, 31) == 1
        assert not store.snapshot().is_cancelled(KEY)


class TestArrivalsWithoutKey:
    def again(self, store: Store, body: bytes = BODY) -> None:
        part = stored(body)
        one = message("m-1", part)
        commit(
            store,
            lambda tx: receive(tx, one, part, response=None, has_key=False, keep_until_at=20),
        )

    def test_each_copy_is_an_inbox_item_of_its_own(self, store: Store) -> None:
        """BestEffort delivers duplicates; each is handed over as it is stored (R-16)."""
        self.again(store)
        self.again(store)
        items = store.snapshot().list_inbox(0, 10)
        assert [(item.offset, item.handed_over_at) for item in items] == [
            (1, 3_000_000),
            (2, 3_000_000),
        ]
        assert list(store.snapshot().list_stored()) == []
        assert store.snapshot().find_inbound(KEY) is None
        assert store.snapshot().count_by_status()["handed_over"] == 2

    def test_a_report_is_about_the_copy_at_its_offset(self, store: Store) -> None:
        """A pipeline that has done the first says nothing about the second."""
        self.again(store, b"first")
        self.again(store, b"second")
        commit(store, lambda tx: tx.put_processing(1, ProcessingState.COMPLETE))
        first, second = store.snapshot().list_inbox(0, 10)
        assert first.processing is ProcessingState.COMPLETE
        assert second.processing is ProcessingState.NOT_STARTED
        commit(store, lambda tx: tx.put_refused(2))
        standings = [store.snapshot().find_inbox_standing(offset) for offset in (1, 2)]
        assert [one.is_refused for one in standings if one is not None] == [False, True]

    def test_every_copy_is_found_by_its_offset(self, store: Store) -> None:
        """Their MessageId says both; handing over again changes nothing."""
        self.again(store, b"first")
        self.again(store, b"second")
        assert commit(store, lambda tx: tx.hand_over(KEY, at=99)) == [2]
        _, second = store.snapshot().list_inbox(0, 10)
        assert store.snapshot().find_inbox_item(2) == second
        assert list(store.snapshot().list_inbox_offsets("m-1", 9)) == [1, 2]
        [part] = store.snapshot().list_inbox_payloads(2)
        assert part.body == b"second"

    def test_a_message_with_the_key_stays_the_one_with_the_key(self, store: Store) -> None:
        """A copy without a key takes nothing from a message that has it."""
        arrived(store, "m-1", keep_until_at=20)
        self.again(store)
        commit(store, lambda tx: tx.put_processing(1, ProcessingState.IN_PROGRESS))
        entry = store.snapshot().find_inbound(KEY)
        assert entry is not None
        assert (entry.status, entry.processing) == (
            InboundStatus.STORED,
            ProcessingState.NOT_STARTED,
        )
        assert store.snapshot().get_response(KEY) == RESPONSE
        assert list(store.snapshot().list_inbox_offsets("m-1", 9)) == [1]

    def test_copies_are_forgotten_one_by_one(self, store: Store) -> None:
        """A purge of a copy leaves the message with the key alone."""
        self.again(store)
        commit(store, lambda tx: tx.put_processing(1, ProcessingState.COMPLETE))
        arrived(store, "m-1", keep_until_at=20)
        assert purged(store, 99) == 1
        assert list(store.snapshot().list_inbox(0, 10)) == []
        assert store.snapshot().find_inbound(KEY) is not None


class TestOutboundPurge:
    def settle(self, store: Store, message_id: str, at: int, **fields: Any) -> None:
        submitted(store, message_id, **fields)
        commit(
            store,
            lambda tx: tx.put_package(message_id, PACKAGE),
            lambda tx: tx.put_outbound(message_id, ACKNOWLEDGED, at=at),
        )

    def purge(self, store: Store, before_at: int, limit: int = 100) -> int:
        [count] = commit(store, lambda tx: tx.purge_outbound("tpa-1", before_at, limit))
        assert isinstance(count, int)
        return count

    @pytest.mark.statement("S0-14")
    def test_a_settled_message_goes_with_everything_of_it(self, store: Store) -> None:
        """Package, payloads, recovery and Idempotency-Key go; notices and journal stay."""
        sent = message("m-1", stored(BODY), ref_to_message_id="asked")
        commit(
            store,
            lambda tx: submit(tx, sent, stored(BODY), idempotency_key="key"),
            lambda tx: tx.put_package("m-1", PACKAGE),
            lambda tx: tx.put_recovery("m-1", Recovery(asked=1)),
            lambda tx: tx.put_outbound("m-1", ACKNOWLEDGED, at=5),
        )
        assert self.purge(store, 5) == 0
        assert self.purge(store, 6) == 1
        snapshot = store.snapshot()
        assert snapshot.find_outbound("m-1") is None
        assert snapshot.find_message_id_by_key("key") is None
        assert snapshot.get_recovery("m-1") == Recovery()
        assert snapshot.find_response("asked", PAIR.to_party) is None
        assert list(snapshot.list_payloads("m-1")) == []
        assert snapshot.count_by_status()["acknowledged"] == 0
        with pytest.raises(KeyError):
            snapshot.get_package("m-1")
        commit(store, lambda tx: submit(tx, sent, stored(BODY), idempotency_key="key"))
        assert snapshot.get_recovery("m-1") == Recovery()
        assert [part.body for part in snapshot.list_payloads("m-1")] == [BODY]

    @pytest.mark.statement("S0-14")
    @pytest.mark.parametrize(
        "state", [QUEUED, SENDING, changed(SENDING, status="in_doubt")], ids=lambda one: one.status
    )
    def test_a_message_without_a_verdict_is_never_forgotten(self, store: Store, state: Any) -> None:
        """However old it is, somebody still waits for it."""
        submitted(store, "m-1", state)
        assert self.purge(store, 2**60) == 0

    @pytest.mark.parametrize(
        "recovery",
        [Recovery(RecoveryPhase.ASKING), Recovery(response=ResponseStatus.AWAITED)],
        ids=["at work", "response awaited"],
    )
    def test_a_message_that_recovery_needs_is_kept(self, store: Store, recovery: Recovery) -> None:
        """A response may be awaited long after the acknowledgement (level 5)."""
        self.settle(store, "m-1", at=5)
        commit(store, lambda tx: tx.put_recovery("m-1", recovery))
        assert self.purge(store, 99) == 0
        commit(store, lambda tx: tx.put_recovery("m-1", Recovery(response=ResponseStatus.RECEIVED)))
        assert self.purge(store, 99) == 1

    def test_each_agreement_keeps_its_own_time(self, store: Store) -> None:
        """Only messages of the agreement go, the earliest first, at most `limit`."""
        self.settle(store, "other", at=1, agreement_id="tpa-2")
        for message_id, at in (("late", 7), ("early", 3), ("middle", 5)):
            self.settle(store, message_id, at=at)
        assert self.purge(store, 99, limit=2) == 2
        left = store.snapshot().list_messages(MessageFilter()).messages
        assert [view.message.message_id for view in left] == ["other", "late"]

    def test_pages_go_on_behind_forgotten_messages(self, store: Store) -> None:
        """Places in the list are never given twice, so a client's page mark stays good."""
        for message_id in ("a", "b"):
            self.settle(store, message_id, at=5)
        mark = store.snapshot().list_messages(MessageFilter(limit=1)).next_after
        assert mark is not None
        assert self.purge(store, 99) == 2
        submitted(store, "c")
        page = store.snapshot().list_messages(MessageFilter(after=mark + 1))
        assert [view.message.message_id for view in page.messages] == ["c"]

    def test_a_message_that_blocks_its_conversation_is_kept(self, store: Store) -> None:
        """Whether what waits may follow it, an operator says, who has to find it (R-34)."""
        self.settle(store, "m-1", at=5)
        name = ConversationKey(message("m-1").pair, "conversation-1")
        blocked = SendingOrder(OrderStatus.BLOCKED, 1, "m-1", 0, began=True)
        commit(store, lambda tx: tx.put_sending_order(name, blocked, keep_until_at=1))
        assert self.purge(store, 99) == 0
        commit(store, lambda tx: tx.put_sending_order(name, SendingOrder(), keep_until_at=1))
        assert self.purge(store, 99) == 1

    def test_a_purged_message_may_change_no_more(self, store: Store) -> None:
        """Writing to what the same transaction has forgotten is our bug."""
        self.settle(store, "m-1", at=5)
        transaction = store.begin()
        transaction.find_outbound("m-1")
        assert transaction.purge_outbound("tpa-1", 99, 10) == 1
        with pytest.raises(AssertionError):
            transaction.put_outbound("m-1", ACKNOWLEDGED, at=6)
        store.rollback()


class TestIdlePairs:
    def idle(self, store: Store, before_at: int) -> list[Any]:
        return list(store.snapshot().list_idle_pairs(before_at))

    @pytest.mark.statement("S0-56")
    def test_a_pair_is_idle_when_nobody_used_it_for_long(self, store: Store) -> None:
        """Open, with a number, nothing in flight, nothing queued, and not used since."""
        put = SendingPair(sequence_number=7)
        commit(
            store,
            lambda tx: tx.put_sending_pair(PAIR, put, at=10),
            lambda tx: tx.put_sending_pair(OTHER_PAIR, SendingPair(), at=1),
        )
        assert self.idle(store, 10) == []
        assert self.idle(store, 11) == [PAIR]
        commit(store, lambda tx: tx.put_sending_pair(PAIR, put, at=20))
        assert self.idle(store, 11) == []

    @pytest.mark.statement("S0-56")
    def test_a_pair_with_work_is_never_idle(self, store: Store) -> None:
        """A message in flight or queued, or a closed pair, needs the number."""
        numbered = SendingPair(sequence_number=7)
        for state in (
            changed(numbered, in_flight=("m-1",)),
            changed(numbered, status=PairStatus.SUSPENDED),
        ):
            commit(store, lambda tx, state=state: tx.put_sending_pair(PAIR, state, at=1))
            assert self.idle(store, 99) == []
        commit(store, lambda tx: tx.put_sending_pair(PAIR, numbered, at=1))
        submitted(store, "other", QUEUED, to=CARRIER)
        assert self.idle(store, 99) == [PAIR]
        submitted(store, "m-1", QUEUED)
        assert self.idle(store, 99) == []

    @pytest.mark.statement("S0-55")
    def test_a_forgotten_pair_starts_anew(self, store: Store) -> None:
        """Its number is gone, the pair itself stays for operators to see."""
        commit(
            store,
            lambda tx: tx.put_sending_pair(PAIR, SendingPair(sequence_number=7), at=1),
            lambda tx: tx.forget_pair(PAIR),
        )
        assert store.snapshot().get_sending_pair(PAIR) == SendingPair()
        assert [view.pair for view in store.snapshot().list_pairs()] == [PAIR]
        assert self.idle(store, 99) == []


class TestSpooled:
    DIGEST = "f" * 64

    def test_a_file_is_mentioned_as_long_as_any_message_needs_it(self, store: Store) -> None:
        """Sent, received or in transit: the same content may be all three."""
        big = spooled(10**8, self.DIGEST)
        key = MessageKey("a:b", "c:d", "m-3")
        entry = TransitEntry(key, "r", "http://a/", "tpa", "c", None, "d" * 64, 2, Transit())
        package = Package("multipart/related", (b"a", b"b"))
        commit(
            store,
            lambda tx: submit(tx, message("m-1", big), big, state=ACKNOWLEDGED),
            lambda tx: receive(tx, message("m-2", big), big, keep_until_at=20),
            lambda tx: tx.add_transit(entry, package, (big,), keep_until_at=30),
            lambda tx: finish(tx, "m-2"),
        )
        assert store.snapshot().is_spooled(self.DIGEST)
        assert not store.snapshot().is_spooled("0" * 64)
        commit(store, lambda tx: tx.purge_outbound("tpa-1", 2**60, 10))
        assert store.snapshot().is_spooled(self.DIGEST)
        assert purged(store, 21) == 1
        assert store.snapshot().is_spooled(self.DIGEST)
        assert purged(store, 31) == 1
        assert not store.snapshot().is_spooled(self.DIGEST)

    def test_an_inline_payload_is_no_file(self, store: Store) -> None:
        """The digest of a payload that lies in a row says nothing about the spool."""
        part = stored(BODY)
        commit(store, lambda tx: submit(tx, message("m-1", part), part))
        assert not store.snapshot().is_spooled(part.payload.digest)
