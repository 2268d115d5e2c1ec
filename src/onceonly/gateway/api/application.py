"""The application API: HTTP and JSON for applications and operators.

Every call is a thin reading of one of the parts; nothing is decided here. What a call reads and
answers is declared in `onceonly.api.operations`, and there is no route without such a declaration.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from inspect import iscoroutinefunction
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from onceonly.api import history, messages, operating, operations
from onceonly.api.fields import WAIT_S_MAX
from onceonly.api.history import JournalQuery
from onceonly.api.messages import (
    Header,
    MessagePath,
    NewMessagePath,
    Reason,
    Resend,
    ResumeMessage,
    Settle,
)
from onceonly.api.operating import (
    Draining,
    IncidentsQuery,
    NoticesQuery,
    PartnerPath,
    PingQuery,
    Resume,
)
from onceonly.api.operation import ARROW, JSON, Nothing, Operation
from onceonly.api.operations import OPERATIONS
from onceonly.gateway import shapes
from onceonly.gateway.api.access import Access
from onceonly.gateway.api.agreement_calls import AgreementCalls
from onceonly.gateway.api.alert_calls import AlertCalls
from onceonly.gateway.api.answers import Answer, Bytes, Json, refusal
from onceonly.gateway.api.arrow import journal_stream
from onceonly.gateway.api.backup_calls import BackupCalls
from onceonly.gateway.api.bounds import announced, read_on, read_whole
from onceonly.gateway.api.bulk_calls import BulkCalls
from onceonly.gateway.api.conversation_calls import ConversationCalls
from onceonly.gateway.api.counter_calls import CounterCalls
from onceonly.gateway.api.declared import from_members, from_path, from_texts
from onceonly.gateway.api.event_calls import EventCalls
from onceonly.gateway.api.failures import ON_FAILURE
from onceonly.gateway.api.folder_calls import FolderCalls
from onceonly.gateway.api.forms import HEADER_BYTES_MAX, HEADER_PART, form_of
from onceonly.gateway.api.gate import Gate, caller_of
from onceonly.gateway.api.inbox_calls import InboxCalls, wants_arrow
from onceonly.gateway.api.job_calls import JobCalls
from onceonly.gateway.api.key_calls import KeyCalls
from onceonly.gateway.api.list_calls import (
    ListCalls,
    incident_filter,
    journal_filter,
    notice_filter,
    paged,
)
from onceonly.gateway.api.openapi import openapi_json
from onceonly.gateway.api.ownership import (
    Ownership,
    names_owned,
    owned,
    owned_rows,
    unknown_message,
)
from onceonly.gateway.api.paths import PathRoute, on_steps, route_of
from onceonly.gateway.api.purge_calls import PurgeCalls
from onceonly.gateway.api.reading import (
    header_json,
    json_object,
    key_of,
    line_of,
    needed_reason,
    submission_of,
    too_large,
)
from onceonly.gateway.api.reload_calls import ReloadCalls
from onceonly.gateway.api.report_calls import ReportCalls
from onceonly.gateway.api.sent_calls import SentCalls
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, Call, calls_of, serves
from onceonly.gateway.api.webhook_calls import WebhookCalls
from onceonly.gateway.application.submissions import Part, Submission
from onceonly.message.errors import LocalError
from onceonly.message.identity import Pair
from onceonly.message.word import changed
from onceonly.protocol.events import Settlement
from onceonly.store.contract.entries import Incident, Notice, PairView, Role
from onceonly.store.contract.listing import Listing
from onceonly.store.contract.store import Snapshot
from onceonly.store.spool import Sink

COPY_BYTES = 1 << 18
"""Size of the pieces in which an upload is written to the spool."""

FORM_BYTES_MAX = 2 * HEADER_BYTES_MAX
"""Most bytes of a form besides its payloads: the JSON, and 99 part heads of some 600 bytes."""

READERS_MAX = 4
"""Most calls that read the store at the same time, so that threads are left for payloads."""


class Api(
    ListCalls,
    InboxCalls,
    JobCalls,
    BackupCalls,
    AgreementCalls,
    AlertCalls,
    ConversationCalls,
    FolderCalls,
    ReportCalls,
    WebhookCalls,
    EventCalls,
    BulkCalls,
    KeyCalls,
    ReloadCalls,
    PurgeCalls,
    SentCalls,
    CounterCalls,
):
    """The routes over the parts that they read."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._readers = asyncio.Semaphore(READERS_MAX)

    def application(self, access: Access) -> Any:
        """The ASGI application, guarded by `access`."""
        ownership = Ownership(store=self._served.store, inbox=self._served.inbox)
        self._gate = Gate(
            office=self._served.office,
            keys=self._served.keys,
            ownership=ownership,
            note_denied=access.note_denied,
        )
        routes: dict[str, PathRoute] = {}
        calls = dict(calls_of(type(self)))
        for operation in OPERATIONS:
            if operation.path not in routes:
                routes[operation.path] = PathRoute(route_of(operation), routes.values())
            route = routes[operation.path]
            route.add(operation.method, self._endpoint(calls[operation], operation))
        handlers: dict[Any, Any] = {**ON_FAILURE, Exception: self._on_bug}
        application = Starlette(routes=list(routes.values()), exception_handlers=handlers)
        # A path with a slash at its end is another path, and a redirect is no declared answer.
        application.router.redirect_slashes = False
        return on_steps(access.guard(application))

    async def _on_bug(self, request: Request, error: Exception) -> Response:
        """A call met a bug, perhaps because of a value that a partner sent (R-43)."""
        del request
        self._served.operations.note_bug("answering a call of the API", error)
        text = "a bug of onceonly; an incident of this kind is in the journal and in the log"
        return refusal("InternalError", text)

    def _endpoint(
        self, call: Call, operation: Operation[Any, Any, Any, Any]
    ) -> Callable[[Request], Awaitable[Response]]:
        is_json = operation.body_media == JSON
        is_awaited = iscoroutinefunction(call)

        async def answer_to(request: Request) -> Response:
            caller = self._gate.allow(operation, request)
            names = self._served.names
            path = names.read(from_path(operation.path_type, request.path_params), caller)
            texts = request.query_params.multi_items()
            query = names.read(from_texts(operation.query_type, texts), caller)
            body: Any = None
            if is_json:
                request = await read_whole(request)
                body = from_members(operation.body_type, await json_object(request))
            asked = Asked(request, path, query, body, caller, caller.name)
            if caller.agreement_ids is not None:
                async with self._readers:
                    await asyncio.to_thread(self._gate.ownership.check, operation, asked)
            asked = await self._gate.note_action(operation, asked)
            if is_awaited:
                answer: Response = await call(self, asked)  # type: ignore[misc]  # because it is one that is awaited
                if not (operation.writes or operation.is_open):
                    self._gate.check_still_open(caller)
                return answer
            async with self._readers:
                return await asyncio.to_thread(call, self, asked)  # type: ignore[arg-type]  # because it is none that is awaited

        async def endpoint(request: Request) -> Response:
            # What reaches Starlette's last handler is answered by it too, but then raised again:
            # the server cuts the connection, and the next call on it is lost.
            try:
                return await answer_to(request)
            except tuple(ON_FAILURE):
                raise
            except Exception as bug:  # noqa: BLE001 - because no value may end a conversation (R-43)
                return await self._on_bug(request, bug)

        return endpoint

    @property
    def _snapshot(self) -> Snapshot:
        return self._served.store.snapshot()

    def _name_of(self, party: str) -> str | None:
        return self._served.names.name_of(party)

    @serves(operations.PUT_MESSAGE)
    async def put_message(
        self, asked: Asked[NewMessagePath, Nothing, Header]
    ) -> Answer[messages.Receipt]:
        """Submit under the MessageId of the path."""
        return await self._submit(asked.request, asked.path.message_id)

    @serves(operations.POST_MESSAGE)
    async def post_message(
        self, asked: Asked[Nothing, Nothing, Header]
    ) -> Answer[messages.Receipt]:
        """Submit; the MessageId is in the JSON, or ours to choose."""
        return await self._submit(asked.request, None)

    async def _submit(self, request: Request, message_id: str | None) -> Json[messages.Receipt]:
        async with self._submission(request, message_id) as submission:
            receipt = await self._served.submissions.submit(submission)
        message = self._message(receipt.message_id)
        shape = shapes.receipt_shape(message, is_replayed=receipt.is_replayed)
        return Json(shape, status_code=200 if receipt.is_replayed else 201)

    @asynccontextmanager
    async def _submission(
        self, request: Request, message_id: str | None
    ) -> AsyncIterator[Submission]:
        if announced(request) is None:
            raise LocalError("LengthRequired", "a submission says its Content-Length")
        refused = too_large(self._served.payload_bytes_max)
        counted = read_on(request, self._served.payload_bytes_max + FORM_BYTES_MAX, refused)
        sinks: list[Sink] = []
        try:
            async with form_of(counted) as form:
                header: Any = None
                parts: list[Part] = []
                room = self._served.payload_bytes_max
                for name, value in form.multi_items():
                    if name == HEADER_PART:
                        header = await header_json(value)
                    elif isinstance(value, UploadFile):
                        part, room = await self._spooled(value, sinks, room)
                        parts.append(part)
                if header is None:
                    text = "the part 'message' with the JSON is missing"
                    raise LocalError("InvalidMultipart", text)
                asked = submission_of(header, parts, message_id, key_of(request))
                yield changed(asked, own=caller_of(request).agreement_ids)
        finally:
            for sink in sinks:
                sink.discard()

    async def _spooled(self, upload: UploadFile, sinks: list[Sink], room: int) -> tuple[Part, int]:
        """The payload in a sink, and how many bytes are left for the next ones."""
        sink = self._served.spool.open_sink()
        sinks.append(sink)
        while piece := await upload.read(COPY_BYTES):
            room -= len(piece)
            if room < 0:
                raise too_large(self._served.payload_bytes_max)
            sink.write(piece)
        content_type = upload.content_type or "application/octet-stream"
        return Part(sink, content_type, upload.filename or ""), room

    def _message(self, message_id: str) -> messages.OutboundMessage:
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
                return shapes.message_shape(view, pair, recovery, self._name_of)
        raise unknown_message(message_id)

    def _pair_view(self, pair: Pair) -> PairView:
        state = self._snapshot.get_sending_pair(pair)
        return PairView(
            Role.SENDER, pair, state.status, state.reason, state.sequence_number, state.in_flight, 0
        )

    @serves(operations.CANCEL_MESSAGE)
    async def cancel_message(
        self, asked: Asked[MessagePath, Nothing, Nothing]
    ) -> Answer[messages.OutboundMessage]:
        """Take a message back, if need be by asking the receiver: then 202."""
        message_id = asked.path.message_id
        is_done = await self._served.operations.cancel(message_id)
        return Json(self._message(message_id), status_code=200 if is_done else 202)

    @serves(operations.RESEND_MESSAGE)
    async def resend_message(
        self, asked: Asked[MessagePath, Nothing, Resend]
    ) -> Answer[messages.OutboundMessage]:
        """Send a message again that was given up, or its content; 202 where the receiver is asked.

        If it may be delivered twice, a person must ask for it and give a reason (R-41).
        """
        message_id, body, is_done = asked.path.message_id, asked.body, True
        if body.anyway and body.new_version:
            text = "new_version asks the partner first, and anyway does not: say one of them"
            raise LocalError("InvalidField", text)
        reason = needed_reason(body.reason) if body.anyway else line_of(body.reason, "")
        if body.new_version:
            is_done = await self._served.operations.resend_new_version(message_id, reason=reason)
        else:
            await self._served.operations.resend(message_id, reason=reason, is_anyway=body.anyway)
        return Json(self._message(message_id), status_code=200 if is_done else 202)

    @serves(operations.RESUME_MESSAGE)
    async def resume_message(
        self, asked: Asked[MessagePath, Nothing, ResumeMessage]
    ) -> Answer[messages.ResumedMessage]:
        """Let a message go on that a bug parked, or that is stored and was never handed over."""
        message_id, reason = asked.path.message_id, needed_reason(asked.body.reason)
        taken_up: list[Any] = await self._served.operations.take_up(message_id, reason)
        return Json(messages.ResumedMessage(message_id=message_id, taken_up=tuple(taken_up)))

    @serves(operations.SETTLE_MESSAGE)
    async def settle_message(
        self, asked: Asked[MessagePath, Nothing, Settle]
    ) -> Answer[messages.OutboundMessage]:
        """End a doubt by a person's word, under the name of whoever answers for it (R-49)."""
        message_id, body = asked.path.message_id, asked.body
        await self._served.operations.settle(
            message_id, Settlement(body.word), needed_reason(body.reason), asked.actor
        )
        return Json(self._message(message_id))

    @serves(operations.REQUEST_STATUS)
    async def request_status(
        self, asked: Asked[MessagePath, Nothing, Nothing]
    ) -> Answer[messages.OutboundMessage]:
        """Ask the partner how a message stands; the answer is seen in the message."""
        message_id = asked.path.message_id
        await self._served.operations.inquire(message_id)
        return Json(self._message(message_id), status_code=202)

    @serves(operations.LIST_NOTICES)
    def list_notices(
        self, asked: Asked[Nothing, NoticesQuery, Nothing]
    ) -> Answer[operating.NoticePage]:
        """Notices for the application."""
        page = self._snapshot.search(
            owned(paged(notice_filter(asked.query), asked.query), asked.caller)
        )
        notices = tuple(self._notice(*notice) for notice in page.items)
        shown = operating.NoticePage(
            notices=notices, next_after=page.next_after, is_cut=page.is_cut
        )
        return Json(shown)

    def _notice(self, number: int, notice: Notice) -> operating.Notice:
        entry = self._snapshot.find_outbound(notice.message_id)
        partner = None if entry is None else self._served.agreements.find(entry.agreement_id)
        return shapes.notice_shape(number, notice, partner)

    @serves(operations.LIST_PARTNERS)
    def list_partners(
        self, asked: Asked[Nothing, Nothing, Nothing]
    ) -> Answer[operating.PartnerPairs]:
        """Pairs with every partner."""
        del asked
        return Json(operating.PartnerPairs(partners=self._served.operations.partners()))

    @serves(operations.SUSPEND_PARTNER)
    async def suspend_partner(
        self, asked: Asked[PartnerPath, Nothing, Reason]
    ) -> Answer[operating.PartnerPairs]:
        """Suspend sending."""
        reason = asked.body.reason or "asked for over the API"
        partners = await self._served.operations.suspend(asked.path.partner, reason)
        return Json(operating.PartnerPairs(partners=partners))

    @serves(operations.RESUME_PARTNER)
    async def resume_partner(
        self, asked: Asked[PartnerPath, Nothing, Resume]
    ) -> Answer[operating.ResumedPartner]:
        """Resume both directions, and with `unsent` send again what never left."""
        partner = asked.path.partner
        partners = await self._served.operations.resume(partner)
        resent = await self._served.operations.resend_unsent(partner) if asked.body.unsent else 0
        return Json(operating.ResumedPartner(partners=partners, resent=resent))

    @serves(operations.PING_PARTNER)
    async def ping_partner(
        self, asked: Asked[PartnerPath, PingQuery, Nothing]
    ) -> Answer[operating.Pings]:
        """Ask a partner whether it takes messages."""
        wait_s = min(asked.query.wait, WAIT_S_MAX)
        pings = await self._served.operations.ping(asked.path.partner, wait_s)
        return Json(operating.Pings(pings=pings))

    @serves(operations.SET_DRAINING)
    async def set_draining(
        self, asked: Asked[Nothing, Nothing, Draining]
    ) -> Answer[operating.Draining]:
        """Whether partners that ask first are told to send nothing."""
        self._served.operations.set_draining(is_draining=asked.body.draining)
        return Json(asked.body)

    @serves(operations.LIST_INCIDENTS)
    def list_incidents(
        self, asked: Asked[Nothing, IncidentsQuery, Nothing]
    ) -> Answer[operating.Incidents]:
        """What an operator has to look at."""
        snapshot = self._snapshot
        page = snapshot.search(paged(incident_filter(asked.query), asked.query))
        incidents = tuple(
            shapes.incident_shape(
                one, _concerned(snapshot, one), self._served.operations.name_of(one.role, one.pair)
            )
            for one in page.items
        )
        shown = operating.Incidents(
            incidents=incidents, next_after=page.next_after, is_cut=page.is_cut
        )
        return Json(shown)

    @serves(operations.LIST_JOURNAL)
    def list_journal(
        self, asked: Asked[Nothing, JournalQuery, Nothing]
    ) -> Answer[history.JournalPage]:
        """Journal rows above a seq, or every row about one message."""
        query = asked.query
        if query.message_id is not None:
            rows = self._snapshot.list_journal_of(query.message_id)
            own = names_owned(self._served.agreements, asked.caller)
            page = Listing([row for row in rows if own is None or row.agreement_id in own], None)
        else:
            wanted = paged(journal_filter(query), query)
            wanted = owned_rows(wanted, self._served.agreements, asked.caller)
            page = self._snapshot.search(wanted)
        if wants_arrow(asked.request):
            return Bytes(journal_stream(page.items), media_type=ARROW)
        shown = history.JournalPage(
            records=tuple(shapes.record_shape(row, self._name_of) for row in page.items),
            last_seq=self._snapshot.last_seq(),
            store_id=self._store_id(),
            next_after=page.next_after,
            is_cut=page.is_cut,
        )
        return Json(shown)

    def _store_id(self) -> str | None:
        """The store that gave these numbers: the hash of its first journal row, which is unique.

        The epoch cannot say it, since every opening of a store begins a new one.
        """
        first = self._snapshot.list_journal(0, 1)
        return first[0].chain_hash if first else None

    @serves(operations.PUBLISH)
    async def publish(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[operating.Published]:
        """Publish the new journal rows."""
        del asked
        return Json(operating.Published(published=await self._served.operations.publish()))

    @serves(operations.GET_HEALTH)
    async def healthz(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[operating.Health]:
        """Alive."""
        del asked
        return Json(self._served.operations.health())

    @serves(operations.GET_READINESS)
    async def readyz(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[operating.Readiness]:
        """Taking work."""
        del asked
        found = self._served.operations.readiness()
        return Json(found, status_code=200 if found.ready else 503)

    @serves(operations.GET_METRICS)
    def metrics(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[str]:
        """Prometheus text."""
        del asked
        text, content_type = self._served.operations.metrics()
        return Bytes(text, media_type=content_type)

    @serves(operations.GET_DOCUMENT)
    async def openapi(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[dict[str, Any]]:
        """The description of this API."""
        del asked
        return Bytes(openapi_json(needs_key=self._served.keys.are_needed), media_type=JSON)


def _concerned(snapshot: Snapshot, incident: Incident) -> dict[str, int] | None:
    """Messages per state, as long as there is trouble with their partner (R-40)."""
    if not incident.is_trouble or incident.resolved_at is not None:
        return None
    return snapshot.count_concerned(incident.pair, incident.opened_at)
