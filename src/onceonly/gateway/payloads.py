"""Payloads on their way into the store: made safe from a crash before a row names them.

Small payloads become rows in the step that stores their message. Large ones are synced files of the
spool before that step, so that no committed row can point to bytes that are not there.
"""

import asyncio
from collections.abc import Sequence

from onceonly.message.message import Payload
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.spool import Sink


async def keep(payloads: Sequence[Payload], sinks: Sequence[Sink]) -> list[StoredPayload]:
    """The payloads with their bytes, or without if the spool has them.

    `sinks` are parallel to `payloads` and closed. Raises `StoreFull` or `StoreFailed`.
    """
    bodies = [sink.body() for sink in sinks]
    if None in bodies:
        await asyncio.to_thread(_keep_all, sinks)
    return [StoredPayload(*both) for both in zip(payloads, bodies, strict=True)]


def _keep_all(sinks: Sequence[Sink]) -> None:
    for sink in sinks:
        sink.keep()
