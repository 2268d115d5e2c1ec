"""One gateway process from start to end: listen, sweep, publish, drain, or fail-stop.

A SIGTERM or SIGINT drains: no new transmission or package begins, what is under way ends, the
journal is published and the store closed, all within five seconds. A SIGHUP reads the configuration
file again and takes it over, or changes nothing where the file is wrong; a SIGUSR1 opens the log
file again. The first I/O error of the store or its spool stops the process at once with a non-zero
exit code: an fsync is never tried again (R-22). A log that cannot be written never delays the end
(R-47).
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
from typing import Any, TextIO, cast
from urllib.parse import urlsplit

import structlog
from msgspec.structs import asdict

from onceonly.console.application import Console, beside
from onceonly.gateway.alerts.alerts import WATCHING
from onceonly.gateway.api.endpoint import ApiServer, served
from onceonly.gateway.bugs import Bugs
from onceonly.gateway.certificates import api_tls
from onceonly.gateway.config import Configuration
from onceonly.gateway.counting import COUNTING
from onceonly.gateway.descriptors import shares
from onceonly.gateway.interpreter import serve_only
from onceonly.gateway.life import Life
from onceonly.gateway.log_stream import LogFile, LogStream
from onceonly.gateway.open_files import find_open
from onceonly.gateway.reload import reload_on_signal
from onceonly.gateway.transports import Listeners
from onceonly.gateway.visible import show_others, visible
from onceonly.gateway.wiring import Gateway, clock_of, join, open_store
from onceonly.message.instant import to_datetime
from onceonly.store.contract.conditions import StoreFailed

API_DRAIN_S = 1
MSH_DRAIN_S = 1.0
TASKS_DRAIN_S = 1.0
"""How long calls, then packages, then transmissions may take to end. What is cut is sent again
after the restart; with publishing and closing the stop takes less than five seconds."""

LAST_WORDS_S = 0.5
"""Longest wait for the log at the end of the process; if somebody reads it, it takes no time."""

STANDARD_DESCRIPTORS = (0, 1, 2)

log: Any = structlog.get_logger("onceonly")


def serve(configuration: Configuration) -> int:
    """Run the gateway until it is told to stop; returns the exit code.

    Raises `StoreRefused` or `OSError` when it cannot start.
    """
    _occupy_standard_descriptors()
    # From the start: a terminal that is closed would end the process before its loop exists.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    log_file = None if configuration.log_file is None else LogFile(configuration.log_file)
    stream = LogStream(_stderr() if log_file is None else log_file.descriptor)
    with contextlib.redirect_stderr(stream):
        configure_log(cast("TextIO", stream))
        try:
            return _serve_over_store(configuration, stream, log_file)
        finally:
            stream.settle(LAST_WORDS_S)


def _stderr() -> int:
    return sys.stderr.fileno() if sys.stderr is not None else STANDARD_DESCRIPTORS[-1]


def _serve_over_store(
    configuration: Configuration, stream: LogStream, log_file: LogFile | None
) -> int:
    _allow_many_files()
    store = open_store(configuration, clock_of(configuration))
    for one in find_open(configuration):
        log.warning("open to other users", **asdict(one))
    if configuration.api_token is not None:
        log.warning("api_token is a key with every right, for everybody; see `onceonly key create`")
    supervisor = _Supervisor(configuration, store, stream, log_file)
    try:
        return asyncio.Runner(loop_factory=_new_loop).run(supervisor.run())
    finally:
        store.close()


def _occupy_standard_descriptors() -> None:
    """Open the missing ones of 0, 1 and 2: otherwise one of our files would get such a number.

    Then other code would write its messages into that file.
    """
    for descriptor in STANDARD_DESCRIPTORS:
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # The lowest number that is free, so this one.


def _allow_many_files() -> None:
    """Allow as many open files as the system permits, so that only our own limits count."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _new_loop() -> asyncio.AbstractEventLoop:
    import uvloop  # noqa: PLC0415 - because only a serving process needs it

    return uvloop.new_event_loop()


def configure_log(stream: TextIO) -> None:
    """One JSON line per event; coloured text if the stream is a terminal."""
    renderers: list[Any] = (
        [visible, structlog.dev.ConsoleRenderer()]
        if stream.isatty()
        else [structlog.processors.JSONRenderer()]
    )
    show_others()
    # aiosmtpd tells the standard library's log about every peer; journal and answers have that.
    logging.getLogger("mail.log").setLevel(logging.CRITICAL)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            *renderers,
        ],
        logger_factory=structlog.PrintLoggerFactory(stream),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )


class _Supervisor:
    def __init__(
        self, configuration: Configuration, store: Any, stream: LogStream, log_file: LogFile | None
    ) -> None:
        self._configuration = configuration
        self._store = store
        self._stream = stream
        self._log_file = log_file
        self._stop = asyncio.Event()
        self._bugs: Bugs | None = None
        self._gateway: Gateway | None = None

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._note_hangup)
        loop.add_signal_handler(signal.SIGUSR1, self._reopen_log)
        loop.set_exception_handler(self._note_bug)
        gateway = join(self._configuration, self._store, self._fail)
        self._bugs = gateway.bugs
        life = Life(gateway)
        listeners = Listeners()
        gateway.reload.attach(listeners)
        try:
            async with contextlib.AsyncExitStack() as api:

                async def listen() -> None:
                    await listeners.open(
                        self._configuration,
                        gateway.receiver.receive,
                        gateway.automatic_mail.drop,
                        gateway.refusals.note,
                        gateway.seen_certificates.note,
                    )
                    await api.enter_async_context(self._api(gateway))

                await life.start(listen)
                self._gateway = gateway
                serve_only()
                log.info("ready", listen=self._configuration.listen, api=self._configuration.api)
                gateway.tasks.start(gateway.counting.live(self._stop), place=COUNTING)
                gateway.tasks.start(gateway.alerts.live(self._stop), place=WATCHING)
                await life.live(self._stop)
                log.info("draining")
            # The API is closed by now: nothing is accepted after the last row.
            await listeners.close(MSH_DRAIN_S)
            await gateway.tasks.end(TASKS_DRAIN_S)
            await life.end()
            log.info("stopped")
        finally:
            await listeners.close(0)
        return 0

    def _fail(self, error: BaseException) -> None:
        """Fail-stop: what is not committed now must not be acknowledged any more.

        Nothing delays the end: the last log lines have a limited time, and may be lost (R-47).
        """
        try:
            log.critical("stopping", error=f"{type(error).__name__}: {error}", exc_info=error)
            self._stream.settle(LAST_WORDS_S)
        finally:
            os._exit(1)

    def _note_hangup(self) -> None:
        gateway = self._gateway
        if gateway is None or self._stop.is_set():
            log.info("SIGHUP changes nothing while the gateway starts or stops")
            return
        gateway.tasks.start(reload_on_signal(gateway.reload), place="reloading")

    def _reopen_log(self) -> None:
        """Apart from SIGHUP: a log is rotated every night, whatever the configuration says."""
        if self._log_file is None:
            return
        try:
            self._log_file.reopen()
        except OSError as error:
            log.warning("log file not opened again", error=str(error))
        else:
            log.info("log file opened again")

    def _note_bug(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Note a bug in a transport: its caller got no answer or a 500, all others go on (R-43).

        A broken disk is no bug: a failed read or write stops the process (R-22).
        """
        del loop
        error = context.get("exception")
        if isinstance(error, StoreFailed):
            self._fail(error)
        if error is None or self._bugs is None:
            log.error("bug", text=context.get("message"), exc_info=error)
        elif isinstance(error, OSError):
            # An error of the network or the system for one connection, such as no descriptor.
            log.warning("connection trouble", text=context.get("message"), error=str(error))
        else:
            self._bugs.note("serving a connection", error)

    @contextlib.asynccontextmanager
    async def _api(self, gateway: Gateway) -> AsyncIterator[None]:
        host, port = api_address(self._configuration.api)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Bound here, because uvicorn would end the process if the address is taken.
        listener = socket.create_server((host, port), family=family)
        config = served(
            api_and_console(gateway),
            drain_s=API_DRAIN_S,
            calls_max=shares().api,
            tls=api_tls(self._configuration.api_tls),
        )
        server = ApiServer(config)
        running = asyncio.create_task(server.serve([listener]))
        while not server.started and not running.done():  # noqa: ASYNC110 - because uvicorn has no event for it
            await asyncio.sleep(0.01)
        if running.done():
            raise OSError(f"the API cannot listen on {self._configuration.api}")
        gateway.reload.attach_api(server)
        try:
            yield
        finally:
            server.should_exit = True
            await running


def api_and_console(gateway: Gateway) -> Any:
    """What answers at the API's address: the API, and the console, which is a client of it."""
    api = gateway.api.application(gateway.access)
    console = Console(
        api,
        now=lambda: to_datetime(gateway.clock.at()),
        on_bug=gateway.operations.note_bug,
    )
    return beside(api, console.application())


def api_address(uri: str) -> tuple[str, int]:
    """Host and port of the API's URI."""
    parts = urlsplit(uri)
    assert parts.hostname is not None, "configuration has checked the URI"
    assert parts.port is not None, "configuration has checked the URI"
    return parts.hostname, parts.port
