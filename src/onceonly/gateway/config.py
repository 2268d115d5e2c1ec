"""One TOML file per gateway: read once, checked whole, turned into a frozen value.

Whatever is wrong is refused at start with file, line, reason and legal values. Only `wiring`
takes the value apart; nobody else sees it. The reference page of the docs is generated from the
key tables in `config_keys`.
"""

import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn

from onceonly.gateway.config_keys import (
    AGREEMENT_KEYS,
    DRILL_KEYS,
    GATEWAY_KEYS,
    Illegal,
    Key,
    is_loopback,
    is_wildcard,
)
from onceonly.message.errors import OnceonlyError
from onceonly.message.identity import Pair, PartyId
from onceonly.message.message import DeliverySemantics, Profile
from onceonly.message.terms import DeliveryTerms, Intermediary, OnExhausted


class ConfigurationError(OnceonlyError):
    """The file cannot be used. `where` is `FILE:LINE` (or `FILE`), the text says why."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What we and one partner agreed: who, where, and the delivery terms."""

    id: str
    profile: Profile
    our_ids: tuple[PartyId, ...]
    their_ids: tuple[PartyId, ...]
    send_to: str
    """Where we post to, and the only place that acknowledgements and errors go (R-26)."""
    error_to: str | None
    receiver_uri: str
    """The URI that the partner's MSH announces; `send_to` unless something stands between."""
    terms: DeliveryTerms
    resend_to: str | None = None
    """Where resends go, where that is elsewhere: perhaps by another transport (S1-46)."""
    validator: str | None = None
    """Application's address that says whether the content is valid (seed 004 level 0 b)."""

    @property
    def our_party(self) -> str:
        """The string that names us in keys of this agreement."""
        return str(self.our_ids[0])

    @property
    def their_party(self) -> str:
        """The string that names the partner in keys of this agreement."""
        return str(self.their_ids[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One direction of traffic that passes through us as an intermediary (ruling R-13)."""

    id: str
    profile: Profile
    intermediary: Intermediary
    from_ids: tuple[PartyId, ...]
    to_ids: tuple[PartyId, ...]
    agreement_id: str | None
    """TPAId or CPAId of what may pass; None: any between these parties."""
    back_to: str
    """Where acknowledgements and errors for the previous hop go."""
    sender_uri: str
    """The URI that the previous hop announces; `back_to` unless something stands between."""
    send_to: str
    """Where the next hop takes messages."""
    receiver_uri: str
    """The URI that the next hop announces; `send_to` unless something stands between."""
    terms: DeliveryTerms
    """Of the next hop, where we own the delivery (`accept`); `retry_interval_s` is the
    MinRetrySecs of our Transient Errors."""
    hops_max: int
    """Most RoutingHeaders of a message that goes on from here."""

    @property
    def pair(self) -> Pair:
        """The end-to-end pair, by the parties' first PartyIds."""
        return Pair(str(self.from_ids[0]), str(self.to_ids[0]))


class StartTls(StrEnum):
    """Whether mail goes under TLS on a plain port (attack M5)."""

    REQUIRE = "require"
    OFFER = "offer"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Our certificate, and whose certificates we take. Paths are absolute."""

    certificate: Path | None
    key: Path | None
    trusted: Path | None
    """Certificates that partners' servers (and clients) must chain to; None: the system's."""
    clients: bool
    """Whether a client that calls us must show a certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Smtp:
    """Mail in and out (seed 000 §2.5.2)."""

    listen: str | None
    """`smtp://host:port` where we take mail, or None."""
    mailbox: str | None
    """The address that we take mail for, and send from."""
    relay: str | None
    """`smtp://host:port` or `smtps://host:port` that takes our mail."""
    starttls: StartTls
    user: str | None
    password: str | None
    """For the relay, and from whoever brings us mail: no AUTH without both."""
    listen_user: str | None
    listen_password: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """Faults on order; see `drill` and `clock`."""

    clock_rate: float
    clock_offset_file: Path | None
    failpoints: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A gateway's whole configuration; paths are absolute."""

    path: Path
    party: tuple[PartyId, ...]
    listen: str
    uri: str
    api: str
    api_token: str | None
    store: Path
    lake: str
    publish_interval_s: int
    payload_bytes_max: int
    queued_max: int
    agreements: tuple[Agreement, ...]
    drill: Drill | None
    routes: tuple[Route, ...] = ()
    smtp: Smtp | None = None
    amqp_listen: str | None = None
    """`amqp(s)://user:password@host:port/vhost?queue=NAME` that we consume from, or None."""
    tls: Tls | None = None
    purge_interval_s: int = 3600
    archive_duration_s: int = 0
    """Kept longer than persist_duration by this, for reasons of law or trade (S1-21)."""


def read_configuration(path: Path) -> Configuration:
    """The configuration in the file. Raises `ConfigurationError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(str(path), f"cannot be read: {error}") from error
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+)", str(error))
        where = f"{path}:{place[1]}" if place else str(path)
        raise ConfigurationError(where, f"is not TOML: {error}") from error
    return _Reader(path.resolve(), text, tree).configuration()


class _Reader:
    """Walks the tree once; knows where in the text each table and key stands."""

    def __init__(self, path: Path, text: str, tree: dict[str, Any]) -> None:
        self._path = path
        self._lines = text.splitlines()
        self._tree = tree

    def configuration(self) -> Configuration:
        for name in self._tree:
            if name not in ("gateway", "agreement", "drill"):
                self._refuse(
                    name, None, None, "is no table; legal: [gateway], [[agreement]], [drill]"
                )
        gateway = self._table("gateway", GATEWAY_KEYS, 0)
        if gateway["api_token"] is None and not is_loopback(gateway["api"]):
            self._refuse("gateway", 0, "api", "can be reached from elsewhere: set api_token")
        if gateway["uri"] is None and is_wildcard(gateway["listen"]):
            self._refuse("gateway", 0, "listen", "is no address to announce: set uri as well")
        party = gateway["party"]
        agreements = self._agreements(party)
        directory = self._path.parent
        return Configuration(
            path=self._path,
            party=party,
            listen=gateway["listen"],
            uri=gateway["uri"] or gateway["listen"],
            api=gateway["api"],
            api_token=gateway["api_token"],
            store=directory / gateway["store"],
            lake=_lake_location(gateway["lake"], directory),
            publish_interval_s=gateway["publish_interval"],
            payload_bytes_max=gateway["payload_bytes_max"],
            queued_max=gateway["queued_max"],
            agreements=agreements,
            drill=self._drill(directory),
        )

    def _agreements(self, party: tuple[PartyId, ...]) -> tuple[Agreement, ...]:
        tables = self._tree.get("agreement", [])
        if not isinstance(tables, list):
            self._refuse("agreement", None, None, "is written [[agreement]], once per agreement")
        agreements = tuple(self._agreement(index, party) for index in range(len(tables)))
        seen: dict[str, int] = {}
        for index, agreement in enumerate(agreements):
            if agreement.id in seen:
                self._refuse("agreement", index, "id", f"{agreement.id!r} is there twice")
            seen[agreement.id] = index
        return agreements

    def _agreement(self, index: int, party: tuple[PartyId, ...]) -> Agreement:
        values = self._table("agreement", AGREEMENT_KEYS, index)
        our_ids = values["party"] or party
        if not set(our_ids) <= set(party):
            self._refuse("agreement", index, "party", "names ids that [gateway] party lacks")
        if set(our_ids) & set(values["with"]):
            self._refuse("agreement", index, "with", "names one of our own ids")
        terms = DeliveryTerms(
            semantics=DeliverySemantics(values["delivery_semantics"]),
            timeout_s=values["timeout"],
            retries=values["retries"],
            retry_interval_s=values["retry_interval"],
            persist_duration_s=values["persist_duration"],
            time_to_live_s=values["time_to_live"],
            msh_time_accuracy_s=values["msh_time_accuracy"],
            on_exhausted=OnExhausted(values["on_exhausted"]),
            transient_retries=values["transient_retries"],
        )
        self._check_budget(index, terms)
        return Agreement(
            id=values["id"],
            profile=Profile(values["profile"]),
            our_ids=our_ids,
            their_ids=values["with"],
            send_to=values["send_to"],
            error_to=values["error_to"],
            receiver_uri=values["receiver_uri"] or values["send_to"],
            terms=terms,
        )

    def _check_budget(self, index: int, terms: DeliveryTerms) -> None:
        """Ruling R-06: a verdict must come before the message or the memory of it is gone."""
        if terms.retries is None or terms.verdict_after_s is None:
            return
        verdict = f"timeout + retries x retry_interval = {terms.verdict_after_s} s"
        if terms.verdict_after_s > terms.persist_duration_s:
            self._refuse("agreement", index, "persist_duration", f"is shorter than {verdict}")
        if terms.time_to_live_s is None:
            return
        if terms.verdict_after_s > terms.time_to_live_s:
            self._refuse("agreement", index, "time_to_live", f"is shorter than {verdict}")
        if terms.time_to_live_s > terms.persist_duration_s:
            self._refuse("agreement", index, "time_to_live", "is longer than persist_duration")

    def _drill(self, directory: Path) -> Drill | None:
        if "drill" not in self._tree:
            return None
        values = self._table("drill", DRILL_KEYS, 0)
        offset_file = values["clock_offset_file"]
        return Drill(
            clock_rate=values["clock_rate"],
            clock_offset_file=None if offset_file is None else directory / offset_file,
            failpoints=values["failpoints"],
        )

    def _table(self, table: str, keys: dict[str, Key], index: int) -> dict[str, Any]:
        raw = self._tree.get(table)
        if table == "agreement" and isinstance(raw, list):
            raw = raw[index]
        if raw is None:
            self._refuse(table, None, None, f"is missing; the file needs a [{table}] table")
        if not isinstance(raw, dict):
            self._refuse(table, None, None, "is not one table")
        for name in raw:
            if name not in keys:
                legal = ", ".join(keys)
                self._refuse(table, index, name, f"is no key of [{table}]; legal: {legal}")
        return {name: self._value(table, index, raw, key) for name, key in keys.items()}

    def _value(self, table: str, index: int, raw: dict[str, Any], key: Key) -> Any:
        if key.name not in raw:
            if key.is_required:
                self._refuse(table, index, None, f"lacks {key.name!r}: {key.legal}")
            return key.default
        try:
            return key.parse(raw[key.name])
        except Illegal as error:
            reason = f"{error}; legal: {key.legal}"
            self._refuse(table, index, key.name, reason)

    def _refuse(self, table: str, index: int | None, key: str | None, reason: str) -> NoReturn:
        line = self._line_of(table, index or 0, key)
        where = str(self._path) if line is None else f"{self._path}:{line}"
        subject = f"[{table}]" if key is None else f"[{table}] {key}"
        raise ConfigurationError(where, f"{subject} {reason}")

    def _line_of(self, table: str, index: int, key: str | None) -> int | None:
        """Line of the key, of its table if the key is not there, or None."""
        name = rf"[\"']?{re.escape(table)}[\"']?\s*"
        heading = re.compile(rf"\s*(\[\[?\s*{name}\]\]?\s*(#.*)?$|{name}=)")
        starts = [n for n, line in enumerate(self._lines) if heading.match(line)]
        if index >= len(starts):
            return None
        if key is not None:
            wanted = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
            for number in range(starts[index] + 1, len(self._lines)):
                if re.match(r"\s*\[", self._lines[number]):
                    break
                if wanted.match(self._lines[number]):
                    return number + 1
        return starts[index] + 1


def _lake_location(lake: str, directory: Path) -> str:
    return lake if "://" in lake else str(directory / lake)
