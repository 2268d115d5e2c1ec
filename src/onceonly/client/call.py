"""One HTTP call of a gateway's API, and what its failures are called.

Knows HTTP and the one shape of every refusal; must not know which calls there are.
"""

from types import TracebackType
from typing import Any

import httpx
import msgspec

from onceonly.api.decoding import decoded
from onceonly.api.refusals import Refused
from onceonly.message.errors import LocalError, OnceonlyError


class GatewayUnreachable(OnceonlyError):  # noqa: N818 - because it is a condition, not a fault
    """No answer came: the call was not sent, or nobody knows its result.

    A call with a key or a MessageId may be repeated without risk.
    """


class HttpCall:
    """One request whose response is open inside the `with`."""

    def __init__(
        self, http: httpx.Client, method: str, path: str, arguments: dict[str, Any]
    ) -> None:
        self._http = http
        self._request = http.build_request(method.upper(), path, **arguments)

    def __enter__(self) -> httpx.Response:
        try:
            self._response = self._http.send(self._request, stream=True)
            if self._response.is_error:
                self._response.read()
        except httpx.RequestError as error:
            raise GatewayUnreachable(f"{self._request.url.host}: {error}") from error
        if self._response.is_error:
            raise _refusal(self._response)
        return self._response

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._response.close()
        if isinstance(error, httpx.RequestError):
            raise GatewayUnreachable(str(error)) from error


def checked_address(api: str) -> httpx.URL:
    """The address of an API. Raises `LocalError` (UnusableAddress)."""
    try:
        url = httpx.URL(api)
    except httpx.InvalidURL as error:
        raise LocalError("UnusableAddress", f"{api!r} is no address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise LocalError("UnusableAddress", f"{api!r} must look like http://HOST:PORT")
    return url


def authorization(token: str) -> bytes:
    """The head's line. What no head can have is refused here: others would show it (R-25)."""
    if not (token and token.isprintable() and token == token.strip()):
        text = "the token is empty, or has a line end, a blank at an end or a control character"
        raise LocalError("UnusableToken", text)
    return f"Bearer {token}".encode()


def line(text: str) -> bytes:
    """The value of a field of the head, in UTF-8."""
    if not (text and text.isprintable() and text == text.strip()):
        raise LocalError("InvalidField", f"{text!r} is not one line of text")
    return text.encode()


def _refusal(response: httpx.Response) -> LocalError:
    try:
        refused = decoded(response.content, Refused).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return unexpected(response)
    facts: dict[str, Any] = decoded(msgspec.json.encode(refused), dict[str, Any])
    return LocalError(facts.pop("name"), facts.pop("text"), facts)


def unexpected(response: httpx.Response) -> LocalError:
    """The error for an answer that no gateway gives."""
    text = f"this is no answer of a gateway's API (status {response.status_code})"
    return LocalError("UnexpectedAnswer", text)
