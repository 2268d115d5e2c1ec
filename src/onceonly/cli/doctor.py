"""`onceonly doctor`: what a bug report needs, in one file, without a payload or a secret."""

import os
import platform
import resource
import shutil
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import click
import msgspec

from onceonly import __version__
from onceonly.api.fields import PAGE_MAX
from onceonly.cli.caller_option import CallsAs, caller_options
from onceonly.cli.configuration_option import configuration_option
from onceonly.cli.exits import Exit, Failure
from onceonly.cli.output import put, say
from onceonly.client import Client
from onceonly.message.errors import LocalError, OnceonlyError

ROWS_MAX = PAGE_MAX
"""Most journal rows that a report has, the latest ones: as many as one call gives."""

HIDDEN = "(hidden)"
_SECRET_WORDS = ("password", "token", "secret")


@click.command()
@configuration_option
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write.  [default: onceonly-doctor-TIME.zip, here]",
)
@click.option("--without-journal", is_flag=True, help="Leave the latest journal rows out.")
@caller_options
def doctor(
    config: Path | None, out: Path | None, calls_as: CallsAs, *, without_journal: bool
) -> None:
    """Collect what a bug report needs into one zip file; look at it before you send it.

    In it: versions, the machine, the configuration without its secrets, what `check` says, the
    sizes of the store's files, and, of a gateway that runs, its health, metrics, pairs, open
    incidents and latest journal rows. There is no payload in it and no password. Names of partners,
    addresses and MessageIds are in it.

    \b
    onceonly doctor -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if config is None:
        raise click.UsageError("say which gateway: -c FILE")
    out = out or Path(f"onceonly-doctor-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip")
    try:
        _write(out, _contents(config, calls_as, has_journal=not without_journal))
    except FileExistsError:
        raise Failure(Exit.USAGE, f"{out} exists; nothing is written over it") from None
    except OSError as error:
        raise Failure(Exit.UNEXPECTED, f"{out}: {error.strerror}") from error
    put(str(out))
    say("look at it before you send it: names of partners and MessageIds are in it")


def _write(out: Path, contents: Iterator[tuple[str, bytes]]) -> None:
    descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in contents:
            z.writestr(name, content)
            say(name)


def _contents(config: Path, calls_as: CallsAs, *, has_journal: bool) -> Iterator[tuple[str, bytes]]:
    """Each file of the report. A part that cannot be had says why, and the others are there."""
    yield _part("versions.json", _versions)
    yield _part("machine.json", _machine)
    yield _part("configuration.json", lambda: _shown(tomllib.loads(config.read_text("utf-8"))))
    yield _part("check.json", lambda: _check(config))
    yield _part("store.json", lambda: _store(config))
    try:
        client = _client(config, calls_as)
    except (OnceonlyError, OSError) as error:
        yield "gateway.json", _json({"error": str(error)})
        return
    with client:
        yield _part("health.json", client.health)
        yield _part("metrics.txt", client.metrics)
        yield _part("partners.json", client.partners)
        yield _part("incidents.json", client.incidents)
        if has_journal:
            yield _part("journal.json", lambda: _latest_rows(client))


def _part(name: str, ask: Callable[[], Any]) -> tuple[str, bytes]:
    try:
        found = ask()
    except (OnceonlyError, OSError, ValueError) as error:
        what = error.name if isinstance(error, LocalError) else type(error).__name__
        found = {"error": f"{what}: {error}"}
    return name, found.encode() if isinstance(found, str) else _json(found)


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def _client(config: Path, calls_as: CallsAs) -> Client:
    from onceonly.gateway.config import read_client_settings  # noqa: PLC0415 - because --help must stay quick

    return calls_as.open_of(read_client_settings(config))


def _versions() -> dict[str, str | None]:
    names = {_name_of(requirement) for requirement in requires("onceonly") or ()}
    found = {name: _version(name) for name in sorted(names)}
    return {"onceonly": __version__, "python": platform.python_version(), **found}


def _name_of(requirement: str) -> str:
    return requirement.partition(";")[0].strip().split(">")[0].split("=")[0].split("<")[0]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _machine() -> dict[str, Any]:
    import apsw  # noqa: PLC0415 - because --help must stay quick

    return {
        "system": platform.platform(),
        "libc": "-".join(platform.libc_ver()),
        "sqlite": apsw.sqlite_lib_version(),
        "processors": os.cpu_count(),
        "descriptors": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "at": datetime.now(UTC).isoformat(),
    }


def _shown(value: Any, name: str = "") -> Any:
    """The configuration as it stands in its file, without what nobody else may know."""
    match value:
        case dict():
            return {key: _shown(one, key) for key, one in value.items()}
        case list():
            return [_shown(one, name) for one in value]
        case str() if any(word in name.lower() for word in _SECRET_WORDS):
            return HIDDEN
        case str() if "://" in value or "@" in value:
            return _without_secrets(value)
        case int() | float() | str() | bool():
            return value
    return str(value)


def _without_secrets(text: str) -> str:
    """A URL whose user and query are hidden: both may have a password."""
    try:
        url = urlsplit(text)
    except ValueError:
        return HIDDEN
    at_host = url.netloc.rpartition("@")[2]
    netloc = f"{HIDDEN}@{at_host}" if "@" in url.netloc else url.netloc
    return urlunsplit(url._replace(netloc=netloc, query=HIDDEN if url.query else ""))


def _check(config: Path) -> dict[str, list[str]]:
    from onceonly.gateway.checkup import problems_of, warnings_of  # noqa: PLC0415 - because --help must stay quick
    from onceonly.gateway.config import read_configuration  # noqa: PLC0415 - because --help must stay quick

    configuration = read_configuration(config)
    return {
        "problems": list(problems_of(configuration)),
        "warnings": list(warnings_of(configuration, time.time_ns() // 1000)),
    }


def _store(config: Path) -> dict[str, Any]:
    from onceonly.gateway.checkup import store_line  # noqa: PLC0415 - because --help must stay quick
    from onceonly.gateway.config import read_configuration  # noqa: PLC0415 - because --help must stay quick

    configuration = read_configuration(config)
    store = Path(configuration.store)
    there = next(one for one in store.parents if one.exists())
    files = sorted(store.parent.glob(f"{store.name}*")) if store.parent.exists() else []
    return {
        "said": store_line(configuration),
        "files": {one.name: one.stat().st_size for one in files if one.is_file()},
        "free_bytes": shutil.disk_usage(there).free,
    }


def _latest_rows(client: Client) -> Any:
    return client.journal(after=max(client.last_seq() - ROWS_MAX, 0), limit=ROWS_MAX)
