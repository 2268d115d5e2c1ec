"""Takes a changed configuration file over while messages go on, or refuses it as a whole.

A reload does what a restart with the new file would do, for what stands in `RENEWED`; every other
key needs a restart, and a file that changes one is refused. What is under way goes on: connections
stay open, a wait that was planned ends when it was planned, and the next decision about a message
follows the new terms. Everything that can fail is done before anything is changed, and the change
itself happens between two transactions, so every step sees the old configuration or the new one.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, Final, Protocol

import structlog

from onceonly.gateway.certificates import api_tls, digest_of_file
from onceonly.gateway.change import Change
from onceonly.gateway.config import Configuration, ConfigurationError, Tls, read_configuration
from onceonly.gateway.config.effective import effective
from onceonly.gateway.desk import Desk
from onceonly.gateway.office import Office
from onceonly.gateway.purge import Purge, Retention
from onceonly.gateway.transports import Contexts, Entry, Listeners, Senders, contexts_of
from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.message.word import Word, changed
from onceonly.steps.agreement_history import TermChange, Terms, differences_of, note_agreements
from onceonly.steps.ground import Ground, House
from onceonly.steps.routes import as_agreement
from onceonly.store.contract.agreements import AgreementStep
from onceonly.store.contract.store import Transaction

NAMES_MAX: Final = 10
"""Most agreements that a row or a refusal names; the others are counted."""

RENEWED: Final = {
    "agreements": "[[agreement]]",
    "routes": "[[route]]",
    "queued_max": "queued_max",
    "archive_duration_s": "archive_duration",
    "forget_pair_after_s": "forget_pair_after",
    "forget_job_after_s": "forget_job_after",
    "publish_interval_s": "publish_interval",
    "purge_interval_s": "purge_interval",
    "api_token": "api_token",
    "api_keys": "api_keys",
    "api_hosts": "api_hosts",
    "limits": "[limits]",
    "pickups": "[[pickup]]",
    "drops": "[[drop]]",
    "webhooks": "[[webhook]]",
    "alerts": "[[alert]]",
    "identities": "[[identity]]",
    "tls": "[tls]",
    "api_tls": "[api_tls]",
    "smtp": "[smtp]",
    "amqp": "[amqp]",
}
"""What a reload takes over, by its field of `Configuration`, and what the file calls it."""

PASSWORDS: Final = frozenset({"user", "password", "listen_user", "listen_password"})
"""Of `[smtp]` and `[amqp]` a reload takes over these; the addresses stay."""

NOT_COMPARED: Final = frozenset(
    {"path", "digest", "secret_files", "has_secrets", "agreement_tables"}
)
"""Where the values come from; the values themselves are compared."""

log: Any = structlog.get_logger("onceonly")


class ApiRenewed(Protocol):
    """A way into the API that is ready and not used yet."""

    async def take(self) -> None:
        """Let callers in by it from now on."""
        ...

    def drop(self) -> None:
        """It is not wanted after all."""
        ...


class ApiListener(Protocol):
    """What listens at the address of the API."""

    async def prepare(self, tls: ssl.SSLContext) -> ApiRenewed:
        """Make another way in ready. Raises `OSError` with nothing changed."""
        ...


class Loaded(Word):
    """Which configuration runs."""

    configuration: Configuration
    at: int
    """Since when, microseconds UTC."""
    by: str
    certificates: str
    """Digest of the files with certificates that it names, to see whether they changed."""
    own: str
    """Digest of those of `[tls]` alone."""
    api: str
    """Digest of those of `[api_tls]` alone."""


class RefusedReload(Word):
    """The last file that was not taken over."""

    at: int
    by: str
    reason: str


class AgreementDifference(Word):
    """One agreement that a file says otherwise than what runs."""

    id: str
    change: AgreementStep
    terms: tuple[TermChange, ...] = ()
    """The keys that differ, of one that is changed."""


class Difference(Word, kw_only=True):
    """What a file says otherwise than what runs."""

    what: str = ""
    """What a reload would change, in words; empty if nothing."""
    needs_restart: tuple[str, ...] = ()
    """Keys for which a reload would be refused."""
    blocked: tuple[str, ...] = ()
    """Agreements and routes for which it would be: messages without a verdict need them."""
    agreements: tuple[AgreementDifference, ...] = ()
    problem: str | None = None
    """Why the file cannot be used at all."""


class _Ready(Word, kw_only=True):
    """A file that was read and checked, and what comes of it."""

    wanted: Configuration
    loaded: Loaded
    contexts: Contexts
    api_tls: ssl.SSLContext | None
    house: House
    retention: Retention
    leaving: frozenset[str]
    """Agreements that no message without a verdict may need."""
    changes: tuple[Change, ...]
    """What the other parts take over."""
    what: str
    """What changes, in words."""


class Reload:
    """Takes over what changed in the configuration of one gateway, one reload at a time."""

    def __init__(  # noqa: PLR0913 - because these are all the parts that hold what a file can change
        self,
        *,
        configuration: Configuration,
        desk: Desk,
        office: Office,
        purge: Purge,
        senders: Senders | None,
        house_of: Callable[[Configuration], House],
        retention_of: Callable[[Configuration], Retention],
    ) -> None:
        self._desk = desk
        self._office = office
        self._purge = purge
        self._senders = senders
        self._house_of = house_of
        self._retention_of = retention_of
        self._parts: list[Callable[[Configuration], Change]] = []
        self._listeners: Listeners | None = None
        self._api: ApiListener | None = None
        self._reloading = asyncio.Lock()
        self.loaded = _loaded(configuration, desk.clock.at(), "the start")
        """What runs."""
        self.refused: RefusedReload | None = None
        """Why the last file was refused; None after one that was taken over."""

    def add(self, prepare: Callable[[Configuration], Change]) -> None:
        """Ask one more part for its change, in a thread.

        It may raise `OSError`, and the file is refused then.
        """
        self._parts.append(prepare)

    def attach(self, listeners: Listeners) -> None:
        """These let partners in; their certificates are renewed with the others."""
        self._listeners = listeners

    def attach_api(self, api: "ApiListener") -> None:
        """Exchange the certificate of the API there, with the others."""
        self._api = api

    async def reload(self, by: str) -> str:
        """Read the file again and take it over; returns in words what changed, empty if nothing.

        `by` says who asked, for the journal. Raises `LocalError` (ConfigurationRefused) with the
        file and line, and nothing is changed then.
        """
        async with self._reloading:
            try:
                what = await self._reload(by)
            except LocalError as error:
                self.refused = RefusedReload(self._desk.clock.at(), by, str(error))
                log.warning("configuration refused", by=by, error=str(error))
                raise
        self.refused = None
        log.info("configuration reloaded" if what else "configuration unchanged", by=by, what=what)
        return what

    async def _reload(self, by: str) -> str:
        running = self.loaded
        ready = await asyncio.to_thread(self._prepare, running, by)
        async with contextlib.AsyncExitStack() as unwanted:
            entry = await self._prepare_entry(running, ready)
            if entry is not None:
                unwanted.callback(entry.drop)
            api = await self._prepare_api(running, ready)
            if api is not None:
                unwanted.callback(api.drop)
            await self._desk.aside(lambda: self._take_over(ready))
            unwanted.pop_all()
        # It holds from here on, so that is said first, whatever becomes of the connections.
        self.loaded = changed(ready.loaded, at=self._desk.clock.at())
        if entry is not None:
            await self._renew_connections(entry)
        if api is not None:
            await api.take()
        if self._listeners is not None and running.configuration.limits != ready.wanted.limits:
            self._listeners.limit(ready.wanted)
        if running.configuration.agreements != ready.wanted.agreements:
            await self._desk.take_up_agreements()
        if ready.what:
            row = self._desk.about_gateway(Event.RECONFIGURED, f"{by}: {ready.what}")
            await self._desk.persist(lambda txn, ground: self.note(txn, ground, (row,)))
        return ready.what

    def note(self, txn: Transaction, ground: Ground, rows: Sequence[Record]) -> None:
        """Write the rows of a start or a reload, and which agreements are other ones since."""
        txn.append(rows)
        running = self.loaded
        agreed, digest = agreed_in(running.configuration), running.configuration.digest
        note_agreements(txn, ground, agreed, by=running.by, digest=digest)

    def look(self) -> Difference:
        """What a reload would do now, for a thread. Reads the file; nothing is changed."""
        running = self.loaded
        try:
            loaded, _, _ = _read(running.configuration.path, "a look")
        except LocalError as error:
            return Difference(problem=str(error))
        wanted = loaded.configuration
        former = self._desk.house
        try:
            house = self._house_for(wanted)
        except LocalError as error:
            return Difference(problem=str(error))
        unsettled = set(self._desk.snapshot().list_unsettled_agreements())
        problem: str | None = None
        changes: tuple[Change, ...] = ()
        try:
            # They are dropped, and nothing is left of them then.
            changes = tuple(self._changes_to(wanted))
        except LocalError as error:
            problem = str(error)
        return Difference(
            what="; ".join((*_differences(running, loaded), *_notes_of(changes))),
            needs_restart=tuple(needing_restart(running.configuration, wanted)),
            blocked=tuple(sorted(_leaving(former, house) & unsettled)),
            agreements=tuple(_agreements_changed(running.configuration, wanted)),
            problem=problem,
        )

    def _prepare(self, running: Loaded, by: str) -> "_Ready":
        """Everything but the change itself, in a thread: a file may have thousands of agreements.

        Raises `LocalError` (ConfigurationRefused).
        """
        loaded, contexts, api_tls = _read(running.configuration.path, by)
        wanted = loaded.configuration
        _refuse_what_needs_restart(running.configuration, wanted)
        former = self._desk.house
        house = _house_after(former, self._house_for(wanted))
        leaving = _leaving(former, house)
        if leaving:
            # Before the loop has to wait for the same question.
            self._refuse_what_is_needed(leaving)
        changes = tuple(self._changes_to(wanted))
        return _Ready(
            wanted=wanted,
            loaded=loaded,
            contexts=contexts,
            api_tls=api_tls,
            house=house,
            retention=self._retention_of(wanted),
            leaving=leaving,
            changes=changes,
            what="; ".join((*_differences(running, loaded), *_notes_of(changes))),
        )

    def _house_for(self, wanted: Configuration) -> House:
        """What the steps know of the file. Raises `LocalError` (ConfigurationRefused)."""
        try:
            return self._house_of(wanted)
        except OSError as error:
            raise _refusal(wanted.path, f"[[identity]] {error}") from error

    def _changes_to(self, wanted: Configuration) -> Iterable[Change]:
        """What every other part makes ready. Raises `LocalError` (ConfigurationRefused)."""
        for prepare in self._parts:
            try:
                yield prepare(wanted)
            except OSError as error:
                raise _refusal(wanted.path, str(error)) from error

    def _take_over(self, ready: "_Ready") -> None:
        """Between two transactions: whatever is stored under an agreement is known by now."""
        if ready.leaving:
            self._refuse_what_is_needed(ready.leaving)
        self._desk.house = self._office.house = ready.house
        self._purge.retention = ready.retention
        for change in ready.changes:
            change.take()

    def _refuse_what_is_needed(self, leaving: frozenset[str]) -> None:
        needed = sorted(leaving & set(self._desk.snapshot().list_unsettled_agreements()))
        if needed:
            raise _refusal(
                self.loaded.configuration.path,
                "messages without a verdict need agreements that are taken away, or have other "
                f"parties or another profile now: {_some(needed)}. Put them back as they were, "
                "and change them when those messages have ended",
            )

    async def _prepare_entry(self, running: Loaded, ready: "_Ready") -> Entry | None:
        """How connections are made from now on; None if nothing of that changed."""
        former, wanted = running.configuration, ready.wanted
        is_same = ready.loaded.own == running.own and former.tls == wanted.tls
        if is_same and (former.smtp, former.amqp) == (wanted.smtp, wanted.amqp):
            return None
        if self._listeners is None:
            return Entry(wanted, ready.contexts, None)
        try:
            return await self._listeners.prepare(wanted, ready.contexts)
        except OSError as error:
            raise _refusal(wanted.path, f"listen cannot be renewed: {error}") from error

    async def _prepare_api(self, running: Loaded, ready: "_Ready") -> "ApiRenewed | None":
        """How applications and operators are let in from now on; None if that stays as it is."""
        is_same = ready.loaded.api == running.api
        if self._api is None or ready.api_tls is None:
            return None
        if is_same and running.configuration.api_tls == ready.wanted.api_tls:
            return None
        try:
            return await self._api.prepare(ready.api_tls)
        except OSError as error:
            raise _refusal(ready.wanted.path, f"api cannot be renewed: {error}") from error

    async def _renew_connections(self, entry: Entry) -> None:
        if self._senders is not None:
            self._senders.renew(entry.configuration, entry.tls.calling)
        if self._listeners is not None:
            await self._listeners.take(entry)


def agreed_in(configuration: Configuration) -> dict[str, Terms]:
    """Every agreement of a configuration by its id, key by key."""
    tables = configuration.agreement_tables
    return {one.id: effective(one, tables.get(one.id)) for one in configuration.agreements}


def _agreements_changed(
    running: Configuration, wanted: Configuration
) -> Iterator[AgreementDifference]:
    before = {one.id: one for one in running.agreements}
    after = {one.id: one for one in wanted.agreements}
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            yield AgreementDifference(name, AgreementStep.ADDED)
        elif name not in after:
            yield AgreementDifference(name, AgreementStep.REMOVED)
        elif before[name] != after[name]:
            one, other = (
                effective(found[name], configuration.agreement_tables.get(name))
                for found, configuration in ((before, running), (after, wanted))
            )
            yield AgreementDifference(name, AgreementStep.CHANGED, differences_of(one, other))


def _loaded(configuration: Configuration, at: int, by: str) -> Loaded:
    """The configuration with the digests of the certificates as they are now."""
    own, api = _digest(_files_of(configuration.tls)), _digest(_files_of(configuration.api_tls))
    trusted = [one.trusted for one in configuration.webhooks]
    trusted += [one.trusted for one in configuration.alerts]
    ours = [(one.certificate, one.key) for one in configuration.identities]
    others = _digest((*filter(None, trusted), *chain.from_iterable(ours)))
    return Loaded(configuration, at, by, own + api + others, own, api)


def _files_of(tls: Tls | None) -> Iterable[Path | None]:
    return () if tls is None else (tls.certificate, tls.key, tls.trusted)


def _digest(paths: Iterable[Path | None]) -> str:
    return sha256("".join(map(digest_of_file, paths)).encode()).hexdigest()


def _read(path: Path, by: str) -> tuple[Loaded, Contexts, ssl.SSLContext | None]:
    """The file and everything that it names, read and checked. Raises `LocalError`."""
    table = "[tls]"
    try:
        wanted = read_configuration(path)
        # The digest first: if a file changes in between, the next reload sees another one.
        loaded, contexts = _loaded(wanted, 0, by), contexts_of(wanted)
        table = "[api_tls]"
        return loaded, contexts, api_tls(wanted.api_tls)
    except ConfigurationError as error:
        raise LocalError("ConfigurationRefused", str(error)) from error
    except OSError as error:
        raise _refusal(path, f"{table} {error}") from error


def _refuse_what_needs_restart(running: Configuration, wanted: Configuration) -> None:
    names = list(needing_restart(running, wanted))
    if names:
        raise _refusal(
            wanted.path,
            f"changed, and only a restart takes it over: {', '.join(names)}. Put it back to "
            "reload the rest, or restart the gateway",
        )


def needing_restart(running: Configuration, wanted: Configuration) -> Iterable[str]:
    """What differs and is not taken over by a reload, as the file calls it."""
    for field in fields(Configuration):
        one, other = getattr(running, field.name), getattr(wanted, field.name)
        if field.name in NOT_COMPARED or one == other:
            continue
        if field.name in ("smtp", "amqp"):
            yield from _addresses_changed(field.name, one, other)
        elif field.name not in RENEWED:
            name = field.name.removesuffix("_s")
            yield f"[{name}]" if name in ("drill", "limits") else f"[gateway] {name}"


def _addresses_changed(table: str, one: Any, other: Any) -> Iterable[str]:
    if one is None or other is None:
        yield f"[{table}]"
        return
    for field in fields(one):
        differs = getattr(one, field.name) != getattr(other, field.name)
        if differs and field.name not in PASSWORDS:
            yield f"[{table}] {field.name}"


def _house_after(former: House, house: House) -> House:
    """The new house, which also knows what was taken away since the start."""
    gone = {one.id: one for one in former.agreements}
    gone |= {one.id: as_agreement(one) for one in former.routes}
    routes = {one.id: one for one in former.routes}
    return changed(
        house,
        former=_without(house, {**former.former, **gone}),
        former_routes={
            name: route
            for name, route in {**former.former_routes, **routes}.items()
            if house.routes.find(name) is None
        },
    )


def _without(house: House, gone: dict[str, Agreement]) -> dict[str, Agreement]:
    return {name: one for name, one in gone.items() if house.agreements.find(name) is None}


def _leaving(former: House, house: House) -> frozenset[str]:
    """Agreements under which a stored message could not go on as it is.

    Its bytes are of one profile, and its pair is named by the parties.
    """
    names = {one.id for one in former.agreements} | {one.id for one in former.routes}
    return frozenset(name for name in names if not _goes_on(former, house, name))


def _goes_on(former: House, house: House, name: str) -> bool:
    one, other = former.agreements.find(name), house.agreements.find(name)
    assert one is not None, "it is a name of the former house"
    return other is not None and (
        (one.profile, one.is_route, one.our_party, one.their_party)
        == (other.profile, other.is_route, other.our_party, other.their_party)
    )


def _differences(running: Loaded, wanted: Loaded) -> list[str]:
    """What a reload changes, in words."""
    words = []
    for field, name in RENEWED.items():
        one = getattr(running.configuration, field)
        other = getattr(wanted.configuration, field)
        if name.startswith("[["):
            words += _changed_names(name, one, other)
        elif one != other:
            words.append(f"{name} changed")
    if wanted.certificates != running.certificates:
        words.append("certificates changed")
    return words


def _notes_of(changes: Sequence[Change]) -> list[str]:
    notes = [note for change in changes for note in change.notes]
    more = len(notes) - NAMES_MAX
    return [*notes[:NAMES_MAX], *([f"and {more} more like that"] if more > 0 else [])]


def _changed_names(table: str, former: Iterable[Any], wanted: Iterable[Any]) -> list[str]:
    before, after = {one.id: one for one in former}, {one.id: one for one in wanted}
    found = {
        "added": after.keys() - before.keys(),
        "taken away": before.keys() - after.keys(),
        "changed": {name for name in before.keys() & after.keys() if before[name] != after[name]},
    }
    words = [f"{table} {word}: {_some(sorted(names))}" for word, names in found.items() if names]
    if not words and table == "[[drop]]" and list(before) != list(after):
        # The first one that fits takes a message.
        words.append(f"{table} in another order")
    return words


def _some(names: list[str]) -> str:
    more = len(names) - NAMES_MAX
    return ", ".join(names[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")


def _refusal(path: Path, reason: str) -> LocalError:
    return LocalError("ConfigurationRefused", f"{path}: {reason}")


async def reload_on_signal(reload: Reload) -> None:
    """Reload for a SIGHUP: a refusal is in the log, and the gateway goes on as it was."""
    with contextlib.suppress(LocalError):  # `reload` has said so.
        await reload.reload("SIGHUP")
