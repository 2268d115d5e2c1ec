"""Steps that must happen although the disk is full: they wait for space (ruling R-28)."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.store import Transaction
from onceonly.store.group import GroupCommit

T = TypeVar("T")

FULL_STORE_PAUSE_S = 1.0
"""Between attempts to write what happened while the disk is full."""

PATIENCE_S = 0.002
"""How long a step that nobody waits for looks out for company: about one fsync."""


async def persist(group: GroupCommit, step: Callable[[Transaction], T]) -> T:
    """Run the step with patience, again and again while the store is full."""
    while True:
        try:
            return await group.transact(step, patience_s=PATIENCE_S)
        except StoreFull:
            await asyncio.sleep(FULL_STORE_PAUSE_S)
