"""The tables of a configuration that a CPA amounts to, for one of its parties.

One table for each set of actions that share our channel, the partner's channel and all terms. What
a CPA says and no key can say becomes a comment of the table or a note.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from onceonly.gateway.config.presets import BY_NAME, PROFILE
from onceonly.gateway.cpa import toml
from onceonly.gateway.cpa.addresses import Addresses, endpoints_of
from onceonly.gateway.cpa.document import CpaError
from onceonly.gateway.cpa.model import Channel, Cpa, NonRepudiation, Party
from onceonly.gateway.cpa.notes import Notes
from onceonly.gateway.cpa.pairing import Flow, flows_of, sides_of
from onceonly.gateway.cpa.security import (
    OLD_ALGORITHM,
    Signer,
    algorithm_of,
    certificate_in,
    pem_name_of,
    written_algorithm,
)
from onceonly.gateway.cpa.terms import Allowed, is_signed, needs_protected_way, terms_of
from onceonly.message.errors import RemoteError
from onceonly.message.identity import PartyId, checked_identifier
from onceonly.message.instant import to_datetime
from onceonly.message.message import AckRequested
from onceonly.message.printable import quoted
from onceonly.message.word import Word


class Wishes(Word, kw_only=True):
    """What the operator said on the command line."""

    party: str
    preset: str | None = None
    instead: tuple[str, ...] = ()
    """`OLD=NEW`: addresses to be taken instead of endpoints of the CPA."""
    allowed: Allowed = Allowed()
    takes_proposed: bool = False
    takes_expired: bool = False
    certificates: str = ""
    """The folder of certificate files as it is to be written, with a slash at its end; or empty."""
    identities: dict[str, str] | None = None
    """Ids of `[[identity]]` by the fingerprint of their certificates; None: they are not known."""


class AgreementTable(Word, kw_only=True):
    """One `[[agreement]]`, in the order in which it is written."""

    values: dict[str, Any]
    comments: tuple[str, ...]
    """Lines above it: what the CPA says beside that."""


class Found(Word, kw_only=True):
    """All tables, and the certificates of the partner that they name, in PEM by file name."""

    tables: tuple[AgreementTable, ...]
    certificates: dict[str, str]


def tables_of(cpa: Cpa, wishes: Wishes, notes: Notes) -> Found:
    """The tables of our side. Raises `CpaError`."""
    return _Side(cpa, wishes, notes).tables()


class _Side:
    """One party's view of the CPA."""

    def __init__(self, cpa: Cpa, wishes: Wishes, notes: Notes) -> None:
        self._cpa = cpa
        self._wishes = wishes
        self._notes = notes
        self._ours, self._theirs = sides_of(cpa, wishes.party)
        known = endpoints_of(self._ours, self._theirs)
        instead = dict(_instead(given, known) for given in wishes.instead)
        self._addresses = Addresses(self._ours, self._theirs, instead, notes)
        self._certificates: dict[str, str] = {}

    def tables(self) -> Found:
        flows = flows_of(self._ours, self._theirs, self._notes)
        own = {one.ours.id: self._values(one) for one in flows if one.ours.within_id is None}
        groups: dict[tuple[str, str, str], list[Flow]] = {}
        values: dict[tuple[str, str, str], dict[str, Any]] = {}
        by_id = {one.ours.id: one for one in flows}
        for flow in flows:
            outer = _outermost(flow, by_id)
            found = own[outer.ours.id]
            key = (outer.our_channel.id, outer.their_channel.id, toml.written(found))
            groups.setdefault(key, []).append(flow)
            values[key] = found
        self._tell_how_retries_are_counted(values.values())
        tables = tuple(
            AgreementTable(
                values={
                    "id": self._id(number),
                    **values[key],
                    "services": _services(group),
                },
                comments=tuple(dict.fromkeys(self._comments(group))),
            )
            for number, (key, group) in enumerate(groups.items(), 1)
        )
        return Found(tables=tables, certificates=self._certificates)

    def _tell_how_retries_are_counted(self, tables: Iterable[Mapping[str, Any]]) -> None:
        preset = BY_NAME.get(self._wishes.preset or "")
        if preset is None or not preset.counts_transmissions:
            return
        for table in tables:
            if "retries" in table:
                self._notes.tell(
                    f"{preset.what} counts transmissions: for our {table['retries']} retries its "
                    f"operator sets {table['retries'] + 1}"
                )

    def _id(self, number: int) -> str:
        name = "-".join(self._cpa.cpa_id.split())
        name = name if number == 1 else f"{name}.{number}"
        try:
            return checked_identifier(name, "cpaid")
        except RemoteError as error:
            raise CpaError(error.description) from error

    def _values(self, flow: Flow) -> dict[str, Any]:
        """All that is in the table of this action, except `id` and `services`."""
        terms = terms_of(flow, self._wishes.allowed, self._notes)
        addresses = self._addresses_of(flow)
        self._check_way(flow, addresses["send_to"])
        preset = {} if self._wishes.preset is None else {"preset": self._wishes.preset}
        return {
            **preset,
            "profile": PROFILE,
            "cpa_id": self._cpa.cpa_id,
            "party": _ids(self._ours),
            "with": _ids(self._theirs),
            "role": flow.ours.role,
            "partner_role": flow.theirs.role,
            **addresses,
            **self._validity(),
            **terms,
            **self._signing(flow, terms),
            **self._callers(flow),
        }

    def _validity(self) -> dict[str, str]:
        instants = {"valid_from": self._cpa.start_at, "valid_until": self._cpa.end_at}
        return {
            key: to_datetime(at).isoformat().replace("+00:00", "Z") for key, at in instants.items()
        }

    def _addresses_of(self, flow: Flow) -> dict[str, str]:
        """`send_to` is the partner's receiving channel, or where signals go if we only receive."""
        channel = flow.their_channel
        has_endpoint = bool(channel.transport.endpoints)
        signals = self._addresses.of_signals()
        send_to = signals
        if flow.is_sent or has_endpoint:
            send_to = self._addresses.of_messages(channel)
        errors = self._addresses.find_errors(channel)
        found = {"send_to": send_to}
        if errors is not None and errors != send_to:
            found["error_to"] = errors
        if signals != send_to:
            found["signals_to"] = signals
        return found

    def _check_way(self, flow: Flow, send_to: str) -> None:
        """Ours and the partner's address, by which the message or its acknowledgement goes."""
        ours, theirs = flow.our_channel.transport, flow.their_channel.transport
        if theirs.asks_for_password:
            raise CpaError(
                f"line {theirs.line}: the transport {quoted(theirs.id)} asks for "
                "AccessAuthentication, a user and a password, which is not offered"
            )
        if ours.asks_for_password or theirs.shows_password:
            self._notes.warn(
                "the partner shows a user and a password (AccessAuthentication), which nobody here"
                " looks at; see caller_certificate"
            )
        if not needs_protected_way(flow):
            return
        is_open = (
            send_to.startswith("http:")
            if flow.is_sent
            else self._addresses.is_open(flow.our_channel)
        )
        if not is_open:
            return
        if not self._wishes.allowed.is_open:
            raise CpaError(
                f"line {flow.to_channel.line}: {flow.what} needs a protected way (isConfidential, "
                "isAuthenticated or isTamperProof is transient), and the endpoint is http; "
                "expected is https. Where the network protects it, say --insecure"
            )
        self._notes.warn(f"{flow.what}: a protected way is demanded, and the endpoint is http")

    def _signing(self, flow: Flow, terms: Mapping[str, Any]) -> dict[str, Any]:
        is_ack_signed = terms["ack_requested"] == AckRequested.SIGNED
        if not is_signed(flow) and not is_ack_signed:
            return {}
        ours = _signing_of(self._ours, flow.our_channel)
        theirs = _signing_of(self._theirs, flow.their_channel)
        for signing, signs_messages, who in (
            (ours, flow.is_sent, "we"),
            (theirs, not flow.is_sent, "the partner"),
        ):
            is_needed = is_signed(flow) if signs_messages else is_ack_signed
            if is_needed and signing is None:
                what = "it" if signs_messages else "its acknowledgement"
                raise CpaError(
                    f"line {flow.ours.line}: {flow.what} takes signatures, and {who} who sign "
                    f"{what} have no SenderNonRepudiation in the DocExchange; expected is one with "
                    "a SigningCertificateRef"
                )
        found: dict[str, Any] = {}
        if theirs is not None:
            found["partner_certificates"] = [self._partner_file(theirs)]
            algorithm_of(theirs, "the partner", self._notes)
        if ours is not None:
            found.update(self._our_identity(ours))
            algorithm = algorithm_of(ours, "our party", self._notes)
            found["signature_algorithm"] = written_algorithm(algorithm)
        return found

    def _partner_file(self, signing: NonRepudiation) -> str:
        signer = certificate_in(self._theirs, signing.certificate_id)
        name = pem_name_of(signer)
        self._certificates[name] = signer.pem
        return f"{self._wishes.certificates}{name}"

    def _our_identity(self, signing: NonRepudiation) -> dict[str, Any]:
        signer = certificate_in(self._ours, signing.certificate_id)
        known = self._wishes.identities
        words = _words(signer)
        if known is None:
            self._notes.tell(
                f"we sign with {words}: it has to be an [[identity]]; with -c it is looked for"
            )
            return {}
        name = known.get(signer.certificate.fingerprint)
        if name is None:
            raise CpaError(
                f"the CPA says that we sign with {words}; no [[identity]] of the configuration has "
                "this certificate"
            )
        return {"identities": [name]}

    def _callers(self, flow: Flow) -> dict[str, Any]:
        """The certificates that the partner's MSH shows when it calls."""
        channels = (flow.their_channel, self._theirs.channels[self._theirs.default_channel_id])
        names = [one.transport.client_certificate_id for one in channels]
        found = dict.fromkeys(
            certificate_in(self._theirs, name).certificate.fingerprint
            for name in names
            if name is not None
        )
        if not found:
            return {}
        ours = flow.our_channel.transport.client_certificate_id
        if ours is not None:
            words = _words(certificate_in(self._ours, ours))
            self._notes.tell(f"the partner expects that [tls] shows {words}")
        return {"caller_certificate": [*found]}

    def _comments(self, group: list[Flow]) -> Iterator[str]:
        for flow in group:
            address = self._addresses.of_ours(flow.our_channel)
            if address is not None:
                yield f"The partner posts to {address}: listen (or uri) of [gateway] is there."
            yield from self._comments_of(flow.their_channel)
            for one in (flow.ours.characteristics, flow.theirs.characteristics):
                if one.time_to_perform is not None:
                    yield (
                        f"{flow.ours.action} is to be done within {one.time_to_perform} "
                        "(timeToPerform), which the application has to watch."
                    )
            signing = _signing_of(self._theirs, flow.their_channel)
            if (is_signed(flow) or flow.to_channel.ack_signature_requested == "always") and (
                signing is not None
                and algorithm_of(signing, "the partner", self._notes) == OLD_ALGORITHM
            ):
                yield "accept_sha1 = true  # only if the partner can sign by SHA-1 alone"

    def _comments_of(self, channel: Channel) -> Iterator[str]:
        transport = channel.transport
        for kind, uri in transport.endpoints:
            if kind in ("response", "login"):
                yield f"The partner's endpoint of type {kind} is {uri}, which is not used."
        if transport.server_certificate_id is not None:
            found = certificate_in(self._theirs, transport.server_certificate_id)
            yield f"The partner's server shows {_words(found)}; trusted of [tls] has to hold it."
        for action, name in self._theirs.override_channel_ids.items():
            if action not in ("Acknowledgment", "MessageError"):
                yield f"{action} of the MSH has the channel {name}, which is not used."


def _instead(given: str, known: Iterable[str]) -> tuple[str, str]:
    """`OLD=NEW` in two; an address may have an equal sign in it, so OLD is one that is known."""
    fitting = [uri for uri in known if given.startswith(f"{uri}=")]
    if not fitting:
        raise CpaError(
            f"--endpoint {quoted(given)} begins with no endpoint of this CPA and an equal sign; it "
            f"has {', '.join(map(quoted, known))}"
        )
    old = max(fitting, key=len)
    return old, given[len(old) + 1 :]


def _outermost(flow: Flow, by_id: Mapping[str, Flow]) -> Flow:
    """The action whose exchange this one is a part of; nesting bounds how far that is."""
    while flow.ours.within_id is not None:
        flow = by_id[flow.ours.within_id]
    return flow


def _ids(party: Party) -> list[Any]:
    for name, kind in party.ids:
        try:
            PartyId(name, kind)
        except RemoteError as error:
            raise CpaError(error.description) from error
    return [name if kind is None else {"id": name, "type": kind} for name, kind in party.ids]


def _services(group: list[Flow]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str | None], dict[str, Any]] = {}
    for flow in group:
        service = {"id": flow.ours.service}
        if flow.ours.service_type is not None:
            service["type"] = flow.ours.service_type
        known = found.setdefault(
            (flow.ours.service, flow.ours.service_type), {**service, "send": [], "receive": []}
        )
        actions = known["send" if flow.is_sent else "receive"]
        if flow.ours.action not in actions:
            actions.append(flow.ours.action)
    return [{key: value for key, value in one.items() if value != []} for one in found.values()]


def _signing_of(party: Party, channel: Channel) -> NonRepudiation | None:
    """How the party signs on the channel, else on that of its signals."""
    default = party.channels[party.default_channel_id]
    return channel.exchange.sender.non_repudiation or default.exchange.sender.non_repudiation


def _words(signer: Signer) -> str:
    found = signer.certificate
    until = to_datetime(found.until_at).date().isoformat()
    return f"{found.subject} (SHA-256 {found.fingerprint}, until {until})"
