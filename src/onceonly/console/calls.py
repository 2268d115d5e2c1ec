"""Calls of the application API in the same process: an ASGI application, asked without a socket.

The browser's `Host` goes along with each call and so does its key: the API judges both, exactly as
if the browser had called it, and answers with types of `onceonly.api`.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from onceonly.api.decoding import converted, decoded
from onceonly.api.keys import CERTIFICATE
from onceonly.api.operation import JSON, A, B, Nothing, Operation, P, Q
from onceonly.api.refusals import Refusal, Refused
from onceonly.message.word import Word

Application = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application."""

NOTHING: Final = Nothing()

OWN_OF_SCOPE: Final = "onceonly."
"""How the keys begin that the gateway adds to an ASGI scope."""


class OnBehalf(Word, kw_only=True):
    """For whom a call is made: what his browser said, and the key with which he signed in."""

    host: bytes
    scheme: str
    client: tuple[str, int] | None
    key: str | None
    certificate: Any = None
    """What his browser showed under TLS, as the gateway has put it into the scope."""
    reason: str | None = None
    """Why an action is asked for; the journal keeps it."""


class ApiRefused(Exception):  # noqa: N818 - because it is the API's word for it, and no fault of ours
    """The API refused a call: its status, and its reason as it was given."""

    def __init__(self, status: int, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.status = status
        self.refusal = refusal


class Calls:
    """The API, as pages call it for one caller."""

    def __init__(self, api: Application, caller: OnBehalf) -> None:
        self._api = api
        self._caller = caller

    async def ask(
        self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None
    ) -> A:
        """The typed answer. Raises `ApiRefused`.

        A text answer is a `str`, and a payload `bytes`. A status by which an operation says more
        than yes is still an answer: whoever reads 503 of `/readyz` reads its body.
        """
        written = b"" if body is None else msgspec.json.encode(body)
        scope = self._scope(operation, path, query, len(written))
        answer = _Answer()
        await self._api(scope, _Sent(written).receive, answer.take)
        if answer.status not in operation.statuses:
            raise ApiRefused(answer.status, _refusal(answer.body))
        if operation.answer_type is str:
            return answer.body.decode()  # type: ignore[return-value]  # because A is str here
        if operation.answer_type is bytes:
            return answer.body  # type: ignore[return-value]  # because A is bytes here
        value: A = _decoded(answer.body, operation.answer_type)
        return value

    async def forward(
        self, call: Operation[P, Q, B, A], path: P, query: Q, browser: tuple[Any, Any, Any]
    ) -> None:
        """Let the API answer the browser itself: the bytes of a payload, or a stream of events.

        `browser` is the ASGI scope of its request, and its `receive` and `send`. Of an operation
        with several media it gets the last one.
        """
        scope, receive, send = browser
        # What the gateway's endpoint put there is about the connection, which is the same.
        own = {name: scope[name] for name in scope if name.startswith(OWN_OF_SCOPE)}
        asked = {**own, **self._scope(call, path, query, 0, call.media[-1])}
        await self._api(asked, receive, send)

    def _scope(
        self,
        operation: Operation[P, Q, B, A],
        path: P,
        query: Q,
        length: int,
        media: str | None = None,
    ) -> dict[str, Any]:
        caller, target = self._caller, operation.target(path).encode("ascii")
        headers = [(b"host", caller.host), (b"accept", (media or operation.media[0]).encode())]
        if operation.writes:
            headers += [(b"content-type", JSON.encode()), (b"content-length", b"%d" % length)]
        if caller.reason is not None:
            headers.append((b"onceonly-reason", caller.reason.encode("utf-8", "replace")))
        if caller.key is not None:
            headers.append((b"authorization", b"Bearer " + caller.key.encode()))
        shown = {} if caller.certificate is None else {CERTIFICATE: caller.certificate}
        return {
            **shown,
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": operation.method.upper(),
            "scheme": caller.scheme,
            "path": target.decode("ascii"),
            "raw_path": target,
            "root_path": "",
            "query_string": urlencode(_texts(query)).encode("ascii"),
            "headers": headers,
            "client": caller.client,
            "server": None,
        }


def twin_of(operation: Operation[P, Q, B, A], path: P, query: Q) -> str:
    """The address at which the API answers the same in JSON."""
    texts = _texts(query)
    return operation.target(path) + (f"?{urlencode(texts)}" if texts else "")


def _texts(query: Word) -> dict[str, Any]:
    texts: dict[str, Any] = msgspec.to_builtins(query)
    return {name: value for name, value in texts.items() if value is not None}


class _Sent:
    """The body of a call: one piece, after which nothing more comes."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    async def receive(self) -> dict[str, Any]:
        if self._body is None:
            # The API listens for a caller that leaves; this one stays until it is answered.
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


class _Answer:
    """Takes the parts of an answer."""

    def __init__(self) -> None:
        self.status = 500
        self.body = b""

    async def take(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")


def _refusal(body: bytes) -> Refusal:
    return _decoded(body, Refused).error


def _decoded(body: bytes, kind: type[A]) -> A:
    """Half a surrogate pair has an escape in JSON, which msgspec's decoder refuses."""
    try:
        return decoded(body, kind)
    except msgspec.DecodeError:
        return converted(json.loads(body), kind)
