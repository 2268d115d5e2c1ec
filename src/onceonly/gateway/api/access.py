"""Who may call the application API: this machine, or a caller with a key; no foreign web page.

Any web page can make a browser on this machine call us. Two header fields show it. `Origin`: a page
of another origin cannot leave it out when it posts. `Host`: a page cannot choose it. If an attacker
binds a name of his own to our address (DNS rebinding), the browser takes his page for one of our
origin, but `Host` then has the attacker's name. So a caller that uses a name must use one of ours.
Addresses are always accepted, since nobody can bind them, and so is `localhost`, since no name
server answers for it. The port is not compared: tunnels and containers change it, and an attacker
need not change it.

All of this is decided by the head of the request, before a byte of the body is read. Which
calls the caller may make is decided where they are found, by the scope that each of them declares.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import Response

from onceonly.api.keys import CERTIFICATE
from onceonly.api.operations import OPERATIONS
from onceonly.api.refusals import Refused
from onceonly.gateway.api.answers import Json, refusal
from onceonly.gateway.caller import Caller, ShownCertificate
from onceonly.message.printable import printable

OPEN_PATHS = frozenset(one.path for one in OPERATIONS if one.is_open)
"""What a load balancer asks without a key; they say nothing about messages."""

CALLER = "onceonly.caller"
"""Where the ASGI scope has the `Caller`.

Nobody outside can put one there, since the server makes the scope. Whoever calls the application
inside this process can, in the name of somebody that it let in.
"""

UNSNIFFED = (b"x-content-type-options", b"nosniff")
"""In every answer, so that no browser shows text of a partner as a web page (X17)."""

SEEN_LENGTH_MAX = 120
"""Most characters of a foreign Host that the refusal repeats; all names of ours are shorter."""

_HOST = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{0,5})?")
_BEARER = "Bearer "
_LOCAL_NAMES = frozenset({"localhost"})
"""For every resolver it means this machine (RFC 6761), so nobody else can bind it."""


class Access:
    """Guards an ASGI application that listens at `api`; `hosts` are further names of it."""

    def __init__(
        self,
        *,
        api: str,
        caller_of: Callable[[str | None, ShownCertificate | None], Caller | None],
        note_denied: Callable[[str, Any, str | None], None],
        hosts: Iterable[str] = (),
    ) -> None:
        self._origin = api.rstrip("/")
        self.caller_of = caller_of
        """Who calls with this key and this certificate (None: without); None where nobody may."""
        self.note_denied = note_denied
        """Told of each call that is denied: the refusal's name, the ASGI scope, and whose key."""
        named = urlsplit(api).hostname
        assert named is not None, "configuration has checked the URI"
        self._own_name = named
        self.rename(hosts)

    def rename(self, hosts: Iterable[str]) -> None:
        """Answer by these names from now on, besides that of `api`."""
        self._names = _LOCAL_NAMES | {_folded(name) for name in (self._own_name, *hosts)}

    def guard(self, application: Any) -> Any:
        """The application, called only after the checks; all its answers forbid sniffing."""

        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            async def send_unsniffed(message: Any) -> None:
                if message["type"] == "http.response.start":
                    message = {**message, "headers": [*message["headers"], UNSNIFFED]}
                await send(message)

            refused = self._refused(scope) if scope["type"] == "http" else None
            await (refused or application)(scope, receive, send_unsniffed)

        return guarded

    def _refused(self, scope: Any) -> Response | None:
        refused = self._let_in(scope)
        if refused is not None:
            self.note_denied(refused.content.error.name, scope, None)
        return refused

    def _let_in(self, scope: Any) -> Json[Refused] | None:
        """The refusal; None where somebody is let in, who is in the scope then."""
        hosts = _all(scope, b"host")
        if not self._is_ours(hosts, scope.get("http_version", "1.1")):
            return refusal("ForeignHost", self._foreign(hosts))
        if any(origin != self._origin for origin in _all(scope, b"origin")):
            return refusal("ForeignOrigin", "a page of another origin may not call this API")
        if CALLER in scope or scope["path"] in OPEN_PATHS:
            return None
        given = _all(scope, b"authorization")
        is_key = len(given) == 1 and given[0].startswith(_BEARER)
        caller = self.caller_of(
            _as_written(given[0][len(_BEARER) :]) if is_key else None,
            # A certificate stands for no key beside credentials that are none.
            scope.get(CERTIFICATE) if is_key or not given else None,
        )
        if caller is None:
            text = "the key is missing, wrong, revoked, or not that of the certificate"
            return refusal("Unauthorized", text)
        scope[CALLER] = caller
        return None

    def _is_ours(self, hosts: Sequence[str], version: str) -> bool:
        if not hosts:
            # Health checks of HTTP/1.0 name no host; every browser does.
            return version == "1.0"
        found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if found is None:
            return False
        if found["six"] is not None:
            return _is(IPv6Address, found["six"])
        return _folded(found["name"]) in self._names or _is(IPv4Address, found["name"])

    def _foreign(self, hosts: Sequence[str]) -> str:
        names = ", ".join(sorted(self._names))
        seen = "no Host" if not hosts else "several of them" if len(hosts) > 1 else f"{hosts[0]!r}"
        return (
            f"the Host of a call is an address, or one of {names}; here it is "
            f"{printable(seen[:SEEN_LENGTH_MAX])}. A name that is rightly ours belongs into "
            "api_hosts of [gateway]"
        )


def _all(scope: Any, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _as_written(value: str) -> str:
    """The text of a header field, whose bytes are UTF-8 where a token of ours is no ASCII."""
    return value.encode("latin-1").decode("utf-8", "surrogateescape")


def _folded(name: str) -> str:
    return name.lower().removesuffix(".")


def _is(kind: type[IPv4Address | IPv6Address], text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True
