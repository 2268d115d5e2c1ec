"""What came back in the answer of a transport: a package, a SOAP Fault, or anything else."""

from collections.abc import AsyncIterator

from onceonly.message.signals import SoapFault
from onceonly.transport.transport import Request
from onceonly.wire.envelope import find_fault


class Heard:
    """The answer to one transmission; it takes at most one body."""

    def __init__(self) -> None:
        self.content_type: str | None = None
        self.status_code = 0
        self.body = b""

    def take(self, status_code: int, content_type: str, body: bytes) -> None:
        """See `TakeReply`."""
        self.status_code, self.content_type, self.body = status_code, content_type, body

    def find_fault(self) -> SoapFault | None:
        """The fault that it is."""
        return None if self.content_type is None else find_fault(self.content_type, self.body)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body in one piece."""
        yield self.body

    def request(self, endpoint: str) -> Request | None:
        """The body as a request that a partner might have made; None where there is none."""
        if self.content_type is None:
            return None
        scheme = endpoint.partition(":")[0]
        return Request(self.content_type, len(self.body), endpoint, scheme)
