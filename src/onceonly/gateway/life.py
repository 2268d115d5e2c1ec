"""What a gateway does from its start to its end, for a supervisor or a simulator.

Knows the order: first everything that is owed is taken up, then packages may come in, and then the
queues move. Must not know processes, sockets or signals.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from msgspec.structs import asdict

from onceonly.gateway.config import Configuration
from onceonly.gateway.wiring import Gateway
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.store.contract.conditions import StoreFull

SWEEP_S = 1.0
"""Seconds between two looks for messages whose time has passed."""

log: Any = structlog.get_logger("onceonly")


class Life:
    """The life of one joined gateway: `start`, `live`, `end`, each called once, in this order."""

    def __init__(
        self,
        gateway: Gateway,
        *,
        sweep_s: float = SWEEP_S,
        configuration: Callable[[], Configuration] | None = None,
    ) -> None:
        self._gateway = gateway
        self._sweep_s = sweep_s
        self._configuration = configuration or (lambda: gateway.reload.loaded.configuration)
        """What runs: a reload may change how often something is done."""

    async def start(self, listen: Callable[[], Awaitable[None]]) -> None:
        """Take up what a stop or a crash left, let packages in by `listen`, and report ready.

        What is owed to partners and the application comes before the first package, so that it
        keeps its place. The queues move when answers can come in. Raises what `listen` raises, and
        `StoreFull` if the disk is too full for what a start has to write.
        """
        gateway = self._gateway
        await self._announce()
        await gateway.receiver.start()
        left = gateway.desk.find_under_way()
        await listen()
        await gateway.desk.start(left)
        await gateway.relay.start()
        gateway.bulks.resume()
        await self._look_for_what_is_due()
        gateway.operations.is_ready = True
        gateway.outside.start()

    async def live(self, stop: asyncio.Event) -> None:
        """Look for what is due, publish and purge, until `stop` is set; then return."""
        gateway, loop = self._gateway, asyncio.get_running_loop()
        published_at = purged_at = loop.time()
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._sweep_s):
                    await stop.wait()
            await self._look_for_what_is_due()
            running = self._configuration()
            if loop.time() - published_at >= running.publish_interval_s:
                published_at = loop.time()
                gateway.tasks.start(self._publish(), place="publishing")
            if loop.time() - purged_at >= running.purge_interval_s:
                purged_at = loop.time()
                gateway.tasks.start(self._purge(), place="purging")
        gateway.operations.is_ready = False
        gateway.outside.stop()
        gateway.following.close()
        gateway.desk.drain()

    async def _look_for_what_is_due(self) -> None:
        try:
            await self._gateway.bugs.contain("looking for what is due", self._sweep(), _go_on)
        except StoreFull as error:
            log.warning("store full", error=str(error))

    async def _sweep(self) -> None:
        gateway = self._gateway
        await gateway.desk.sweep()
        gateway.jobs.sweep()
        gateway.bulks.sweep()
        await gateway.refusals.sweep()
        await gateway.denials.sweep()

    async def end(self) -> None:
        """Write the last row and publish the journal; called when nothing is under way any more."""
        gateway = self._gateway
        stopped = gateway.desk.about_gateway(Event.STOPPED)
        with contextlib.suppress(StoreFull):
            await gateway.desk.transact(lambda txn, _: txn.append((stopped,)))
        await self._publish()
        await gateway.desk.close()
        await gateway.group.drain()

    async def _announce(self) -> None:
        gateway, drill = self._gateway, self._configuration().drill
        rows = [gateway.desk.about_gateway(Event.STARTED)]
        if drill is not None:
            text = f"clock_rate={drill.clock_rate} failpoints={drill.failpoints}"
            rows.append(gateway.desk.about_gateway(Event.DRILL, text))
            log.warning("THIS IS A DRILL: times and faults are not real", drill=text)
        await gateway.desk.transact(lambda txn, ground: gateway.reload.note(txn, ground, rows))

    async def _publish(self) -> None:
        try:
            count = await self._gateway.operations.publish()
        except LocalError as error:
            log.warning("publish failed; the journal keeps the rows", error=str(error))
            return
        if count:
            log.info("published", rows=count)

    async def _purge(self) -> None:
        try:
            forgotten = await self._gateway.purge.sweep()
            await self._gateway.bulks.forget_over()
            await self._gateway.outside.webhooks.forget_over()
        except StoreFull as error:
            log.warning("store full; the purge goes on later", error=str(error))
            return
        counts = asdict(forgotten)
        if any(counts.values()):
            log.info("purged", **counts)


async def _go_on(bug: Exception) -> None:
    """The next look comes in a second."""
