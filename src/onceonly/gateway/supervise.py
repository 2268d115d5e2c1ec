"""One gateway process from start to end: listen, sweep, publish, drain, or fail-stop.

A SIGTERM or SIGINT drains: no new transmission, no new package, what is under way ends, the
journal is published, the store closed, all within five seconds. The first I/O error of the store
or its spool stops the process at once with a non-zero exit: an fsync is never tried again (R-22).
"""

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import structlog
import uvicorn

from onceonly.gateway.collector import look_seldom
from onceonly.gateway.config import Configuration
from onceonly.gateway.transports import Listeners
from onceonly.gateway.wiring import Gateway, clock_of, join, open_store
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.store.store import StoreFailed, StoreFull

API_DRAIN_S = 1
MSH_DRAIN_S = 1.0
TASKS_DRAIN_S = 1.0
"""For calls, packages and transmissions under way to end, one after the other. What is cut is
sent again after the restart; with publishing and closing the stop stays under five seconds."""

SWEEP_S = 1.0
"""Between looks for messages whose time has passed."""

log: Any = structlog.get_logger("onceonly")


def serve(configuration: Configuration) -> int:
    """Run the gateway until it is told to stop; returns the exit code.

    Raises `StoreRefused` or `OSError` when it cannot start.
    """
    configure_log()
    _allow_many_files()
    clock = clock_of(configuration)
    store = open_store(configuration, clock)
    try:
        return asyncio.Runner(loop_factory=_new_loop).run(_Supervisor(configuration, store).run())
    finally:
        store.close()


def _allow_many_files() -> None:
    """As many open files as the system lets us: connections should end at our own limits."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _new_loop() -> asyncio.AbstractEventLoop:
    import uvloop  # noqa: PLC0415 - because only a serving process needs it

    return uvloop.new_event_loop()


def configure_log() -> None:
    """One JSON line per event on stderr; readable colours where stderr is a terminal."""
    renderer: Any = (
        structlog.dev.ConsoleRenderer()
        if sys.stderr.isatty()
        else structlog.processors.JSONRenderer()
    )
    # aiosmtpd tells the standard library's log about every peer; journal and answers have that.
    logging.getLogger("mail.log").setLevel(logging.CRITICAL)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )


class _ApiServer(uvicorn.Server):
    """uvicorn without its own idea of signals: the supervisor has them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


class _Supervisor:
    def __init__(self, configuration: Configuration, store: Any) -> None:
        self._configuration = configuration
        self._store = store
        self._stop = asyncio.Event()

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.set_exception_handler(self._note_bug)
        gateway = join(self._configuration, self._store, self._fail)
        await self._announce(gateway)
        # Before the first package arrives, so that what is owed keeps its place before it.
        await gateway.receiver.start()
        listeners = Listeners()
        try:
            await listeners.open(
                self._configuration, gateway.receiver.receive, gateway.automatic_mail.drop
            )
            async with self._api(gateway):
                await gateway.dispatch.start()
                await gateway.relay.start()
                look_seldom()
                gateway.operations.is_ready = True
                log.info("ready", listen=self._configuration.listen, api=self._configuration.api)
                await self._live(gateway)
                log.info("draining")
                gateway.operations.is_ready = False
                gateway.dispatch.drain()
            # The API is closed by now: nothing is accepted behind the last row.
            await self._drain(gateway, listeners)
        finally:
            await listeners.close(0)
        return 0

    def _fail(self, error: BaseException) -> None:
        """Fail-stop: whatever is not committed now must not be acknowledged by anybody."""
        log.critical("stopping", error=f"{type(error).__name__}: {error}", exc_info=error)
        sys.stderr.flush()
        os._exit(1)

    def _note_bug(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A package or call that met a bug of ours had a 500 and stored nothing; others go on.

        A broken disk is no bug: what could not be read or written then stops everything (R-22).
        """
        del loop
        error = context.get("exception")
        if isinstance(error, StoreFailed):
            self._fail(error)
        log.error("bug", text=context.get("message"), exc_info=error)

    async def _announce(self, gateway: Gateway) -> None:
        now = gateway.clock.now()
        rows = [gateway.rows.about_gateway(Event.STARTED, now)]
        drill = self._configuration.drill
        if drill is not None:
            text = f"clock_rate={drill.clock_rate} failpoints={drill.failpoints}"
            rows.append(gateway.rows.about_gateway(Event.DRILL, now, text))
            log.warning("THIS IS A DRILL: times and faults are not real", drill=text)
        await gateway.group.transact(lambda txn: txn.append(rows))

    @contextlib.asynccontextmanager
    async def _api(self, gateway: Gateway) -> AsyncIterator[None]:
        host, port = api_address(self._configuration.api)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Bound here, because uvicorn meets an address that is taken with an exit of its own.
        listener = socket.create_server((host, port), family=family)
        config = uvicorn.Config(
            gateway.application,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=API_DRAIN_S,
        )
        server = _ApiServer(config)
        running = asyncio.create_task(server.serve([listener]))
        while not server.started and not running.done():  # noqa: ASYNC110 - because uvicorn has no event for it
            await asyncio.sleep(0.01)
        if running.done():
            raise OSError(f"the API cannot listen on {self._configuration.api}")
        try:
            yield
        finally:
            server.should_exit = True
            await running

    async def _live(self, gateway: Gateway) -> None:
        loop = asyncio.get_running_loop()
        publish_at = loop.time() + self._configuration.publish_interval_s
        purge_at = loop.time() + self._configuration.purge_interval_s
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), SWEEP_S)
            try:
                await gateway.dispatch.sweep()
            except StoreFull as error:
                log.warning("store full", error=str(error))
            if loop.time() >= publish_at:
                publish_at = loop.time() + self._configuration.publish_interval_s
                gateway.tasks.start(_publish(gateway))
            if loop.time() >= purge_at:
                purge_at = loop.time() + self._configuration.purge_interval_s
                gateway.tasks.start(_purge(gateway))

    async def _drain(self, gateway: Gateway, listeners: Listeners) -> None:
        await listeners.close(MSH_DRAIN_S)
        await gateway.tasks.drain(TASKS_DRAIN_S)
        now = gateway.clock.now()
        stopped = gateway.rows.about_gateway(Event.STOPPED, now)
        with contextlib.suppress(StoreFull):
            await gateway.group.transact(lambda txn: txn.append((stopped,)))
        await _publish(gateway)
        await gateway.transport.close()
        await gateway.group.drain()
        log.info("stopped")


async def _publish(gateway: Gateway) -> None:
    try:
        count = await gateway.operations.publish()
    except LocalError as error:
        log.warning("publish failed; the journal keeps the rows", error=str(error))
        return
    if count:
        log.info("published", rows=count)


async def _purge(gateway: Gateway) -> None:
    try:
        forgotten = await gateway.purge.sweep()
    except StoreFull as error:
        log.warning("store full; the purge goes on later", error=str(error))
        return
    if any(forgotten):
        log.info("purged", **forgotten._asdict())


def api_address(uri: str) -> tuple[str, int]:
    """Host and port of the API's URI."""
    parts = urlsplit(uri)
    assert parts.hostname is not None, "configuration has checked the URI"
    assert parts.port is not None, "configuration has checked the URI"
    return parts.hostname, parts.port
