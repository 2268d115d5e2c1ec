"""A small client of the application API: what the command line, Spark and tests use.

It knows HTTP and the API's JSON, nothing of the gateway's inside.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import httpx

from onceonly.documents import Document, Form
from onceonly.message.errors import LocalError, OnceonlyError
from onceonly.message.identity import JOB_NAME, is_job_name

__all__ = ["Client", "Document", "End", "GatewayUnreachable"]

TIMEOUT_S = 60.0
"""Longest silence of the gateway before a call counts as unreachable."""

_BEYOND = 10**17
"""An offset, or a seq, that is greater than every existing one."""

_ARROW = "application/vnd.apache.arrow.stream"

JSON = dict[str, Any]


class GatewayUnreachable(OnceonlyError):  # noqa: N818 - because it is a condition, not a fault
    """No answer came: the call was not sent, or nobody knows its result.

    A call with a key or a MessageId may be repeated without risk.
    """


class End(NamedTuple):
    """How far the numbers of an inbox or a journal go, and of which store they are."""

    last: int
    store_id: str | None
    """None before the store's first row, and from gateways that do not say."""


class Client:
    """Calls one gateway. Use as a context manager.

    Every call raises `GatewayUnreachable`, or `LocalError` with the name that the gateway gave;
    UnexpectedAnswer where something else answered, InvalidField for a text that can be no job's
    name. Making one raises `LocalError` (UnusableAddress, UnusableToken).
    """

    def __init__(self, api: str, *, token: str | None = None) -> None:
        # No proxy from the environment: the API is next to us or named by the user.
        self._http = httpx.Client(
            base_url=_checked_address(api),
            headers={} if token is None else {b"Authorization": _authorization(token)},
            timeout=TIMEOUT_S,
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def submit(  # noqa: PLR0913 - because a header has this many fields
        self,
        documents: Sequence[Document | tuple[bytes | Path, str, str]],
        *,
        to: str,
        service: str,
        action: str,
        message_id: str | None = None,
        key: str | None = None,
        conversation: str | None = None,
        ref: str | None = None,
        agreement: str | None = None,
    ) -> JSON:
        """Submit a message; the answer is its state, `replayed` if it was submitted before.

        Raises `LocalError` (UnusableFile, FileChanged) where a file cannot be read, or changes
        while it is read; then nothing is submitted.
        """
        header = {
            "to": to,
            "service": service,
            "action": action,
            "message_id": message_id,
            "key": key,
            "conversation": conversation,
            "ref": ref,
            "agreement": agreement,
        }
        given = {name: value for name, value in header.items() if value is not None}
        with Form(json.dumps(given).encode(), [Document(*one) for one in documents]) as form:
            return self._json("POST", "/v1/messages", content=form.pieces(), headers=form.headers)

    def get(self, message_id: str) -> JSON:
        """State and timeline of an outbound message."""
        return self._json("GET", f"/v1/messages/{_quoted(message_id)}")

    def list(self, **query: str | int) -> JSON:
        """A page of outbound messages: `messages` and `next_after`."""
        return self._json("GET", "/v1/messages", params=query)

    def cancel(self, message_id: str) -> JSON:
        """Take a message back. If a byte of it has left, the receiver is asked and decides."""
        return self._json("POST", f"/v1/messages/{_quoted(message_id)}/cancel")

    def resend(
        self,
        message_id: str,
        *,
        new_version: bool = False,
        anyway: bool = False,
        reason: str | None = None,
    ) -> JSON:
        """Send a message again that was given up, or its content under a new MessageId.

        What ended and certainly was not delivered goes out as a new message, its `resent_as`.
        With `new_version` the partner is asked to cancel the message first; with `anyway` nobody
        is asked, so that it may be delivered twice, and the `reason` is kept in the journal.
        """
        path = f"/v1/messages/{_quoted(message_id)}/resend"
        body: JSON = {"new_version": new_version, "anyway": anyway}
        if reason is not None:
            body["reason"] = reason
        return self._json("POST", path, json=body)

    def resume_message(self, message_id: str, reason: str) -> JSON:
        """Take up a message that a bug parked, or that is stored and was never handed over."""
        path = f"/v1/messages/{_quoted(message_id)}/resume"
        return self._json("POST", path, json={"reason": reason})

    def request_status(self, message_id: str) -> JSON:
        """Ask the partner how a message stands; its answer is in `recovery` later."""
        return self._json("POST", f"/v1/messages/{_quoted(message_id)}/status-request")

    def stage(self, job: str, rows: Iterable[JSON], run: str | None = None) -> Sequence[JSON]:
        """Stage messages in a job, at most 1000 at a time; nothing is sent before `release`.

        A row has `message_id`, `to`, `service`, `action`, and where wanted `agreement`,
        `conversation`, `ref`, `payload` (a text) or `payload_base64`, `content_type`, `name`,
        and `row`, its number in the job, by which a repeat is known. The answers are in the same
        order: `outcome` is accepted, replayed or rejected, with an `error`. `run` names one start
        of the caller: rows of earlier ones that are not staged again are not released with it.
        """
        return self.stage_lines(job, b"\n".join(json.dumps(row).encode() for row in rows), run)

    def stage_lines(
        self, job: str, lines: bytes, run: str | None = None, attempt: int | None = None
    ) -> Sequence[JSON]:
        """`stage`, of rows that are JSON already, one per line.

        A task that may be tried again gives each `attempt` a greater number than the one before.
        Raises `LocalError` (AttemptOver) for an attempt after which a later one has begun.
        """
        headers = {"content-type": "application/x-ndjson"}
        answer = self._json(
            "POST",
            f"{_path_of(job)}/messages",
            content=lines,
            headers=headers,
            params=_given(run=run, attempt=attempt),
        )
        rows: Sequence[JSON] = answer["rows"]
        return rows

    def release(self, job: str, run: str | None = None, staged: int | None = None) -> JSON:
        """Send what is staged in a job, in the order of its rows. A second call changes nothing.

        With `run`, only what that run has staged. Raises `LocalError` (JobChanged, RunOver) if the
        job has fewer rows of it than `staged`, the number that was accepted.
        """
        params = _given(run=run, staged=staged)
        return self._json("POST", f"{_path_of(job)}/release", params=params)

    def drop(self, job: str, run: str | None = None) -> int:
        """Forget what is staged in a job, or in one run of it, and not released.

        Returns how many rows.
        """
        path, params = _path_of(job), _given(run=run)
        dropped: int = self._json("DELETE", path, params=params)["dropped"]
        return dropped

    def job(self, job: str) -> JSON:
        """What became of the rows of a job; the counts add up to `rows`."""
        return self._json("GET", _path_of(job))

    def jobs(self, after: int = 0, limit: int = 100) -> JSON:
        """A page of jobs: `jobs` and `next_after`."""
        return self._json("GET", "/v1/jobs", params={"after": after, "limit": limit})

    def rejects(self, job: str) -> Iterator[JSON]:
        """Every rejected row of a job, and why."""
        after: int | None = 0
        while after is not None:
            params = {"after": after, "limit": 1000}
            page = self._json("GET", f"{_path_of(job)}/rejects", params=params)
            yield from page["rejects"]
            after = page["next_after"]

    def inbox(self, after: int = 0, limit: int = 100, wait_s: float = 0.0) -> Sequence[JSON]:
        """Received messages above the offset, in order."""
        params: dict[str, str | int] = {"after": after, "limit": limit, "wait": str(wait_s)}
        items: Sequence[JSON] = self._json("GET", "/v1/inbox", params=params)["items"]
        return items

    def last_offset(self) -> int:
        """The greatest offset of the inbox so far."""
        return self.inbox_end().last

    def inbox_end(self) -> End:
        """The greatest offset of the inbox so far, and the store that gave it."""
        page = self._json("GET", "/v1/inbox", params={"after": _BEYOND, "limit": 1})
        return End(page["last_offset"], page.get("store_id"))

    def inbox_stream(self, after: int, up_to: int, limit: int = 1000) -> bytes:
        """Received messages above `after` up to `up_to` with their payloads, as an Arrow stream.

        As many as fit into one answer, in the order of their offsets; the last answer has none.
        """
        return self._arrow("/v1/inbox", {"after": after, "up_to": up_to, "limit": limit})

    def report_range(self, after: int, up_to: int, processing: str) -> int:
        """Report a processing state of everything above `after` up to `up_to`.

        Returns how many items it changed. Items that are further already stay as they are.
        """
        body = {"after": after, "up_to": up_to, "processing": processing}
        moved: int = self._json("POST", "/v1/inbox/processing", json=body)["moved"]
        return moved

    def payload(self, item: JSON, n: int) -> Iterator[bytes]:
        """The bytes of a payload of an inbox item, in pieces."""
        with self._call("GET", item["payloads"][n]["href"]) as response:
            yield from response.iter_bytes()

    def report(self, item: JSON, processing: str) -> JSON:
        """Report the application's processing state of an inbox item."""
        path = f"/v1/inbox/{_quoted(item['message_id'])}/processing?offset={item['offset']}"
        return self._json("POST", path, json={"processing": processing})

    def refuse(self, item: JSON, reason: str) -> JSON:
        """Say that the application will not process an inbox item."""
        path = f"/v1/inbox/{_quoted(item['message_id'])}/refuse?offset={item['offset']}"
        return self._json("POST", path, json={"reason": reason})

    def find_inbox_item(self, message_id: str) -> JSON | None:
        """The inbox item with this MessageId; None where there is none.

        Raises `LocalError` (Cancelled) where its sender took it back, and (Ambiguous) where several
        have it: `facts["offsets"]` of the error says which, for `find_inbox_item_at`.
        """
        return _none_if_not_found(lambda: self._json("GET", f"/v1/inbox/{_quoted(message_id)}"))

    def find_inbox_item_at(self, offset: int) -> JSON | None:
        """The inbox item at this offset; None where there is none.

        Raises `LocalError` (Cancelled) where its sender took it back.
        """
        return _none_if_not_found(lambda: self._json("GET", f"/v1/inbox/items/{offset}"))

    def get_inbox_item(self, message_id: str, offset: int) -> JSON:
        """The inbox item at this offset, which has this MessageId."""
        return self._json("GET", f"/v1/inbox/{_quoted(message_id)}?offset={offset}")

    def notices(self, after: int = 0, limit: int = 100) -> Sequence[JSON]:
        """Notices for the application."""
        params = {"after": after, "limit": limit}
        notices: Sequence[JSON] = self._json("GET", "/v1/notices", params=params)["notices"]
        return notices

    def partners(self) -> Sequence[JSON]:
        """Pairs with every partner."""
        partners: Sequence[JSON] = self._json("GET", "/v1/partners")["partners"]
        return partners

    def ping(self, partner: str, wait_s: float = 10.0) -> Sequence[JSON]:
        """Ask a partner under each agreement whether it takes messages."""
        path = f"/v1/partners/{_quoted(partner)}/ping?wait={wait_s}"
        pings: Sequence[JSON] = self._json("POST", path)["pings"]
        return pings

    def suspend(self, partner: str, reason: str | None = None) -> Sequence[JSON]:
        """Suspend sending to a partner."""
        return self._on_partner(partner, "suspend", {"reason": reason})

    def resume(self, partner: str) -> Sequence[JSON]:
        """Resume both directions with a partner."""
        return self._on_partner(partner, "resume", {})

    def resume_unsent(self, partner: str) -> JSON:
        """Resume a partner, and send as new messages what failed before a byte of it left.

        The answer has `partners`, and how many messages were `resent`.
        """
        return self._json("POST", f"/v1/partners/{_quoted(partner)}/resume", json={"unsent": True})

    def _on_partner(self, partner: str, verb: str, body: JSON) -> Sequence[JSON]:
        path = f"/v1/partners/{_quoted(partner)}/{verb}"
        partners: Sequence[JSON] = self._json("POST", path, json=body)["partners"]
        return partners

    def incidents(self, *, resolved: bool = False) -> Sequence[JSON]:
        """Open incidents, or with `resolved` all of them."""
        params = {"all": "yes"} if resolved else {}
        incidents: Sequence[JSON] = self._json("GET", "/v1/incidents", params=params)["incidents"]
        return incidents

    def set_draining(self, *, draining: bool) -> None:
        """Whether partners that ask first are told to send nothing."""
        self._json("POST", "/v1/drain", json={"draining": draining})

    def journal(self, after: int = 0, limit: int = 1000) -> Sequence[JSON]:
        """Journal rows above a seq."""
        params = {"after": after, "limit": limit}
        records: Sequence[JSON] = self._json("GET", "/v1/journal", params=params)["records"]
        return records

    def last_seq(self) -> int:
        """`seq` of the last journal row."""
        return self.journal_end().last

    def journal_end(self) -> End:
        """`seq` of the last journal row, and the store that gave it."""
        page = self._json("GET", "/v1/journal", params={"after": _BEYOND, "limit": 1})
        return End(page["last_seq"], page.get("store_id"))

    def journal_stream(self, after: int, limit: int = 1000) -> bytes:
        """Journal rows above a seq, in order, as an Arrow stream."""
        return self._arrow("/v1/journal", {"after": after, "limit": limit})

    def journal_of(self, message_id: str) -> Sequence[JSON]:
        """Every journal row about a message: sent, received, or on its way through."""
        params = {"message_id": message_id}
        records: Sequence[JSON] = self._json("GET", "/v1/journal", params=params)["records"]
        return records

    def publish(self) -> int:
        """Publish the journal's new rows; returns how many."""
        count: int = self._json("POST", "/v1/lake/publish")["published"]
        return count

    def health(self) -> JSON:
        """Who the gateway is."""
        return self._json("GET", "/healthz")

    def is_ready(self) -> bool:
        """Whether it takes packages and submissions now; False while it cannot be reached."""
        try:
            return self._http.get("/readyz").status_code == httpx.codes.OK
        except httpx.RequestError:
            return False

    def _json(self, method: str, path: str, **arguments: Any) -> JSON:
        with self._call(method, path, **arguments) as response:
            response.read()
            try:
                answer: JSON = response.json()
            except ValueError as error:
                raise _unexpected(response) from error
            return answer

    def _arrow(self, path: str, params: dict[str, int]) -> bytes:
        headers = {"accept": _ARROW}
        with self._call("GET", path, params=params, headers=headers) as response:
            body = response.read()
            if response.headers.get("content-type") != _ARROW:
                raise _unexpected(response)
            return body

    def _call(self, method: str, path: str, **arguments: Any) -> "_Call":
        return _Call(self._http, method, path, arguments)


class _Call:
    """One request whose response is open inside the `with`."""

    def __init__(
        self, http: httpx.Client, method: str, path: str, arguments: dict[str, Any]
    ) -> None:
        self._http = http
        self._request = http.build_request(method, path, **arguments)

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


def _checked_address(api: str) -> httpx.URL:
    try:
        url = httpx.URL(api)
    except httpx.InvalidURL as error:
        raise LocalError("UnusableAddress", f"{api!r} is no address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise LocalError("UnusableAddress", f"{api!r} must look like http://HOST:PORT")
    return url


def _authorization(token: str) -> bytes:
    """The head's line. What no head can have is refused here: others would show it (R-25)."""
    if not (token and token.isprintable() and token == token.strip()):
        text = "the token is empty, or has a line end, a blank at an end or a control character"
        raise LocalError("UnusableToken", text)
    return f"Bearer {token}".encode()


def _refusal(response: httpx.Response) -> LocalError:
    try:
        refused = dict(response.json()["error"])
        return LocalError(refused.pop("name"), refused.pop("text"), refused)
    except (ValueError, KeyError, TypeError):
        return _unexpected(response)


def _none_if_not_found(call: Callable[[], JSON]) -> JSON | None:
    try:
        return call()
    except LocalError as error:
        if error.name == "NotFound":
            return None
        raise


def _unexpected(response: httpx.Response) -> LocalError:
    text = f"this is no answer of a gateway's API (status {response.status_code})"
    return LocalError("UnexpectedAnswer", text)


def _given(**params: str | int | None) -> dict[str, str | int]:
    return {name: value for name, value in params.items() if value is not None}


def _path_of(job: str) -> str:
    """Raises `LocalError` (InvalidField): another name would be another address."""
    if not is_job_name(job):
        raise LocalError("InvalidField", f"a job's name is {JOB_NAME}")
    return f"/v1/jobs/{_quoted(job)}"


def _quoted(text: str) -> str:
    return quote(text, safe="")
