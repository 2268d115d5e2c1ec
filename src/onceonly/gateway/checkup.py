"""What `onceonly check` checks besides the file: store, lake, certificates, unsafe settings.

Nothing is created or changed by it, and no partner is called.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile

import fsspec

from onceonly.gateway.agreement_findings import (
    findings_about_callers,
    findings_in_time,
    findings_of,
)
from onceonly.gateway.alerts.ways import way_of
from onceonly.gateway.certificates import calling_tls, listening_tls
from onceonly.gateway.config import Configuration
from onceonly.gateway.config.values import is_loopback
from onceonly.gateway.identities import read_identities
from onceonly.gateway.lake_files import reader_of
from onceonly.gateway.open_files import find_open
from onceonly.gateway.webhooks.posting import Poster
from onceonly.message.instant import to_datetime
from onceonly.steps.expiries import NOTICE_US
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.sqlite.look import look_at


def problems_of(configuration: Configuration) -> Iterator[str]:
    """The reasons why a gateway would not start, one line each."""
    for tried in (listening_tls, calling_tls):
        try:
            tried(configuration.tls)
        except OSError as error:
            yield f"[tls] {error}"
            break
    try:
        listening_tls(configuration.api_tls)
    except OSError as error:
        yield f"[api_tls] {error}"
    yield from _closed_files(configuration)
    for webhook in configuration.webhooks:
        try:
            Poster(webhook.url, trusted=webhook.trusted, timeout_s=webhook.timeout_s)
        except OSError as error:
            yield f"webhook {webhook.id}: {error}"
    for wanted in configuration.alerts:
        try:
            way_of(wanted, configuration.smtp)
        except OSError as error:
            yield f"alert {wanted.id}: {error}"
    try:
        look_at(configuration.store, str(configuration.party[0]))
    except StoreRefused as error:
        yield f"store: {error}"


def _closed_files(configuration: Configuration) -> Iterator[str]:
    """Keys and groups that cannot be used."""
    try:
        read_identities(configuration)
    except OSError as error:
        yield f"[[identity]] {error}"
    try:
        reader_of(configuration.lake_group)
    except OSError as error:
        yield str(error)


def warnings_of(configuration: Configuration, now_at: int | None = None) -> Iterator[str]:
    """Settings with which a gateway starts, but which its operator probably does not want.

    With `now_at`, in microseconds UTC, also what ends soon.
    """
    if now_at is not None:
        yield from _warnings_in_time(configuration, now_at)
    if not configuration.agreements and not configuration.routes:
        yield (
            "there is no [[agreement]] and no [[route]]: the gateway would refuse every message, "
            "from applications and from partners"
        )
    for one in find_open(configuration):
        yield f"{one.path} is open to other users (mode {one.mode}): {one.mend}"
    if configuration.api_token is not None:
        yield "api_token is one key with every right, for everybody; see `onceonly key create`"
    unwritable = _why_unwritable(configuration.lake)
    if unwritable is not None:
        yield f"lake: {unwritable}; journal rows stay in the store until it can be written"
    yield from _doubts_of_ways(configuration)
    for agreement in configuration.agreements:
        for found in findings_of(configuration, agreement):
            yield f"agreement {agreement.id}: {found}"
    for route in configuration.routes:
        for found in findings_about_callers(route):
            yield f"route {route.id}: {found}"


def _warnings_in_time(configuration: Configuration, now_at: int) -> Iterator[str]:
    """Agreements and certificates that sign, which end within 30 days."""
    try:
        identities = read_identities(configuration)
    except OSError:
        identities = ()  # It is a problem, and told as that.
    for one in identities:
        if one.until_at - NOTICE_US <= now_at:
            ends = f"{to_datetime(one.until_at):%Y-%m-%d %H:%M} UTC"
            yield (
                f"[[identity]] {one.id}: its certificate ends at {ends}; what it signs after that"
                " is refused"
            )
    for agreement in configuration.agreements:
        for found in findings_in_time(agreement, now_at):
            yield f"agreement {agreement.id}: {found}"


def _doubts_of_ways(configuration: Configuration) -> Iterator[str]:
    """What keeps folders and webhooks from working, or makes them unsafe."""
    folders = [(one.id, one.path) for one in configuration.pickups]
    folders += [(one.id, one.path) for one in configuration.drops]
    for name, path in folders:
        why = _why_closed(path)
        if why is not None:
            yield f"folder {name}: {why}; nothing is done in it until that is mended"
    for wanted in configuration.alerts:
        if (wanted.url or "").startswith("http:") and not is_loopback(wanted.url or ""):
            yield f"alert {wanted.id}: url is http: whoever stands on that way can read the alerts"
        if wanted.command is not None and shutil.which(wanted.command[0]) is None:
            yield f"alert {wanted.id}: there is no program {wanted.command[0]!r}"
    for webhook in configuration.webhooks:
        if webhook.url.startswith("http:") and not is_loopback(webhook.url):
            yield (
                f"webhook {webhook.id}: url is http: whoever stands on that way can read what is "
                "told, and keep it from its receiver"
            )


def store_line(configuration: Configuration) -> str:
    """The state of the store, in one line. Raises `StoreRefused`."""
    found = look_at(configuration.store, str(configuration.party[0]))
    if not found.is_there:
        return f"{configuration.store}, which is made at the first start"
    facts = [
        "in use by a gateway that runs" if found.is_in_use else "can be opened",
        *(["is brought to a newer schema then"] if found.is_older else []),
    ]
    return f"{configuration.store}, {' and '.join(facts)}"


def _why_unwritable(lake: str) -> str | None:
    """Why nothing can be published there; None if it can, or if it is not on this machine."""
    if "://" in lake:
        try:
            fsspec.core.url_to_fs(lake)
        except (ImportError, ValueError, OSError) as error:
            return f"{lake} cannot be reached: {error}"
        return None
    folder = Path(lake)
    try:
        there = next(one for one in (folder, *folder.parents) if one.exists())
        # A file without a name, if the system supports it, so that nobody sees it.
        with TemporaryFile(dir=there):
            return None
    except OSError as error:
        return f"{lake} cannot be written: {error.strerror}"


def _why_closed(folder: Path) -> str | None:
    """Why no file can be put or renamed there; None if it can."""
    if not folder.is_dir():
        return f"{folder} is no folder that is there"
    try:
        with TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return f"{folder} cannot be written: {error.strerror}"
