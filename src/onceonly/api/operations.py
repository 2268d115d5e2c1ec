"""Every call of the API. A route exists only for what stands here."""

from typing import Any, Final

from onceonly.api import backups, history, jobs, messages, operating, upkeep, watching
from onceonly.api.agreement_operations import AGREEMENT_OPERATIONS
from onceonly.api.alert_operations import ALERT_OPERATIONS
from onceonly.api.bulk_operations import BULK_OPERATIONS
from onceonly.api.conversation_operations import CONVERSATION_OPERATIONS
from onceonly.api.counts import COUNTS
from onceonly.api.event_operations import LIST_EVENTS
from onceonly.api.folder_operations import LIST_FOLDERS
from onceonly.api.inbox_operations import INBOX_OPERATIONS
from onceonly.api.key_operations import KEY_OPERATIONS
from onceonly.api.operation import (
    ARROW,
    FORM,
    JSON,
    LINES,
    TEXT,
    AnyOperation,
    Nothing,
    Operation,
)
from onceonly.api.report_operations import REPORT_OPERATIONS
from onceonly.api.webhook_operations import WEBHOOK_OPERATIONS

_UNSENDABLE = (
    *("AmbiguousAgreement", "UnknownAgreement", "UnknownPartner", "TooManyPayloads"),
    *("AgreementExpired", "NotInAgreement"),
)
_SUBMIT = (
    *("LengthRequired", "InvalidMultipart", "PayloadTooLarge", "QueueFull", "StoreFull"),
    *("MessageIdTaken", "IdempotencyKeyTaken", *_UNSENDABLE),
)
_STAGE = ("LengthRequired", "PayloadTooLarge", "RunOver", "AttemptOver", "StoreFull")

POST_MESSAGE: Final = Operation(
    name="postMessage",
    method="post",
    path="/v1/messages",
    summary="Submit a message; idempotent on its message_id or the Idempotency-Key header",
    path_type=Nothing,
    query_type=Nothing,
    head_type=messages.IdempotencyHead,
    body_type=messages.Header,
    body_media=FORM,
    answer_type=messages.Receipt,
    statuses=(201, 200),
    refusals=_SUBMIT,
)
LIST_MESSAGES: Final = Operation(
    name="listMessages",
    method="get",
    path="/v1/messages",
    summary="List outbound messages, oldest first unless `order` is newest",
    path_type=Nothing,
    query_type=messages.MessagesQuery,
    body_type=Nothing,
    answer_type=messages.MessagePage,
)
PUT_MESSAGE: Final = Operation(
    name="putMessage",
    method="put",
    path="/v1/messages/{message_id}",
    summary="Submit a message under this MessageId; again with the same content changes nothing",
    path_type=messages.NewMessagePath,
    query_type=Nothing,
    head_type=messages.IdempotencyHead,
    body_type=messages.Header,
    body_media=FORM,
    answer_type=messages.Receipt,
    statuses=(201, 200),
    refusals=_SUBMIT,
)
GET_MESSAGE: Final = Operation(
    name="getMessage",
    method="get",
    path="/v1/messages/{message_id}",
    summary="State and timeline of an outbound message; waits up to `wait` seconds for a verdict, "
    "or for its pair to be closed",
    path_type=messages.MessagePath,
    query_type=messages.WaitQuery,
    body_type=Nothing,
    answer_type=messages.MessageDetail,
    refusals=("NotFound",),
)
CANCEL_MESSAGE: Final = Operation(
    name="cancelMessage",
    method="post",
    path="/v1/messages/{message_id}/cancel",
    summary="Take a message back: 200 where no byte left, 202 where the receiver is asked",
    path_type=messages.MessagePath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=messages.OutboundMessage,
    statuses=(200, 202),
    refusals=("NotFound", "NotCancellable", "StoreFull"),
)
RESEND_MESSAGE: Final = Operation(
    name="resendMessage",
    method="post",
    path="/v1/messages/{message_id}/resend",
    summary="Send a message again that was given up: under its id, or its content as a new message "
    "(`resent_as`) where it certainly was not delivered. `new_version`: the partner is asked "
    "to cancel it first (202); `anyway`: as a new message though it may be delivered twice, "
    "with a `reason`",
    path_type=messages.MessagePath,
    query_type=Nothing,
    body_type=messages.Resend,
    answer_type=messages.OutboundMessage,
    statuses=(200, 202),
    refusals=("NotFound", "NotResendable", "NotCancellable", "QueueFull", "StoreFull"),
)
REQUEST_STATUS: Final = Operation(
    name="requestStatus",
    method="post",
    path="/v1/messages/{message_id}/status-request",
    summary="Ask the partner how a message stands (202); the answer is in `recovery`",
    path_type=messages.MessagePath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=messages.OutboundMessage,
    statuses=(202,),
    refusals=("NotFound", "NeverSent", "UnknownAgreement", "StoreFull"),
)
RESUME_MESSAGE: Final = Operation(
    name="resumeMessage",
    method="post",
    path="/v1/messages/{message_id}/resume",
    summary="Let a message go on that a bug of onceonly parked, sent, forwarded or received; "
    "a received one that is stored and not handed over, also without a bug",
    path_type=messages.MessagePath,
    query_type=Nothing,
    body_type=messages.ResumeMessage,
    answer_type=messages.ResumedMessage,
    refusals=("NotFound", "NotParked", "NotResendable", "StoreFull"),
)
SETTLE_MESSAGE: Final = Operation(
    name="settleMessage",
    method="post",
    path="/v1/messages/{message_id}/settle",
    summary="End a doubt by a person's word, who asked the partner by other means; nothing of it "
    "is sent, except a response that the partner asks for again, and a later word of the partner "
    "still counts",
    path_type=messages.MessagePath,
    query_type=Nothing,
    body_type=messages.Settle,
    answer_type=messages.OutboundMessage,
    refusals=("NotFound", "NotSettleable", "StoreFull"),
)
LIST_JOBS: Final = Operation(
    name="listJobs",
    method="get",
    path="/v1/jobs",
    summary="Jobs and what became of their rows, oldest first unless `order` is newest",
    path_type=Nothing,
    query_type=jobs.JobsQuery,
    body_type=Nothing,
    answer_type=jobs.JobPage,
)
PUT_JOB_MESSAGE: Final = Operation(
    name="putJobMessage",
    method="put",
    path="/v1/jobs/{job}/messages/{message_id}",
    summary="Stage a message in a job: durable, and not sent before the job is released",
    path_type=jobs.JobMessagePath,
    query_type=jobs.StageOneQuery,
    head_type=messages.IdempotencyHead,
    body_type=messages.Header,
    body_media=FORM,
    answer_type=jobs.RowAnswer,
    statuses=(201, 200),
    refusals=("InvalidMultipart", "MessageIdTaken", "IdempotencyKeyTaken", *_UNSENDABLE, *_STAGE),
)
POST_JOB_MESSAGES: Final = Operation(
    name="postJobMessages",
    method="post",
    path="/v1/jobs/{job}/messages",
    summary="Stage many messages, one JSON object per line: one commit, one answer per row",
    path_type=jobs.JobPath,
    query_type=jobs.StageQuery,
    body_type=jobs.StagedRow,
    body_media=LINES,
    answer_type=jobs.StagedRows,
    refusals=("TooManyRows", *_STAGE),
)
LIST_REJECTS: Final = Operation(
    name="listRejects",
    method="get",
    path="/v1/jobs/{job}/rejects",
    summary="Rows of a job that were rejected, and why",
    path_type=jobs.AnyJobPath,
    query_type=jobs.PageQuery,
    body_type=Nothing,
    answer_type=jobs.RejectPage,
    refusals=("NotFound",),
)
RELEASE_JOB: Final = Operation(
    name="releaseJob",
    method="post",
    path="/v1/jobs/{job}/release",
    summary="Send what is staged in a job, or in one run of it, in the order of its rows; again, "
    "it changes nothing. Refused if of the run are fewer than `staged` accepted rows there",
    path_type=jobs.AnyJobPath,
    query_type=jobs.ReleaseQuery,
    body_type=Nothing,
    answer_type=jobs.ReleasedJob,
    refusals=("NotFound", "JobChanged", "RunOver", "StoreFull"),
)
GET_JOB: Final = Operation(
    name="getJob",
    method="get",
    path="/v1/jobs/{job}",
    summary="What became of the rows of a job",
    path_type=jobs.AnyJobPath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=jobs.Job,
    refusals=("NotFound",),
)
DROP_JOB: Final = Operation(
    name="dropJob",
    method="delete",
    path="/v1/jobs/{job}",
    summary="Forget what is staged in a job, or in one run of it, and not released",
    path_type=jobs.JobPath,
    query_type=jobs.NamedRunQuery,
    body_type=Nothing,
    answer_type=jobs.Dropped,
    refusals=("NotFound", "StoreFull"),
)
LIST_NOTICES: Final = Operation(
    name="listNotices",
    method="get",
    path="/v1/notices",
    summary="Failure and late-acknowledgement notices",
    path_type=Nothing,
    query_type=operating.NoticesQuery,
    body_type=Nothing,
    answer_type=operating.NoticePage,
)
LIST_PARTNERS: Final = Operation(
    name="listPartners",
    method="get",
    path="/v1/partners",
    summary="Pairs with every partner, both directions",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=operating.PartnerPairs,
)
PING_PARTNER: Final = Operation(
    name="pingPartner",
    method="post",
    path="/v1/partners/{partner}/ping",
    summary="Ask a partner whether it takes messages; waits up to `wait` seconds",
    path_type=operating.PartnerPath,
    query_type=operating.PingQuery,
    body_type=Nothing,
    answer_type=operating.Pings,
    refusals=("UnknownPartner", "StoreFull"),
)
SUSPEND_PARTNER: Final = Operation(
    name="suspendPartner",
    method="post",
    path="/v1/partners/{partner}/suspend",
    summary="Suspend sending to a partner",
    path_type=operating.PartnerPath,
    query_type=Nothing,
    body_type=messages.Reason,
    answer_type=operating.PartnerPairs,
    refusals=("UnknownPartner", "StoreFull"),
)
RESUME_PARTNER: Final = Operation(
    name="resumePartner",
    method="post",
    path="/v1/partners/{partner}/resume",
    summary="Resume both directions with a partner, and close its incidents; with `unsent`, send "
    "as new messages what failed or expired before a byte of it left: `resent` of them",
    path_type=operating.PartnerPath,
    query_type=Nothing,
    body_type=operating.Resume,
    answer_type=operating.ResumedPartner,
    refusals=("UnknownPartner", "QueueFull", "StoreFull"),
)
LIST_INCIDENTS: Final = Operation(
    name="listIncidents",
    method="get",
    path="/v1/incidents",
    summary="What an operator has to look at",
    path_type=Nothing,
    query_type=operating.IncidentsQuery,
    body_type=Nothing,
    answer_type=operating.Incidents,
)
SET_DRAINING: Final = Operation(
    name="setDraining",
    method="post",
    path="/v1/drain",
    summary="Tell partners that ask first (Ping) to send nothing, or to send again",
    path_type=Nothing,
    query_type=Nothing,
    body_type=operating.Draining,
    answer_type=operating.Draining,
)
LIST_JOURNAL: Final = Operation(
    name="listJournal",
    method="get",
    path="/v1/journal",
    summary="Journal rows above a seq, in order; with `message_id`, every row about that message; "
    "also as an Arrow stream (Accept)",
    path_type=Nothing,
    query_type=history.JournalQuery,
    body_type=Nothing,
    answer_type=history.JournalPage,
    media=(JSON, ARROW),
)
PUBLISH: Final = Operation(
    name="publishJournal",
    method="post",
    path="/v1/lake/publish",
    summary="Publish the journal's new rows now",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=operating.Published,
    refusals=("JournalForked", "LakeFailed", "StoreFull"),
)
START_BACKUP: Final = Operation(
    name="startBackup",
    method="post",
    path="/v1/backups",
    summary="Begin a backup of the store and its payloads, below the folder `backups`",
    path_type=Nothing,
    query_type=Nothing,
    body_type=backups.StartBackup,
    answer_type=backups.Backup,
    statuses=(202,),
    refusals=("BackupRunning", "BackupExists", "NotOffered"),
)
LIST_BACKUPS: Final = Operation(
    name="listBackups",
    method="get",
    path="/v1/backups",
    summary="The backups that were begun since the start, the latest first",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=backups.BackupList,
)
GET_BACKUP: Final = Operation(
    name="getBackup",
    method="get",
    path="/v1/backups/{name}",
    summary="How far a backup is, or what became of it",
    path_type=backups.BackupPath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=backups.Backup,
    refusals=("NotFound",),
)
GET_HEALTH: Final = Operation(
    name="getHealth",
    method="get",
    path="/healthz",
    summary="Alive, and whether this is a drill",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=operating.Health,
    is_open=True,
)
GET_READINESS: Final = Operation(
    name="getReadiness",
    method="get",
    path="/readyz",
    summary="200 while packages and submissions are taken, else 503",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=operating.Readiness,
    statuses=(200, 503),
    is_open=True,
)
GET_METRICS: Final = Operation(
    name="getMetrics",
    method="get",
    path="/metrics",
    summary="Prometheus metrics",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=str,
    media=(TEXT,),
)
GET_DOCUMENT: Final = Operation(
    name="getOpenApi",
    method="get",
    path="/openapi.json",
    summary="This document",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=dict[str, Any],
)

OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    POST_MESSAGE,
    LIST_MESSAGES,
    *COUNTS,
    CANCEL_MESSAGE,
    RESEND_MESSAGE,
    REQUEST_STATUS,
    RESUME_MESSAGE,
    SETTLE_MESSAGE,
    PUT_MESSAGE,
    GET_MESSAGE,
    *BULK_OPERATIONS,
    LIST_JOBS,
    PUT_JOB_MESSAGE,
    POST_JOB_MESSAGES,
    LIST_REJECTS,
    RELEASE_JOB,
    GET_JOB,
    DROP_JOB,
    *INBOX_OPERATIONS,
    LIST_NOTICES,
    LIST_PARTNERS,
    PING_PARTNER,
    SUSPEND_PARTNER,
    RESUME_PARTNER,
    LIST_INCIDENTS,
    SET_DRAINING,
    LIST_EVENTS,
    LIST_JOURNAL,
    *watching.ALL,
    PUBLISH,
    START_BACKUP,
    LIST_BACKUPS,
    GET_BACKUP,
    LIST_FOLDERS,
    *REPORT_OPERATIONS,
    *WEBHOOK_OPERATIONS,
    *ALERT_OPERATIONS,
    *CONVERSATION_OPERATIONS,
    *AGREEMENT_OPERATIONS,
    *KEY_OPERATIONS,
    *upkeep.OPERATIONS,
    GET_HEALTH,
    GET_READINESS,
    GET_METRICS,
    GET_DOCUMENT,
)
"""All of them, in the order in which a path is looked for."""
