"""Who takes part: the configurations of the gateways that a plan's machines run.

Knows how two parties and the intermediaries between them are configured to fit; must not know
what happens to them.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from onceonly.gateway.config import Configuration, Smtp, StartTls
from onceonly.gateway.config.agreement_keys import WINDOW_2001
from onceonly.gateway.config.terms import may_be_copied
from onceonly.gateway.config.transports import Tls
from onceonly.message.agreement import Agreement, Route
from onceonly.message.cpa import CpaTerms, ServiceBinding
from onceonly.message.identity import Pair, PartyId
from onceonly.message.message import AckRequested
from onceonly.message.profile import Profile
from onceonly.message.signing import Signed, SigningTerms
from onceonly.message.terms import DeliveryTerms, Intermediary, OnExhausted
from onceonly.message.word import changed
from onceonly.simulation.network import certificate
from onceonly.simulation.plan import Line, Machine, Plan
from onceonly.simulation.signing_keys import identity_id, pinned

HOPS_MAX = 6


@lru_cache(256)
def party(name: str) -> PartyId:
    """The PartyId of a machine that is a party."""
    return PartyId(f"urn:party:{name}")


SERVICE = "urn:services:Ordering"
"""Of every message."""


@lru_cache(256)
def speaker(name: str, profile: Profile) -> PartyId:
    """In whose name the machine of a neighbour sends signals: its own, or that of its party."""
    return PartyId(uri(name)) if profile.has_routing_headers else party(name)


def uri(name: str, scheme: str = "http") -> str:
    """Where a machine takes packages by that scheme; what it calls itself is by http always."""
    return f"smtp:msh@{name}.example" if scheme == "smtp" else f"{scheme}://{name}.example/msh"


def listen(name: str, scheme: str = "http") -> str:
    """Where a machine would bind, if its network were a real one."""
    port = 443 if scheme == "https" else 80
    return f"{scheme}://{name}.example:{port}/msh"


def tls(name: str) -> Tls:
    """The certificates of a machine that has lines by https: its own, and whose it takes."""
    return Tls(
        certificate=Path(f"{name}.pem"),
        key=Path(f"{name}.key"),
        trusted=Path("trusted.pem"),
        clients=True,
    )


def smtp(name: str) -> Smtp:
    """The mail of a machine that has lines by mail."""
    return Smtp(
        listen=f"smtp://{name}.example:25",
        mailbox=uri(name, "smtp").partition(":")[2],
        relay="smtp://mail.example:25",
        starttls=StartTls.NEVER,
        user=None,
        password=None,
        listen_user=None,
        listen_password=None,
    )


def name_of(party_id: str) -> str:
    """The machine that is this party."""
    return party_id.rpartition(":")[2]


def line_id(line: Line) -> str:
    """Agreement id of a line, the same at both ends."""
    return f"{line.one}-{line.other}{line.name}"


def path_of(line: Line) -> list[str]:
    """The machines of a line, from its one end to the other."""
    return [line.one, *(relay for relay, _ in line.through), line.other]


def are_neighbours(line: Line, one: str, other: str) -> bool:
    """Whether the two machines stand side by side on the line."""
    return any({one, other} == {*pair} for pair in pairwise(path_of(line)))


def pair_of(line: Line) -> Pair:
    """The pair of a line in the direction in which it is named."""
    return Pair(str(party(line.one)), str(party(line.other)))


def configurations(plan: Plan) -> dict[str, Configuration]:
    """The configuration of every machine, by its name."""
    return {machine.name: _configuration(machine, plan.lines) for machine in plan.machines}


def _configuration(machine: Machine, lines: tuple[Line, ...]) -> Configuration:
    name = machine.name
    agreements: list[Agreement] = []
    routes: list[Route] = []
    mails = is_https = False
    for line in lines:
        path = path_of(line)
        if name == line.one:
            agreements.append(_agreement(line, path))
        elif name == line.other:
            agreements.append(_agreement(line, path[::-1]))
        elif name in path:
            mode = dict(line.through)[name]
            routes.append(_route(line, path, name, mode, "there"))
            routes.append(_route(line, path[::-1], name, mode, "back"))
        mails = mails or (name in path and "smtp" in (line.scheme, line.resend_scheme))
        is_https = is_https or (name in path and line.scheme == "https")
    return Configuration(
        path=Path(f"{name}.toml"),
        party=(party(name),),
        listen=listen(name, "https" if is_https else "http"),
        uri=uri(name),
        api="http://127.0.0.1:1",
        api_token=None,
        store=Path(f"{name}.db"),
        backups=Path("backups"),
        reports=Path("reports"),
        lake="lake",
        publish_interval_s=NEVER_S,
        payload_bytes_max=1 << 20,
        queued_max=machine.queued_max,
        agreements=tuple(agreements),
        drill=None,
        routes=tuple(routes),
        smtp=smtp(name) if mails else None,
        tls=tls(name) if is_https else None,
        purge_interval_s=machine.purge_interval_s,
        forget_pair_after_s=machine.forget_pair_after_s,
    )


def with_terms(
    configuration: Configuration, agreement_id: str, terms: Mapping[str, Any]
) -> Configuration:
    """The configuration with some terms of one agreement changed."""
    agreements = tuple(
        changed(one, terms=changed(one.terms, **terms)) if one.id == agreement_id else one
        for one in configuration.agreements
    )
    return replace(configuration, agreements=agreements)


NEVER_S = 1 << 40
"""A time after the end of every world: journals are read from the store, not published."""


def _agreement(line: Line, path: list[str]) -> Agreement:
    """The agreement of the first machine of the path with the last one."""
    return Agreement(
        id=line_id(line),
        profile=line.profile,
        our_ids=(party(path[0]),),
        their_ids=(party(path[-1]),),
        send_to=uri(path[1], line.scheme),
        error_to=None,
        receiver_uri=uri(path[1]),
        terms=_terms_between(line),
        resend_to=uri(path[1], line.resend_scheme) if line.resend_scheme else None,
        caller_certificate=(certificate(path[1]),) if line.is_certified else (),
        signing=_signing_between(line, path[0], path[-1]),
        cpa=_cpa_of(line),
    )


def name_on_wire(line: Line) -> str:
    """What packages and journals call the agreement of the line (R-35)."""
    return line.cpa_id or line_id(line)


def _signing_between(line: Line, ours: str, theirs: str) -> SigningTerms:
    """What is signed there; nothing unless the line says so."""
    if line.signs is Signed.NONE:
        return SigningTerms()
    return SigningTerms(
        signs=line.signs,
        requires=line.signs,
        identities=(identity_id(ours),),
        partner_certificates=(pinned(theirs),),
    )


def _cpa_of(line: Line) -> CpaTerms:
    if not line.cpa_id:
        return CpaTerms()
    actions = (line.action,)
    binding = ServiceBinding(id=SERVICE, send=actions, receive=actions)
    return CpaTerms(cpa_id=line.cpa_id, services=(binding,))


def intermediary_of(line: Line) -> Intermediary | None:
    """What both ends are told of the way between them (R-39)."""
    modes = [mode for _, mode in line.through]
    return Intermediary.ACCEPT if Intermediary.ACCEPT in modes else next(iter(modes), None)


def _terms_between(line: Line) -> DeliveryTerms:
    intermediary = intermediary_of(line)
    schemes = (line.scheme, line.resend_scheme)
    endpoints = (f"{scheme}:" for scheme in schemes if scheme)
    return changed(
        line.terms,
        intermediary=intermediary,
        may_be_copied=may_be_copied(intermediary, *endpoints),
    )


def _route(line: Line, path: list[str], name: str, mode: Intermediary, direction: str) -> Route:
    at = path.index(name)
    return Route(
        id=f"{line_id(line)}-{direction}",
        profile=line.profile,
        intermediary=mode,
        from_ids=(party(path[0]),),
        to_ids=(party(path[-1]),),
        agreement_id=line_id(line),
        back_to=uri(path[at - 1], line.scheme),
        sender_uri=uri(path[at - 1]),
        send_to=uri(path[at + 1], line.scheme),
        receiver_uri=uri(path[at + 1]),
        terms=_route_terms(line.terms, mode),
        hops_max=HOPS_MAX,
        caller_certificate=(certificate(path[at - 1]),) if line.is_certified else (),
        next_hop_certificate=(certificate(path[at + 1]),) if line.is_certified else (),
    )


def _route_terms(terms: DeliveryTerms, mode: Intermediary) -> DeliveryTerms:
    """The terms of a route: a relay has only its pause, an accepting one has those of the line."""
    shared = DeliveryTerms(
        is_numbered=terms.is_numbered,
        window=1 if terms.is_numbered else WINDOW_2001,
        retry_interval_s=terms.retry_interval_s,
        persist_duration_s=terms.persist_duration_s,
        msh_time_accuracy_s=terms.msh_time_accuracy_s,
        on_exhausted=OnExhausted.FAIL,
        acknowledges_on_request=terms.acknowledges_on_request,
    )
    if terms.acknowledges_on_request:
        shared = changed(shared, timeout_s=terms.retry_interval_s)  # There is no Timeout.
    if mode is Intermediary.RELAY:
        return shared
    return changed(
        shared,
        window=terms.window,
        timeout_s=terms.timeout_s,
        retries=terms.retries if terms.retries is not None else ROUTE_RETRIES,
        time_to_live_s=terms.time_to_live_s,
        transient_retries=terms.transient_retries,
        fails_on_network_error=terms.fails_on_network_error,
        intermediary=mode,
        may_be_copied=True,
        notifies_failures=True,
        ack_requested=AckRequested.UNSIGNED,
    )


ROUTE_RETRIES = 3
"""Retries of an accepting intermediary whose origin sends until the message expires."""
