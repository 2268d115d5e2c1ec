"""Refusals: the one shape of every error answer, and every name that it can have.

A name stays; its text may improve. `REFUSALS` has the HTTP status of each and what to do, from
which the gateway answers, the document declares, and the reference is made.
"""

from typing import Final

from msgspec import UNSET, UnsetType

from onceonly.message.word import Word


class Refusal(Word, kw_only=True):
    """Why a call was refused: a name for programs, a text for people.

    Where one value is to blame, `field` names it, `seen` is what came (cut, if it is long) and
    `expected` what is legal. `offsets` are the items of an ambiguous MessageId.
    """

    name: str
    text: str
    field: str | UnsetType = UNSET
    seen: str | UnsetType = UNSET
    expected: str | UnsetType = UNSET
    offsets: tuple[int, ...] | UnsetType = UNSET


class Refused(Word, kw_only=True):
    """The answer to a refused call; nothing was changed, unless the name says otherwise."""

    error: Refusal


class Kind(Word):
    """One name of a refusal."""

    status: int
    meaning: str


REFUSALS: Final = {
    "AgreementExpired": Kind(
        409, "The agreement is not in force now: before `valid_from`, or from `valid_until` on."
    ),
    "AlreadyHandedOver": Kind(
        409,
        "The message was handed over again since the caller looked, perhaps by this same call; "
        "`error.text` says when, and at which offset.",
    ),
    "Ambiguous": Kind(
        409,
        "Several messages of the inbox have this MessageId: address one by its offset; "
        "`error.offsets` has them.",
    ),
    "AmbiguousAgreement": Kind(
        400, "This partner has several agreements: name one in `agreement`."
    ),
    "AttemptOver": Kind(409, "A later attempt of the task has begun to stage its rows."),
    "BackupExists": Kind(409, "There is a backup of this name; none is ever written over."),
    "BackupRunning": Kind(409, "Another backup is being made; `error.text` names it."),
    "BodyTooLarge": Kind(413, "This call takes no documents, and no body of this length."),
    "Busy": Kind(
        503, "No descriptor or memory is free at the moment; nothing was accepted. Try again."
    ),
    "CallerGone": Kind(
        400, "The request ended in the middle of its body; nobody receives this answer."
    ),
    "Cancelled": Kind(
        409, "Its sender took the message back before work on it began: do not process it."
    ),
    "ConfigurationRefused": Kind(
        409,
        "The file cannot be used, or changes what only a restart takes over: `error.text` has the "
        "file and the line. The configuration that ran before runs on.",
    ),
    "CountDiffers": Kind(
        409, "It has another number of messages than the caller says; nothing was started."
    ),
    "Forbidden": Kind(
        403,
        "The key does not allow this call: `error.text` names the scope that it lacks, and whoever "
        "gave you the key can give you one that has it. Or the call is about the whole gateway, "
        "and the key is an application's.",
    ),
    "ForeignHost": Kind(
        421,
        "The call is for a name that is none of ours: a name bound to our address by somebody "
        "else, or one that `api_hosts` lacks.",
    ),
    "ForeignOrigin": Kind(403, "A web page of another origin tried to call the API."),
    "HeadTooLarge": Kind(431, "The request's head, with its target, is too long."),
    "IdempotencyKeyTaken": Kind(409, "Another message was submitted under this key."),
    "InternalError": Kind(
        500,
        "A bug of onceonly; the journal and the log say which. It is unknown what the call has "
        "done: look, or repeat a call that may be repeated.",
    ),
    "InvalidField": Kind(
        400,
        "A field is missing, unknown, or not legal; `error.field`, `seen` and `expected` say which "
        "and why.",
    ),
    "InvalidJson": Kind(400, "The body is not a JSON object."),
    "InvalidKey": Kind(
        409, "These scopes, application and agreements do not go together; `error.text` says why."
    ),
    "InvalidMultipart": Kind(
        400, "The submission is not multipart, or its parts are not those expected."
    ),
    "InvalidRequest": Kind(400, "HTTP that the API does not understand."),
    "JobChanged": Kind(
        409, "Rows that the run had staged do not exist any more; nothing was released."
    ),
    "JournalBehind": Kind(
        409,
        "The journal ends before `after`: it is of another store, or of one that was restored. Ask "
        "without `after`, or from 0.",
    ),
    "JournalForked": Kind(
        409, "The lake has rows that this store lacks: it was restored from an old backup."
    ),
    "KeyExists": Kind(
        409, "There is a key of this name, or there was one: a name is never used again."
    ),
    "LakeFailed": Kind(503, "The lake directory cannot be written; the journal keeps its rows."),
    "LengthRequired": Kind(411, "A submission must say its length (Content-Length)."),
    "MessageIdTaken": Kind(409, "Another message is stored under this MessageId."),
    "MethodNotAllowed": Kind(405, "The path exists, but not with this method; `Allow` has those."),
    "NeverSent": Kind(409, "No byte of the message has left, so the partner cannot know it."),
    "NotCancellable": Kind(409, "There is a verdict already, or the receiver must be asked."),
    "NotInAgreement": Kind(
        409, "The agreement has no such action of this service for messages that we send."
    ),
    "NotFound": Kind(404, "No such message, payload or path."),
    "NotBlocked": Kind(
        409,
        "No message blocks the conversation, so that it needs no reset; `error.text` says how it "
        "stands.",
    ),
    "NotHeld": Kind(409, "Nothing in the conversation waits for an earlier message."),
    "InDoubt": Kind(
        409,
        "The message that blocks the conversation is in doubt: settle it first, or name it in "
        "`anyway`.",
    ),
    "NotOffered": Kind(409, "This gateway cannot do that; `error.text` says why."),
    "NotParked": Kind(
        409, "No open incident names this message as parked, so there is nothing to take up."
    ),
    "NotResendable": Kind(
        409, "The sender has not given up, or the message has expired or lost its number."
    ),
    "NotSettleable": Kind(
        409,
        "The message is not in doubt, so there is nothing to settle; `error.text` says what is "
        "possible.",
    ),
    "NotStartable": Kind(409, "The bulk action is done, or its messages are still being selected."),
    "PayloadTooLarge": Kind(413, "The payloads are longer than `payload_bytes_max`."),
    "ProcessingWentBack": Kind(409, "A processing state only moves forward."),
    "Purged": Kind(
        409,
        "The message was forgotten after its time; `error.text` says when. Its application has to "
        "ask the sender for it.",
    ),
    "QueueFull": Kind(503, "`queued_max` messages wait for a verdict; nothing was accepted."),
    "Refused": Kind(
        409, "The application refused the message before; it cannot be processed any more."
    ),
    "ReportTooLarge": Kind(
        409,
        "The file has more than 1 GiB, the most that is sent: take it from the folder itself.",
    ),
    "RunOver": Kind(409, "The run of the job was released or dropped, or another began after it."),
    "StoreFailed": Kind(
        500, "The store failed and the gateway stops; it is unknown what was stored."
    ),
    "StoreFull": Kind(507, "The disk is full; nothing was accepted."),
    "TooManyItems": Kind(
        409,
        "A bulk action has 100,000 messages at most: narrow `where` or `inbox`, and make several.",
    ),
    "TooManyPayloads": Kind(413, "A package has a limited number of parts."),
    "TooManyRows": Kind(413, "A request stages a limited number of rows: send several."),
    "Unauthorized": Kind(401, "The key is missing, wrong, or revoked."),
    "UnknownAgreement": Kind(404, "There is no agreement with this id and this partner."),
    "UnknownPartner": Kind(404, "There is no agreement with this partner."),
}
"""Every name. One that the gateway raises and that is missing here fails a test."""

EVERYWHERE: Final = (
    "BodyTooLarge",
    "Busy",
    "CallerGone",
    "ForeignHost",
    "ForeignOrigin",
    "HeadTooLarge",
    "InternalError",
    "InvalidField",
    "InvalidJson",
    "InvalidRequest",
    "StoreFailed",
)
"""What every call can be refused for."""
