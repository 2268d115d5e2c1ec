"""The network between the nodes of a world: what becomes of each package, transport by transport.

Knows endpoints, links and fates; must not know what is in a package. A package is named by its link
and its number on that link, `A>B#3`, and its fate belongs to that name. The fate is in the
schedule; otherwise it is drawn, and written down so that it can be put into a schedule.
"""

import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from enum import StrEnum
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, Protocol

from onceonly.message.instant import NS_PER_S
from onceonly.message.word import Word
from onceonly.protocol.events import Outcome, Transmission
from onceonly.simulation.chance import draw
from onceonly.simulation.tampering import altered, stripped, swapped
from onceonly.simulation.timeline import NS_PER_MS, Timeline
from onceonly.transport.http.outcome import may_hold_fault, outcome_of
from onceonly.transport.transport import (
    Answer,
    Outgoing,
    Receive,
    Request,
    TransferBroken,
)

CLIENT_WAIT_NS = 20 * NS_PER_S
"""As long as our own HTTP client waits for an answer."""


FALSE_ANSWER = "false answer to "
"""How the name of a package begins that comes in place of an answer of a machine's gateway."""


class Fate(StrEnum):
    """What the network does with one package."""

    DELIVERED = "delivered"
    LOST = "lost"
    """It never arrives, and nobody says so."""
    REFUSED = "refused"
    """No connection: no byte left."""
    ANSWER_LOST = "answer-lost"
    """It was taken, and the answer disappeared (fault N9)."""
    CUT = "cut"
    """The connection broke in the middle of the body (fault N8)."""
    BUSY = "busy"
    """A proxy, or the mail host, answers 503: nothing arrived (fault N10, N14)."""
    GONE = "gone"
    """It answers 404."""
    TWICE = "twice"
    """It arrives twice at once (fault N2)."""
    AGAIN_LATER = "again-later"
    """It arrives, and once more much later."""
    LATE = "late"
    """It arrives after the sender has stopped waiting for the answer (fault N3)."""
    DAMAGED = "damaged"
    """A byte of it is another when it arrives (fault N4)."""
    REWRITTEN = "rewritten"
    """A box on the way wrote another Action into it, and nothing about it is wrong (R-37)."""
    ALTERED = "altered"
    """Somebody wrote another character into it; by its signature alone it can be seen (R-30)."""
    STRIPPED = "stripped"
    """Somebody took its signature out."""
    SWAPPED = "swapped"
    """Somebody gave its payloads other places."""


TAMPERED = {Fate.ALTERED: altered, Fate.STRIPPED: stripped, Fate.SWAPPED: swapped}
"""What is another package when it arrives, and looks like one of its sender."""

FAULTS = tuple(fate for fate in Fate if fate not in (Fate.DELIVERED, Fate.REWRITTEN, *TAMPERED))
"""What bad weather does; a box that rewrites is put there by somebody, as is one that tampers."""


class NetworkHost(Protocol):
    """A machine of the world, as the network sees it."""

    name: str

    def listener(self) -> "PackageListener | None":
        """Who takes packages now, if anybody does."""
        ...


class PackageListener(Protocol):
    """One process that takes packages; it may die while it does."""

    def receive(
        self,
        request: Request,
        chunks: AsyncIterator[bytes],
        answer: Callable[[Answer | None], None],
    ) -> None:
        """Take one package; `answer` hears how that went, with None where it never ended."""
        ...


class Packet(Word):
    """One package on its way, as the wire saw it."""

    name: str
    source: str
    target: str
    endpoint: str
    transport: str
    content_type: str
    body: bytes
    at_ns: int
    certificate: str | None = None
    """What its sender showed for itself; by TLS alone, whatever the package says."""


@lru_cache(256)
def certificate(name: str) -> str:
    """Hexadecimal SHA-256 of the one certificate of a machine."""
    return sha256(f"certificate of {name}".encode()).hexdigest()


class Weather(Word):
    """How the network is until the world heals: probabilities by fate, and delays."""

    fates: Mapping[Fate, float] = {}
    delay_ms: int = 20
    """Usual time one way; each package takes between a tenth of it and three times as long."""
    late_ms: int = 60_000
    """How much later the late copies come, at most."""


class Network:
    """Carries packages between hosts by endpoint.

    `fates` says what becomes of named packages; a name that it lacks is drawn from the weather if
    `is_drawn`, else delivered. `told` has what became of every package that was not delivered.
    """

    def __init__(  # noqa: PLR0913 - because this is where the world meets its wires
        self,
        timeline: Timeline,
        *,
        seed: int,
        weather: Weather,
        fates: Mapping[str, Fate],
        is_drawn: bool,
        seen: Callable[[Packet, Fate], None],
        arrived: Callable[[Packet, bytes, bool], None],
        replied: Callable[[Packet, bytes, int | None], None],
    ) -> None:
        self._timeline = timeline
        self._seed = seed
        self.weather = weather
        self._fates = fates
        self._is_drawn = is_drawn
        self._seen = seen
        self.arrived = arrived
        """Told of each copy that a process begins to take: its bytes, and whether all come."""
        self.replied = replied
        """Told of each package that goes back in the answer to one that arrived, and how long it
        takes to its sender; None for the answer to one more copy, for which nobody waits."""
        self._hosts: dict[str, NetworkHost] = {}
        self._counts: dict[str, int] = {}
        self.cut_links: set[str] = set()
        """Directed links, `A>B`, that let nothing through (fault N6)."""
        self.false_answers: dict[str, deque[Callable[[Packet], Answer | None]]] = {}
        """By directed link, `A>B`: what B says in its next answers to A, instead of what its
        gateway says, where a package may come back in them."""
        self.is_healed = False
        self.told: dict[str, Fate] = {}

    def add(self, endpoint: str, host: NetworkHost) -> None:
        """From now on the host has this address."""
        self._hosts[endpoint] = host

    def find_host(self, endpoint: str) -> str | None:
        """Which machine has the address, if any has it."""
        host = self._hosts.get(endpoint)
        return None if host is None else host.name

    async def send(self, source: NetworkHost, outgoing: Outgoing, new_future: Any) -> Transmission:
        """Transmit once, from `source`; `new_future` makes a future of its loop."""
        body = outgoing.body.whole()
        if body is None:
            body = b"".join([chunk async for chunk in outgoing.body.chunks()])
        target = self._hosts.get(outgoing.endpoint)
        name = "nowhere" if target is None else target.name
        link = f"{source.name}>{name}"
        number = self._counts[link] = self._counts.get(link, 0) + 1
        transport = outgoing.endpoint.partition(":")[0]
        packet = Packet(
            f"{link}#{number}",
            source.name,
            name,
            outgoing.endpoint,
            transport,
            outgoing.content_type,
            body,
            self._timeline.now_ns,
            certificate(source.name) if transport == "https" else None,
        )
        fate = Fate.REFUSED if target is None else self._fate(packet.name, link)
        self._seen(packet, fate)
        if target is None:
            return _refused("connection refused")
        done = new_future()
        passage = _MailPassage if packet.transport.startswith("smtp") else _Passage
        passage(self, self._timeline, packet, target, outgoing, done).begin(fate)
        transmission: Transmission = await done
        return transmission

    def _fate(self, name: str, link: str) -> Fate:
        fate = self._fates.get(name)
        if fate is None:
            fate = Fate.DELIVERED
            if link in self.cut_links:
                fate = Fate.LOST
            elif self._is_drawn and not self.is_healed:
                fate = self._drawn(name)
        if fate is not Fate.DELIVERED:
            self.told[name] = fate
        return fate

    def _drawn(self, name: str) -> Fate:
        at = draw(self._seed, "fate", name)
        for fate, probability in self.weather.fates.items():
            if at < probability:
                return fate
            at -= probability
        return Fate.DELIVERED

    def delay_ns(self, packet: Packet, of: str) -> int:
        """How long one thing takes, between a tenth of the usual time and three times as long."""
        usual_ns = self.weather.delay_ms * NS_PER_MS
        return int(usual_ns * (0.1 + 2.9 * draw(self._seed, "delay", of, packet.name)))

    def later_ns(self, packet: Packet) -> int:
        """How much later a late copy comes."""
        return int(self.weather.late_ms * NS_PER_MS * draw(self._seed, "late", packet.name))

    def find_false_answer(self, packet: Packet) -> Answer | None:
        """What whoever got the package says in its answer, if that is not his gateway's word."""
        waiting = self.false_answers.get(f"{packet.source}>{packet.target}")
        return waiting.popleft()(packet) if waiting else None

    def pick(self, packet: Packet, count: int) -> int:
        """One of so many, the same one for the same package."""
        return int(count * draw(self._seed, "tampered", packet.name))

    def part(self, packet: Packet) -> int:
        """Where in the body something happens to it."""
        return int(len(packet.body) * draw(self._seed, "part", packet.name))


class _Passage:
    """One package by HTTP: what arrives, and what the sender is told."""

    def __init__(
        self,
        network: Network,
        timeline: Timeline,
        packet: Packet,
        target: NetworkHost,
        outgoing: Outgoing,
        done: Any,
    ) -> None:
        self._network = network
        self._timeline = timeline
        self._packet = packet
        self._target = target
        self._take_reply = outgoing.take_reply
        self._done = done
        self._is_refused = False

    def begin(self, fate: Fate) -> None:
        """Let the package go."""
        there_ns = self._network.delay_ns(self._packet, "there")
        if fate in _TOLD_AT_ONCE:
            self._timeline.call_in(there_ns, partial(self._tell, _TOLD_AT_ONCE[fate]))
            return
        # Also where somebody took it, and is stopped or slow before he answers.
        self._timeline.call_in(CLIENT_WAIT_NS, partial(self._tell, _unknown("no answer")))
        if fate is Fate.LOST:
            return
        later_ns = self._network.later_ns(self._packet)
        if fate is Fate.LATE:
            there_ns = CLIENT_WAIT_NS + later_ns
        body = self._packet.body
        if fate is Fate.DAMAGED:
            body = _damaged(body, self._network.part(self._packet))
        elif fate is Fate.REWRITTEN:
            body = _rewritten(body)
        elif fate in TAMPERED:
            body = TAMPERED[fate](body, partial(self._network.pick, self._packet))
        cut_at = self._network.part(self._packet) if fate is Fate.CUT else None
        answer = self._forget if fate in _UNANSWERED else self._answer
        self._timeline.call_in(there_ns, partial(self._arrive, body, cut_at, answer))
        if fate in _UNANSWERED and fate is not Fate.LATE:
            self._timeline.call_in(
                there_ns + CLIENT_WAIT_NS, partial(self._tell, _unknown("connection lost"))
            )
        if fate is Fate.TWICE:
            more_ns = there_ns + self._network.delay_ns(self._packet, "twice")
            self._timeline.call_in(more_ns, partial(self._arrive_again, body))
        if fate is Fate.AGAIN_LATER:
            more_ns = there_ns + later_ns
            self._timeline.call_in(more_ns, partial(self._arrive_again, body))

    def _arrive(
        self, body: bytes, cut_at: int | None, answer: Callable[[Answer | None], None]
    ) -> None:
        listener = self._target.listener()
        if listener is None:
            self._is_refused = True
            self._tell(_refused("connection refused"))
            return
        self._give(listener, body, cut_at, answer)

    def _arrive_again(self, body: bytes) -> None:
        """One more copy: whether anybody takes it, the sender of the first never hears.

        If nobody was there for the first copy, nothing left that could come again.
        """
        listener = self._target.listener()
        if listener is not None and not self._is_refused:
            self._give(listener, body, None, self._forget)

    def _give(
        self,
        listener: PackageListener,
        body: bytes,
        cut_at: int | None,
        answer: Callable[[Answer | None], None],
    ) -> None:
        packet = self._packet
        self._network.arrived(packet, body, cut_at is None)
        request = Request(
            packet.content_type, len(body), packet.source, packet.transport, packet.certificate
        )
        listener.receive(request, _pieces(body, cut_at), partial(self._note_reply, answer))

    def _note_reply(self, tell: Callable[[Answer | None], None], answer: Answer | None) -> None:
        if answer is not None and answer.body:
            back_ns = self._back_ns() if tell == self._answer else None
            self._network.replied(self._packet, answer.body, back_ns)
        if answer is not None and tell == self._answer and self._take_reply is not None:
            answer = self._network.find_false_answer(self._packet) or answer
        tell(answer)

    def _forget(self, answer: Answer | None) -> None:
        """Nobody hears the answer."""

    def _answer(self, answer: Answer | None) -> None:
        self._timeline.call_in(self._back_ns(), partial(self._bring, answer))

    def _back_ns(self) -> int:
        return self._network.delay_ns(self._packet, "back")

    def _bring(self, answer: Answer | None) -> None:
        if answer is None:
            self._tell(_unknown("connection lost"))
            return
        name, kind = answer.error or "", answer.content_type or ""
        outcome = outcome_of(answer.status_code, error_name=name, content_type=kind, is_sent=True)
        is_heard = outcome is Outcome.ACCEPTED or may_hold_fault(answer.status_code, kind)
        if is_heard and answer.body and self._take_reply is not None and not self._done.done():
            self._take_reply(answer.status_code, kind, answer.body)
        self._tell(
            Transmission(
                outcome,
                bytes_left=True,
                status_code=answer.status_code,
                detail=answer.error or "",
            )
        )

    def _tell(self, transmission: Transmission) -> None:
        if not self._done.done():
            self._done.set_result(transmission)


class _MailPassage(_Passage):
    """One package by mail: the mail host takes it at once, and brings it when it likes."""

    def begin(self, fate: Fate) -> None:
        """Let the package go."""
        there_ns = self._network.delay_ns(self._packet, "there")
        if fate in _TOLD_AT_ONCE:
            self._timeline.call_in(there_ns, partial(self._tell, _TOLD_AT_ONCE[fate]))
            return
        told = _unknown("no answer after DATA") if fate in _UNANSWERED else _MAILED
        self._timeline.call_in(there_ns, partial(self._tell, told))
        if fate is Fate.LOST:
            return
        later_ns = self._network.later_ns(self._packet)
        first_ns = there_ns + (later_ns if fate is Fate.LATE else 0)
        body = self._packet.body
        if fate is Fate.DAMAGED:
            body = _damaged(body, self._network.part(self._packet))
        elif fate in TAMPERED:
            body = TAMPERED[fate](body, partial(self._network.pick, self._packet))
        self._timeline.call_in(first_ns, partial(self._bring_mail, body, 0))
        if fate in (Fate.TWICE, Fate.AGAIN_LATER):
            self._timeline.call_in(first_ns + later_ns, partial(self._bring_mail, body, 0))

    def _bring_mail(self, body: bytes, tried: int) -> None:
        """A mail host comes again as long as nobody is there, or is told to come later."""
        if tried >= _MAIL_TRIES:
            return

        def again(answer: Answer | None) -> None:
            if answer is None or answer.status_code >= 500:
                self._timeline.call_in(_MAIL_PAUSE_NS, partial(self._bring_mail, body, tried + 1))

        listener = self._target.listener()
        if listener is None:
            again(None)
            return
        self._give(listener, body, None, again)


_MAIL_PAUSE_NS = 60 * NS_PER_S
_MAIL_TRIES = 20
_MAILED = Transmission(Outcome.ACCEPTED, bytes_left=True, status_code=250)


def _refused(detail: str) -> Transmission:
    return Transmission(Outcome.REFUSED, bytes_left=False, detail=detail)


def _unknown(detail: str) -> Transmission:
    return Transmission(Outcome.UNKNOWN, bytes_left=True, detail=detail)


_TOLD_AT_ONCE = {
    Fate.REFUSED: _refused("connection refused"),
    Fate.BUSY: Transmission(Outcome.REFUSED, bytes_left=True, status_code=503),
    Fate.GONE: Transmission(Outcome.REFUSED, bytes_left=True, status_code=404),
}
_UNANSWERED = frozenset({Fate.ANSWER_LOST, Fate.CUT, Fate.LATE})


def _damaged(body: bytes, at: int) -> bytes:
    """A tag's beginning in the header document is no character of XML any more.

    These profiles have no digest on the wire: if a checksum on the way misses damage in a payload
    or an identifier, nobody can see it. Damage that can be seen is refused.
    """
    end = body.find(b"</") + 1
    tag = body.find(b"<", at * end // (len(body) or 1))
    return body[:tag] + bytes([body[tag] ^ 0x20]) + body[tag + 1 :] if end else body


def _rewritten(body: bytes) -> bytes:
    """The Action begins with a small letter, for which every program that is there is another."""
    return _ACTION.sub(lambda found: found[0].lower(), body, count=1)


_ACTION = re.compile(rb"(?<=<Action>)[A-Z]")


async def _pieces(body: bytes, cut_at: int | None) -> AsyncIterator[bytes]:
    """The body in two pieces, or the beginning of it and a broken transfer."""
    if cut_at is not None:
        yield body[:cut_at]
        raise TransferBroken("connection reset")
    half = len(body) // 2
    yield body[:half]
    yield body[half:]


__all__ = [
    "FAULTS",
    "Fate",
    "Network",
    "NetworkHost",
    "PackageListener",
    "Packet",
    "Receive",
    "Weather",
]
