"""The client itself: what an application and an operator ask, each one method."""

import json
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import httpx
import msgspec

from onceonly.api import inbox_operations, operations, upkeep
from onceonly.api.backups import Backup, BackupPath, StartBackup
from onceonly.api.configuration import Reloaded, RunningConfiguration
from onceonly.api.decoding import decoded
from onceonly.api.history import JournalQuery, JournalRow
from onceonly.api.inbox import (
    InboxItem,
    InboxQuery,
    ItemPath,
    OffsetPath,
    Processing,
    ProcessingRange,
    Redeliver,
    WhichItem,
    WhichOffset,
)
from onceonly.api.jobs import (
    AnyJobPath,
    Job,
    JobPath,
    NamedRunQuery,
    PageQuery,
    RejectedRow,
    ReleasedJob,
    ReleaseQuery,
    RowAnswer,
    StageQuery,
)
from onceonly.api.messages import (
    Header,
    MessageDetail,
    MessagePath,
    OutboundMessage,
    Reason,
    Receipt,
    Resend,
    ResumedMessage,
    ResumeMessage,
    Settle,
    WaitQuery,
)
from onceonly.api.operating import (
    Draining,
    Health,
    PartnerPair,
    PartnerPath,
    Ping,
    PingQuery,
    Resume,
    ResumedPartner,
)
from onceonly.api.operation import ARROW, LINES, A, B, Nothing, Operation, P, Q
from onceonly.api.purge import PurgeBegun, PurgePreview
from onceonly.api.sent import SentPayloadPath
from onceonly.api.watching import GET_SENT_PAYLOAD
from onceonly.api.words import ProcessingState, Settlement
from onceonly.client.agreements import AgreementMethods
from onceonly.client.alerts import AlertMethods
from onceonly.client.call import (
    HttpCall,
    authorization,
    checked_address,
    line,
    unexpected,
)
from onceonly.client.conversations import ConversationMethods
from onceonly.client.keys import KeyMethods
from onceonly.client.lists import ListMethods
from onceonly.client.many import BulkMethods, EventMethods, FolderMethods
from onceonly.client.reports import ReportMethods
from onceonly.client.watching import WatchingMethods
from onceonly.documents import Document, Form
from onceonly.message.errors import LocalError
from onceonly.message.identity import JOB_NAME, is_job_name
from onceonly.message.word import Word

TIMEOUT_S = 60.0
"""Longest silence of the gateway before a call counts as unreachable."""

_BEYOND = 10**17
"""An offset, or a seq, that is greater than every existing one."""

_NOTHING = Nothing()


class End(NamedTuple):
    """How far the numbers of an inbox or a journal go, and of which store they are."""

    last: int
    store_id: str | None
    """None before the store's first row, and from gateways that do not say."""


class Client(
    AgreementMethods,
    AlertMethods,
    ConversationMethods,
    ListMethods,
    BulkMethods,
    EventMethods,
    FolderMethods,
    KeyMethods,
    ReportMethods,
    WatchingMethods,
):
    """Calls one gateway. Use as a context manager.

    Every call raises `GatewayUnreachable`, or `LocalError` with the name that the gateway gave;
    UnexpectedAnswer where something else answered, InvalidField for a text that can be no job's
    name. Making one raises `LocalError` (UnusableAddress, UnusableToken).
    """

    def __init__(
        self,
        api: str,
        *,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
        operator: str | None = None,
        reason: str | None = None,
    ) -> None:
        """A client of the gateway at the address `api`.

        `token` is a key of the API, or the token of its configuration. `tls` says which server is
        trusted and what is shown to it; None: the system's certificates, and nothing. `operator` is
        the person for whom it calls, and `reason` why; both go into the audit of every action.
        """
        named = {b"Onceonly-Operator": operator, b"Onceonly-Reason": reason}
        headers = {name: line(text) for name, text in named.items() if text is not None}
        if token is not None:
            headers[b"Authorization"] = authorization(token)
        # No proxy from the environment: the API is next to us or named by the user.
        self._http = httpx.Client(
            base_url=checked_address(api),
            headers=headers,
            timeout=TIMEOUT_S,
            trust_env=False,
            verify=True if tls is None else tls,
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
    ) -> Receipt:
        """Submit a message; the answer is its state, `replayed` if it was submitted before.

        Raises `LocalError` (UnusableFile, FileChanged) where a file cannot be read, or changes
        while it is read; then nothing is submitted.
        """
        header = Header(
            to=to,
            service=service,
            action=action,
            message_id=message_id,
            key=key,
            conversation=conversation,
            ref=ref,
            agreement=agreement,
        )
        operation = operations.POST_MESSAGE
        with Form(_encoded(header), [Document(*one) for one in documents]) as form:
            given = {"content": form.pieces(), "headers": form.headers}
            return self._read(operation, operation.path, **given)

    def get(self, message_id: str, wait_s: float = 0.0) -> MessageDetail:
        """State and timeline of an outbound message.

        With `wait_s` the gateway answers when there is a verdict, when the pair is closed, or after
        so many seconds, 60 at most.
        """
        path, query = MessagePath(message_id=message_id), WaitQuery(wait=wait_s)
        return self._ask(operations.GET_MESSAGE, path, query)

    def sent_payload(self, message_id: str, n: int) -> Iterator[bytes]:
        """The bytes of a payload of an outbound message, in pieces."""
        operation = GET_SENT_PAYLOAD
        target = operation.target(SentPayloadPath(message_id=message_id, n=n))
        with self._call(operation.method, target) as response:
            yield from response.iter_bytes()

    def cancel(self, message_id: str) -> OutboundMessage:
        """Take a message back. If a byte of it has left, the receiver is asked and decides."""
        return self._ask(operations.CANCEL_MESSAGE, MessagePath(message_id=message_id), _NOTHING)

    def resend(
        self,
        message_id: str,
        *,
        new_version: bool = False,
        anyway: bool = False,
        reason: str | None = None,
    ) -> OutboundMessage:
        """Send a message again that was given up, or its content under a new MessageId.

        What ended and certainly was not delivered goes out as a new message, its `resent_as`.
        With `new_version` the partner is asked to cancel the message first; with `anyway` nobody
        is asked, so that it may be delivered twice, and the `reason` is kept in the journal.
        """
        path = MessagePath(message_id=message_id)
        body = Resend(new_version=new_version, anyway=anyway, reason=reason)
        return self._ask(operations.RESEND_MESSAGE, path, _NOTHING, body)

    def resume_message(self, message_id: str, reason: str) -> ResumedMessage:
        """Take up a message that a bug parked, or that is stored and was never handed over."""
        path = MessagePath(message_id=message_id)
        return self._ask(operations.RESUME_MESSAGE, path, _NOTHING, ResumeMessage(reason=reason))

    def settle(self, message_id: str, word: Settlement, reason: str) -> OutboundMessage:
        """End a doubt by your word: `delivered`, or `not-delivered`; the reason says how you know.

        A later word of the partner still counts.
        """
        path = MessagePath(message_id=message_id)
        body = Settle(word=word, reason=reason)
        return self._ask(operations.SETTLE_MESSAGE, path, _NOTHING, body)

    def request_status(self, message_id: str) -> OutboundMessage:
        """Ask the partner how a message stands; its answer is in `recovery` later."""
        return self._ask(operations.REQUEST_STATUS, MessagePath(message_id=message_id), _NOTHING)

    def stage(
        self, job: str, rows: Iterable[Mapping[str, Any]], run: str | None = None
    ) -> Sequence[RowAnswer]:
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
    ) -> Sequence[RowAnswer]:
        """`stage`, of rows that are JSON already, one per line.

        A task that may be tried again gives each `attempt` a greater number than the one before.
        Raises `LocalError` (AttemptOver) for an attempt after which a later one has begun.
        """
        operation = operations.POST_JOB_MESSAGES
        target = operation.target(JobPath(job=_job_name(job)))
        params = _params(StageQuery(run=run, attempt=attempt))
        headers = {"content-type": LINES}
        given = {"content": lines, "headers": headers, "params": params}
        return self._read(operation, target, **given).rows

    def release(self, job: str, run: str | None = None, staged: int | None = None) -> ReleasedJob:
        """Send what is staged in a job, in the order of its rows. A second call changes nothing.

        With `run`, only what that run has staged. Raises `LocalError` (JobChanged, RunOver) if the
        job has fewer rows of it than `staged`, the number that was accepted.
        """
        path, query = AnyJobPath(job=_job_name(job)), ReleaseQuery(run=run, staged=staged)
        return self._ask(operations.RELEASE_JOB, path, query)

    def drop(self, job: str, run: str | None = None) -> int:
        """Forget what is staged in a job, or in one run of it, and not released.

        Returns how many rows.
        """
        path, query = JobPath(job=_job_name(job)), NamedRunQuery(run=run)
        return self._ask(operations.DROP_JOB, path, query).dropped

    def job(self, job: str) -> Job:
        """What became of the rows of a job; the counts add up to `rows`."""
        return self._ask(operations.GET_JOB, AnyJobPath(job=_job_name(job)), _NOTHING)

    def rejects(self, job: str) -> Iterator[RejectedRow]:
        """Every rejected row of a job, and why."""
        path = AnyJobPath(job=_job_name(job))
        after: int | None = 0
        while after is not None:
            page = self._ask(operations.LIST_REJECTS, path, PageQuery(after=after, limit=1000))
            yield from page.rejects
            after = page.next_after

    def last_offset(self) -> int:
        """The greatest offset of the inbox so far."""
        return self.inbox_end().last

    def inbox_end(self) -> End:
        """The greatest offset of the inbox so far, and the store that gave it."""
        page = self.inbox_page(InboxQuery(after=_BEYOND, limit=1))
        return End(page.last_offset, page.store_id)

    def count_purged(self, after: int, up_to: int) -> int | None:
        """How many messages with offsets above `after` up to `up_to` were purged.

        None if the gateway does not tell that to a key that sees some agreements only.
        """
        query = InboxQuery(after=after, up_to=up_to, limit=1, purged="count")
        purged = self.inbox_page(query).purged
        return purged if isinstance(purged, int) else None

    def inbox_stream(self, after: int, up_to: int, limit: int = 1000, **wanted: Any) -> bytes:
        """Received messages above `after` up to `up_to` with their payloads, as an Arrow stream.

        As many as fit into one answer, in the order of their offsets. While there may be more, the
        metadata of the stream's schema has `next_after`, which is the next `after`; an answer may
        have that and no message. `wanted` is what else an `InboxQuery` has: criteria, and
        `payloads="none"` for messages without their bytes.
        """
        query = InboxQuery(after=after, up_to=up_to, limit=limit, **wanted)
        return self._arrow(inbox_operations.LIST_INBOX.path, query)

    def report_range(self, after: int, up_to: int, processing: ProcessingState) -> int:
        """Report a processing state of everything above `after` up to `up_to`.

        Returns how many items it changed. Items that are further already stay as they are.
        """
        body = ProcessingRange(after=after, up_to=up_to, processing=processing)
        return self._ask(inbox_operations.REPORT_RANGE, _NOTHING, _NOTHING, body).moved

    def payload(self, item: InboxItem, n: int) -> Iterator[bytes]:
        """The bytes of a payload of an inbox item, in pieces."""
        with self._call("get", item.payloads[n].href) as response:
            yield from response.iter_bytes()

    def report(self, item: InboxItem, processing: ProcessingState) -> InboxItem:
        """Report the application's processing state of an inbox item."""
        return self._on_item(
            inbox_operations.BY_MESSAGE_ID.report, item, Processing(processing=processing)
        )

    def refuse(self, item: InboxItem, reason: str) -> InboxItem:
        """Say that the application will not process an inbox item."""
        return self._on_item(inbox_operations.BY_MESSAGE_ID.refuse, item, Reason(reason=reason))

    def _on_item(
        self, operation: Operation[Any, Any, B, InboxItem], item: InboxItem, body: B
    ) -> InboxItem:
        path, query = ItemPath(message_id=item.message_id), WhichOffset(offset=item.offset)
        return self._ask(operation, path, query, body)

    def redeliver(
        self,
        reason: str,
        *,
        offset: int | None = None,
        message_id: str | None = None,
        after: int | None = None,
    ) -> InboxItem:
        """Have the message of an inbox item handed over once more; returns the new item.

        The item is named by its offset, or by a MessageId of one message. With `after`, the
        last offset of the inbox that you have seen, a call that is repeated after a lost answer
        does nothing more. Raises `LocalError` (NotFound, Ambiguous, Purged, Cancelled,
        UnknownAgreement, AlreadyHandedOver).
        """
        body = Redeliver(reason=reason, after=after)
        if message_id is not None:
            query = WhichItem(message_id=message_id, offset=offset)
            return self._ask(inbox_operations.BY_QUERY.redeliver, _NOTHING, query, body)
        assert offset is not None, "an item has an offset or a MessageId"
        path = OffsetPath(offset=offset)
        return self._ask(inbox_operations.BY_OFFSET.redeliver, path, _NOTHING, body)

    def find_inbox_item(self, message_id: str) -> InboxItem | None:
        """The newest inbox item with this MessageId; None where there is none.

        Raises `LocalError` (Cancelled) where its sender took it back, and (Ambiguous) where several
        messages have it: `facts["offsets"]` of the error says which, for `find_inbox_item_at`.
        """
        path = ItemPath(message_id=message_id)
        return _none_if_not_found(
            lambda: self._ask(inbox_operations.BY_MESSAGE_ID.get, path, WhichOffset())
        )

    def find_inbox_item_at(self, offset: int) -> InboxItem | None:
        """The inbox item at this offset; None where there is none.

        Raises `LocalError` (Cancelled) where its sender took it back.
        """
        path = OffsetPath(offset=offset)
        return _none_if_not_found(lambda: self._ask(inbox_operations.BY_OFFSET.get, path, _NOTHING))

    def get_inbox_item(self, message_id: str, offset: int) -> InboxItem:
        """The inbox item at this offset, which has this MessageId."""
        path, query = ItemPath(message_id=message_id), WhichOffset(offset=offset)
        return self._ask(inbox_operations.BY_MESSAGE_ID.get, path, query)

    def partners(self) -> Sequence[PartnerPair]:
        """Pairs with every partner."""
        return self._ask(operations.LIST_PARTNERS, _NOTHING, _NOTHING).partners

    def ping(self, partner: str, wait_s: float = 10.0) -> Sequence[Ping]:
        """Ask a partner under each agreement whether it takes messages."""
        path = PartnerPath(partner=partner)
        return self._ask(operations.PING_PARTNER, path, PingQuery(wait=wait_s)).pings

    def suspend(self, partner: str, reason: str | None = None) -> Sequence[PartnerPair]:
        """Suspend sending to a partner."""
        path, body = PartnerPath(partner=partner), Reason(reason=reason)
        return self._ask(operations.SUSPEND_PARTNER, path, _NOTHING, body).partners

    def resume(self, partner: str) -> Sequence[PartnerPair]:
        """Resume both directions with a partner."""
        path = PartnerPath(partner=partner)
        return self._ask(operations.RESUME_PARTNER, path, _NOTHING, Resume()).partners

    def resume_unsent(self, partner: str) -> ResumedPartner:
        """Resume a partner, and send as new messages what failed before a byte of it left.

        The answer has `partners`, and how many messages were `resent`.
        """
        path = PartnerPath(partner=partner)
        return self._ask(operations.RESUME_PARTNER, path, _NOTHING, Resume(unsent=True))

    def set_draining(self, *, draining: bool) -> None:
        """Whether partners that ask first are told to send nothing."""
        self._ask(operations.SET_DRAINING, _NOTHING, _NOTHING, Draining(draining=draining))

    def last_seq(self) -> int:
        """`seq` of the last journal row."""
        return self.journal_end().last

    def journal_end(self) -> End:
        """`seq` of the last journal row, and the store that gave it."""
        page = self.journal_page(JournalQuery(after=_BEYOND, limit=1))
        return End(page.last_seq, page.store_id)

    def journal_stream(self, after: int, limit: int = 1000) -> bytes:
        """Journal rows above a seq, in order, as an Arrow stream."""
        return self._arrow(operations.LIST_JOURNAL.path, JournalQuery(after=after, limit=limit))

    def journal_of(self, message_id: str) -> Sequence[JournalRow]:
        """Every journal row about a message: sent, received, or on its way through."""
        return self.journal_page(JournalQuery(message_id=message_id)).records

    def publish(self) -> int:
        """Publish the journal's new rows; returns how many."""
        return self._ask(operations.PUBLISH, _NOTHING, _NOTHING).published

    def configuration(self) -> RunningConfiguration:
        """Which configuration the gateway runs under, and the last file that it refused."""
        return self._ask(upkeep.GET_CONFIGURATION, _NOTHING, _NOTHING)

    def reload(self) -> Reloaded:
        """Have the configuration file and its certificates read again, and taken over."""
        return self._ask(upkeep.RELOAD, _NOTHING, _NOTHING)

    def preview_purge(self) -> PurgePreview:
        """What a purge would forget, and the size of the store."""
        return self._ask(upkeep.PREVIEW_PURGE, _NOTHING, _NOTHING)

    def start_purge(self) -> PurgeBegun:
        """Forget now what is over; `preview_purge` says when that has ended."""
        return self._ask(upkeep.START_PURGE, _NOTHING, _NOTHING)

    def start_backup(self, name: str | None = None) -> Backup:
        """Begin a backup of the store; it is made while the gateway goes on."""
        return self._ask(operations.START_BACKUP, _NOTHING, _NOTHING, StartBackup(name=name))

    def backup(self, name: str) -> Backup:
        """How far a backup is, or what became of it."""
        return self._ask(operations.GET_BACKUP, BackupPath(name=name), _NOTHING)

    def backups(self) -> Sequence[Backup]:
        """The backups that were begun since the gateway's start, the latest first."""
        return self._ask(operations.LIST_BACKUPS, _NOTHING, _NOTHING).backups

    def health(self) -> Health:
        """Who the gateway is."""
        return self._ask(operations.GET_HEALTH, _NOTHING, _NOTHING)

    def metrics(self) -> str:
        """The gateway's metrics, as Prometheus reads them."""
        with self._call("get", operations.GET_METRICS.path) as response:
            return response.read().decode()

    def is_ready(self) -> bool:
        """Whether it takes packages and submissions now; False while it cannot be reached."""
        try:
            return self._http.get(operations.GET_READINESS.path).status_code == httpx.codes.OK
        except httpx.RequestError:
            return False

    def _ask(self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None) -> A:
        """The answer to a call whose body, if it has one, is JSON."""
        given: dict[str, Any] = {"params": _params(query)}
        if body is not None:
            given["content"] = _encoded(body)
            given["headers"] = {"content-type": operation.body_media}
        return self._read(operation, operation.target(path), **given)

    def _read(self, operation: Operation[Any, Any, Any, A], target: str, **given: Any) -> A:
        with self._call(operation.method, target, **given) as response:
            body = response.read()
            try:
                return decoded(body, operation.answer_type)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise unexpected(response) from error

    def _stream(self, path: str, query: Word, media: str) -> HttpCall:
        return self._call("get", path, params=_params(query), headers={"accept": media})

    def _arrow(self, path: str, query: InboxQuery | JournalQuery) -> bytes:
        headers = {"accept": ARROW}
        with self._call("get", path, params=_params(query), headers=headers) as response:
            body = response.read()
            if response.headers.get("content-type") != ARROW:
                raise unexpected(response)
            return body

    def _call(self, method: str, path: str, **arguments: Any) -> HttpCall:
        return HttpCall(self._http, method, path, arguments)


def _none_if_not_found(call: Callable[[], A]) -> A | None:
    try:
        return call()
    except LocalError as error:
        if error.name == "NotFound":
            return None
        raise


def _encoded(body: Any) -> bytes:
    """Raises `LocalError` (InvalidField) for a text that is no Unicode."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError as error:
        raise LocalError("InvalidField", f"half a surrogate pair is no text: {error}") from error


def _params(query: Any) -> dict[str, str]:
    """What differs from the default: the gateway knows the others."""
    given: dict[str, Any] = msgspec.to_builtins(query)
    return {name: str(value) for name, value in given.items()}


def _job_name(job: str) -> str:
    """Raises `LocalError` (InvalidField): another name would be another address."""
    if not is_job_name(job):
        raise LocalError("InvalidField", f"a job's name is {JOB_NAME}")
    return job
