"""What operators see and do: partners, suspension, publishing, health, metrics."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from onceonly import __version__
from onceonly.api.operating import Drill, Health, PartnerPair, Ping, Readiness
from onceonly.gateway.alerts.tally import Tally
from onceonly.gateway.application.conditions import Conditions
from onceonly.gateway.application.pairs import Pairs
from onceonly.gateway.bugs import Bugs
from onceonly.gateway.config import Configuration
from onceonly.gateway.desk import Desk
from onceonly.gateway.incoming.handovers import HandOvers
from onceonly.gateway.incoming.inquiries import Inquiries
from onceonly.gateway.lake_files import reader_of
from onceonly.gateway.metrics import render
from onceonly.gateway.publish import publish
from onceonly.gateway.relaying.relay import Relay
from onceonly.gateway.shapes import partner_shape, ping_shape
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol.events import Settled, Settlement
from onceonly.protocol.sending import OutboundStatus, has_way_on, was_parked
from onceonly.steps import expiries, operating
from onceonly.steps.arrival import resume_pair
from onceonly.steps.ground import Ground
from onceonly.steps.work import MessageWork, Work
from onceonly.store.contract.entries import Incident, PairView, Role
from onceonly.store.contract.store import Store, Transaction

ASKED = "an operator asked for it"
"""Beginning of a row's reason by which the lake recognises what operators did."""


class Operations:
    """The operator's side of one gateway."""

    def __init__(  # noqa: PLR0913 - because operators see every part
        self,
        *,
        configuration: Configuration,
        desk: Desk,
        store: Store,
        inquiries: Inquiries,
        hand_overs: HandOvers,
        relay: Relay,
        bugs: Bugs,
        conditions: Conditions,
        denied: Mapping[str, int],
        told: Tally,
    ) -> None:
        self._configuration = configuration
        self._desk = desk
        self._store = store
        self._inquiries = inquiries
        self._hand_overs = hand_overs
        self._relay = relay
        self._bugs = bugs
        self._conditions = conditions
        self._denied = denied
        self._told = told
        self._publishing = asyncio.Lock()
        self._takes_work = False

    @property
    def is_ready(self) -> bool:
        """Whether packages and submissions are taken; never over a store that failed (R-47)."""
        return self._takes_work and self._desk.failure is None

    @is_ready.setter
    def is_ready(self, takes_work: bool) -> None:
        self._takes_work = takes_work

    def readiness(self) -> Readiness:
        """Whether packages and submissions are taken, and what will stop that later."""
        ending = expiries.ending(self._desk.house, self._desk.clock.at())
        return Readiness(ready=self.is_ready, warnings=tuple(reason for _, reason in ending))

    async def cancel(self, message_id: str, *, is_for_new_version: bool = False) -> bool:
        """Take a message back: at once if no byte left, otherwise by asking the receiver (R-08).

        False if the receiver is asked; its answer is final, and is shown in the message. With
        `is_for_new_version` the content is sent again under a new MessageId after the cancel is
        confirmed. Raises `LocalError` (NotFound, NotCancellable).
        """
        asked: Sequence[Work] = ()

        def work(txn: Transaction, ground: Ground) -> Sequence[Work]:
            nonlocal asked
            asked = operating.cancel(txn, ground, message_id, is_for_new_version=is_for_new_version)
            return asked

        await self._desk.run(work)
        return any(isinstance(one, MessageWork) for one in asked)

    async def resend(self, message_id: str, *, reason: str = "", is_anyway: bool = False) -> None:
        """Send a given-up message again: the same bytes under the same id (S4-24).

        If it still has its turn, this resumes its pair. If it ended, its content is sent as a new
        message, provided that it cannot be delivered twice; with `is_anyway` even then (R-41).
        Raises `LocalError` (NotFound, NotResendable, QueueFull).
        """
        why = f"{ASKED}: {reason}" if reason else ASKED

        await self._desk.run(
            lambda txn, ground: operating.send_again(
                txn, ground, message_id, why, is_anyway=is_anyway
            )
        )

    async def resend_new_version(self, message_id: str, *, reason: str = "") -> bool:
        """Send its content under a new MessageId: at once if its end is certain (R-41).

        Otherwise after the receiver has confirmed the cancel of the old one; then this returns
        False. Raises `LocalError` as `cancel` and `resend` do.
        """
        entry = self._desk.snapshot().find_outbound(message_id)
        if entry is not None and has_way_on(entry.state):
            await self.resend(message_id, reason=reason)
            return True
        await self.cancel(message_id, is_for_new_version=True)
        return False

    async def settle(
        self, message_id: str, word: Settlement, reason: str, actor: str | None = None
    ) -> None:
        """End a doubt by a person's word (R-49). Raises `LocalError` (NotFound, NotSettleable)."""
        said = Settled(word, reason, actor)
        await self._desk.run(partial(operating.settle, message_id=message_id, word=said))

    async def take_up(self, message_id: str, reason: str) -> list[str]:
        """Let everything go on that waits under this MessageId (R-43, R-12).

        Returns one word for each: `sent`: an outbound message waits for its turn again, or its
        content does as a new message, if no byte had left; `forwarded`: a copy of a relay is sent
        on; `handed over`: a received message, parked or withheld; `noted`: a notice that is not
        sent any more. Raises `LocalError` (NotFound, NotParked, NotResendable) and `StoreFull`.
        """
        snapshot = self._desk.snapshot()
        # Also incidents that were closed with their pair: their message may still be parked.
        incidents = {
            (one.role, one.pair): one
            for one in snapshot.list_incidents(is_open=False)
            if one.message_id == message_id
        }
        taken_up = [await self._take_up(one, message_id, reason) for one in incidents.values()]
        for entry in snapshot.list_stored():
            if entry.key.message_id == message_id:
                await self._hand_overs.take_up_stored(entry.key, reason)
                taken_up.append("handed over")
        if not any(taken_up):
            # That somebody asked for it makes no message: this very call has left such a row.
            rows = snapshot.list_journal_of(message_id)
            is_known = any(row.event is not Event.ASKED for row in rows)
            name = "NotParked" if is_known else "NotFound"
            raise LocalError(name, f"nothing is parked under MessageId {message_id!r}")
        return [word for word in taken_up if word is not None]

    async def _take_up(self, incident: Incident, message_id: str, reason: str) -> str | None:
        if incident.role is Role.SENDER:
            return await self._take_up_sent(message_id, reason)
        key = MessageKey(*incident.pair, message_id)
        entry = self._desk.snapshot().find_inbound(key)
        if entry is not None and entry.parked is not None:
            await self._hand_overs.take_up_stored(key, reason)
            return "handed over"
        if incident.resolved_at is not None:
            return None
        if await self._relay.take_up_parked(key, reason):
            return "forwarded"
        await self._desk.run(
            partial(operating.note_parked, incident=incident, message_id=message_id)
        )
        return "noted"

    async def _take_up_sent(self, message_id: str, reason: str) -> str | None:
        entry = self._desk.snapshot().find_outbound(message_id)
        is_parked = entry is not None and (
            was_parked(entry.state) or entry.state.status is OutboundStatus.IN_DOUBT
        )
        if is_parked:
            await self._desk.run(partial(operating.take_up, message_id=message_id, reason=reason))
        return "sent" if is_parked else None

    def note_bug(self, place: str, bug: Exception) -> None:
        """Note a bug that a call of the API met, as for every other conversation (R-43)."""
        self._bugs.note(place, bug)

    async def inquire(self, message_id: str) -> None:
        """Ask the partner how the message stands; no rule acts on the answer.

        Raises `LocalError` (NotFound, NeverSent, UnknownAgreement).
        """
        await self._desk.run(partial(operating.inquire, message_id=message_id))

    async def ping(self, partner: str, wait_s: float) -> tuple[Ping, ...]:
        """Ask a partner under each agreement whether it takes messages (level 2).

        Raises `LocalError` (UnknownPartner).
        """
        agreements = [
            one for one in self._desk.house.agreements if partner in map(str, one.their_ids)
        ]
        if not agreements:
            raise LocalError("UnknownPartner", f"no agreement is with {partner!r}")
        pings = [
            ping_shape(one, await self._desk.questions.ping(one, wait_s), self._desk.clock.at())
            for one in agreements
        ]
        return tuple(pings)

    def set_draining(self, *, is_draining: bool) -> None:
        """Set whether partners that ask first are told to send nothing; a restart forgets it."""
        self._inquiries.is_draining = is_draining

    def partners(self) -> tuple[PartnerPair, ...]:
        """Every pair that the agreements allow or the store knows, in order."""
        known = {(view.role, view.pair): view for view in self._desk.snapshot().list_pairs()}
        terms: dict[tuple[Role, Pair], DeliveryTerms | None] = dict.fromkeys(known)
        for agreement in self._desk.house.agreements:
            there = Pair(agreement.our_party, agreement.their_party)
            back = Pair(agreement.their_party, agreement.our_party)
            terms[Role.SENDER, there] = agreement.terms
            terms.setdefault((Role.RECEIVER, back), None)
        snapshot = self._desk.snapshot()
        facts = Pairs(self._desk)
        shapes = []
        for role, pair in sorted(terms):
            view = known.get((role, pair)) or _fresh(role, pair, snapshot)
            outcomes = [snapshot.list_outcomes(one, 1) for one in view.in_flight]
            last, name = chain.from_iterable(outcomes), self.name_of(role, pair)
            shapes.append(partner_shape(view, terms[role, pair], last, name, facts.facts(view)))
        return tuple(shapes)

    def name_of(self, role: Role, pair: Pair) -> str | None:
        """What people call the partner of the pair, if its agreements say so."""
        partner = pair.to_party if role is Role.SENDER else pair.from_party
        return self._desk.house.agreements.name_of(partner)

    async def suspend(self, partner: str, reason: str) -> tuple[PartnerPair, ...]:
        """Suspend sending to a partner. Raises `LocalError` (UnknownPartner)."""
        for pair in self._pairs_with(partner):
            await self._desk.run(partial(operating.suspend, pair=pair, reason=reason))
        return self._partner(partner)

    async def resume(self, partner: str) -> tuple[PartnerPair, ...]:
        """Resume both directions with a partner, whose incidents the operator has seen.

        Raises `LocalError` (UnknownPartner).
        """
        for pair in self._pairs_with(partner):
            await self._desk.run(partial(operating.resume, pair=pair))
            back = Pair(pair.to_party, pair.from_party)
            await self._desk.transact(partial(resume_pair, pair=back))
        return self._partner(partner)

    async def resend_unsent(self, partner: str) -> int:
        """Send as new messages what failed or expired before a byte of it left (R-41).

        Returns how many; the next call does not find them again. Raises `LocalError`:
        UnknownPartner; QueueFull, after which the rest wait for the next call.
        """
        self._pairs_with(partner)
        resent = 0
        for agreement in self._desk.house.agreements:
            if partner in map(str, agreement.their_ids) and not agreement.is_route:
                while count := await self._resend_some(agreement.id):
                    resent += count
        return resent

    async def _resend_some(self, agreement_id: str) -> int:
        count = 0

        def work(txn: Transaction, ground: Ground) -> Sequence[Work]:
            nonlocal count
            again = operating.send_unsent(txn, ground, agreement_id)
            count = len(again)
            return again

        await self._desk.run(work)
        return count

    def _pairs_with(self, partner: str) -> list[Pair]:
        pairs = {
            Pair(agreement.our_party, agreement.their_party)
            for agreement in self._desk.house.agreements
            if partner in map(str, agreement.their_ids)
        }
        if not pairs:
            raise LocalError("UnknownPartner", f"no agreement is with {partner!r}")
        return sorted(pairs)

    def _partner(self, partner: str) -> tuple[PartnerPair, ...]:
        names = {pair.to_party for pair in self._pairs_with(partner)}
        return tuple(shape for shape in self.partners() if shape.partner in names)

    async def publish(self) -> int:
        """Publish the journal's new rows; returns how many.

        Raises `LocalError` (LakeFailed, JournalForked).
        """
        async with self._publishing:
            try:
                return await asyncio.to_thread(self._publish)
            except OSError as error:
                raise LocalError("LakeFailed", f"the lake cannot be written: {error}") from error

    def _publish(self) -> int:
        # The snapshot is taken here because it belongs to the thread that takes it.
        return publish(
            self._desk.snapshot(),
            party=str(self._configuration.party[0]),
            lake=self._configuration.lake,
            failpoints=self._desk.failpoints,
            reader=reader_of(self._configuration.lake_group),
        )

    def health(self) -> Health:
        """Who this is, and whether its times and faults are real. Raises `StoreFailed` (R-47)."""
        if self._desk.failure is not None:
            raise self._desk.failure
        drill = self._configuration.drill
        return Health(
            status="ok",
            version=__version__,
            party=tuple(map(str, self._configuration.party)),
            store_epoch=self._store.epoch,
            draining=self._inquiries.is_draining,
            drill=None
            if drill is None
            else Drill(clock_rate=drill.clock_rate, failpoints=drill.failpoints),
        )

    def metrics(self) -> tuple[str, str]:
        """Prometheus text and its content type."""
        return render(
            self._desk.snapshot(),
            self._conditions,
            bugs=self._bugs.counts,
            denied=self._denied,
            told=self._told,
        )


def _fresh(role: Role, pair: Pair, snapshot: Any) -> PairView:
    state = snapshot.get_sending_pair(pair)
    return PairView(role, pair, state.status, None, None, (), 0)
