"""Our inquiries on their way out: posted after the commit, remembered until they are answered.

Knows how an inquiry is addressed and which ones are open. What an answer means is decided in
`protocol/sending.py` and `protocol/recovering.py`. Seed 004 levels 2, 3 and 5; ruling R-20.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from onceonly.gateway.office import Office
from onceonly.gateway.outgoing.heard import Heard
from onceonly.gateway.tasks import Tasks
from onceonly.message.agreement import Agreement
from onceonly.message.event import Event
from onceonly.message.package import Package
from onceonly.message.signals import Inquiry, InquiryKind
from onceonly.message.word import Word
from onceonly.protocol.events import Outcome, Transmission
from onceonly.steps.authority import Answered
from onceonly.steps.faults import refuses
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Asker, Question
from onceonly.steps.reports import refuse
from onceonly.steps.signals import encoded, hop_to, outcome_row, signal_header
from onceonly.steps.transmission import signal_endpoint_of
from onceonly.steps.verdicts import row_to_partner

TakeAnswer = Callable[[str, Heard, Answered], Awaitable[None]]
"""Takes the package in the answer of an endpoint to something of ours."""

OPEN_MAX = 10_000
"""Most inquiries that wait for their answer. Each message asks one at a time, so this many are open
only if answers do not come; then the oldest is forgotten, and its message asks again."""


class Availability(Word):
    """The result of an operator's Ping."""

    outcome: Outcome
    """How the transmission of the Ping ended."""
    is_available: bool | None
    """The partner's answer; None if none came in time."""


class Questions:
    """Posts inquiries and knows which are open."""

    def __init__(self, *, office: Office, tasks: Tasks) -> None:
        self._office = office
        self._tasks = tasks
        self._open: OrderedDict[str, Question] = OrderedDict()
        self._pongs: dict[str, asyncio.Future[bool | None]] = {}
        self._take_reply: TakeAnswer | None = None

    def listen(self, take_reply: TakeAnswer) -> None:
        """Give packages that come in answers to inquiries to `take_reply`."""
        self._take_reply = take_reply

    def ask(self, question: Question) -> None:
        """Post the inquiry in a task; called after the commit of its step."""
        self._remember(question)
        self._tasks.start(self._post(question))

    def _remember(self, question: Question) -> None:
        self._open[question.inquiry_id] = question
        while len(self._open) > OPEN_MAX:
            self._open.popitem(last=False)

    def find(self, inquiry_id: str) -> Question | None:
        """The open inquiry with this MessageId."""
        return self._open.get(inquiry_id)

    def close(self, inquiry_id: str, *, is_available: bool | None = False) -> None:
        """Forget the answered inquiry; `is_available` is the answer to an operator's Ping.

        None: the partner answers, and cannot be asked.
        """
        self._open.pop(inquiry_id, None)
        pong = self._pongs.get(inquiry_id)
        if pong is not None and not pong.done():
            pong.set_result(is_available)

    async def ping(self, agreement: Agreement, wait_s: float) -> Availability:
        """Send a Ping for an operator, and wait for the answer, at most `wait_s` seconds."""
        inquiry_id = self._office.ground().message_id("ping", agreement)
        question = Question(
            inquiry_id, InquiryKind.PING, agreement, Asker.OPERATOR, None, inquiry_id
        )
        pong: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
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
        package = _package(self._office.ground(), question)
        self._office.failpoints.reach("before-inquire")
        agreement, endpoint = question.agreement, signal_endpoint_of(question.agreement)
        heard = Heard() if agreement.profile.reads_every_answer else None
        transmission = await self._office.post(
            agreement,
            question.kind.value,
            package,
            endpoint,
            take_reply=None if heard is None else heard.take,
        )
        self._office.failpoints.reach("after-inquire")
        is_ping = question.kind is InquiryKind.PING
        sent = outcome_row(
            Event.PING_SENT if is_ping else Event.INQUIRY_SENT,
            transmission,
            None if is_ping else question.kind.value,
        )
        ground, about = self._office.ground(), question.message_id
        await self._office.write(row_to_partner(ground, agreement, about, sent, endpoint=endpoint))
        if heard is not None:
            await self._hear(question, endpoint, heard)
        return transmission

    async def _hear(self, question: Question, endpoint: str, heard: Heard) -> None:
        """Take what came in the answer: a report, or a fault, which says that there is none."""
        agreement, fault = question.agreement, heard.find_fault()
        if fault is None:
            assert self._take_reply is not None, "the gateway listens before it asks"
            await self._take_reply(endpoint, heard, Answered(question.inquiry_id, agreement.id))
        elif refuses(fault, agreement.cpa.retriable_faults):
            await self.note_refused(question)

    async def note_refused(self, question: Question) -> bool:
        """The partner answers that it has no such inquiry; False if that is no news."""
        if question.kind is not InquiryKind.PING or self.find(question.inquiry_id) is None:
            return False
        await self._office.persist(lambda txn, ground: refuse(txn, ground, question))
        self.close(question.inquiry_id, is_available=None)
        return True


def _package(ground: Ground, question: Question) -> Package:
    hop = hop_to(ground.house, question.agreement, question.conversation_id)
    # A Ping names no message, even if it is sent before one.
    about = "" if question.kind is InquiryKind.PING else question.message_id or ""
    header = signal_header(ground, hop, about, question.inquiry_id)
    names_it = question.agreement.cpa.names_in_requests and question.kind is InquiryKind.STATUS
    return encoded(ground, Inquiry(header, question.kind, has_reference=names_it), hop)
