"""`onceonly probe`: whether a gateway is well, for people and for programs that watch it."""

import socket
import ssl
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import pairwise
from typing import Any, Final, NoReturn

import click

from onceonly.api.looks import LOOKS, Finding, Level, Seen, Thresholds
from onceonly.cli.exits import Exit
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.number import FiniteNumber
from onceonly.cli.output import print_json, put
from onceonly.client import Client, GatewayUnreachable

_EXITS: Final = {
    "pairs": Exit.SUSPENDED,
    "doubts": Exit.IN_DOUBT,
    "backlog": Exit.STILL_TRYING,
    "silence": Exit.STILL_TRYING,
}
"""Our exit code of a finding that is not OK; of every other look it is UNEXPECTED."""

_LIMITS: Final = Thresholds()

NAGIOS_TIMEOUT_S: Final = 8.0
"""Who starts a plugin ends it after 10 seconds, and then nobody reads what is wrong."""


def _limit(option: str, words: str) -> click.Option:
    name = option.removeprefix("--").replace("-", "_")
    default = getattr(_LIMITS, name)
    kind = FiniteNumber(min=0) if isinstance(default, float) else click.INT
    return click.Option([option, name], type=kind, default=default, show_default=True, help=words)


class _Probe(click.Command):
    """With `--format nagios` every end is in the plugin's form, whatever goes wrong.

    Who starts a plugin reads its first line on stdout and its exit code, and nothing else.
    """

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """Called by click with the words of the command line."""
        given = tuple(args)
        try:
            return super().make_context(info_name, args, *rest, **more)
        except click.ClickException as error:
            if not _is_for_nagios(given):
                raise
            _end_unknown(error.format_message())

    def invoke(self, ctx: click.Context) -> Any:
        """Called by click with the options read."""
        if ctx.params["form"] != "nagios":
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            _end_unknown(error.format_message())
        except (click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:  # noqa: BLE001 - because a bug is UNKNOWN too, in one line
            _end_unknown(f"a bug of onceonly: {type(error).__name__}: {error}")


def _is_for_nagios(given: Sequence[str]) -> bool:
    return "--format=nagios" in given or ("--format", "nagios") in pairwise(given)


def _end_unknown(text: str) -> NoReturn:
    _end_at_once(Level.UNKNOWN, text)


def _end_at_once(level: Level, text: str) -> NoReturn:
    """One line, without the bar that would begin the performance data."""
    put(f"ONCEONLY {level.name} - {' '.join(text.split()).replace('|', '/')}")
    sys.exit(level)


def _level_of(error: GatewayUnreachable) -> Level:
    """Critical where nobody answers; a name or a certificate that is wrong says nothing of it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (socket.gaierror, ssl.SSLError)):
            return Level.UNKNOWN
        cause = cause.__cause__ or cause.__context__
    return Level.CRITICAL


@click.command(cls=_Probe)
@click.argument("names", nargs=-1, type=click.Choice(tuple(LOOKS)), metavar="[NAME]...")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "nagios", "prometheus")),
    default="text",
    show_default=True,
    help="How to print the findings; nagios has its own exit codes.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=FiniteNumber(min=0, min_open=True),
    help="Seconds in which the gateway must have answered every call.  [default: 8 with nagios]",
)
@gateway_command
def probe(
    client: Client,
    names: tuple[str, ...],
    form: str,
    timeout_s: float | None,
    **limits: float,
) -> None:
    """Say whether a gateway is well; NAMEs are the looks to take, or all of them.

    ready, store, disk, pairs, doubts, backlog, silence, certificates, clock, publication. Each line
    says what was seen, what was expected and whose move it is. The exit code is 0 if all is well,
    otherwise that of the worst finding: 10 for a pair that is not open, 7 for doubts, 9 for a
    backlog or a silent partner, 1 for everything else. With --format nagios it is 0 (OK), 1
    (WARNING), 2 (CRITICAL, also where nobody answers in time) or 3 (UNKNOWN, also for a wrong
    option, key or file), always with one line that begins with ONCEONLY.

    \b
    onceonly probe -c gateway.toml
    onceonly probe pairs doubts -c gateway.toml --format nagios
    onceonly probe -c gateway.toml --format nagios --timeout 20
    onceonly probe disk -c gateway.toml --disk-warning-percent 25
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    thresholds = Thresholds(**limits)  # type: ignore[arg-type]  # because click has typed each by its default
    if timeout_s is None and form == "nagios":
        timeout_s = NAGIOS_TIMEOUT_S
    try:
        seen = _look_within(timeout_s, client)
    except GatewayUnreachable as error:
        if form != "nagios":
            raise
        _end_at_once(_level_of(error), f"the gateway cannot be reached: {error}")
    findings = [
        look(seen, thresholds) for name, look in LOOKS.items() if name in names or not names
    ]
    _PRINTED[form](findings)
    worst = max(findings, key=lambda one: one.level)
    if form == "nagios":
        sys.exit(worst.level)
    sys.exit(Exit.OK if worst.level is Level.OK else _EXITS.get(worst.name, Exit.UNEXPECTED))


probe.params += [
    _limit("--disk-warning-percent", "Free space below which the disk is a warning."),
    _limit("--disk-critical-percent", "Free space below which it is critical."),
    _limit("--doubts", "Most messages in doubt."),
    _limit("--backlog-s", "Longest time that a message may wait for its end."),
    _limit("--silence-s", "Longest silence of a partner from whom something is awaited."),
    _limit("--certificate-warning-days", "Days before the end of a certificate."),
    _limit("--certificate-critical-days", "Days before the end from which it is critical."),
    _limit("--clock-s", "How far the clock may be from that of this machine."),
]


def _look_within(timeout_s: float | None, client: Client) -> Seen:
    """What the gateway says. Raises `GatewayUnreachable` after so many seconds, at whatever call.

    In a thread, since an answer may come byte by byte and a name may not be found for minutes; the
    process ends without it.
    """
    if timeout_s is None:
        return _look(client)
    answer: Future[Seen] = Future()

    def ask() -> None:
        try:
            answer.set_result(_look(client))
        except BaseException as error:  # noqa: BLE001 - because whoever waits for it gets it
            answer.set_exception(error)

    threading.Thread(target=ask, name="probe", daemon=True).start()
    try:
        return answer.result(timeout_s)
    except TimeoutError as error:
        if answer.done():
            raise
        words = f"it has not answered every call within {timeout_s:g} s"
        raise GatewayUnreachable(words) from error


def _look(client: Client) -> Seen:
    condition = client.condition()
    rows = client.journal(after=condition.published_seq or 0, limit=1)
    return Seen(
        now_s=time.time(),
        condition=condition,
        health=client.health(),
        partners=client.partners(),
        unpublished=rows[0] if rows else None,
    )


def _print_text(findings: Sequence[Finding]) -> None:
    for one in findings:
        move = "" if one.level is Level.OK else f"; the move is {one.move}"
        put(f"{one.level.name:9} {one.name:13} {one.seen}; expected: {one.expected}{move}")


def _print_nagios(findings: Sequence[Finding]) -> None:
    worst = max(findings, key=lambda one: one.level)
    bad = [f"{one.name}: {one.seen}" for one in findings if one.level is not Level.OK]
    words = "; ".join(bad) or f"{len(findings)} looks, and all is well"
    # A bar would begin the performance data.
    numbers = " ".join(f"{one.name}={one.level.value}" for one in findings)
    put(f"ONCEONLY {worst.level.name} - {words.replace('|', '/')} | {numbers}")
    for one in findings:
        put(f"{one.level.name} {one.name}: {one.seen}; expected: {one.expected}".replace("|", "/"))


def _print_prometheus(findings: Sequence[Finding]) -> None:
    put("# HELP onceonly_probe_level 0 is OK, 1 a warning, 2 critical, 3 unknown")
    put("# TYPE onceonly_probe_level gauge")
    for one in findings:
        put(f'onceonly_probe_level{{look="{one.name}"}} {one.level.value}')


def _print_json(findings: Sequence[Finding]) -> None:
    print_json(
        [
            {
                "name": one.name,
                "level": one.level.name.lower(),
                "seen": one.seen,
                "expected": one.expected,
                "move": one.move,
            }
            for one in findings
        ]
    )


_PRINTED: Final = {
    "text": _print_text,
    "json": _print_json,
    "nagios": _print_nagios,
    "prometheus": _print_prometheus,
}
