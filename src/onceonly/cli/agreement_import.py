"""`onceonly agreement import`: a CPA 2.0 as tables of a configuration."""

import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from onceonly.cli.configuration_option import load_configuration
from onceonly.cli.exits import Exit, Failure
from onceonly.cli.output import alarm, put, say

if TYPE_CHECKING:
    from onceonly.gateway.config.file import Table
    from onceonly.gateway.cpa import Imported
    from onceonly.gateway.cpa.weaker import Weaker

_ACCEPT: Final = "where it is meant, say --accept-weaker"


@click.command("import")
@click.argument("cpa", type=click.Path(dir_okay=False, exists=True, path_type=Path))
@click.option("--party", required=True, help="Our PartyId in the CPA, or type:PartyId.")
@click.option("--preset", help="Rules of a network, written as the key preset.")
@click.option(
    "--endpoint",
    "endpoints",
    multiple=True,
    metavar="OLD=NEW",
    help="An address to be taken instead of one of the CPA; may be repeated.",
)
@click.option(
    "--certificates",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the partner's certificates are written.  [default: beside the CPA]",
)
@click.option(
    "-c",
    "--config",
    "config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The configuration that the tables are for: its identities are looked for, and nothing "
    "may be weaker than its agreements.",
)
@click.option("--proposed", is_flag=True, help="Write the tables of a CPA that is only proposed.")
@click.option("--expired", is_flag=True, help="Take a CPA that is past its end.")
@click.option("--insecure", is_flag=True, help="Take http where a protected way is demanded.")
@click.option("--ignore-encryption", is_flag=True, help="Take it, though parts are encrypted.")
@click.option("--accept-weaker", is_flag=True, help="Take what protects less than before.")
def import_agreement(  # noqa: PLR0913 - because each is an option that click passes by name
    *,
    cpa: Path,
    party: str,
    preset: str | None,
    endpoints: tuple[str, ...],
    certificates: Path | None,
    config: Path | None,
    proposed: bool,
    expired: bool,
    insecure: bool,
    ignore_encryption: bool,
    accept_weaker: bool,
) -> None:
    """Write the agreements of a CPA 2.0 as tables of a configuration, to stdout.

    What the CPA says and no table can say is a line on stderr. The partner's certificates are
    written as PEM files, named for their fingerprints. No gateway is changed.

    \b
    onceonly agreement import cpa.xml --party urn:duns:111111111 > agreements.toml
    onceonly agreement import cpa.xml --party 111111111 -c gateway.toml > agreements.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    from onceonly.gateway.cpa import CpaError, Wishes, import_cpa  # noqa: PLC0415 - because --help must stay quick
    from onceonly.gateway.cpa.document import BYTES_MAX  # noqa: PLC0415 - because --help must stay quick
    from onceonly.gateway.cpa.identities import identities_in  # noqa: PLC0415 - because --help must stay quick
    from onceonly.gateway.cpa.terms import Allowed  # noqa: PLC0415 - because --help must stay quick

    _check_preset(preset)
    configuration = None if config is None else load_configuration(config)
    folder = cpa.parent if certificates is None else certificates
    try:
        with cpa.open("rb") as file:
            document = file.read(BYTES_MAX + 1)
        found = import_cpa(
            document,
            Wishes(
                party=party,
                preset=preset,
                instead=endpoints,
                allowed=Allowed(is_open=insecure, is_plain=ignore_encryption),
                takes_proposed=proposed,
                takes_expired=expired,
                certificates=_written_folder(folder, config),
                identities=None if configuration is None else identities_in(configuration.path),
            ),
            time.time_ns() // 1000,
        )
    except CpaError as error:
        raise Failure(Exit.USAGE, f"{cpa}: {error}") from error
    except OSError as error:
        raise Failure(Exit.USAGE, f"{cpa} cannot be read: {error.strerror}") from error
    if configuration is not None:
        weaker = _weaker_in(configuration.agreement_tables.values(), found)
        refuse_weaker(weaker, is_accepted=accept_weaker)
    _write_certificates(folder, found)
    for line in found.notes:
        say(line)
    for line in found.text.splitlines():
        put(line)


def _check_preset(preset: str | None) -> None:
    from onceonly.gateway.config.presets import BY_NAME, NOT_OFFERED  # noqa: PLC0415 - because --help must stay quick

    if preset in NOT_OFFERED:
        raise Failure(Exit.USAGE, f"--preset {preset} is not offered: {NOT_OFFERED[preset]}")
    if preset is not None and preset not in BY_NAME:
        raise click.BadParameter(f"{preset!r} is none of {', '.join(BY_NAME)}", param_hint="preset")


def _written_folder(folder: Path, config: Path | None) -> str:
    """The folder as the tables name it: from where the configuration is, or as it was typed."""
    where = str(folder) if config is None else os.path.relpath(folder, config.parent)
    return "" if where == "." else f"{where}/"


def _weaker_in(in_force: "Iterable[Table]", found: "Imported") -> "list[Weaker]":
    """What the tables would lower; they are read as the configuration's reader reads them."""
    from onceonly.gateway.config import ConfigurationError  # noqa: PLC0415 - because --help must stay quick
    from onceonly.gateway.cpa.weaker import read_tables, weaker_than  # noqa: PLC0415 - because --help must stay quick

    with tempfile.TemporaryDirectory(prefix="onceonly-cpa-") as name:
        path = Path(name) / "agreements.toml"
        path.write_text(found.tables_text, "utf-8")
        try:
            return list(weaker_than(in_force, read_tables(path)))
        except ConfigurationError as error:
            raise Failure(Exit.USAGE, f"what the CPA says is refused: {error.reason}") from error


def refuse_weaker(found: "Iterable[Weaker]", *, is_accepted: bool) -> None:
    """Show in red what protects less than before; ends the command unless it is accepted."""
    rows = list(found)
    for one in rows:
        alarm(f"weaker: {one.agreement}: {one.key} was {one.was}, and would be {one.now}")
    if rows and not is_accepted:
        raise Failure(
            Exit.DIFFERENCES,
            f"it would protect less than what is in force ({len(rows)}); {_ACCEPT}",
        )


def _write_certificates(folder: Path, found: "Imported") -> None:
    for name, text in found.certificates.items():
        path = folder / name
        try:
            path.write_text(text, "ascii")
        except OSError as error:
            raise Failure(Exit.USAGE, f"{path} cannot be written: {error.strerror}") from error
        say(f"note: {path} is a certificate with which the partner signs")
