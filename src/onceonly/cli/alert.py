"""`onceonly alert …`: what is wrong, who is told, and what nobody wants to be told for a while."""

import re
import sys
from typing import Any, Final

import click

from onceonly.api.alerts import MUTE_S_MAX
from onceonly.api.looks import RULES
from onceonly.cli.exits import Exit
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import print_rows, rows_option
from onceonly.client import Client

COLUMNS: Final = ("rule", "subject", "level", "since", "muted_until", "seen", "move")
WAY_COLUMNS: Final = ("id", "kind", "severity", "attempts", "told_at", "trouble")
MUTE_COLUMNS: Final = ("rule", "until", "by", "reason")
HISTORY_COLUMNS: Final = ("number", "at", "rule", "subject", "level", "seen")

_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_SPAN: Final = re.compile(r"([0-9]{1,8})([smhd])")


class MuteTime(click.ParamType[int]):
    """A time such as `2h`, as seconds."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Fails where it is none, or longer than a mute may be."""
        found = _SPAN.fullmatch(str(value))
        seconds = 0 if found is None else int(found[1]) * _UNITS[found[2]]
        if not 0 < seconds <= MUTE_S_MAX:
            self.fail(f"{value!r} is not a time up to 366d, such as 30m, 2h or 7d", param, ctx)
        return seconds


_RULE: Final = click.argument("rule", type=click.Choice(tuple(RULES)), metavar="RULE")


@click.group()
def alert() -> None:
    """Alerts: list, ways, mutes, history, mute, unmute, test."""


@alert.command("list")
@rows_option
@gateway_command
def list_alerts(client: Client, output: str) -> None:
    """What is wrong now.

    \b
    onceonly alert list -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_rows(client.alerts().alerts, COLUMNS, output)


@alert.command("ways")
@rows_option
@gateway_command
def ways(client: Client, output: str) -> None:
    """Who is told, and why a way fails at the moment.

    \b
    onceonly alert ways -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_rows(client.alerts().ways, WAY_COLUMNS, output)


@alert.command("mutes")
@rows_option
@gateway_command
def mutes(client: Client, output: str) -> None:
    """Which rules are muted, until when, by whom and why.

    \b
    onceonly alert mutes -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_rows(client.alerts().mutes, MUTE_COLUMNS, output)


@alert.command("history")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@rows_option
@gateway_command
def history(client: Client, limit: int, output: str) -> None:
    """What began and what ended (without a level), the latest first.

    \b
    onceonly alert history -c gateway.toml --limit 20
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_rows(client.alert_history(limit=limit).changes, HISTORY_COLUMNS, output)


@alert.command("mute")
@_RULE
@click.option("--for", "for_s", type=MuteTime(), required=True, help="For how long: 30m, 2h, 7d.")
@click.option("--reason", required=True, help="Why; the journal and the list have it.")
@rows_option
@gateway_command
def mute(client: Client, rule: str, for_s: int, reason: str, output: str) -> None:
    """Tell nobody of RULE for some time; it is still looked at and listed.

    \b
    onceonly alert mute silence --for 2h --reason "they move house" -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_rows(client.mute_rule(rule, for_s=for_s, reason=reason).mutes, MUTE_COLUMNS, output)


@alert.command("unmute")
@_RULE
@rows_option
@gateway_command
def unmute(client: Client, rule: str, output: str) -> None:
    """Tell RULE again; prints the mutes that are left.

    \b
    onceonly alert unmute silence -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_rows(client.unmute_rule(rule).mutes, MUTE_COLUMNS, output)


@alert.command("test")
@click.argument("way")
@rows_option
@gateway_command
def test(client: Client, way: str, output: str) -> None:
    """Tell WAY a test now; the exit code is 1 if that failed.

    \b
    onceonly alert test ops -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = client.test_alert_way(way)
    print_rows([found], WAY_COLUMNS, output)
    if found.trouble is not None:
        sys.exit(Exit.UNEXPECTED)
