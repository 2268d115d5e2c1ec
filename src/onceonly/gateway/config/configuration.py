"""One TOML file per gateway: read once, checked as a whole, turned into a frozen value.

Every error is refused at start with file, line, reason and legal values. Only `wiring` takes the
value apart; no other part sees it. This module has the values, and the rules between tables; the
text is in `file`, the keys in `keys`, the terms in `terms`, and TLS, mail and brokers in
`transports`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

from onceonly.gateway.config.alerts import AlertWay, alert_ways_of
from onceonly.gateway.config.cpa import check_beside, cpa_terms_of
from onceonly.gateway.config.file import ConfigurationFile, Table
from onceonly.gateway.config.folders import Drop, Pickup, drops_of, pickups_of
from onceonly.gateway.config.preset_rules import check_preset
from onceonly.gateway.config.report_folder import check_reports, spool_of
from onceonly.gateway.config.signing import IdentityFiles, identities_of, with_signing
from onceonly.gateway.config.terms import route_terms_of, terms_of
from onceonly.gateway.config.transports import (
    Amqp,
    Smtp,
    Tls,
    amqp_of,
    check_mail,
    smtp_of,
    tls_of,
)
from onceonly.gateway.config.values import is_loopback, is_wildcard
from onceonly.gateway.config.webhooks import Webhook, webhooks_of
from onceonly.message.agreement import Agreement, Route
from onceonly.message.errors import RemoteError
from onceonly.message.identity import PartyId, checked_party
from onceonly.message.profile import Profile
from onceonly.message.terms import Intermediary
from onceonly.steps.authority import entrance_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """Faults that a drill asks for; see `drill` and `clock`."""

    clock_rate: float
    clock_offset_file: Path | None
    failpoints: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits for what callers that are not admitted may cost us (ruling R-45)."""

    refusal_rows_per_hour: int = 1000
    error_posts_per_hour: int = 60
    unadmitted_bytes_max: int = 64 << 20
    connections_max: int = 1024
    connections_per_address_max: int = 64
    body_rate_min: int = 1000


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
    backups: Path
    """Where backups of the store are made, a folder each."""
    reports: Path
    """Where reports are that the API and the console show."""
    lake: str
    publish_interval_s: int
    payload_bytes_max: int
    queued_max: int
    agreements: tuple[Agreement, ...]
    drill: Drill | None
    routes: tuple[Route, ...] = ()
    smtp: Smtp | None = None
    amqp: Amqp | None = None
    tls: Tls | None = None
    limits: Limits = Limits()
    purge_interval_s: int = 3600
    archive_duration_s: int = 0
    """Kept longer than persist_duration by this, for reasons of law or trade (S1-21)."""
    forget_pair_after_s: int | None = None
    """A sender's counter that was idle for that long is dropped (S0-56); None: never."""
    forget_job_after_s: int = 7 * 86_400
    """Rows that were staged in a job and not released for that long are dropped."""
    api_hosts: tuple[str, ...] = ()
    """Names by which callers may reach the API, besides addresses and `localhost`."""
    api_keys: bool = False
    """Whether callers of the API need a key although none was made yet."""
    api_tls: Tls | None = None
    """The certificate of the API, and those of its callers; None: it is plain HTTP."""
    lake_group: str | None = None
    """The group that may read what is published; None: that of the process."""
    pickups: tuple[Pickup, ...] = ()
    drops: tuple[Drop, ...] = ()
    webhooks: tuple[Webhook, ...] = ()
    alerts: tuple[AlertWay, ...] = ()

    identities: tuple[IdentityFiles, ...] = ()
    """Our keys that sign, and their certificates."""

    @property
    def api_certificate(self) -> Path | None:
        """The certificate that the API shows; None: it is plain HTTP."""
        return None if self.api_tls is None else self.api_tls.certificate

    log_file: Path | None = None
    """Where log lines go; None: to stderr."""
    secret_files: tuple[Path, ...] = ()
    """Files that hold a secret and nothing else."""
    has_secrets: bool = False
    """Whether a secret stands in the configuration file itself."""
    agreement_tables: Mapping[str, Table] = field(default_factory=dict, compare=False, repr=False)
    """By the id of the agreement: what the file says of it, and where."""
    digest: str = field(default="0" * 64, compare=False)
    """SHA-256 of what was read, in hexadecimal. Two files may say the same in different words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """What a command needs that talks to a running gateway."""

    api: str
    api_token: str | None
    lake: str
    """Where the gateway publishes."""
    api_certificate: Path | None = None
    """The certificate that the API shows; None: it is plain HTTP."""


def read_configuration(path: Path) -> Configuration:
    """The configuration in the file. Raises `ConfigurationError`."""
    file = ConfigurationFile(path)
    gateway = file.table("gateway")
    party = gateway["party"]
    _add_agreements(file, gateway)
    agreement_tables = file.tables("agreement")
    directory = file.path.parent
    identities = identities_of(file.tables("identity"), directory)
    by_id = {table["id"]: table for table in agreement_tables}
    agreements = with_signing(_agreements(agreement_tables, party), by_id, identities, directory)
    tls = tls_of(file.find_table("tls"), directory)
    smtp = smtp_of(file.find_table("smtp"), tls)
    amqp = amqp_of(file.find_table("amqp"))
    api_tls = tls_of(file.find_table("api_tls"), directory)
    _check_gateway(gateway, tls)
    _check_api(gateway, api_tls)
    route_tables = file.tables("route")
    for tables in (agreement_tables, route_tables):
        _check_callers(gateway, tables, tls)
    check_mail(gateway, agreement_tables, route_tables, smtp)
    _check_neighbours(gateway, agreement_tables, route_tables)
    named = {one.id for one in agreements}
    pickups = pickups_of(file.tables("pickup"), directory, named)
    found = Configuration(
        path=file.path,
        party=party,
        listen=gateway["listen"],
        uri=gateway["uri"] or gateway["listen"],
        api=gateway["api"],
        api_token=gateway["api_token"],
        store=directory / gateway["store"],
        backups=directory / (gateway["backups"] or f"{gateway['store']}-backups"),
        reports=directory / gateway["reports"],
        lake=_lake_location(gateway["lake"], directory),
        publish_interval_s=gateway["publish_interval"],
        payload_bytes_max=gateway["payload_bytes_max"],
        queued_max=gateway["queued_max"],
        agreements=agreements,
        drill=_drill(file.find_table("drill"), directory),
        routes=_routes(route_tables, party, agreements),
        smtp=smtp,
        amqp=amqp,
        tls=tls,
        limits=_limits(file.find_table("limits")),
        purge_interval_s=gateway["purge_interval"],
        archive_duration_s=gateway["archive_duration"],
        forget_pair_after_s=gateway["forget_pair_after"],
        forget_job_after_s=gateway["forget_job_after"],
        api_hosts=gateway["api_hosts"],
        api_keys=gateway["api_keys"],
        api_tls=api_tls,
        lake_group=gateway["lake_group"],
        pickups=pickups,
        drops=drops_of(file.tables("drop"), directory, named, pickups),
        webhooks=webhooks_of(file.tables("webhook"), directory),
        alerts=alert_ways_of(file.tables("alert"), directory, smtp),
        log_file=gateway["log_file"] and directory / gateway["log_file"],
        secret_files=tuple(file.secrets.files),
        has_secrets=file.secrets.are_inside,
        identities=identities,
        agreement_tables=by_id,
        digest=file.digest,
    )
    _check_reports(gateway, found)
    return found


def read_client_settings(path: Path) -> ClientSettings:
    """What a client command needs of the file. Raises `ConfigurationError`.

    Only the `[gateway]` and `[api_tls]` tables are looked at: a client command changes nothing that
    the other tables say, and a file with thousands of agreements costs it little.
    """
    file = ConfigurationFile(path)
    gateway = file.table("gateway")
    tls = file.find_table("api_tls")
    certificate = None if tls is None else tls["certificate"]
    return ClientSettings(
        api_certificate=None if certificate is None else file.path.parent / certificate,
        api=gateway["api"],
        api_token=gateway["api_token"],
        lake=_lake_location(gateway["lake"], file.path.parent),
    )


def _add_agreements(file: ConfigurationFile, gateway: Table) -> None:
    """Read the folder of `agreements`, where the file names one."""
    if gateway["agreements"] is None:
        return
    folder = file.path.parent / gateway["agreements"]
    try:
        file.add(folder)
    except OSError as error:
        gateway.refuse("agreements", f"names {folder}, which cannot be read: {error.strerror}")


def _check_gateway(gateway: Table, tls: Tls | None) -> None:
    if gateway["uri"] is None and is_wildcard(gateway["listen"]):
        gateway.refuse("listen", "is no address to announce: set uri as well")
    is_https = urlsplit(gateway["listen"]).scheme == "https"
    if is_https and (tls is None or tls.certificate is None):
        gateway.refuse("listen", "is https: legal with a certificate and key in [tls]")
    if _is_one_socket(gateway["listen"], gateway["api"]):
        gateway.refuse("api", "has the address of listen: partners and applications are kept apart")


def _check_reports(gateway: Table, found: Configuration) -> None:
    files = [("this configuration", found.path), ("the store", found.store)]
    for name, tls in (("tls", found.tls), ("api_tls", found.api_tls)):
        if tls is not None:
            files += [
                (f"the {key} of [{name}]", path)
                for key in ("key", "certificate", "trusted")
                if (path := getattr(tls, key)) is not None
            ]
    for identity in found.identities:
        files += [
            (f"the key of identity {identity.id!r}", identity.key),
            (f"the certificate of identity {identity.id!r}", identity.certificate),
        ]
    trusting = [(one.id, one.trusted) for one in found.webhooks]
    trusting += [(one.id, one.trusted) for one in found.alerts]
    files += [
        (f"the trusted certificates of {name!r}", path)
        for name, path in trusting
        if path is not None
    ]
    files += [("a file of a secret", path) for path in found.secret_files]
    if found.log_file is not None:
        files.append(("the log", found.log_file))
    folders = [("the payloads of the store", spool_of(found.store)), ("backups", found.backups)]
    check_reports(gateway, found.reports, files=files, folders=folders)


def _check_api(gateway: Table, tls: Tls | None) -> None:
    is_guarded = gateway["api_token"] is not None or gateway["api_keys"]
    if not is_guarded and not is_loopback(gateway["api"]):
        gateway.refuse("api", "can be reached from elsewhere: say api_keys = true, or an api_token")
    is_https = urlsplit(gateway["api"]).scheme == "https"
    if is_https != (tls is not None and tls.certificate is not None):
        gateway.refuse("api", "is https just where [api_tls] has a certificate and key")


def _check_callers(gateway: Table, tables: Sequence[Table], tls: Tls | None) -> None:
    """Refuse a required certificate that callers cannot show, or that nobody would check."""
    is_asked = tls is not None and tls.clients and gateway["listen"].startswith("https:")
    for table in tables:
        certificates = table["caller_certificate"] or ()
        entrances = table["entrances"] or ()
        for key in ("caller_certificate", "next_hop_certificate"):
            if table.has(key) and table[key] and not is_asked:
                table.refuse(key, "needs an https listen and clients = true in [tls]")
        if not certificates:
            continue
        if entrances and "https" not in entrances:
            table.refuse(
                "entrances", "lacks https, where alone caller_certificate can be shown; add it"
            )
        if not table.has("resend_to"):
            continue
        entrance = entrance_of(table["resend_to"] or "https:")
        if entrance != "https" and entrance not in entrances:
            table.refuse(
                "resend_to",
                f"is by {entrance}, where nobody shows caller_certificate: take the certificate "
                f'away, or say entrances = ["https", "{entrance}"]',
            )


def _limits(table: Table | None) -> Limits:
    if table is None:
        return Limits()
    return Limits(**{field.name: table[field.name] for field in fields(Limits)})


def _check_neighbours(gateway: Table, agreements: Sequence[Table], routes: Sequence[Table]) -> None:
    """Refuse a partner or a next hop that is this gateway itself."""
    ours = {gateway["listen"], gateway["uri"]} - {None}
    for table in agreements:
        if table["send_to"] in ours:
            table.refuse("send_to", "is our own address")
    for table in routes:
        for key in ("back_to", "send_to"):
            if table[key] in ours:
                table.refuse(key, "is our own address")


def _is_one_socket(one: str, other: str) -> bool:
    if urlsplit(one).port != urlsplit(other).port:
        return False
    is_same_host = urlsplit(one).hostname == urlsplit(other).hostname
    return is_same_host or is_wildcard(one) or is_wildcard(other)


def _agreements(tables: Sequence[Table], party: tuple[PartyId, ...]) -> tuple[Agreement, ...]:
    agreements: dict[str, Agreement] = {}
    places: dict[str, Table] = {}
    # It is enough to compare with the first agreement between two ids: the later ones fit it.
    between: dict[tuple[PartyId, PartyId], Agreement] = {}
    called: dict[str, list[Agreement]] = {}
    for table in tables:
        agreement = _agreement(table, party)
        _refuse_twice(table, places)
        for other in called.setdefault(agreement.name_on_wire, []):
            _check_called_alike(table, agreement, other)
        called[agreement.name_on_wire].append(agreement)
        agreements[agreement.id] = agreement
        for ids in product(agreement.our_ids, agreement.their_ids):
            other = between.setdefault(ids, agreement)
            if other is not agreement:
                _check_beside_agreement(table, agreement, other)
    return tuple(agreements.values())


def _check_called_alike(table: Table, agreement: Agreement, other: Agreement) -> None:
    """Refuse two agreements of one name on the wire that no arrival could tell apart."""
    is_one_pair = set(agreement.our_ids) & set(other.our_ids) and set(agreement.their_ids) & set(
        other.their_ids
    )
    if is_one_pair:
        check_beside(table, agreement, other)
    elif not (agreement.profile.has_cpa and other.profile.has_cpa):
        key = "cpa_id" if table.is_given("cpa_id") else "id"
        table.refuse(key, f"is how agreement {other.id!r} is called on the wire")


def _check_beside_agreement(table: Table, agreement: Agreement, other: Agreement) -> None:
    """Messages between two parties are one pair, whichever agreement they come under (R-01)."""
    if agreement.profile is not other.profile:
        table.refuse(
            "profile",
            f"is another than that of {other.id!r}, which is between the same parties; "
            f"legal: {other.profile.name}",
        )
    for key, ids, others in (
        ("with", agreement.their_ids, other.their_ids),
        ("party", agreement.our_ids, other.our_ids),
    ):
        if key == "with" and ids[0] == others[0] and agreement.name != other.name:
            table.refuse("name", f"is another than in {other.id!r}, which is with the same partner")
        if ids[0] != others[0]:
            table.refuse(
                key,
                f"begins with another id than in {other.id!r}, which is between the same parties; "
                f"legal: {others[0]} first",
            )


def _agreement(table: Table, party: tuple[PartyId, ...]) -> Agreement:
    check_preset(table)
    our_ids = table["party"] or party
    if not set(our_ids) <= set(party):
        table.refuse("party", "names ids that [gateway] party lacks")
    if set(our_ids) & set(table["with"]):
        table.refuse("with", "names one of our own ids")
    _check_names(table, {"party": our_ids, "with": table["with"]})
    return Agreement(
        id=table["id"],
        profile=table["profile"],
        our_ids=our_ids,
        their_ids=table["with"],
        send_to=table["send_to"],
        error_to=table["error_to"],
        receiver_uri=table["receiver_uri"] or table["send_to"],
        terms=terms_of(table),
        resend_to=table["resend_to"],
        caller_certificate=table["caller_certificate"] or (),
        entrances=table["entrances"] or (),
        validator=table["validator"],
        methods_supported=table["reliable_messaging_methods_supported"] or (),
        name=table["name"],
        cpa=cpa_terms_of(table),
    )


def _check_names(table: Table, parties: dict[str, Sequence[PartyId]]) -> None:
    """Refuse a PartyId that the headers of this profile cannot have."""
    if table["profile"].has_cpa:
        return
    for key, ids in parties.items():
        for one in ids:
            try:
                checked_party(one)
            except RemoteError as error:
                table.refuse(key, f"is nothing for this profile: {error.description}")


def _refuse_twice(table: Table, places: dict[str, Table]) -> None:
    """Refuse an id that another table has, wherever that is."""
    name = table["id"]
    first = places.setdefault(name, table)
    if first is not table:
        table.refuse("id", f"{name!r} is there twice; the other is at {first.place_of('id')}")


def _routes(
    tables: Sequence[Table], party: tuple[PartyId, ...], agreements: Sequence[Agreement]
) -> tuple[Route, ...]:
    routes: dict[str, Route] = {}
    places: dict[str, Table] = {}
    taken = _Taken(agreements)
    for table in tables:
        route = _route(table)
        for key in ("from", "to"):
            if set(table[key]) & set(party):
                table.refuse(key, "names one of our own ids: that takes an [[agreement]]")
        _check_names(table, {"from": route.from_ids, "to": route.to_ids})
        _refuse_twice(table, places)
        taken.take(table, route)
        routes[route.id] = route
    return tuple(routes.values())


class _Taken:
    """Finds conflicts of a route: another that carries the same messages, or another profile.

    It is enough to compare with the first route between two ids, since the later ones fit it.
    """

    def __init__(self, agreements: Sequence[Agreement]) -> None:
        self._agreements = {agreement.id for agreement in agreements}
        self._with: dict[PartyId, dict[Profile, Agreement]] = {}
        for agreement in agreements:
            for party_id in agreement.their_ids:
                self._with.setdefault(party_id, {}).setdefault(agreement.profile, agreement)
        self._between: dict[tuple[PartyId, PartyId], Route] = {}
        self._under: dict[tuple[tuple[PartyId, PartyId], str | None], Route] = {}

    def take(self, table: Table, route: Route) -> None:
        """Refuse the route, or keep it to compare later routes with it."""
        self._check_agreements(table, route)
        every_ids = tuple(product(route.from_ids, route.to_ids))
        for ids in every_ids:
            for other in (self._between.get(ids), self._between.get(ids[::-1])):
                if other is not None and other.profile is not route.profile:
                    table.refuse(
                        "profile",
                        f"is another than that of {other.id!r} between the same parties: profiles "
                        f"are not mixed; legal: {other.profile.name}",
                    )
            carrier = self._find_carrier(ids, route.agreement_id)
            if carrier is not None:
                table.refuse("id", f"{route.id!r} would carry what {carrier.id!r} carries already")
        for ids in every_ids:
            self._between.setdefault(ids, route)
            self._under.setdefault((ids, route.agreement_id), route)

    def _check_agreements(self, table: Table, route: Route) -> None:
        if route.id in self._agreements:
            table.refuse("id", f"{route.id!r} is the id of an agreement")
        for party_id in (*route.from_ids, *route.to_ids):
            for profile, agreement in self._with.get(party_id, {}).items():
                if profile is not route.profile:
                    table.refuse(
                        "profile",
                        f"is another than that of agreement {agreement.id!r} with the same party: "
                        f"profiles are not mixed; legal: {profile.name}",
                    )

    def _find_carrier(self, ids: tuple[PartyId, PartyId], agreement_id: str | None) -> Route | None:
        """A route that carries some message between the ids under that agreement, or any (None)."""
        if agreement_id is None:
            return self._between.get(ids)
        return self._under.get((ids, None)) or self._under.get((ids, agreement_id))


def _route(table: Table) -> Route:
    if set(table["from"]) & set(table["to"]):
        table.refuse("to", "names an id of from")
    if table["back_to"] == table["send_to"]:
        table.refuse("send_to", "is back_to: the message would go where it came from")
    for key in ("back_to", "send_to"):
        if urlsplit(table[key]).scheme in ("amqp", "amqps"):
            table.refuse(key, "is a broker: legal in an [[agreement]] (S1-11)")
    return Route(
        id=table["id"],
        profile=table["profile"],
        intermediary=Intermediary(table["intermediary"]),
        from_ids=table["from"],
        to_ids=table["to"],
        agreement_id=table["agreement"],
        back_to=table["back_to"],
        sender_uri=table["sender_uri"] or table["back_to"],
        send_to=table["send_to"],
        receiver_uri=table["receiver_uri"] or table["send_to"],
        terms=route_terms_of(table),
        hops_max=table["hops_max"],
        caller_certificate=table["caller_certificate"] or (),
        next_hop_certificate=table["next_hop_certificate"] or (),
        entrances=table["entrances"] or (),
    )


def _drill(table: Table | None, directory: Path) -> Drill | None:
    if table is None:
        return None
    offset_file = table["clock_offset_file"]
    return Drill(
        clock_rate=table["clock_rate"],
        clock_offset_file=None if offset_file is None else directory / offset_file,
        failpoints=table["failpoints"],
    )


def _lake_location(lake: str, directory: Path) -> str:
    return lake if "://" in lake else str(directory / lake)
