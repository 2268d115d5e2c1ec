"""Previous hops that hold their connection for what the next hop answers (SyncReply, `ebms-2.0`).

Nothing of this is durable: when the process dies, so does the connection, and the origin sends the
message again. Must not know what passes; `transits` and `passing` know.
"""

import asyncio
from collections.abc import Sequence

from onceonly.gateway.desk import Desk
from onceonly.gateway.outgoing.heard import Heard
from onceonly.message.package import Package
from onceonly.protocol.events import Outcome, Transmission
from onceonly.steps.authority import Answered
from onceonly.store.contract.entries import StoredPayload
from onceonly.transport.transport import Answer, Headers

HELD_MAX = 256
"""Most connections that wait: a quarter of those of the endpoint, so that they never lock out new
callers."""

Waiting = asyncio.Future[Answer]
"""The answer that a held connection gets."""

TAKEN = Answer(204)
BUSY = Answer(503, "Busy", reason="too many connections wait here; expected is the same, later")


class Held:
    """Held connections, by the package that was sent on for them."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], list[Waiting]] = {}
        self._count = 0

    @property
    def has_room(self) -> bool:
        """Whether one more connection may be held."""
        return self._count < HELD_MAX

    def open(self, route_id: str, message_id: str) -> Waiting:
        """Hold a connection for what the next hop of the route answers to the package."""
        waiting: Waiting = asyncio.get_running_loop().create_future()
        self._open.setdefault((route_id, message_id), []).append(waiting)
        self._count += 1
        return waiting

    def find(self, answered: Answered | None) -> Waiting | None:
        """A connection that waits for what came in this answer."""
        if answered is None:
            return None
        waiting = self._open.get((answered.agreement_id, answered.message_id), ())
        return next((one for one in waiting if not one.done()), None)

    async def wait(self, route_id: str, message_id: str, waiting: Waiting) -> Answer:
        """The answer. Whoever sends the package on ends the wait, by `end` at the latest."""
        try:
            return await waiting
        finally:
            key = route_id, message_id
            self._count -= 1
            self._open[key].remove(waiting)
            if not self._open[key]:
                del self._open[key]

    def end(
        self, route_id: str, message_id: str, transmission: Transmission | None, reply: Heard | None
    ) -> None:
        """The package was sent on, and what came back was taken; who still waits waits no more."""
        waiting = self.find(Answered(message_id, route_id))
        if waiting is not None:
            waiting.set_result(_answer_without_package(transmission, reply))


def _answer_without_package(transmission: Transmission | None, reply: Heard | None) -> Answer:
    """What the previous hop is told where no package answered: as the next hop told us.

    A fault is about the package that both hops carry. Whatever else is no acceptance is none for
    the previous hop either, which sends again.
    """
    if reply is not None and reply.find_fault() is not None:
        return Answer(500, None, reply.content_type, reply.body)
    if transmission is not None and transmission.outcome is Outcome.ACCEPTED:
        return TAKEN
    return Answer(504, reason="the next hop did not answer; expected is the same once more, later")


async def answer_into(
    desk: Desk,
    waiting: Waiting,
    package: Package,
    payloads: Sequence[StoredPayload],
    headers: Headers,
) -> bool:
    """Give the package to the connection that waits; False if it is too long, or over."""
    content = await desk.read_answer(package, payloads)
    if content is None or waiting.done():
        return False
    waiting.set_result(Answer(200, None, package.content_type, content, headers=headers))
    return True
