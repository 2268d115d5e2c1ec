"""From the stored message to the application's inbox: acknowledge, then hand over (R-02).

This file keeps the order of hand-overs in each pair (I16), withholds a message until an
acknowledgement may have left (R-12), and sends the delivery receipt after the hand-over. A receipt
is transmitted once, like every signal; a sender that did not get it can ask for the status.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, takewhile

from onceonly.gateway.bugs import Bugs, words_for
from onceonly.gateway.desk import Desk
from onceonly.gateway.growth import Growth
from onceonly.gateway.outgoing.replies import IN_THE_ANSWER
from onceonly.gateway.tasks import Tasks
from onceonly.message.agreement import Agreement
from onceonly.message.event import Direction, Event
from onceonly.message.identity import ConversationKey, MessageKey, Pair
from onceonly.message.signals import SignalAction
from onceonly.message.word import changed
from onceonly.protocol.effects import Effect, HandOver, SendReceipt
from onceonly.protocol.events import Outcome, Transmission
from onceonly.protocol.receiving import certainly_never_left
from onceonly.steps import handing_over, holding
from onceonly.steps.ground import Ground
from onceonly.steps.handing_over import Debt, Ready
from onceonly.steps.holding import Followed
from onceonly.steps.signals import Hop, outcome_row, receipt
from onceonly.store.contract.entries import InboundEntry
from onceonly.store.contract.store import Transaction

HANDING_OVER = "handing over"
"""What was being done when a bug was met, in words for counts and rows."""

HANDED_OVER_PER_STEP = 64
"""Most messages of a pair in one step: about 6 ms in which no other step runs."""


@dataclass(slots=True, eq=False)
class _Place:
    """One message in the line of its pair."""

    debt: Debt
    left: asyncio.Future[None]
    """Done when the message is handed over, or withheld."""
    transmission: Transmission | None = None
    """How the transmission of its acknowledgement ended; None while it goes on."""
    is_done: bool = False
    """A step came to it, and nobody comes to it again."""


@dataclass(slots=True, eq=False)
class _Line:
    """The messages of a pair that wait for the hand-over, in the order of storing (I16)."""

    places: deque[_Place] = field(default_factory=deque)
    is_served: bool = False

    def list_ready(self) -> list[tuple[Debt, Transmission]]:
        """The first ones, up to the first whose acknowledgement is still under way; for one step.

        A message under strict_release gets a step of its own: withheld ones may have to go first.
        """
        ready: list[tuple[Debt, Transmission]] = []
        for debt, transmission in ((one.debt, one.transmission) for one in self.places):
            is_alone = debt.agreement.terms.strict_release
            if transmission is None or (is_alone and ready):
                break
            ready.append((debt, transmission))
            if is_alone or len(ready) == HANDED_OVER_PER_STEP:
                break
        return ready


class HandOvers:
    """Acknowledges stored messages and puts them into the inbox."""

    def __init__(self, *, desk: Desk, tasks: Tasks, bugs: Bugs, growth: Growth) -> None:
        self._desk = desk
        self._tasks = tasks
        self._bugs = bugs
        self._growth = growth
        self._lines: dict[Pair, _Line] = {}
        desk.when_agreements_change(self.free_unordered)

    async def start(self) -> None:
        """Take up what a stop or a crash left stored: acknowledge it again, hand it over."""
        await self.free_unordered()
        snapshot = self._desk.snapshot()
        for entry in snapshot.list_stored():
            if holding.is_held(snapshot, entry.key):
                continue  # A repeat is acknowledged again, and an earlier message releases it.
            await self._bugs.contain(
                HANDING_OVER,
                self._take_up(entry),
                partial(self._park, entry.key),
                message_id=entry.key.message_id,
            )

    async def free_unordered(self) -> None:
        """Hand over what was held in an order that is agreed no more."""
        while self._desk.snapshot().list_gaps(1):
            followed = await self._desk.persist(self._free)
            for debt, effects in handing_over.debts_of(followed):
                self.handed_over(debt, effects)
            if not followed:
                return

    def _free(self, txn: Transaction, ground: Ground) -> list[Followed]:
        under_way = {key for pair in self._lines for key in self._in_line(pair)}
        return holding.free_unordered(txn, ground, under_way)

    async def _take_up(self, entry: InboundEntry) -> None:
        agreement = self._desk.house.agreement(entry.agreement_id)
        response = self._desk.snapshot().get_response(entry.key)
        send = partial(self._desk.post, agreement, SignalAction.ACKNOWLEDGMENT, response)
        debt = self.debt_of(entry.key, agreement)
        self.acknowledge(changed(debt, may_have_left=not entry.is_withheld), send)

    async def take_up_stored(self, key: MessageKey, reason: str) -> None:
        """An operator asks for it: acknowledge again and hand over, in the order of the pair.

        For a message that was parked, or waits for another reason. A withheld one stays withheld if
        the acknowledgement does not leave (R-12). Raises `LocalError` (NotFound, NotParked) and
        `StoreFull`.
        """
        entry = await self._desk.transact(
            lambda txn, ground: handing_over.take_up(txn, ground, key, reason)
        )
        await self._take_up(entry)

    async def release(
        self, conversation: ConversationKey, *, actor: str, reason: str
    ) -> tuple[str, ...]:
        """An operator jumps a gap: hand over what waits after it; returns the MessageIds.

        Raises `LocalError` (NotHeld) and `StoreFull`.
        """
        followed = await self._desk.transact(
            lambda txn, ground: holding.release(
                txn,
                ground,
                conversation,
                frozenset(self._in_line(conversation.pair)),
                actor=actor,
                reason=reason,
            )
        )
        for debt, effects in handing_over.debts_of(followed):
            self.handed_over(debt, effects)
        return tuple(one.key.message_id for one in followed)

    async def _park(self, key: MessageKey, bug: Exception) -> None:
        reason = words_for(bug)
        await self._desk.persist(lambda txn, ground: handing_over.park(txn, ground, key, reason))

    def debt_of(self, key: MessageKey, agreement: Agreement) -> Debt:
        """The debt of a message that is known only from the store, with no copy at hand."""
        return handing_over.debt_of(self._desk.snapshot(), self._desk.house, key, agreement)

    def acknowledge(self, debt: Debt, send: Callable[[], Awaitable[Transmission]]) -> None:
        """Send the response and hand over in a task, in the order of calls per pair (I16).

        A partner that has our acknowledgement sends its next message, even while we still wait for
        the end of that transmission. The next message must not get into the inbox first.
        """
        place = self._take_place(debt)

        async def leave() -> Transmission:
            self._desk.failpoints.reach("before-acknowledge")
            await self.expose(debt)
            return await send()

        async def acknowledge_in_turn() -> None:
            left = await self._bugs.contain(
                "acknowledging", leave(), _not_known, message_id=debt.key.message_id
            )
            await self._serve_behind(place, left)

        self._tasks.start(acknowledge_in_turn(), place=HANDING_OVER)

    async def acknowledge_in_answer(self, debt: Debt) -> None:
        """Return when the response may be sent in the transport's answer; the caller then does so.

        The message is handed over only then: before that, the commit of the hand-over could come
        before the answer. A caller is cut only when the process ends; then the next start goes on.
        """
        place = self._take_place(debt)
        self._desk.failpoints.reach("before-acknowledge")
        try:
            await self.expose(debt)
        except Exception:
            self._serve_later(place)
            raise
        self._serve_later(place)

    def _serve_later(self, place: _Place) -> None:
        self._tasks.start(self._serve_behind(place, IN_THE_ANSWER), place=HANDING_OVER)

    def _take_place(self, debt: Debt) -> _Place:
        place = _Place(debt, asyncio.get_running_loop().create_future())
        self._lines.setdefault(debt.key.pair, _Line()).places.append(place)
        return place

    async def _serve_behind(self, place: _Place, transmission: Transmission) -> None:
        place.transmission = transmission
        self._desk.failpoints.reach("after-acknowledge")
        await self._serve(place.debt.key.pair)

    async def expose(self, debt: Debt) -> None:
        """Called before an acknowledgement is sent: from then on it may have left.

        This also counts for a message that is being withheld by a step that is not committed yet.
        """
        if not debt.agreement.terms.strict_release:
            return
        entry = self._desk.snapshot().find_inbound(debt.key)
        line = self._lines.get(debt.key.pair)
        is_being_served = line is not None and line.is_served
        if is_being_served or (entry is not None and entry.is_withheld):
            await self._desk.persist(lambda txn, _: handing_over.expose(txn, debt.key))

    async def _serve(self, pair: Pair) -> None:
        """Hand over what is ready; messages that become ready during a step go into the next."""
        line = self._lines[pair]
        if line.is_served:
            return
        line.is_served = True
        try:
            while ready := line.list_ready():
                await self._bugs.contain(
                    HANDING_OVER,
                    self._hand_over_in_order(ready),
                    partial(self._hand_over_apart, ready),
                )
                for _ in ready:
                    line.places.popleft().left.set_result(None)
        finally:
            line.is_served = False
        if not line.places:
            del self._lines[pair]

    async def _hand_over_in_order(self, ready: Sequence[tuple[Debt, Transmission]]) -> None:
        debt, transmission = ready[0]
        if debt.agreement.terms.strict_release and not certainly_never_left(transmission):
            await self._hand_over_withheld_before(debt)
        await self._hand_over(ready)

    async def _hand_over_apart(
        self, ready: Sequence[tuple[Debt, Transmission]], bug: Exception
    ) -> None:
        """Each in a step of its own, so that only the one with the bug is not handed over."""
        del bug
        for debt, left in ready:
            await self._bugs.contain(
                HANDING_OVER,
                self._hand_over([(debt, left)]),
                partial(self._park, debt.key),
                message_id=debt.key.message_id,
            )

    async def _hand_over_withheld_before(self, debt: Debt) -> None:
        """First hand over earlier messages of the pair that were withheld (I16, R-12).

        Acknowledgements leave now. The sender has given up the earlier ones, otherwise this message
        would not be here, so no copy of them will come. If `debt` is a repeat of a message that was
        handed over already, nothing has to go before it.
        """
        snapshot = self._desk.snapshot()
        of_pair = [one for one in snapshot.list_stored() if one.key.pair == debt.key.pair]
        if all(one.key != debt.key for one in of_pair):
            return
        for entry in takewhile(lambda one: one.key != debt.key, of_pair):
            agreement = self._desk.house.agreement(entry.agreement_id)
            response = snapshot.get_response(entry.key)
            earlier = self.debt_of(entry.key, agreement)
            await self.expose(earlier)
            transmission = await self._desk.post(agreement, SignalAction.ACKNOWLEDGMENT, response)
            await self._hand_over([(earlier, transmission)])
            if certainly_never_left(transmission):
                return

    async def wait_for_earlier(self, pair: Pair) -> None:
        """Wait until the stored messages of the pair are handed over.

        Called before a message is stored and handed over in one step.
        """
        if any(entry.key.pair == pair for entry in self._desk.snapshot().list_stored()):
            line = self._lines.get(pair)
            if line is not None:
                await asyncio.wait((line.places[-1].left,))

    async def _hand_over(self, ready: Sequence[tuple[Debt, Transmission]]) -> None:
        """After the acknowledgements: note how they left and hand the messages over (R-02, R-12).

        One step for all of them. With a commit for each, a pair could hand over only one message
        per fsync, although one fsync stores a group of messages.
        """
        for _ in ready:
            self._desk.failpoints.reach("before-hand-over")
        pair = ready[0][0].key.pair
        is_ordered = True in [debt.agreement.profile.has_order for debt, _ in ready]

        def step(txn: Transaction, ground: Ground) -> list[tuple[Debt, Sequence[Effect]]]:
            asked = [Ready(one, left, self._is_asked_again(one)) for one, left in ready]
            in_line = self._in_line(pair) if is_ordered else ()
            done = handing_over.hand_over(txn, ground, asked, in_line)
            if is_ordered:
                # For the next step, which may run before this one is committed.
                self._note_done(pair, [debt for debt, _ in ready])
            return done

        handed_over = await self._desk.persist(step)
        for debt, effects in handed_over:
            self._desk.failpoints.reach("after-hand-over")
            self.handed_over(debt, effects)

    def _in_line(self, pair: Pair) -> list[MessageKey]:
        """The message of each place in the line of the pair that a step is still to come to."""
        line = self._lines.get(pair)
        return [] if line is None else [one.debt.key for one in line.places if not one.is_done]

    def _note_done(self, pair: Pair, debts: Sequence[Debt]) -> None:
        line = self._lines.get(pair)
        # In a line of many, those that are ready are the first.
        for place in () if line is None else islice(line.places, HANDED_OVER_PER_STEP):
            place.is_done = place.is_done or any(place.debt is one for one in debts)

    def _is_asked_again(self, debt: Debt) -> bool:
        """Whether another acknowledgement of the message still waits in the line."""
        line = self._lines.get(debt.key.pair)
        others = () if line is None else (one.debt for one in line.places)
        return any(other.key == debt.key and other is not debt for other in others)

    def handed_over(self, debt: Debt, effects: Iterable[Effect]) -> None:
        """After the commit of a step with these effects: tell the application and the partner."""
        for effect in effects:
            if isinstance(effect, HandOver):
                self._growth.announce()
            elif isinstance(effect, SendReceipt):
                assert debt.receipt is not None, "a receipt was asked for"
                self._tasks.start(self._send_receipt(debt, debt.receipt))

    async def _send_receipt(self, debt: Debt, hop: Hop) -> None:
        """Seed 001 §2.1.1.2: the application has the message."""
        ground, key, agreement = self._desk.ground(), debt.key, debt.agreement
        package = receipt(ground, hop, key.message_id, agreement.our_ids)
        self._desk.failpoints.reach("before-receipt")
        transmission = await self._desk.post(agreement, SignalAction.ACKNOWLEDGMENT, package)
        self._desk.failpoints.reach("after-receipt")
        sent = outcome_row(Event.RECEIPT_SENT, transmission)
        await self._desk.note(key, agreement, Direction.IN, sent, endpoint=agreement.send_to)


async def _not_known(bug: Exception) -> Transmission:
    """The outcome of an acknowledgement that met a bug on its way out."""
    return Transmission(Outcome.UNKNOWN, bytes_left=True, detail=words_for(bug))
