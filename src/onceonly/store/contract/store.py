"""The store's contract: what a crash must not take away, and in which steps it changes.

`sqlite` (the product) and `memory` (simulations, with a crash of its own) both keep it and pass
one contract suite, `tests/store/test_contract.py`.

How it is used. `begin` opens the one write transaction; any number of *steps* run in it, each
reading what it needs, deciding, then writing state, journal rows and what is owed; `commit` makes
all of them durable together (group commit). Only then may the gateway send what a step wants sent.
A step that raises leaves no trace: it refuses before its first write, and a step with a bug is
taken out of its batch, which runs again without it. `store/group.py` does this for asyncio.

What is still to be done has no table of its own: the state is asked for it (`list_in_flight`,
`list_stored`), so the two cannot disagree.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from onceonly.journal.record import Record
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import AckRequested, Message
from onceonly.message.package import Package
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery
from onceonly.protocol.sending import Outbound
from onceonly.store.contract.counters import CounterSnapshot, CounterTransaction
from onceonly.store.contract.entries import (
    Count,
    InboundEntry,
    InboxItem,
    InboxStanding,
    Incident,
    MessageFilter,
    Notice,
    OutboundEntry,
    OutboundView,
    OwedNotice,
    Page,
    PairView,
    Role,
    StoredPayload,
    TransitEntry,
)
from onceonly.store.contract.evidence import EvidenceSnapshot, EvidenceTransaction
from onceonly.store.contract.jobs import JobSnapshot, JobTransaction
from onceonly.store.contract.keys import KeySnapshot, KeyTransaction
from onceonly.store.contract.listing import ListSnapshot
from onceonly.store.contract.orders import OrderSnapshot, OrderTransaction
from onceonly.store.contract.waits import Waits


class Snapshot(
    JobSnapshot,
    KeySnapshot,
    EvidenceSnapshot,
    ListSnapshot,
    CounterSnapshot,
    OrderSnapshot,
    Protocol,
):
    """Reads. In a `Transaction` they also see its own writes, elsewhere only committed rows."""

    def find_outbound(self, message_id: str) -> OutboundEntry | None:
        """The outbound message with this id, as a step reads it."""
        ...

    def find_outbound_view(self, message_id: str) -> OutboundView | None:
        """The outbound message with this id, as its owner sees it."""
        ...

    def find_message_id_by_key(self, idempotency_key: str) -> str | None:
        """MessageId of the message that was submitted under this Idempotency-Key."""
        ...

    def get_package(self, message_id: str) -> Package:
        """The package of the first transmission. Raises `KeyError` where there was none."""
        ...

    def list_payloads(self, message_id: str) -> Sequence[StoredPayload]:
        """Payloads of an outbound message, in their order, with their bytes where inline."""
        ...

    def list_messages(self, wanted: MessageFilter) -> Page:
        """Outbound messages that fit every criterion of `wanted`, in the order of submission.

        With `is_newest_first` in the opposite order.

        Looks at `wanted.rows_max` rows at most, starting from the index that leaves the fewest. A
        store that does not have to read rows to choose among them may look at more.
        """
        ...

    def count_messages(self, wanted: MessageFilter) -> Count:
        """How many messages come after the cursor of `wanted`; stops at `COUNT_MAX`."""
        ...

    def list_in_flight(self) -> Sequence[OutboundEntry]:
        """Messages with a turn in an *open* pair: what must be sent after a restart."""
        ...

    def list_unsent(self, agreement_id: str, limit: int) -> Sequence[OutboundEntry]:
        """Messages of which no byte ever left and whose content was not sent again (R-41).

        In the order of submission, without parked messages: an operator looks at each of those.
        """
        ...

    def count_concerned(self, pair: Pair, since_at: int) -> dict[str, int]:
        """Messages of the pair per status: no verdict yet, or undelivered since that instant."""
        ...

    def list_waiting_pairs(self) -> Sequence[Pair]:
        """Open sending pairs with a queued message, whether or not others are in flight."""
        ...

    def list_overdue(self, now_at: int, limit: int) -> Sequence[OutboundEntry]:
        """Messages queued, sending or in doubt whose `expires_at` is before `now_at`."""
        ...

    def list_unsettled_agreements(self) -> Sequence[str]:
        """Agreements that a message still needs: an unsettled outbound one, or one only stored.

        Unsettled: it has no final status, is in recovery, or awaits a response.
        """
        ...

    def get_sending_pair(self, pair: Pair) -> SendingPair:
        """The state of the pair; a new one if nothing was ever sent on it."""
        ...

    def list_idle_pairs(self, before_at: int) -> Sequence[Pair]:
        """Open sending pairs with a number that no message needs, last used before `before_at`."""
        ...

    def get_receiving_pair(self, pair: Pair) -> ReceivingPair:
        """The state of the pair; a new one if nothing of it was ever stored."""
        ...

    def list_pairs(self) -> Sequence[PairView]:
        """Every pair that has a state: the sending pairs first, then by name."""
        ...

    def find_inbound(self, key: MessageKey) -> InboundEntry | None:
        """The stored message with this duplicate key (R-01)."""
        ...

    def find_inbound_without_key(self, key: MessageKey) -> InboundEntry | None:
        """The latest BestEffort message with these ids, if one was stored without a key (R-16)."""
        ...

    def find_inbound_message(self, key: MessageKey) -> Message | None:
        """The stored message with this duplicate key, whether it was handed over or not."""
        ...

    def get_response(self, key: MessageKey) -> Package:
        """The first stored response, byte for byte (R-03). Raises `KeyError` if there is none."""
        ...

    def list_stored(self) -> Sequence[InboundEntry]:
        """Inbound messages that are neither handed over nor parked: what a restart hands over."""
        ...

    def is_cancelled(self, key: MessageKey) -> bool:
        """Whether a tombstone forbids the message: it was cancelled before or after it came."""
        ...

    def find_response(
        self, ref_to_message_id: str, to_party: str, *, is_most_recent: bool = False
    ) -> str | None:
        """MessageId of our first (or latest) business response to that party's message.

        Only messages whose package exists count (seed 001 §1.3.3 (9a)), without those that the
        application was told will not arrive (I26).
        """
        ...

    def get_recovery(self, message_id: str) -> Recovery:
        """Recovery of an outbound message; at rest if none was ever stored."""
        ...

    def list_recovering(self) -> Sequence[str]:
        """MessageIds whose recovery is not at rest: what a restart goes on with."""
        ...

    def list_responses_due(self, now_at: int, limit: int) -> Sequence[str]:
        """MessageIds whose awaited business response was due before `now_at`."""
        ...

    def find_transit(self, route_id: str, message_id: str) -> TransitEntry | None:
        """The message on its way along the route."""
        ...

    def get_transit_package(self, route_id: str, message_id: str) -> Package:
        """The package that goes to the next hop. Raises `KeyError` where there is none."""
        ...

    def list_transit_payloads(self, route_id: str, message_id: str) -> Sequence[StoredPayload]:
        """Payloads of a message in transit, in their order."""
        ...

    def list_forwarding(self) -> Sequence[TransitEntry]:
        """Messages in transit without an answer from the next hop: what a restart sends on."""
        ...

    def find_owed_notice(self, key: MessageKey) -> OwedNotice | None:
        """The DeliveryFailure notice about the message that has not reached the From Party yet."""
        ...

    def list_owed_notices(self) -> Sequence[OwedNotice]:
        """DeliveryFailure notices that have not reached the From Party yet."""
        ...

    def is_spooled(self, digest: str) -> bool:
        """Whether a payload of any message has its bytes in the spool under this digest."""
        ...

    def list_inbox(self, after: int, limit: int) -> Sequence[InboxItem]:
        """Messages handed over with an offset above `after`, in offset order.

        Cancelled ones are left out; their offsets are gaps.
        """
        ...

    def last_offset(self) -> int:
        """The greatest offset given so far, 0 where there is none."""
        ...

    def list_unfinished(
        self, after: int, up_to: int, processing: ProcessingState, limit: int
    ) -> Sequence[InboxItem]:
        """Items above offset `after`, up to `up_to`, that have not reached `processing` yet.

        In offset order; cancelled and refused ones are left out. The cost grows with the items that
        are not complete, not with the length of the range.
        """
        ...

    def find_inbox_standing(self, offset: int) -> InboxStanding | None:
        """The status of the item at the offset, also if it is cancelled."""
        ...

    def find_inbox_item(self, offset: int) -> InboxItem | None:
        """The inbox item at the offset, also if it is cancelled."""
        ...

    def list_inbox_offsets(self, message_id: str, limit: int) -> Sequence[int]:
        """The offset of each message with this MessageId, in order, including cancelled ones.

        Two partners may use the same MessageId, and a BestEffort message may have come twice. Of
        one that was handed over again it is that of its newest item.
        """
        ...

    def find_newest_offset(self, offset: int) -> int | None:
        """Where the message of the item was handed over again last; None if it never was."""
        ...

    def list_inbox_payloads(self, offset: int) -> Sequence[StoredPayload]:
        """Payloads of the inbox item, in their order; empty if there is no such item."""
        ...

    def list_notices(self, after: int, limit: int) -> Sequence[tuple[int, Notice]]:
        """(number, notice) above `after`, in order."""
        ...

    def list_incidents(self, *, is_open: bool) -> Sequence[Incident]:
        """Open incidents, or all of them."""
        ...

    def list_journal(self, after: int, limit: int) -> Sequence[Record]:
        """Journal rows with `seq` above `after`, in order."""
        ...

    def last_seq(self) -> int:
        """`seq` of the last journal row, 0 where there is none."""
        ...

    def list_journal_of(self, message_id: str) -> Sequence[Record]:
        """Every journal row about the message, in order."""
        ...

    def list_asked(self, before: int, limit: int) -> Sequence[Record]:
        """Journal rows of actions that somebody asked for, with `seq` below `before`.

        The latest first.
        """
        ...

    def list_outcomes(self, message_id: str, limit: int) -> Sequence[Record]:
        """Rows about how its last transmissions and Pings ended, the latest first."""
        ...

    def count_by_status(self) -> dict[str, int]:
        """The number of messages for each word of `COUNTED` in `store/contract/counting.py`."""
        ...


class Transaction(
    JobTransaction,
    KeyTransaction,
    EvidenceTransaction,
    CounterTransaction,
    OrderTransaction,
    Snapshot,
    Protocol,
):
    """Writes, all of them durable together at `Store.commit`.

    Each write raises `StoreFull`, `StoreFailed` or, for a row or value that the tables do not
    allow, `StoreMisused`. After any of them the caller can only call `rollback`. A store may put
    writes off until it is asked for what they wrote, or until `Store.seal`; so any call may raise
    `StoreMisusedBefore`, for a write of this step or of one before it in the same transaction.
    """

    @property
    def write_count(self) -> int:
        """Grows with every row written: shows whether a step that raised had written before."""
        ...

    waits: Waits
    """Until when machines wait; rolled back with this transaction."""

    def count_waiting(self) -> int:
        """Outbound messages without a verdict, those included that this transaction added (R-27).

        Kept by the store: it costs no read.
        """
        ...

    def add_outbound(  # noqa: PLR0913 - because these are the facts of one submission
        self,
        message: Message,
        state: Outbound,
        payloads: Sequence[StoredPayload],
        *,
        digest: str,
        header_digest: str | None = None,
        submitted_at: int,
        idempotency_key: str | None,
    ) -> None:
        """Store a submission. The caller has checked that id and key are free."""
        ...

    def put_resent(self, message_id: str, resent_as: str) -> None:
        """Note that another stored message sends the content of this one again (R-41).

        From now on the Idempotency-Key of this message names the other one.
        """
        ...

    def put_outbound(self, message_id: str, state: Outbound, *, at: int) -> None:
        """Replace the state; `at` becomes `settled_at` when the status turns final.

        If a final status is taken back, `settled_at` is None again: the message can be overdue, and
        is not purged.
        """
        ...

    def put_package(self, message_id: str, package: Package) -> None:
        """Keep the package of the first transmission; every resend is these bytes (R-04)."""
        ...

    def put_sending_pair(self, pair: Pair, state: SendingPair, *, at: int) -> None:
        """Replace the state of the pair; `at` is when it was last used."""
        ...

    def put_receiving_pair(self, pair: Pair, state: ReceivingPair) -> None:
        """Replace the state of the pair."""
        ...

    def add_inbound(  # noqa: PLR0913 - because these are the facts of one arrival
        self,
        message: Message,
        payloads: Sequence[StoredPayload],
        response: Package | None,
        *,
        digest: str,
        received_at: int,
        header_digest: str | None = None,
        ack_requested: AckRequested | None = None,
        keep_until_at: int | None = None,
        status: InboundStatus = InboundStatus.STORED,
        has_key: bool = True,
    ) -> None:
        """Store a received message with its first response, as `stored` or `forwarded`.

        `keep_until_at`: after this instant a copy would be refused for its age, so that the id may
        be forgotten (R-19); None keeps it for ever.

        Without a key (BestEffort, whose repeats are delivered, R-16) the message has no duplicates:
        `find_inbound` does not see it, and this call hands it over, at `received_at`. Methods that
        take a key find the newest such message if no message is stored with the key.
        """
        ...

    def put_response(self, key: MessageKey, response: Package) -> None:
        """Replace the response that answers repeats of a stored message (R-03)."""
        ...

    def cancel_inbound(self, key: MessageKey, *, at: int, keep_until_at: int | None) -> None:
        """Set a tombstone: the message is never processed, whether it is stored or yet to come.

        A stored one becomes `cancelled`. The caller makes sure that no work on it began, and that
        nobody hands it over any more. Setting the tombstone again can only make it last longer.
        """
        ...

    def put_recovery(self, message_id: str, recovery: Recovery) -> None:
        """Replace the recovery of an outbound message; `due_ns` is not kept."""
        ...

    def put_transit(self, entry: TransitEntry) -> None:
        """Replace the state of a message in transit that was added before."""
        ...

    def add_transit(
        self,
        entry: TransitEntry,
        package: Package,
        payloads: Sequence[StoredPayload],
        *,
        keep_until_at: int | None,
    ) -> None:
        """Keep a message that goes on to the next hop, with the package that goes there."""
        ...

    def put_owed_notice(self, notice: OwedNotice) -> None:
        """Keep a DeliveryFailure notice to be sent; it replaces an earlier one of the message."""
        ...

    def remove_owed_notice(self, key: MessageKey) -> None:
        """Remove the notice: it reached the From Party, or was tried often enough."""
        ...

    def purge_inbound(self, now_at: int, limit: int) -> int:
        """Forget at most `limit` inbound messages, tombstones and transits past `keep_until_at`.

        Returns how many. A message that is only stored is never forgotten. A message in the inbox
        is forgotten only if the application called it complete or refused it: until then the store
        may have the only copy (seed 001 §1.1.1), also if the application said "in progress", which
        it says before it reads. A forwarded message stays as long as its outbound message or a
        notice to be sent about it, since what the previous hop is told names the agreement under
        which it came (R-14). Each pair keeps the greatest Timestamp that was forgotten
        (`ReceivingPair.forgotten_at`); for a tombstone it is the instant at which it was set.
        """
        ...

    def purge_outbound(self, agreement_id: str, settled_before_at: int, limit: int) -> int:
        """Forget at most `limit` messages of the agreement settled before then. Returns how many.

        A message in recovery, one that awaits a response, and one that blocks its conversation, is
        kept: an operator decides about it (R-34). With the message its package, payloads, recovery
        and Idempotency-Key are forgotten.
        """
        ...

    def forget_pair(self, pair: Pair) -> None:
        """Forget the number of an idle open sending pair: it begins at 1 (seed 000 §2.2.2 c)."""
        ...

    def hand_over(self, key: MessageKey, *, at: int) -> int:
        """Put a stored message into the inbox and return its offset.

        A second call for the same key changes nothing and returns the same offset (invariant I12).
        A cancelled or forwarded message must not be handed over; the caller checks that.
        """
        ...

    def hand_over_again(self, offset: int, *, at: int) -> int:
        """Put the message of the inbox item at `offset` into the inbox once more.

        Returns the new offset. The new item has the header and payloads of the old one, is not
        started, and is no duplicate of anything: what takes a key never finds it. Both are purged
        by the same rule, each for itself.
        """
        ...

    def put_withheld(self, key: MessageKey, *, is_withheld: bool) -> None:
        """Note whether no acknowledgement of a stored message has left and none is on its way."""
        ...

    def put_parked(self, key: MessageKey, reason: str | None) -> None:
        """Park a stored message, so that `list_stored` leaves it out; None: take it up (R-43)."""
        ...

    def put_processing(self, offset: int, processing: ProcessingState) -> None:
        """Store what the application reported about the inbox item at the offset."""
        ...

    def put_refused(self, offset: int) -> None:
        """Note that the application will not process the inbox item at the offset."""
        ...

    def add_notice(self, notice: Notice) -> None:
        """Add a notice, once per (message, kind, episode)."""
        ...

    def open_incident(
        self, role: Role, pair: Pair, reason: str, *, at: int, message_id: str | None = None
    ) -> None:
        """Open an incident, unless the pair has an open one with the same reason.

        With `message_id` it is about a parked message, and ends when that message is taken up
        (R-43).
        """
        ...

    def open_trouble(self, pair: Pair, cause: str, *, at: int) -> None:
        """Open the incident of trouble with the partner, or update its cause (R-40)."""
        ...

    def resolve_trouble(self, pair: Pair, *, at: int) -> None:
        """Resolve the incident of trouble with the partner, and no other (R-40)."""
        ...

    def resolve_incidents(
        self, role: Role, pair: Pair, *, at: int, with_parked: bool = False
    ) -> None:
        """Resolve every open incident of the pair; those of parked messages only `with_parked`."""
        ...

    def resolve_parked(self, role: Role, pair: Pair, message_id: str, *, at: int) -> None:
        """Resolve the incident of a parked message that was taken up (R-43)."""
        ...

    def resolve_about(self, role: Role, pair: Pair, message_id: str, *, at: int) -> None:
        """Resolve the incidents of the pair whose reason ends with the message: `… (MESSAGE_ID)`.

        Those of trouble stay.
        """
        ...

    def resolve_reason(self, role: Role, pair: Pair, reason: str, *, at: int) -> None:
        """Resolve the open incident that the pair has for this reason, and no other."""
        ...

    def append(self, records: Iterable[Record]) -> None:
        """Append journal rows; the store sets seq, store_epoch and chain_hash."""
        ...


class Store(Protocol):
    """One process, one store (R-23): opening takes the lock and begins a new epoch."""

    @property
    def epoch(self) -> int:
        """Number of this opening, 1 for the first."""
        ...

    def begin(self) -> Transaction:
        """Open the write transaction. There is at most one.

        Raises `StoreFailed`, or `StoreFull` if a reader holds too much old data.
        """
        ...

    def seal(self) -> None:
        """Write what the open transaction has put off, in the thread that ran its steps.

        `commit` would do it, too, but in a thread it would wait for the interpreter at every row.
        Raises as a write does: `StoreMisusedBefore` if it is one of these rows that the tables do
        not allow. After that the caller can only call `rollback`. A store that puts nothing off
        has nothing to do.
        """
        return

    def commit(self) -> None:
        """Make the transaction durable.

        Raises `StoreFull` (rolled back, may be tried again later) or `StoreFailed` (stop).
        """
        ...

    @property
    def is_quick(self) -> bool:
        """Whether the next commit of a few steps will take less time than handing it to a thread.

        The caller asks between `begin` and `commit`. A store that cannot tell answers no.
        """
        return False

    def rollback(self) -> None:
        """Forget the transaction; does nothing if none is open. Raises `StoreFailed`."""
        ...

    def count_waiting(self) -> int:
        """Outbound messages without a verdict, as of the last commit; it costs no read."""
        ...

    def snapshot(self) -> Snapshot:
        """Reads of committed rows, also while a transaction is open.

        Raises `StoreExhausted` or `StoreFailed` if the rows cannot be opened for reading.
        """
        ...

    def close(self) -> None:
        """Roll back what is open and free the lock. A second call does nothing."""
        ...
