"""A network inside the process, with faults that a seed decides.

Keeps the same contract as HTTP: tests and simulations exchange it for the real thing. Delays
are turns of the event loop, so nothing here waits for a clock.
"""

import asyncio
import random
from dataclasses import dataclass

from onceonly.message.word import Word
from onceonly.transport.http.limits import MIB
from onceonly.transport.http.outcome import may_hold_fault, named, outcome_of, words_of
from onceonly.transport.incoming_body import IncomingBody
from onceonly.transport.outgoing_body import check_size
from onceonly.transport.transport import (
    Answer,
    Body,
    Outcome,
    Outgoing,
    Receive,
    Request,
    TransferBroken,
    Transmission,
)

BODY_BYTES_MAX = 1040 * MIB
"""The same limit as that of the HTTP endpoint."""

_TOO_LARGE = Answer(413, "MessageTooLarge")
_INTERNAL_ERROR = Answer(500, "InternalError")


class LoopbackFaults(Word):
    """Probabilities from 0 to 1, drawn once per transmission in this order."""

    lost_before: float = 0.0
    """The request disappears: the peer never sees it, the sender does not know."""
    cut: float = 0.0
    """The body breaks off at a random byte: the receiver gets TransferBroken."""
    duplicated: float = 0.0
    """The peer receives it twice, one after the other; the sender gets the second answer."""
    lost_after: float = 0.0
    """The peer received and answered; the answer disappears (fault N9)."""
    delayed: float = 0.0
    """The request arrives up to `delay_turns_max` turns of the event loop later."""
    delay_turns_max: int = 100


NO_FAULTS = LoopbackFaults()


@dataclass(slots=True)
class LoopbackCounts:
    """What the network did so far; for reports, and for checks that faults did happen."""

    sent: int = 0
    lost_before: int = 0
    cut: int = 0
    duplicated: int = 0
    lost_after: int = 0
    delayed: int = 0


class LoopbackNetwork:
    """Endpoints by URI. One seed gives one sequence of faults."""

    def __init__(self, *, seed: int = 0, body_bytes_max: int = BODY_BYTES_MAX) -> None:
        self.faults = NO_FAULTS
        self.counts = LoopbackCounts()
        self._chance = random.Random(seed)  # noqa: S311 - because faults must be repeatable
        self._body_bytes_max = body_bytes_max
        self._endpoints: dict[str, Receive] = {}

    def listen(self, endpoint: str, receive: Receive) -> None:
        """From now on `receive` gets the packages to `endpoint`; one receiver per endpoint."""
        assert endpoint not in self._endpoints, "two cannot listen at one address"
        self._endpoints[endpoint] = receive

    def silence(self, endpoint: str) -> None:
        """From now on connections to `endpoint` are refused; receptions under way go on."""
        self._endpoints.pop(endpoint, None)

    def strikes(self, probability: float) -> bool:
        """Draw whether a fault with this probability happens."""
        return probability > 0 and self._chance.random() < probability

    def below(self, bound: int) -> int:
        """Draw a number from 0 to `bound` - 1; 0 if there is none."""
        return self._chance.randrange(bound) if bound > 0 else 0

    async def deliver(self, outgoing: Outgoing, *, peer: str) -> Transmission:
        """Carry one request to its endpoint, with the faults that are drawn for it."""
        self.counts.sent += 1
        if outgoing.endpoint not in self._endpoints:
            return Transmission(Outcome.REFUSED, bytes_left=False, detail="connection refused")
        if self.strikes(self.faults.delayed):
            self.counts.delayed += 1
            for _ in range(self.below(self.faults.delay_turns_max)):
                await asyncio.sleep(0)
        if self.strikes(self.faults.lost_before):
            self.counts.lost_before += 1
            return _unknown("no answer in time")
        if self.strikes(self.faults.cut):
            self.counts.cut += 1
            await self._receive(outgoing, peer, cut_at=self.below(outgoing.body.size_bytes))
            return _unknown("connection lost")
        if self.strikes(self.faults.duplicated):
            self.counts.duplicated += 1
            await self._receive(outgoing, peer)
        answer = await self._receive(outgoing, peer)
        if self.strikes(self.faults.lost_after):
            self.counts.lost_after += 1
            return _unknown("connection lost")
        return _judge(answer, outgoing)

    async def _receive(
        self, outgoing: Outgoing, peer: str, *, cut_at: int | None = None
    ) -> Answer | None:
        receive = self._endpoints.get(outgoing.endpoint)
        if receive is None:
            return None
        if outgoing.body.size_bytes > self._body_bytes_max:
            return _TOO_LARGE
        request = Request(outgoing.content_type, outgoing.body.size_bytes, peer)
        transfer = _Transfer(outgoing.body, cut_at)
        reception = asyncio.ensure_future(receive(request, transfer.incoming))
        reception.add_done_callback(transfer.stop)
        try:
            await transfer.pour()
        finally:
            transfer.incoming.break_off("connection lost")
            await asyncio.wait([reception])
            answer = _answer_of(reception)
        return answer


class LoopbackTransport:
    """`Transport` over a LoopbackNetwork; stands in for HTTP under the same endpoints."""

    schemes = frozenset({"loopback", "http", "https"})

    def __init__(self, network: LoopbackNetwork, *, peer: str = "loopback") -> None:
        self._network = network
        self._peer = peer
        self._is_closed = False

    def check(self, outgoing: Outgoing) -> None:
        """Does nothing: the loopback can carry everything."""

    async def send(self, outgoing: Outgoing) -> Transmission:
        """Transmit once, see `Transport.send`."""
        if self._is_closed:
            return Transmission(Outcome.REFUSED, bytes_left=False, detail="transport closed")
        return await self._network.deliver(outgoing, peer=self._peer)

    async def close(self) -> None:
        """Send no more."""
        self._is_closed = True


class _Transfer:
    """The body on its way, one chunk at a time: the receiver takes it before the next leaves."""

    def __init__(self, body: Body, cut_at: int | None) -> None:
        self._body = body
        self._cut_at = cut_at
        self._is_stopped = False
        self._wanted = asyncio.Event()
        self.incoming = IncomingBody(self._wanted.set)

    def stop(self, _: object) -> None:
        """Stop: the receiver answered and reads no more."""
        self._is_stopped = True
        self._wanted.set()

    async def pour(self) -> None:
        """Carry the body over, up to the cut if there is one."""
        held, size_bytes = b"", 0
        async for chunk in self._body.chunks():
            if self._cut_at is not None and size_bytes + len(chunk) > self._cut_at:
                self.incoming.feed(held + chunk[: self._cut_at - size_bytes])
                return
            if held:
                await self._hand_over(held)
            if self._is_stopped:
                return
            held = chunk
            size_bytes += len(chunk)
        check_size(self._body, size_bytes)
        if self._cut_at is None:
            self.incoming.feed(held)
            self.incoming.finish()

    async def _hand_over(self, piece: bytes) -> None:
        self._wanted.clear()
        self.incoming.feed(piece)
        await self._wanted.wait()


def _answer_of(reception: asyncio.Future[Answer]) -> Answer | None:
    error = reception.exception()
    if error is None:
        return reception.result()
    if isinstance(error, TransferBroken):
        return None
    message = "receiving a package failed on our side"
    asyncio.get_running_loop().call_exception_handler({"message": message, "exception": error})
    return _INTERNAL_ERROR


def _judge(answer: Answer | None, outgoing: Outgoing) -> Transmission:
    if answer is None:
        return _unknown("connection lost")
    status, name, kind = answer.status_code, answer.error or "", answer.content_type or ""
    outcome = outcome_of(status, error_name=name, content_type=kind, is_sent=True)
    if outcome is not Outcome.ACCEPTED:
        said = words_of(status, "", error_name=name, reason=answer.reason or "", location="")
    else:
        said = named(name, answer.reason or "")
    is_wanted = outcome is Outcome.ACCEPTED or may_hold_fault(status, kind)
    if is_wanted and answer.body and outgoing.take_reply is not None:
        outgoing.take_reply(status, kind, answer.body)
    return Transmission(outcome, bytes_left=True, status_code=status, detail=said)


def _unknown(detail: str) -> Transmission:
    return Transmission(Outcome.UNKNOWN, bytes_left=True, detail=detail)
