"""`onceonly probe`: whether a gateway is well, for people and for programs that watch it."""

import sys
import time
from collections.abc import Sequence
from typing import Final

import click

from onceonly.api.looks import LOOKS, Finding, Level, Seen, Thresholds
from onceonly.cli.exits import Exit
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import print_json, put
from onceonly.client import Client, GatewayUnreachable
from onceonly.message.errors import LocalError

_EXITS: Final = {
    "pairs": Exit.SUSPENDED,
    "doubts": Exit.IN_DOUBT,
    "backlog": Exit.STILL_TRYING,
    "silence": Exit.STILL_TRYING,
}
"""Our exit code of a finding that is not OK; of every other look it is UNEXPECTED."""

_LIMITS: Final = Thresholds()


def _limit(option: str, words: str) -> click.Option:
    name = option.removeprefix("--").replace("-", "_")
    return click.Option(
        [option, name], default=getattr(_LIMITS, name), show_default=True, help=words
    )


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(tuple(LOOKS)), metavar="[NAME]...")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "nagios", "prometheus")),
    default="text",
    show_default=True,
    help="How to print the findings; nagios has its own exit codes.",
)
@gateway_command
def probe(client: Client, names: tuple[str, ...], form: str, **limits: float) -> None:
    """Say whether a gateway is well; NAMEs are the looks to take, or all of them.

    ready, store, disk, pairs, doubts, backlog, silence, certificates, clock, publication. Each line
    says what was seen, what was expected and whose move it is. The exit code is 0 if all is well,
    otherwise that of the worst finding: 10 for a pair that is not open, 7 for doubts, 9 for a
    backlog or a silent partner, 1 for everything else. With --format nagios it is 0 (OK), 1
    (WARNING), 2 (CRITICAL) or 3 (UNKNOWN).

    \b
    onceonly probe -c gateway.toml
    onceonly probe pairs doubts -c gateway.toml --format nagios
    onceonly probe disk -c gateway.toml --disk-warning-percent 25
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    thresholds = Thresholds(**limits)  # type: ignore[arg-type]  # because click has typed each by its default
    try:
        seen = _look(client)
    except (GatewayUnreachable, LocalError) as error:
        if form != "nagios":
            raise
        level = Level.CRITICAL if isinstance(error, GatewayUnreachable) else Level.UNKNOWN
        put(f"ONCEONLY {level.name} - {error}")
        sys.exit(level)
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
