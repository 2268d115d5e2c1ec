"""Every name of an error that onceonly writes or may be told, with what it means and what to do.

A name that is declared with its words (the refusals of the API and of the HTTP endpoint) has them
from there; here stands what is said nowhere else. A test finds every name that the code raises, and
fails where one is missing (`tests/explain/test_error_names.py`).
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from onceonly.api.refusals import REFUSALS
from onceonly.explain.meaning import CODES
from onceonly.message.errors import ErrorCode
from onceonly.message.word import Word
from onceonly.transport.http import refusal as http_refusals
from onceonly.transport.mail import reply as mail_replies
from onceonly.transport.transport import Answer


class Place(StrEnum):
    """Where a name is met."""

    ERROR_LIST = "Error message of ebXML"
    API = "application API"
    MSH = "answer of an MSH"
    MAIL = "reply of a mail listener"
    COMMAND = "command or Spark job"


class ErrorName(Word, kw_only=True):
    """One name, at one place."""

    name: str
    place: Place
    status: int | None
    """Of HTTP, or of SMTP in a reply of a mail listener."""
    meaning: str
    to_do: str | None
    """What to do, and who; None where the meaning says it."""


_AS_AGREED: Final = "both: compare the agreement of the two sides, value by value"
_SENDER: Final = "the sender's: its gateway has to send what the profile prescribes"
_TO_DO: Final = {
    ErrorCode.TRANSIENT_ERROR: "nothing: the sender's gateway tries again by itself",
    ErrorCode.INVALID_SEQUENCE_NUMBER: (
        "both: the pair is closed, since one side has lost count; find out which side was set back "
        "(a restored store?), then `onceonly partner resume` at the sender, which begins again at 1"
    ),
    ErrorCode.VALUE_NOT_RECOGNIZED: _AS_AGREED,
    ErrorCode.NOT_SUPPORTED: "the sender's: do without it, or agree on it first",
    ErrorCode.INCONSISTENT: _AS_AGREED,
    ErrorCode.OTHER_XML: f"{_SENDER}; `onceonly package explain` on a capture names the place",
    ErrorCode.MIME_PROBLEM: f"{_SENDER}; `onceonly package explain` on a capture names the part",
    ErrorCode.MESSAGE_TOO_LARGE: (
        "the sender's: a smaller message; or the receiver's: `payload_bytes_max`"
    ),
    ErrorCode.SECURITY_FAILURE: (
        "both: the receiver's journal has a row SecurityEvent, SignatureRefused or "
        "CollisionDetected that says which it was; compare `caller_certificate` there with `[tls]` "
        "here or `partner_certificates` with our `[[identity]]`, or ask why one MessageId was used "
        "for two contents"
    ),
    ErrorCode.TIME_TO_LIVE_EXPIRED: (
        "the sender's application: decide whether the document is still wanted, and submit it as a "
        "new message; if it was on time, compare the clocks"
    ),
    ErrorCode.DELIVERY_FAILURE: (
        "the sender's operator: `onceonly message show ID` says whether it is certain "
        "(`is_certain`); only then is sending it again free of risk"
    ),
    ErrorCode.UNKNOWN: "read the text beside the code; if it is the partner's own code, ask there",
}

_OF_THE_MSH: Final = {
    "Busy": (503, "descriptors or memory are used up there for the moment", "nothing: try again"),
    "StoreFull": (507, "the disk is full there; nothing was stored", "theirs: make room"),
    "TransferBroken": (
        400,
        "the package broke off on its way; nothing of it was stored",
        "nothing: the sender tries again; if it happens each time, look at proxies and timeouts",
    ),
}
_MAIL: Final = {
    "LineTooLong": "a line of the SMTP conversation is longer than SMTP allows",
    "MessageTooLarge": "the mail is larger than any message here may be",
    "BareLineBreak": "a line of the mail ends in CR or LF alone, which servers read differently",
    "NulByte": "the mail has a byte of value 0",
    "HeadTooLarge": "the head of the mail is too large or has too many lines",
    "MalformedHead": "the head of the mail is not as RFC 5322 prescribes",
    "MailLoop": "the mail has come through too many servers: it goes in a circle",
    "TransferEncodingNotSupported": "the Content-Transfer-Encoding is not known",
    "InternalError": "a bug of onceonly there; its journal and log say which",
    "Draining": "the gateway is about to stop",
    "TooManyConnections": "too many connections at once, or too many of this address",
    "Closing": "the gateway stops",
    "CommandBehindStartTls": (
        "a command came in clear together with STARTTLS: an attack, or a bug of the sender"
    ),
    "NoSuchMailbox": "no mailbox of this gateway has the address",
    "BadAddress": "the address is malformed",
}
_ENVELOPE: Final = "ours: a value that cannot be written on the wire; the text names it"
_COMMANDS: Final = {
    "AllRejected": (
        "every row of the DataFrame was rejected, so nothing was sent",
        "`onceonly job show JOB --rejects` says why; correct the rows, or the options of the write",
    ),
    "BadKey": ("the file is no private key to sign with", "give another key"),
    "BadManifest": (
        "a manifest of the lake cannot be read: another program wrote there, or a disk failed",
        "restore the lake's folder, or ingest the journals into a new one",
    ),
    "BadOption": ("two options contradict each other", "the text says which"),
    "BadPack": (
        "the evidence pack is not whole, or not as a pack has to be",
        "ask whoever made it for another copy; compare its checksum",
    ),
    "BadSetting": (
        "what Spark was to be told is no setting, or came too late for it",
        "give spark.KEY=VALUE; under spark-submit give --conf to spark-submit itself",
    ),
    "BadTarget": ("nothing can be written there", "the text says what is expected"),
    "BadTrigger": ("an ingest cannot be repeated at this interval", "the text shows legal ones"),
    "BodyChanged": (
        "the bytes of a package changed while it was sent; the transmission was broken off",
        "look at the disk below the spool",
    ),
    "DocumentTooLarge": ("the document is too large for the demo", "leave it out"),
    "FileChanged": ("the file changed while it was read", "wait until it is written; send again"),
    "InvalidText": ("a text has a character that cannot be stored", "the text names it"),
    "KeyDoesNotFit": (
        "a key cannot sign: too weak, of another kind, or not that of its certificate",
        "the text says which; name a key and the certificate that was made for it",
    ),
    "EvidenceGone": (
        "rows that a former run judged are not in the lake any more",
        "restore the lake as it was; what the run wrote is still as it was judged then",
    ),
    "LakeBusy": (
        "another ingest, or another run that writes tables, works on this lake",
        "wait until it ends; then try again",
    ),
    "NewerLake": ("a newer onceonly wrote this lake", "use that version or a newer one"),
    "NoClassArchive": (
        "this Java makes no archive of Spark's classes, or none is wanted",
        "go on without: commands of the lake only start later; or try another Java",
    ),
    "NoCryptography": (
        "signatures need a library that is not installed",
        "`pip install 'onceonly[spark]'`",
    ),
    "NoDocuments": ("the folder has no files", "name another folder"),
    "NoEvidence": ("the lake has nothing about the two parties in that time", "look at the dates"),
    "NoJava": (
        "Spark needs Java, and none is installed",
        "install a Java that Spark supports, or `pip install 'onceonly[spark]'`, which brings one",
    ),
    "NoLake": ("there is no lake at the place", "publish or ingest first, or correct the path"),
    "NoPack": ("there is no evidence pack at the place", "correct the path"),
    "NoReason": ("a reason is wanted, since an auditor will read it", "give one"),
    "NoRun": (
        "no run of `reconcile` has published tables there, or none of that id is known",
        "`onceonly lake reconcile` publishes one, `onceonly lake runs` lists them",
    ),
    "NoSource": ("the place cannot be read as a source of journals", "the text says why"),
    "NoTable": (
        "that run did not write the table, or its folders were removed after a newer run",
        "name a run that has it (`onceonly lake runs`), or judge again",
    ),
    "NoTableFormat": (
        "Spark has no jar for this table format",
        "give it with --packages, as docs/how-to/table-formats.md shows",
    ),
    "NotCarried": ("HTTP cannot carry this Content-Type", _ENVELOPE),
    "NotCounted": ("no row of that segment counts in the lake", "look at the segment's name"),
    "NotEmpty": ("what others wrote is there, and would be replaced", "choose another place"),
    "NotMail": ("the file is not a mail of 7-bit lines", "give the mail as it came"),
    "NotMicroseconds": ("the instant to judge at is not in microseconds since 1970", "correct it"),
    "NothingIngested": ("the lake has no journals yet", "`onceonly lake ingest` first"),
    "OlderLake": (
        "an older onceonly wrote this lake, and it was not brought up to date yet",
        "as the line says: `onceonly lake take-over` it; or, from long ago, ingest into it once",
    ),
    "OtherSource": (
        "the checkpoint is of a query that reads something else (inbox or journal)",
        "use a checkpoint of its own for each query",
    ),
    "RejectsMissing": (
        "rejected rows were written to a path that driver and executors do not share",
        "run the job again with a path that they share",
    ),
    "ReservedService": ("the service is reserved for signals", "choose another service"),
    "RowsPurged": (
        "the gateway purged messages of the inbox before the stream had read them",
        "keep them longer, or let that stream alone report them complete; the text has the range",
    ),
    "SemanticsNotOnWire": ("the profile has no word for this delivery semantics", _ENVELOPE),
    "SeveralInboxes": (
        "the checkpoint has the offsets of several inboxes",
        "use one for each gateway",
    ),
    "StoreReplaced": (
        "the gateway's store is another one than at the last offset: it was replaced or restored",
        "begin with a new checkpoint, after a look at what the old store had delivered",
    ),
    "TooManyRejects": (
        "more rows of the DataFrame were rejected than its max_rejects allows; nothing was sent",
        "correct the rows, which are in the folder of the rejects, and run the job again",
    ),
    "TooManyDocuments": ("the folder has too many files for the demo", "give a smaller one"),
    "UnexpectedAnswer": (
        "whatever answered is no onceonly, or another version",
        "look at the address; is a proxy between?",
    ),
    "UnknownTable": ("the lake has no table of that name", "the text lists those it has"),
    "UnreadableDocument": ("a file of the folder cannot be read", "look at its permissions"),
    "UnusableAddress": ("the address is no URL that can be called", "correct `--api`"),
    "UnusableEndpoint": ("the endpoint cannot be used with this transport", "correct `send_to`"),
    "UnusableFile": ("the path is no file that can be sent", "give a regular file"),
    "UnusableToken": ("the token has signs that no HTTP head can carry", "correct the token"),
}


def all_names() -> tuple[ErrorName, ...]:
    """Every name at every place, in alphabetical order."""
    return tuple(sorted(_all(), key=lambda one: (one.name.lower(), one.place)))


def find_names(name: str) -> tuple[ErrorName, ...]:
    """What stands under the name, whatever its case; empty where nothing does."""
    return tuple(one for one in all_names() if one.name.lower() == name.lower())


def _all() -> Iterator[ErrorName]:
    for code, meaning in CODES.items():
        yield _named(code.value, Place.ERROR_LIST, None, meaning, _TO_DO[code])
    for name, kind in REFUSALS.items():
        yield _named(name, Place.API, kind.status, kind.meaning, None)
    for answer in _answers(http_refusals):
        text = answer.reason or "a bug of onceonly there; its journal and log say which"
        yield _named(answer.error or "", Place.MSH, answer.status_code, text, None)
    for name, (status, meaning, to_do) in _OF_THE_MSH.items():
        yield _named(name, Place.MSH, status, meaning, to_do)
    for answer in _answers(mail_replies):
        name = answer.error or ""
        to_do = "nothing: the mail is tried again" if answer.status_code < 500 else "the sender's"
        yield _named(name, Place.MAIL, answer.status_code, _MAIL[name], to_do)
    said = "the mail itself came before, with the same Message-ID; this copy was dropped"
    yield _named("RepeatedMail", Place.MAIL, 250, said, "nothing")
    for name, (meaning, to_do) in _COMMANDS.items():
        yield _named(name, Place.COMMAND, None, meaning, to_do)


def _named(
    name: str, place: Place, status: int | None, meaning: str, to_do: str | None
) -> ErrorName:
    return ErrorName(name=name, place=place, status=status, meaning=meaning, to_do=to_do)


def _answers(module: object) -> Iterator[Answer]:
    """The refusals that a module declares."""
    found = {one for one in vars(module).values() if isinstance(one, Answer)}
    yield from sorted(found, key=lambda one: (one.error or "", one.status_code))
