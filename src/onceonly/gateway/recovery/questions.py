"""Our inquiries on their way out: posted after the commit, remembered until they are answered.

Knows how an inquiry is addressed and which ones are open. What an answer means is decided in
`protocol/sending.py` and `protocol/recovering.py`. Seed 004 levels 2, 3 and 5; ruling R-20.
"""

import asyncio
from collections import OrderedDict

from onceonly.gateway.clock import Clock
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.ids import Identifiers
from onceonly.gateway.persistence import persist
from onceonly.gateway.receiving.signals import Hop, Signals
from onceonly.gateway.recovery.steps import Asker, Question
from onceonly.gateway.rows import Rows
from onceonly.gateway.tasks import Tasks
from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.instant import Now
from onceonly.message.package import Package
from onceonly.message.signals import Acknowledgment, Inquiry, InquiryKind, SignalHeader
from onceonly.message.terms import Intermediary
from onceonly.message.word import Word, changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import Outcome, Transmission
from onceonly.store.group import GroupCommit

OPEN_MAX = 10_000
"""Inquiries that wait for their answer. Each message asks one at a time, so that this many are
open only when answers stay out; then the oldest is forgotten, and its message asks again."""


class Availability(Word):
    """What an operator's Ping showed."""

    outcome: Outcome
    """Of the Ping's transmission."""
    is_available: bool | None
    """The partner's answer; None where none came in time."""


class Questions:
    """Posts inquiries and knows which are open."""

    def __init__(  # noqa: PLR0913 - because this is where an inquiry's parts meet
        self,
        *,
        signals: Signals,
        group: GroupCommit,
        rows: Rows,
        clock: Clock,
        ids: Identifiers,
        failpoints: Failpoints,
        tasks: Tasks,
        our_uri: str,
    ) -> None:
        self._signals = signals
        self._group = group
        self._rows = rows
        self._clock = clock
        self._ids = ids
        self._failpoints = failpoints
        self._tasks = tasks
        self._our_uri = our_uri
        self._open: OrderedDict[str, Question] = OrderedDict()
        self._pongs: dict[str, asyncio.Future[bool]] = {}

    def ask(self, question: Question) -> None:
        """Post the inquiry, now that its step is committed."""
        self._remember(question)
        self._tasks.start(self._post(question))

    def _remember(self, question: Question) -> None:
        self._open[question.inquiry_id] = question
        while len(self._open) > OPEN_MAX:
            self._open.popitem(last=False)

    def find(self, inquiry_id: str) -> Question | None:
        """The open inquiry with this MessageId."""
        return self._open.get(inquiry_id)

    def close(self, inquiry_id: str, *, is_available: bool = False) -> None:
        """The inquiry is answered; an operator's Ping by `is_available`."""
        self._open.pop(inquiry_id, None)
        pong = self._pongs.get(inquiry_id)
        if pong is not None and not pong.done():
            pong.set_result(is_available)

    async def ping(self, agreement: Agreement, wait_s: float) -> Availability:
        """Ping on an operator's word and wait for the answer, at most `wait_s` seconds."""
        inquiry_id = self._ids.message_id()
        question = Question(
            inquiry_id, InquiryKind.PING, agreement, Asker.OPERATOR, None, inquiry_id
        )
        pong: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._remember(question)
        self._pongs[inquiry_id] = pong
        try:
            transmission = await self._post(question)
            if transmission.outcome is not Outcome.REFUSED:
                await asyncio.wait((pong,), timeout=wait_s)
            return Availability(transmission.outcome, pong.result() if pong.done() else None)
        finally:
            del self._pongs[inquiry_id]
            self._open.pop(inquiry_id, None)

    async def _post(self, question: Question) -> Transmission:
        package = self._package(question, self._clock.now())
        self._failpoints.reach("before-inquire")
        transmission = await self._signals.post(question.agreement.send_to, package)
        self._failpoints.reach("after-inquire")
        row = self._row(question, transmission, self._clock.now())
        await persist(self._group, lambda txn: txn.append((row,)))
        return transmission

    def _package(self, question: Question, now: Now) -> Package:
        agreement = question.agreement
        hop = Hop(
            self._our_uri,
            agreement.receiver_uri,
            agreement.profile,
            agreement.id,
            question.conversation_id,
        )
        # A Ping is about no message, also where it goes before one.
        about = "" if question.kind is InquiryKind.PING else question.message_id or ""
        header = changed(self._signals.header(hop, about, now), message_id=question.inquiry_id)
        return self._signals.encode(Inquiry(header, question.kind), hop, now)

    def _row(self, question: Question, transmission: Transmission, now: Now) -> Record:
        agreement = question.agreement
        is_ping = question.kind is InquiryKind.PING
        sent = Journal(
            Event.PING_SENT if is_ping else Event.INQUIRY_SENT,
            outcome=transmission.outcome.value,
            status_code=transmission.status_code,
            reason=(transmission.detail or None) if is_ping else question.kind.value,
        )
        return message_row(
            self._rows, agreement, question.message_id, sent, now, endpoint=agreement.send_to
        )


def message_row(
    rows: Rows,
    agreement: Agreement,
    message_id: str | None,
    effect: Journal,
    now: Now,
    *,
    endpoint: str | None = None,
) -> Record:
    """A row about our message to the partner, or about the pair where there is none."""
    pair = Pair(agreement.our_party, agreement.their_party)
    key = MessageKey(*pair, message_id or "")
    row = rows.about_message(key, agreement, Direction.OUT, effect, now, endpoint=endpoint)
    return row if message_id else changed(row, message_id=None)


def is_from_partner(header: SignalHeader, agreement: Agreement) -> bool:
    """Whether the signal names the agreement's partner as its sender (R-20).

    Signals name the MSH's URI (seed 000 §2.2.2, seed 001 §1.3.3.1), some the party.
    """
    return {str(party) for party in header.from_ids} <= _names_of_partner(agreement)


def is_acknowledged_by_partner(signal: Acknowledgment, agreement: Agreement) -> bool:
    """Whether the Acknowledgment element is the partner's, if there is one that says whose it is.

    Only an intermediary that accepts acknowledges in a name of its own (seed 001 §1.3.4.2); that
    the application has the message is the To Party's word wherever it comes from.
    """
    if signal.element is None:
        return True
    if agreement.terms.intermediary is Intermediary.ACCEPT and not signal.is_receipt:
        return True
    return set(map(str, signal.element.from_ids)) <= _names_of_partner(agreement)


def _names_of_partner(agreement: Agreement) -> set[str]:
    return {agreement.receiver_uri, agreement.send_to, *map(str, agreement.their_ids)}
