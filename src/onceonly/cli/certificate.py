"""`onceonly certificate …`: every certificate that a gateway uses or expects, and when it ends."""

import sys
import time
from collections.abc import Sequence

import click

from onceonly.api.certificates import UsedCertificate
from onceonly.api.looks import Level, Thresholds, certificate_level
from onceonly.cli.exits import Exit
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import members, print_rows, rows_option
from onceonly.client import Client

COLUMNS = (
    *("days_left", "kind", "subject", "valid_until", "used_for", "seen_at", "file"),
    "fingerprint",
)


@click.group()
def certificate() -> None:
    """Certificates: list, check."""


@certificate.command("list")
@rows_option
@gateway_command
def list_certificates(client: Client, output: str) -> None:
    """List every certificate that is used or expected, the next one to end first.

    Of a partner's, the configuration has the fingerprint alone: what else it says is known once the
    partner has shown it since the start of the gateway.

    \b
    onceonly certificate list -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    _print(client.certificates(), output)


@certificate.command()
@click.option(
    "--days",
    default=30,
    show_default=True,
    type=click.IntRange(min=0),
    help="What ends in fewer days is a finding.",
)
@rows_option
@gateway_command
def check(client: Client, days: int, output: str) -> None:
    """List what ends in the next --days, is not valid yet, or cannot be read; then exit with 1.

    A partner's certificate that was never seen is no finding: nobody here knows when it ends.

    \b
    onceonly certificate check -c gateway.toml --days 30
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    limits = Thresholds(certificate_warning_days=days, certificate_critical_days=0)
    found = [one for one in client.certificates() if _is_bad(one, limits)]
    _print(found, output)
    sys.exit(Exit.UNEXPECTED if found else Exit.OK)


def _is_bad(one: UsedCertificate, limits: Thresholds) -> bool:
    if one.valid_until is None:
        return one.fingerprint is None
    return certificate_level(one.valid_from, one.valid_until, time.time(), limits) is not Level.OK


def _print(found: Sequence[UsedCertificate], output: str) -> None:
    rows = [{**members(one), "used_for": "; ".join(_uses(one))} for one in found]
    print_rows(rows if output == "table" else found, COLUMNS, output)


def _uses(one: UsedCertificate) -> list[str]:
    return [
        use.what
        if use.agreement is None
        else f"{use.partner_name or use.partner} ({use.agreement})"
        for use in one.uses
    ]
