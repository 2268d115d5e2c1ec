"""Where a CPA sends to: its endpoints as addresses that a gateway may post to (attack S36)."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from onceonly.gateway.config.values import Illegal, endpoint
from onceonly.gateway.cpa.document import CpaError
from onceonly.gateway.cpa.model import Channel, Party, Transport
from onceonly.gateway.cpa.notes import Notes
from onceonly.message.printable import quoted

_SCHEMES: Final = {"HTTP": ("http", "https"), "SMTP": ("smtp", "smtps")}
_MAILTO: Final = "mailto:"
_ODD_NUMBER: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*")
BUSINESS: Final = ("allPurpose", "request")
"""Types of endpoints that take messages."""


class Addresses:
    """The addresses of both parties, with what the operator said instead of some of them."""

    def __init__(
        self, ours: Party, theirs: Party, instead: Mapping[str, str], notes: Notes
    ) -> None:
        self._instead = instead
        self._notes = notes
        self._ours = {self._plain(uri) for uri in _uris(ours)}
        self._are_ours_here = any(_is_here(uri) for uri in self._ours)
        self._theirs = theirs

    def of_messages(self, channel: Channel) -> str:
        """Where messages on the channel go. Raises `CpaError`."""
        return self._usable(self._endpoint(channel, BUSINESS), channel.transport)

    def find_errors(self, channel: Channel) -> str | None:
        """Where errors about messages on the channel go, if that is elsewhere."""
        found = self._find(channel.transport, ("error",))
        override = self._theirs.override_channel_ids.get("MessageError")
        if override is not None:
            over = self._theirs.channels[override]
            found = self._find(over.transport, ("error",)) or self._endpoint(over, BUSINESS)
        return None if found is None else self._usable(found, channel.transport)

    def of_signals(self) -> str:
        """Where acknowledgements and inquiries go."""
        name = self._theirs.override_channel_ids.get("Acknowledgment")
        channel = self._theirs.channels[name or self._theirs.default_channel_id]
        return self._usable(self._endpoint(channel, BUSINESS), channel.transport)

    def of_ours(self, channel: Channel) -> str | None:
        """Where the partner posts to us, as the CPA has it."""
        found = self._find(channel.transport, BUSINESS)
        return None if found is None else self._plain(found)

    def is_open(self, channel: Channel) -> bool:
        """Whether what comes by this channel can be read on its way."""
        found = self._find(channel.transport, BUSINESS)
        return found is not None and urlsplit(self._plain(found)).scheme == "http"

    def _find(self, transport: Transport, types: tuple[str, ...]) -> str | None:
        found = [uri for kind in types for one, uri in transport.endpoints if one == kind]
        for other in found[1:]:
            self._notes.ignore(
                f"the endpoint {quoted(other)} of {quoted(transport.id)}: {quoted(found[0])} is"
                " used"
            )
        return found[0] if found else None

    def _endpoint(self, channel: Channel, types: tuple[str, ...]) -> str:
        found = self._find(channel.transport, types)
        if found is None:
            raise CpaError(
                f"line {channel.transport.line}: the channel {quoted(channel.id)} has no endpoint "
                f"of type {' or '.join(types)}, so that nobody can post to it"
            )
        return found

    def _plain(self, uri: str) -> str:
        """As the operator says, else as it stands; a mail address in the form that we have."""
        uri = self._instead.get(uri, uri)
        if uri.lower().startswith(_MAILTO):
            return f"smtp:{uri[len(_MAILTO) :].lstrip('/')}"
        return uri

    def _usable(self, given: str, transport: Transport) -> str:
        uri = self._plain(given)
        where = f"line {transport.line}: the endpoint {quoted(given)}"
        legal = _SCHEMES.get((transport.receives_by or "").upper(), ())
        scheme = urlsplit(uri).scheme if _can_be_split(uri) else ""
        if scheme not in legal and given not in self._instead:
            raise CpaError(
                f"{where} is not of {quoted(transport.receives_by or 'none')}; expected is an "
                "http, https or mailto address that fits its TransportProtocol"
            )
        try:
            endpoint(uri)
        except Illegal as error:
            raise CpaError(f"{where} cannot be used: {error}") from error
        if uri in self._ours:
            raise CpaError(f"{where} is our own address in this CPA, too; expected is another one")
        if given not in self._instead:
            self._check_host(uri, where)
        return uri

    def _check_host(self, uri: str, where: str) -> None:
        if _is_nowhere(uri):
            raise CpaError(f"{where} is an address that no partner can have")
        if not _is_here(uri):
            return
        if not self._are_ours_here:
            raise CpaError(
                f"{where} is on the machine of whoever posts to it, which is ours; expected is the "
                "partner's own address. Where it is meant, say --endpoint OLD=NEW"
            )
        self._notes.warn(f"{uri} can only be reached on this machine; ours in the CPA can, too")


def endpoints_of(ours: Party, theirs: Party) -> tuple[str, ...]:
    """Every endpoint of the CPA as it stands, each once."""
    return tuple(dict.fromkeys((*_uris(ours), *_uris(theirs))))


def _uris(party: Party) -> tuple[str, ...]:
    return tuple(
        uri for channel in party.channels.values() for _, uri in channel.transport.endpoints
    )


def _can_be_split(uri: str) -> bool:
    try:
        urlsplit(uri)
    except ValueError:
        return False
    return True


def _host_of(uri: str) -> str:
    """The host of an http address, without the dot that a full name may end with."""
    if not _can_be_split(uri) or not urlsplit(uri).scheme.startswith("http"):
        return ""
    return (urlsplit(uri).hostname or "").rstrip(".")


def _number_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def _is_here(uri: str) -> bool:
    """Whether only the machine that posts to it can reach it."""
    host = _host_of(uri)
    number = _number_of(host)
    if number is not None:
        return number.is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _is_nowhere(uri: str) -> bool:
    """Addresses for the local wire, for many, or for nobody: posting there hits something else.

    A host of digits alone, such as `127.1` or `0x7f000001`, is read by some systems as an address.
    """
    host = _host_of(uri)
    number = _number_of(host)
    if number is None:
        return _ODD_NUMBER.fullmatch(host) is not None
    return not number.is_loopback and (
        number.is_link_local or number.is_multicast or number.is_unspecified or number.is_reserved
    )
