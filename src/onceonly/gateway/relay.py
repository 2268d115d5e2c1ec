"""Messages that pass through this gateway on their way between two other parties (R-13)."""

from collections.abc import Iterable, Sequence

from onceonly.gateway.config import Route
from onceonly.message.message import Message
from onceonly.message.signals import Acknowledgment, ErrorSignal
from onceonly.store.spool import Sink
from onceonly.transport.transport import Answer as TransportAnswer
from onceonly.wire.envelope import Envelope


class Relay:
    """Carries messages along the configured routes."""

    def __init__(self, *, routes: Iterable[Route]) -> None:
        self._routes = tuple(routes)

    async def start(self) -> None:
        """Take up what a stop or a crash left on its way."""

    def find_route(self, message: Message) -> Route | None:
        """The route that the message travels, None where it is not one that passes through us."""
        for route in self._routes:
            if set(message.from_ids) <= set(route.from_ids) and set(message.to_ids) <= set(
                route.to_ids
            ):
                return route
        return None

    async def take_message(
        self, route: Route, envelope: Envelope, sinks: Sequence[Sink]
    ) -> TransportAnswer:
        """Take a message that is for somebody else, and answer its transport.

        Raises `RemoteError` (nothing is stored then) and `StoreFull`.
        """
        raise NotImplementedError

    async def take_signal(self, signal: Acknowledgment | ErrorSignal) -> bool:
        """Take a signal about a message on its way through us; False if it fits none (R-20)."""
        del signal
        return False
