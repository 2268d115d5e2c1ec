"""What `onceonly check` checks besides the file: store, lake, certificates, unsafe settings.

Nothing is created or changed by it, and no partner is called.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import urlsplit

import fsspec

from onceonly.gateway.alerts.ways import way_of
from onceonly.gateway.certificates import calling_tls, listening_tls
from onceonly.gateway.config import Configuration
from onceonly.gateway.config.values import is_loopback
from onceonly.gateway.lake_files import reader_of
from onceonly.gateway.open_files import find_open
from onceonly.gateway.transports import longest_s
from onceonly.gateway.webhooks.posting import Poster
from onceonly.message.agreement import Agreement, Route
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
    try:
        reader_of(configuration.lake_group)
    except OSError as error:
        yield str(error)
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


def warnings_of(configuration: Configuration) -> Iterator[str]:
    """Settings with which a gateway starts, but which its operator probably does not want."""
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
        yield from _doubts(f"agreement {agreement.id}", agreement)
        if _is_reached(configuration) and _can_be_closed(agreement):
            yield (
                f"agreement {agreement.id}: without caller_certificate, whoever reaches listen can "
                "send wrong numbers in the partner's name, and so close the pair (R-11)"
            )
    for route in configuration.routes:
        yield from _doubts(f"route {route.id}", route)


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


def verdict_of(agreement: Agreement) -> str:
    """How long after the first transmission a verdict can come, in words (R-06).

    The agreed waits begin when a transmission ends, so each transmission adds its own time. If the
    message expires earlier, that is the limit.
    """
    terms = agreement.terms
    agreed_s = terms.verdict_after_s
    if agreed_s is None:
        return "a verdict as late as it takes"
    if not agreed_s:
        return "no acknowledgement"
    if terms.retries is None or not terms.is_acknowledged:
        return f"a verdict within {agreed_s} s, when its time has passed"
    ways = [agreement.send_to, *[agreement.resend_to or agreement.send_to] * terms.retries]
    sent = Counter((urlsplit(way).scheme, longest_s(way)) for way in ways)
    within_s = agreed_s + sum(times * lasts_s for (_, lasts_s), times in sent.items())
    lives_s = min(terms.time_to_live_s or terms.persist_duration_s, terms.persist_duration_s)
    if lives_s < within_s:
        return f"a verdict within {lives_s} s, when its time has passed"
    each = ", ".join(f"{times} x {lasts_s} s by {way}" for (way, lasts_s), times in sent.items())
    return f"a verdict within {within_s} s ({agreed_s} s as agreed, and up to {each})"


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


def _doubts(named: str, one: Agreement | Route) -> Iterator[str]:
    """Settings in which a required certificate proves less than it seems to (R-44)."""
    if one.caller_certificate and urlsplit(one.send_to).scheme == "http":
        yield (
            f"{named}: caller_certificate binds who calls us, but send_to is http: whoever stands "
            "on that way can read and answer what we send"
        )


def _is_reached(configuration: Configuration) -> bool:
    """Whether other machines can post to us: at `listen`, or through a proxy at our `uri`."""
    ours = (configuration.listen, configuration.uri)
    return any(uri.startswith("http") and not is_loopback(uri) for uri in ours)


def _can_be_closed(agreement: Agreement) -> bool:
    return agreement.profile.is_numbered and not agreement.caller_certificate
