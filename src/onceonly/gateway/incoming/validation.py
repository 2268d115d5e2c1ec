"""Asks the application whether the content of a message is valid (seed 004 level 0 b).

Each payload is posted to the application's validator with its own Content-Type. An answer 2xx means
valid and 4xx invalid. Any other answer, or none in time, says nothing about the content; then the
acknowledgement only says that the structure was checked.
"""

import asyncio
from collections.abc import Sequence

from onceonly.gateway.desk import Desk
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.package import Package
from onceonly.message.signals import Assurance
from onceonly.store.contract.entries import StoredPayload
from onceonly.transport.transport import Outcome, Transmission

WAIT_S_MAX = 10.0
"""Longest wait for all payloads of one message: the partner waits during this time for the end of
its exchange, most clients no longer than 20 s."""


class Validation:
    """Asks validators."""

    def __init__(self, desk: Desk, *, wait_s_max: float = WAIT_S_MAX) -> None:
        self._desk = desk
        self._wait_s_max = wait_s_max

    async def assure(self, validator: str, payloads: Sequence[StoredPayload]) -> Assurance:
        """What was checked: always the structure, and the content if the validator answered.

        Raises `RemoteError` (ValueNotRecognized) for content that the application calls invalid.
        """
        try:
            async with asyncio.timeout(self._wait_s_max):
                for number, stored in enumerate(payloads, 1):
                    if not await self._is_valid(validator, number, stored):
                        return Assurance.STRUCTURE
        except TimeoutError:
            return Assurance.STRUCTURE
        return Assurance.CONTENT

    async def _is_valid(self, validator: str, number: int, stored: StoredPayload) -> bool:
        bare = Package(stored.payload.content_type, (b"", b""))
        said = await self._desk.forward(validator, bare, (stored,))
        if _is_invalid(said):
            reason = f": {said.detail}" if said.detail else ""
            raise RemoteError(
                ErrorCode.VALUE_NOT_RECOGNIZED,
                f"the application finds payload {number} invalid{reason}",
            )
        return said.outcome is Outcome.ACCEPTED


def _is_invalid(said: Transmission) -> bool:
    return said.status_code is not None and 400 <= said.status_code < 500
