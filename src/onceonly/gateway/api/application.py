"""The application API: HTTP and JSON for applications and operators.

Every call reads its request, calls one of the parts and shows the result; nothing is decided here.
Errors have one shape, `{"error": {"name", "text"}}`, and a name never changes. `openapi.py`
describes the same routes.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from inspect import iscoroutinefunction
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from onceonly.gateway import shapes
from onceonly.gateway.api.access import Access
from onceonly.gateway.api.answers import Json, refusal, sendable_type, shown
from onceonly.gateway.api.arrow import MEDIA_TYPE, inbox_stream, journal_stream
from onceonly.gateway.api.bounds import announced, read_on, read_whole
from onceonly.gateway.api.forms import HEADER_BYTES_MAX, HEADER_PART, form_of
from onceonly.gateway.api.job_calls import JobCalls
from onceonly.gateway.api.openapi import OPERATIONS, Operation, openapi_document
from onceonly.gateway.api.paths import on_steps
from onceonly.gateway.api.reading import (
    check_members,
    check_query,
    count,
    flag,
    header_json,
    item_of,
    json_object,
    key_of,
    limit_of,
    needed_reason,
    number,
    one_of,
    reason_of,
    submission_of,
    too_large,
    whole,
)
from onceonly.gateway.application.inbox import Inbox
from onceonly.gateway.application.jobs import Jobs
from onceonly.gateway.application.operations import Operations
from onceonly.gateway.application.submissions import Part, Submission, Submissions
from onceonly.message.errors import LocalError
from onceonly.message.identity import Pair
from onceonly.protocol.receiving import ProcessingState
from onceonly.protocol.sending import OutboundStatus
from onceonly.store.contract.conditions import StoreExhausted, StoreFailed, StoreFull
from onceonly.store.contract.entries import InboxItem, Incident, MessageFilter, PairView, Role
from onceonly.store.contract.store import Snapshot, Store
from onceonly.store.spool import Sink, Spool

WAIT_S_MAX = 60.0
"""Longest long-poll of the inbox, and longest wait for the answer to a Ping."""

PING_WAIT_S = 10.0
"""How long to wait for the answer to a Ping, unless the caller says otherwise."""

COPY_BYTES = 1 << 18
"""Size of the pieces in which an upload is written to the spool."""

OFFSET_MAX = (1 << 63) - 1
"""Above every offset."""

FORM_BYTES_MAX = 2 * HEADER_BYTES_MAX
"""Most bytes of a form besides its payloads: the JSON, and 99 part heads of some 600 bytes."""

READERS_MAX = 4
"""Most calls that read the store at the same time, so that threads are left for payloads."""

_STATUS_OF = {
    "LengthRequired": 411,
    "NotFound": 404,
    "UnknownPartner": 404,
    "UnknownAgreement": 404,
    "Ambiguous": 409,
    "MessageIdTaken": 409,
    "JobChanged": 409,
    "RunOver": 409,
    "AttemptOver": 409,
    "IdempotencyKeyTaken": 409,
    "Cancelled": 409,
    "NeverSent": 409,
    "JournalForked": 409,
    "NotCancellable": 409,
    "NotParked": 409,
    "NotResendable": 409,
    "ProcessingWentBack": 409,
    "Refused": 409,
    "BodyTooLarge": 413,
    "PayloadTooLarge": 413,
    "TooManyPayloads": 413,
    "TooManyRows": 413,
    "QueueFull": 503,
    "LakeFailed": 503,
}


Call = Callable[["Api", Request], Awaitable[Response] | Response]
"""A call that is no coroutine reads the store, and runs in a thread."""


class Api(JobCalls):
    """The routes over the parts that they read."""

    def __init__(  # noqa: PLR0913 - because the API is the face of all these parts
        self,
        *,
        store: Store,
        spool: Spool,
        submissions: Submissions,
        jobs: Jobs,
        inbox: Inbox,
        operations: Operations,
        payload_bytes_max: int,
    ) -> None:
        self._store = store
        self._spool = spool
        self._submissions = submissions
        self._jobs = jobs
        self._inbox = inbox
        self._operations = operations
        self._payload_bytes_max = payload_bytes_max
        self._readers = asyncio.Semaphore(READERS_MAX)

    def application(self, access: Access) -> Any:
        """The ASGI application, which `access` guards."""
        routes = [
            Route(path, self._endpoint(call, _operation_of(method, path)), methods=[method])
            for method, path, call in ROUTES
        ]
        handlers: dict[Any, Any] = {
            HTTPException: _on_http_exception,
            LocalError: _on_local_error,
            StoreExhausted: _on_store_exhausted,
            StoreFull: _on_store_full,
            StoreFailed: _on_store_failed,
            Exception: self._on_bug,
            ClientDisconnect: _on_disconnect,
        }
        return on_steps(access.guard(Starlette(routes=routes, exception_handlers=handlers)))

    async def _on_bug(self, request: Request, error: Exception) -> Response:
        """A call met a bug, perhaps because of a value that a partner sent (R-43)."""
        del request
        self._operations.note_bug("answering a call of the API", error)
        text = "a bug of onceonly; an incident of this kind is in the journal and in the log"
        return refusal(500, "InternalError", text)

    def _endpoint(
        self, call: Call, operation: Operation
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            check_query(request, operation)
            if call not in _READ_ON:
                request = await read_whole(request)
                check_members(await json_object(request), operation)
            if iscoroutinefunction(call):
                answer: Response = await call(self, request)
                return answer
            async with self._readers:
                return await asyncio.to_thread(call, self, request)  # type: ignore[arg-type]  # because it is none that is awaited

        return endpoint

    @property
    def _snapshot(self) -> Snapshot:
        return self._store.snapshot()

    async def put_message(self, request: Request) -> Response:
        """Submit under the MessageId of the path."""
        return await self._submit(request, request.path_params["message_id"])

    async def post_message(self, request: Request) -> Response:
        """Submit; the MessageId is in the JSON, or else we choose it."""
        return await self._submit(request, None)

    async def _submit(self, request: Request, message_id: str | None) -> Response:
        async with self._submission(request, message_id) as submission:
            receipt = await self._submissions.submit(submission)
        shape = {**self._message(receipt.message_id), "replayed": receipt.is_replayed}
        return Json(shape, status_code=200 if receipt.is_replayed else 201)

    @asynccontextmanager
    async def _submission(
        self, request: Request, message_id: str | None
    ) -> AsyncIterator[Submission]:
        if announced(request) is None:
            raise LocalError("LengthRequired", "a submission says its Content-Length")
        refused = too_large(self._payload_bytes_max)
        counted = read_on(request, self._payload_bytes_max + FORM_BYTES_MAX, refused)
        sinks: list[Sink] = []
        try:
            async with form_of(counted) as form:
                header: Any = None
                parts: list[Part] = []
                room = self._payload_bytes_max
                for name, value in form.multi_items():
                    if name == HEADER_PART:
                        header = await header_json(value)
                    elif isinstance(value, UploadFile):
                        part, room = await self._spooled(value, sinks, room)
                        parts.append(part)
                if header is None:
                    text = "the part 'message' with the JSON is missing"
                    raise LocalError("InvalidMultipart", text)
                yield submission_of(header, parts, message_id, key_of(request))
        finally:
            for sink in sinks:
                sink.discard()

    async def _spooled(self, upload: UploadFile, sinks: list[Sink], room: int) -> tuple[Part, int]:
        """The payload in a sink, and how many bytes are left for the next ones."""
        sink = self._spool.open_sink()
        sinks.append(sink)
        while piece := await upload.read(COPY_BYTES):
            room -= len(piece)
            if room < 0:
                raise too_large(self._payload_bytes_max)
            sink.write(piece)
        content_type = upload.content_type or "application/octet-stream"
        return Part(sink, content_type, upload.filename or ""), room

    def _message(self, message_id: str) -> dict[str, Any]:
        """The message at one instant: commits go on while this reads.

        If the message has changed in between, its recovery and its pair are read again.
        """
        snapshot = self._snapshot
        view = snapshot.find_outbound_view(message_id)
        while view is not None:
            recovery = snapshot.get_recovery(message_id)
            pair = self._pair_view(view.message.pair)
            before, view = view, snapshot.find_outbound_view(message_id)
            if view == before:
                return shapes.message_shape(view, pair, recovery)
        raise LocalError("NotFound", f"no outbound message {message_id!r}")

    def _pair_view(self, pair: Pair) -> PairView:
        state = self._snapshot.get_sending_pair(pair)
        return PairView(
            Role.SENDER, pair, state.status, state.reason, state.sequence_number, state.in_flight, 0
        )

    def get_message(self, request: Request) -> Response:
        """State and timeline of one outbound message."""
        message_id = request.path_params["message_id"]
        message = self._message(message_id)
        records = self._snapshot.list_journal_of(message_id)
        return Json({**message, **shapes.history_shape(records, message["error_code"])})

    def list_messages(self, request: Request) -> Response:
        """A page of outbound messages."""
        query = request.query_params
        status = query.get("state")
        if status is not None and status not in list(OutboundStatus):
            legal = ", ".join(OutboundStatus)
            raise LocalError("InvalidField", f"state {shown(status)} is none of {legal}")
        page = self._snapshot.list_messages(
            MessageFilter(
                status=None if status is None else OutboundStatus(status),
                to_party=query.get("to"),
                conversation_id=query.get("conversation"),
                after=whole(request, "after", 0),
                limit=limit_of(request),
            )
        )
        items = [shapes.message_shape(view, None, None) for view in page.messages]
        return Json({"messages": items, "next_after": page.next_after})

    async def cancel_message(self, request: Request) -> Response:
        """Take a message back; 202 if the receiver has to be asked."""
        message_id = request.path_params["message_id"]
        is_done = await self._operations.cancel(message_id)
        return Json(self._message(message_id), status_code=200 if is_done else 202)

    async def resend_message(self, request: Request) -> Response:
        """Send a given-up message again, or its content; 202 if the receiver has to be asked.

        If it may be delivered twice, a person must ask for it and give a reason (R-41).
        """
        message_id = request.path_params["message_id"]
        body = await json_object(request)
        is_anyway, is_done = flag(body, "anyway"), True
        if is_anyway and flag(body, "new_version"):
            text = "new_version asks the partner first, and anyway does not: say one of them"
            raise LocalError("InvalidField", text)
        reason = needed_reason(body) if is_anyway else reason_of(body, "")
        if flag(body, "new_version"):
            is_done = await self._operations.resend_new_version(message_id, reason=reason)
        else:
            await self._operations.resend(message_id, reason=reason, is_anyway=is_anyway)
        return Json(self._message(message_id), status_code=200 if is_done else 202)

    async def resume_message(self, request: Request) -> Response:
        """Let a message go on that a bug parked, or that was stored and never handed over."""
        message_id = request.path_params["message_id"]
        reason = needed_reason(await json_object(request))
        taken_up = await self._operations.take_up(message_id, reason)
        return Json({"message_id": message_id, "taken_up": taken_up})

    async def request_status(self, request: Request) -> Response:
        """Ask the partner about a message; its answer is shown in the message."""
        message_id = request.path_params["message_id"]
        await self._operations.inquire(message_id)
        return Json(self._message(message_id), status_code=202)

    async def list_inbox(self, request: Request) -> Response:
        """Received messages above an offset, with their payloads if the caller asks for them."""
        wait_s = min(number(request, "wait", 0.0), WAIT_S_MAX)
        after, up_to = whole(request, "after", 0), whole(request, "up_to", OFFSET_MAX)
        limit = max(1, min(limit_of(request), up_to - after))
        items = await self._inbox.read(after, limit, wait_s)
        items = [item for item in items if item.offset <= up_to]
        async with self._readers:
            return await asyncio.to_thread(self._inbox_page, request, items)

    def _inbox_page(self, request: Request, items: Sequence[InboxItem]) -> Response:
        if _wants_arrow(request):
            stream = inbox_stream(self._inbox.with_payloads(items))
            return Response(stream, media_type=MEDIA_TYPE)
        if one_of(request, "payloads", ("none", "inline")) == "inline":
            found = self._inbox.with_payloads(items)
            shown = [shapes.whole_inbox_shape(whole_item) for whole_item in found]
        else:
            shown = [shapes.inbox_shape(item) for item in items]
        last_offset, store_id = self._inbox.last_offset(), self._store_id()
        return Json({"items": shown, "last_offset": last_offset, "store_id": store_id})

    async def post_processing_range(self, request: Request) -> Response:
        """The application's processing state of everything up to an offset."""
        body = await json_object(request)
        after, up_to = count(body, "after", 0), count(body, "up_to", None)
        moved = await self._inbox.report_range(after, up_to, _processing(body))
        return Json({"moved": moved})

    def get_inbox_item(self, request: Request) -> Response:
        """One received message, by its offset or by a MessageId that no other item has."""
        return Json(shapes.inbox_shape(self._inbox.get(*item_of(request))))

    def get_payload(self, request: Request) -> Response:
        """The bytes of one payload."""
        message_id, offset = item_of(request)
        stored = self._inbox.payload(message_id, request.path_params["n"], offset)
        headers = {
            # A browser must never show a payload as one of our pages (attack R6).
            "content-type": sendable_type(stored.payload.content_type),
            "content-disposition": "attachment",
            "content-security-policy": "sandbox",
            "content-length": str(stored.payload.size_bytes),
            "etag": f'"{stored.payload.digest}"',
        }
        if stored.body is not None:
            return Response(stored.body, headers=headers)
        return StreamingResponse(self._pieces(stored.payload.digest), headers=headers)

    async def _pieces(self, digest: str) -> AsyncIterator[bytes]:
        for piece in self._spool.open_reader(digest):
            yield piece

    async def post_processing(self, request: Request) -> Response:
        """The application's processing state."""
        processing = _processing(await json_object(request))
        message_id, offset = item_of(request)
        item = await self._inbox.report(message_id, processing, offset)
        return Json(shapes.inbox_shape(item))

    async def refuse_message(self, request: Request) -> Response:
        """The application will not process a message."""
        body = await json_object(request)
        reason = reason_of(body, "refused by the application")
        message_id, offset = item_of(request)
        item = await self._inbox.refuse(message_id, reason, offset)
        return Json(shapes.inbox_shape(item))

    def list_notices(self, request: Request) -> Response:
        """Notices for the application."""
        notices = self._snapshot.list_notices(whole(request, "after", 0), limit_of(request))
        return Json({"notices": [shapes.notice_shape(*notice) for notice in notices]})

    def list_partners(self, request: Request) -> Response:
        """Pairs with every partner."""
        del request
        return Json({"partners": self._operations.partners()})

    async def suspend_partner(self, request: Request) -> Response:
        """Suspend sending."""
        body = await json_object(request)
        reason = reason_of(body, "asked for over the API")
        partners = await self._operations.suspend(request.path_params["partner"], reason)
        return Json({"partners": partners})

    async def resume_partner(self, request: Request) -> Response:
        """Resume both directions; with `unsent`, also send again the messages that never left."""
        partner = request.path_params["partner"]
        sends_unsent = flag(await json_object(request), "unsent")
        partners = await self._operations.resume(partner)
        resent = await self._operations.resend_unsent(partner) if sends_unsent else 0
        return Json({"partners": partners, "resent": resent})

    async def ping_partner(self, request: Request) -> Response:
        """Ask a partner whether it takes messages."""
        wait_s = min(number(request, "wait", PING_WAIT_S), WAIT_S_MAX)
        pings = await self._operations.ping(request.path_params["partner"], wait_s)
        return Json({"pings": pings})

    async def set_draining(self, request: Request) -> Response:
        """Set whether partners that ask first (Ping) are told to send nothing."""
        body = await json_object(request)
        if "draining" not in body:
            raise LocalError("InvalidField", "draining is missing")
        is_draining = flag(body, "draining")
        self._operations.set_draining(is_draining=is_draining)
        return Json({"draining": is_draining})

    def list_incidents(self, request: Request) -> Response:
        """What an operator has to look at."""
        snapshot = self._snapshot
        incidents = snapshot.list_incidents(is_open=request.query_params.get("all") is None)
        shown = [shapes.incident_shape(one, _concerned(snapshot, one)) for one in incidents]
        return Json({"incidents": shown})

    def list_journal(self, request: Request) -> Response:
        """Journal rows above a seq, or every row about one message."""
        message_id = request.query_params.get("message_id")
        if message_id is not None:
            records = self._snapshot.list_journal_of(message_id)
        else:
            records = self._snapshot.list_journal(whole(request, "after", 0), limit_of(request))
        if _wants_arrow(request):
            return Response(journal_stream(records), media_type=MEDIA_TYPE)
        shown = [shapes.record_shape(record) for record in records]
        last_seq, store_id = self._snapshot.last_seq(), self._store_id()
        return Json({"records": shown, "last_seq": last_seq, "store_id": store_id})

    def _store_id(self) -> str | None:
        """The store that gave these numbers: the hash of its first journal row, which is unique.

        The epoch cannot say it, since every opening of a store begins a new one.
        """
        first = self._snapshot.list_journal(0, 1)
        return first[0].chain_hash if first else None

    async def publish(self, request: Request) -> Response:
        """Publish the new journal rows."""
        del request
        return Json({"published": await self._operations.publish()})

    async def healthz(self, request: Request) -> Response:
        """Alive."""
        del request
        return Json(self._operations.health())

    async def readyz(self, request: Request) -> Response:
        """Taking work."""
        del request
        is_ready = self._operations.is_ready
        return Json({"ready": is_ready}, status_code=200 if is_ready else 503)

    def metrics(self, request: Request) -> Response:
        """Prometheus text."""
        del request
        text, content_type = self._operations.metrics()
        return PlainTextResponse(text, media_type=content_type)

    async def openapi(self, request: Request) -> Response:
        """The description of this API."""
        del request
        return Json(openapi_document())


def _wants_arrow(request: Request) -> bool:
    return MEDIA_TYPE in request.headers.get("accept", "")


def _processing(body: dict[str, Any]) -> ProcessingState:
    word = body.get("processing")
    if not isinstance(word, str) or word not in list(ProcessingState):
        legal = ", ".join(ProcessingState)
        raise LocalError("InvalidField", f"processing {shown(word)} is none of {legal}")
    return ProcessingState(word)


ROUTES: list[tuple[str, str, Call]] = [
    ("POST", "/v1/messages", Api.post_message),
    ("GET", "/v1/messages", Api.list_messages),
    ("POST", "/v1/messages/{message_id:step}/cancel", Api.cancel_message),
    ("POST", "/v1/messages/{message_id:step}/resend", Api.resend_message),
    ("POST", "/v1/messages/{message_id:step}/status-request", Api.request_status),
    ("POST", "/v1/messages/{message_id:step}/resume", Api.resume_message),
    ("PUT", "/v1/messages/{message_id:step}", Api.put_message),
    ("GET", "/v1/messages/{message_id:step}", Api.get_message),
    ("GET", "/v1/jobs", Api.list_jobs),
    ("PUT", "/v1/jobs/{job:step}/messages/{message_id:step}", Api.put_job_message),
    ("POST", "/v1/jobs/{job:step}/messages", Api.post_job_messages),
    ("GET", "/v1/jobs/{job:step}/rejects", Api.list_rejects),
    ("POST", "/v1/jobs/{job:step}/release", Api.release_job),
    ("GET", "/v1/jobs/{job:step}", Api.get_job),
    ("DELETE", "/v1/jobs/{job:step}", Api.drop_job),
    ("GET", "/v1/inbox", Api.list_inbox),
    ("POST", "/v1/inbox/processing", Api.post_processing_range),
    ("GET", "/v1/inbox/items/{offset:offset}", Api.get_inbox_item),
    ("GET", "/v1/inbox/items/{offset:offset}/payloads/{n:number}", Api.get_payload),
    ("POST", "/v1/inbox/items/{offset:offset}/processing", Api.post_processing),
    ("POST", "/v1/inbox/items/{offset:offset}/refuse", Api.refuse_message),
    ("GET", "/v1/inbox/items", Api.get_inbox_item),
    ("GET", "/v1/inbox/items/payloads/{n:number}", Api.get_payload),
    ("POST", "/v1/inbox/items/processing", Api.post_processing),
    ("POST", "/v1/inbox/items/refuse", Api.refuse_message),
    ("GET", "/v1/inbox/{message_id:step}/payloads/{n:number}", Api.get_payload),
    ("GET", "/v1/inbox/{message_id:step}", Api.get_inbox_item),
    ("POST", "/v1/inbox/{message_id:step}/processing", Api.post_processing),
    ("POST", "/v1/inbox/{message_id:step}/refuse", Api.refuse_message),
    ("GET", "/v1/notices", Api.list_notices),
    ("GET", "/v1/partners", Api.list_partners),
    ("POST", "/v1/partners/{partner:step}/ping", Api.ping_partner),
    ("POST", "/v1/partners/{partner:step}/suspend", Api.suspend_partner),
    ("POST", "/v1/partners/{partner:step}/resume", Api.resume_partner),
    ("GET", "/v1/incidents", Api.list_incidents),
    ("POST", "/v1/drain", Api.set_draining),
    ("GET", "/v1/journal", Api.list_journal),
    ("POST", "/v1/lake/publish", Api.publish),
    ("GET", "/healthz", Api.healthz),
    ("GET", "/readyz", Api.readyz),
    ("GET", "/metrics", Api.metrics),
    ("GET", "/openapi.json", Api.openapi),
]
"""Every route; `openapi.py` must describe each, and a test says so."""


def _concerned(snapshot: Snapshot, incident: Incident) -> dict[str, int] | None:
    """Messages per state, as long as there is trouble with their partner (R-40)."""
    if not incident.is_trouble or incident.resolved_at is not None:
        return None
    return snapshot.count_concerned(incident.pair, incident.opened_at)


_OPERATIONS = {(one.method, one.path): one for one in OPERATIONS}


def _operation_of(method: str, path: str) -> Operation:
    """The route's own description, which says what it reads."""
    return _OPERATIONS[method.lower(), re.sub(r":\w+}", "}", path)]


_READ_ON = frozenset(
    {Api.post_message, Api.put_message, Api.put_job_message, Api.post_job_messages}
)
"""Calls that take documents, and limit their body while they read it (`read_on`)."""


async def _on_local_error(request: Request, error: LocalError) -> Response:
    del request
    return refusal(_STATUS_OF.get(error.name, 400), error.name, str(error), error.facts)


async def _on_store_full(request: Request, error: StoreFull) -> Response:
    del request, error
    text = "the disk is full; nothing was accepted, try again when there is space"
    return refusal(507, "StoreFull", text)


async def _on_store_exhausted(request: Request, error: StoreExhausted) -> Response:
    """Ruling R-43: descriptors or memory are used up for the moment."""
    del request
    return refusal(503, "Busy", str(error))


async def _on_store_failed(request: Request, error: StoreFailed) -> Response:
    """Tells the supervisor, who stops the process (R-22); the caller rarely sees this answer."""
    del request
    context = {"message": "a call met a broken store", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)
    return refusal(500, "StoreFailed", "the store failed; the gateway stops")


async def _on_disconnect(request: Request, error: ClientDisconnect) -> Response:
    """Nobody reads this answer: the caller left in the middle of its request."""
    del request, error
    return refusal(400, "CallerGone", "the request ended before its body did")


async def _on_http_exception(request: Request, error: HTTPException) -> Response:
    del request
    name = {404: "NotFound", 405: "MethodNotAllowed"}.get(error.status_code, "InvalidRequest")
    return Json(
        shapes.error_shape(name, error.detail), status_code=error.status_code, headers=error.headers
    )
