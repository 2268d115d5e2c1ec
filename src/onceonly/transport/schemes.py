"""Chooses the transport of an outgoing package by the scheme of its endpoint.

Knows URI schemes and nothing else. A resend may have another endpoint than the first
transmission, and so another transport (seed 001 §1.3.3.3, S1-46); the caller does not notice.
"""

from collections.abc import Coroutine, Sequence
from typing import Any

from onceonly.transport.transport import Outcome, Outgoing, Transmission, Transport


class SchemeTransport:
    """`Transport` for every scheme that one of `transports` has; no two may have the same."""

    def __init__(self, transports: Sequence[Transport]) -> None:
        self._transports = tuple(transports)
        self._by_scheme = {
            scheme: transport for transport in transports for scheme in transport.schemes
        }
        self.schemes = frozenset(self._by_scheme)
        count = sum(len(transport.schemes) for transport in transports)
        assert count == len(self.schemes), "two transports of one scheme"

    def check(self, outgoing: Outgoing) -> None:
        """See `Transport.check`; an unknown scheme is refused only by `send`."""
        transport = self._by_scheme.get(outgoing.endpoint.partition(":")[0].lower())
        if transport is not None:
            transport.check(outgoing)

    def send(self, outgoing: Outgoing) -> Coroutine[Any, Any, Transmission]:
        """Transmit once, see `Transport.send`; an unknown scheme is refused, nothing left."""
        scheme = outgoing.endpoint.partition(":")[0].lower()
        transport = self._by_scheme.get(scheme)
        return _refuse(scheme) if transport is None else transport.send(outgoing)

    async def close(self) -> None:
        """Close every transport."""
        for transport in self._transports:
            await transport.close()


async def _refuse(scheme: str) -> Transmission:
    detail = f"UnknownScheme: nothing here sends to {scheme!r}"
    return Transmission(Outcome.REFUSED, bytes_left=False, detail=detail)
