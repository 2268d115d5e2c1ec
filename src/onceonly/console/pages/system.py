"""The gateway itself: health, readiness, backups, publishing, its metrics."""

import asyncio

from onceonly.api import operations
from onceonly.api.backups import Backup
from onceonly.console import deeds
from onceonly.console.calls import NOTHING, ApiRefused, twin_of
from onceonly.console.page import Shown, Visit


async def system(visit: Visit) -> Shown:
    """Version, readiness, backups, and what can be done."""
    ask = visit.calls.ask
    health, readiness, backups, metrics = await asyncio.gather(
        ask(operations.GET_HEALTH, NOTHING, NOTHING),
        ask(operations.GET_READINESS, NOTHING, NOTHING),
        _backups(visit),
        ask(operations.GET_METRICS, NOTHING, NOTHING),
    )
    return Shown(
        template="system.html",
        title="System",
        values={
            "health": health,
            "is_ready": readiness.ready,
            "backups": backups,
            "metrics": _samples(metrics),
            "deeds": (
                deeds.BACK_UP,
                deeds.PUBLISH,
                deeds.UNDRAIN if health.draining else deeds.DRAIN,
            ),
        },
        twin=twin_of(operations.GET_HEALTH, NOTHING, NOTHING),
        is_live=True,
    )


async def _backups(visit: Visit) -> tuple[Backup, ...] | None:
    """None where the key does not allow it."""
    try:
        found = await visit.calls.ask(operations.LIST_BACKUPS, NOTHING, NOTHING)
    except ApiRefused as refused:
        if refused.refusal.name != "Forbidden":
            raise
        return None
    return found.backups


def _samples(metrics: str) -> tuple[tuple[str, str], ...]:
    lines = (line for line in metrics.splitlines() if line and not line.startswith("#"))
    found = (line.rpartition(" ") for line in lines)
    return tuple((name, value.removesuffix(".0")) for name, _, value in found)
