"""What an operator can do from a page: each deed as a value, with what it does said in words.

A deed is asked for on a page of its own, which says its effect and its risk and takes the reason;
only the form of that page, posted, makes the call. Knows the API's operations, no page.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

from onceonly.api import inbox_operations, operations
from onceonly.api.backups import StartBackup
from onceonly.api.fields import OFFSET_DIGITS_MAX
from onceonly.api.inbox import InboxQuery, OffsetPath, Processing, Redeliver
from onceonly.api.jobs import AnyJobPath, JobPath, NamedRunQuery, ReleaseQuery
from onceonly.api.key_operations import REVOKE_KEY
from onceonly.api.keys import KeyPath
from onceonly.api.messages import MessagePath, Reason, Resend, ResumeMessage, Settle
from onceonly.api.operating import Draining, PartnerPath, PingQuery, Resume
from onceonly.api.words import ProcessingState, Settlement
from onceonly.console.browser import BadForm
from onceonly.console.calls import NOTHING, Calls
from onceonly.message.word import Word

Subject = Literal["message", "partner", "item", "job", "key", "gateway"]
"""What a deed is about, and so to which page it returns."""

SUBJECTS: Final[dict[Subject, str]] = {
    "message": "Message",
    "partner": "Partner",
    "item": "Offset",
    "job": "Job",
    "key": "Key",
    "gateway": "Gateway",
}
"""What stands before the name of a subject."""

Wants = Literal["no", "welcome", "needed"]

PING_WAIT_S: Final = 5.0
"""How long a page waits for the answer to a Ping."""


class Deed(Word, kw_only=True):
    """One thing that can be done.

    `ask` makes the call for the subject (a MessageId, a PartyId, an offset, the name of a job) with
    the reason that was given.
    """

    name: str
    subject: Subject
    button: str
    effect: str
    risk: str | None = None
    is_grave: bool = False
    """Whether it may do harm that nothing undoes."""
    reason: Wants = "welcome"
    command: str
    """With `{on}` for the subject, and `{reason}` where it takes one."""
    done: str
    """What is said afterwards."""
    ask: Callable[..., Awaitable[Any]]
    look: Callable[[Calls], Awaitable[str]] | None = None
    """What its page has seen. The form sends it along and `ask` takes it as one argument more, so
    that a form that is posted twice acts once."""

    async def do(self, calls: Calls, on: str, reason: str | None, seen: str) -> Any:
        """Make the call. Raises `ApiRefused` and `BadForm`."""
        return await self.ask(calls, on, reason, *(() if self.look is None else (seen,)))


def _message(name: str, ask: Callable[[Calls, MessagePath, str | None], Any], **more: Any) -> Deed:
    async def asked(calls: Calls, on: str, reason: str | None) -> Any:
        return await ask(calls, MessagePath(message_id=on), reason)

    return Deed(name=name, subject="message", ask=asked, **more)


def _partner(name: str, ask: Callable[[Calls, PartnerPath, str | None], Any], **more: Any) -> Deed:
    async def asked(calls: Calls, on: str, reason: str | None) -> Any:
        return await ask(calls, PartnerPath(partner=on), reason)

    return Deed(name=name, subject="partner", ask=asked, **more)


def _resend(body: Callable[[str | None], Resend]) -> Callable[..., Any]:
    return lambda calls, path, reason: calls.ask(
        operations.RESEND_MESSAGE, path, NOTHING, body(reason)
    )


RESEND: Final = _message(
    "resend",
    _resend(lambda reason: Resend(reason=reason)),
    button="Send identical again",
    effect="The same bytes go out again under the same MessageId. If the partner has the message "
    "already, it eliminates the repeat and acknowledges it again. If it has ended and certainly "
    "was not delivered, or was settled as not delivered, its content goes out as a new message.",
    command="onceonly message resend {on}",
    done="It is sent again.",
)
NEW_VERSION: Final = _message(
    "new-version",
    _resend(lambda reason: Resend(new_version=True, reason=reason)),
    button="Cancel there, then send as new",
    effect="The partner is asked to cancel the message. Only when it has confirmed that for good "
    "does the content go out under a new MessageId.",
    command="onceonly message resend {on} --new-version",
    done="The partner is asked; its answer will be seen here.",
)
ANYWAY: Final = _message(
    "anyway",
    _resend(lambda reason: Resend(anyway=True, reason=reason)),
    button="Send as new anyway",
    effect="The content goes out under a new MessageId, and nobody is asked.",
    risk="If the first one was delivered, the partner's application has the document twice. "
    "Do this only when the partner has told you that it is not there.",
    is_grave=True,
    reason="needed",
    command='onceonly message resend {on} --anyway --reason "{reason}"',
    done="Its content is sent as a new message.",
)
CANCEL: Final = _message(
    "cancel",
    lambda calls, path, _: calls.ask(operations.CANCEL_MESSAGE, path, NOTHING),
    button="Take it back",
    effect="If no byte has left, that is done at once. Otherwise the partner is asked, and it "
    "confirms only while work on the message has not begun.",
    command="onceonly message cancel {on}",
    done="It is taken back, or the partner is asked; the state below says which.",
)
ASK: Final = _message(
    "ask",
    lambda calls, path, _: calls.ask(operations.REQUEST_STATUS, path, NOTHING),
    button="Ask the partner",
    reason="no",
    effect="The partner is asked how the message stands. Asking changes nothing there; the answer "
    "that it has the message ends the doubt.",
    command="onceonly message status {on} --remote",
    done="The partner is asked; its answer will be seen here.",
)
TAKE_UP: Final = _message(
    "take-up",
    lambda calls, path, reason: calls.ask(
        operations.RESUME_MESSAGE, path, NOTHING, ResumeMessage(reason=reason or "")
    ),
    button="Take it up again",
    effect="A message that a bug of onceonly set aside goes on: sent, forwarded or handed over.",
    risk="If the bug is still there, the message will be set aside again.",
    reason="needed",
    command='onceonly message resume {on} --reason "{reason}"',
    done="It goes on.",
)


def _settle(word: Settlement) -> Callable[..., Any]:
    return lambda calls, path, reason: calls.ask(
        operations.SETTLE_MESSAGE, path, NOTHING, Settle(word=word, reason=reason or "")
    )


SETTLE_DELIVERED: Final = _message(
    "settle-delivered",
    _settle("delivered"),
    button="Settle: delivered",
    effect="You have asked the partner by other means, and it has the document. The doubt ends on "
    "your word; nothing is sent, unless the partner asks for it again as a response, and its pair "
    "stays as it is.",
    risk="If that is wrong, nobody looks for the document any more: it is lost until the partner "
    "misses it.",
    is_grave=True,
    reason="needed",
    command='onceonly message settle {on} --as delivered --reason "{reason}"',
    done="The doubt is settled: delivered, as you say.",
)
SETTLE_NOT_DELIVERED: Final = _message(
    "settle-not-delivered",
    _settle("not-delivered"),
    button="Settle: not delivered",
    effect="You have asked the partner by other means, and it has not the document. The doubt ends "
    "on your word; nothing is sent now, and the content may be sent as a new message.",
    risk="If that is wrong and the content is sent again, the partner's application has the "
    "document twice.",
    is_grave=True,
    reason="needed",
    command='onceonly message settle {on} --as not-delivered --reason "{reason}"',
    done="The doubt is settled: not delivered, as you say.",
)
SETTLE: Final = (SETTLE_DELIVERED, SETTLE_NOT_DELIVERED)
"""The two words that end a doubt."""
PING: Final = _partner(
    "ping",
    lambda calls, path, _: calls.ask(operations.PING_PARTNER, path, PingQuery(wait=PING_WAIT_S)),
    button="Ping",
    reason="no",
    effect="The partner is asked whether it is running and takes messages. It changes nothing.",
    command="onceonly partner ping {on}",
    done="The partner was asked.",
)
SUSPEND: Final = _partner(
    "suspend",
    lambda calls, path, reason: calls.ask(
        operations.SUSPEND_PARTNER, path, NOTHING, Reason(reason=reason)
    ),
    button="Suspend",
    effect="Nothing is sent to the partner any more. What is submitted waits. What it sends is "
    "still taken.",
    command='onceonly partner suspend {on} --reason "{reason}"',
    done="Sending to the partner is suspended.",
)
RESUME: Final = _partner(
    "resume",
    lambda calls, path, _: calls.ask(operations.RESUME_PARTNER, path, NOTHING, Resume()),
    button="Resume",
    effect="Messages go on in both directions, the uncompleted one first and with a full number of "
    "tries. Incidents with the partner are closed.",
    command="onceonly partner resume {on}",
    done="Messages go on.",
)
RESUME_UNSENT: Final = _partner(
    "resume-unsent",
    lambda calls, path, _: calls.ask(operations.RESUME_PARTNER, path, NOTHING, Resume(unsent=True)),
    button="Resume, and send what never left",
    effect="As Resume does. Also, what failed or expired before a byte of it left is sent as new "
    "messages: the partner cannot have any of them.",
    command="onceonly partner resume {on} --unsent",
    done="Messages go on, and what never left is sent as new messages.",
)


def _offset(on: str) -> int:
    """Raises `BadForm`."""
    if not (on.isascii() and on.isdecimal() and len(on) <= OFFSET_DIGITS_MAX):
        raise BadForm("The form names no item of the inbox.")
    return int(on)


def _processing(name: str, state: ProcessingState, **more: Any) -> Deed:
    async def asked(calls: Calls, on: str, reason: str | None) -> Any:
        del reason
        path = OffsetPath(offset=_offset(on))
        body = Processing(processing=state)
        return await calls.ask(inbox_operations.BY_OFFSET.report, path, NOTHING, body)

    return Deed(name=name, subject="item", ask=asked, **more)


async def _refuse(calls: Calls, on: str, reason: str | None) -> Any:
    path = OffsetPath(offset=_offset(on))
    return await calls.ask(inbox_operations.BY_OFFSET.refuse, path, NOTHING, Reason(reason=reason))


BEGIN: Final = _processing(
    "begin",
    "in-progress",
    button="Report: in progress",
    effect="Partners that ask are told that work on it has begun. Its sender cannot take it back "
    "any more.",
    command="onceonly inbox processing in-progress --offset {on}",
    done="It is in progress.",
)
COMPLETE: Final = _processing(
    "complete",
    "complete",
    button="Report: complete",
    effect="Partners that ask are told that the application is done with it.",
    risk="This is said for the application. It cannot be taken back.",
    command="onceonly inbox done --offset {on}",
    done="It is complete.",
)
REFUSE: Final = Deed(
    name="refuse",
    subject="item",
    ask=_refuse,
    button="Refuse",
    effect="The message will not be processed. Its sender is told, with the reason, where that was "
    "agreed.",
    risk="It cannot be taken back.",
    is_grave=True,
    reason="needed",
    command='onceonly inbox refuse --offset {on} --reason "{reason}"',
    done="It is refused.",
)


async def _last_offset(calls: Calls) -> str:
    page = await calls.ask(inbox_operations.LIST_INBOX, NOTHING, InboxQuery(limit=1))
    return str(page.last_offset)


async def _redeliver(calls: Calls, on: str, reason: str | None, seen: str) -> Any:
    path = OffsetPath(offset=_offset(on))
    body = Redeliver(reason=reason or "", after=_offset(seen))
    return await calls.ask(inbox_operations.BY_OFFSET.redeliver, path, NOTHING, body)


REDELIVER: Final = Deed(
    name="redeliver",
    subject="item",
    ask=_redeliver,
    look=_last_offset,
    button="Hand over again",
    effect="The message is in the inbox once more, at a new offset, for an application that has "
    "lost it. Nothing is sent, and partners notice nothing.",
    risk="The application does the work of this message once more, each time that you do this. If "
    "it had not lost the message, the document counts twice there. If it had refused the message, "
    "the sender may have been told that it is not processed.",
    is_grave=True,
    reason="needed",
    command='onceonly inbox redeliver --offset {on} --reason "{reason}"',
    done="It is handed over again, at the end of the inbox.",
)


async def _release(calls: Calls, on: str, reason: str | None) -> Any:
    del reason
    return await calls.ask(operations.RELEASE_JOB, AnyJobPath(job=on), ReleaseQuery())


async def _drop(calls: Calls, on: str, reason: str | None) -> Any:
    del reason
    return await calls.ask(operations.DROP_JOB, JobPath(job=on), NamedRunQuery())


RELEASE: Final = Deed(
    name="release",
    subject="job",
    ask=_release,
    button="Release",
    effect="What is staged in the job is sent, in the order of its rows.",
    risk="If the program that stages the rows is still running, its later rows wait for another "
    "release.",
    command="onceonly job release {on}",
    done="It is released.",
)
DROP: Final = Deed(
    name="drop",
    subject="job",
    ask=_drop,
    button="Drop what is staged",
    effect="What is staged in the job and not released is forgotten. What was released goes on.",
    risk="It cannot be taken back; the program would have to stage its rows again.",
    is_grave=True,
    command="onceonly job drop {on}",
    done="What was staged is forgotten.",
)


async def _backup(calls: Calls, on: str, reason: str | None) -> Any:
    del on, reason
    return await calls.ask(operations.START_BACKUP, NOTHING, NOTHING, StartBackup())


async def _publish(calls: Calls, on: str, reason: str | None) -> Any:
    del on, reason
    return await calls.ask(operations.PUBLISH, NOTHING, NOTHING)


def _draining(*, is_draining: bool) -> Callable[..., Any]:
    async def asked(calls: Calls, on: str, reason: str | None) -> Any:
        del on, reason
        body = Draining(draining=is_draining)
        return await calls.ask(operations.SET_DRAINING, NOTHING, NOTHING, body)

    return asked


BACK_UP: Final = Deed(
    name="back-up",
    subject="gateway",
    ask=_backup,
    button="Back up now",
    effect="The store and its large payloads are copied while messages go on.",
    command="onceonly backup",
    done="The backup has begun.",
)
PUBLISH: Final = Deed(
    name="publish",
    subject="gateway",
    ask=_publish,
    button="Publish the journal now",
    effect="The journal's new rows are written into the lake now, and not at the next interval.",
    command="onceonly lake publish",
    done="The journal is published.",
)
DRAIN: Final = Deed(
    name="drain",
    subject="gateway",
    ask=_draining(is_draining=True),
    button="Drain",
    effect="Partners that ask first (Ping) are told to send nothing. Messages that come "
    "nevertheless are accepted.",
    command="curl -X POST API/v1/drain -d '{{\"draining\": true}}'",
    done="Partners that ask are told to wait.",
)
UNDRAIN: Final = Deed(
    name="undrain",
    subject="gateway",
    ask=_draining(is_draining=False),
    button="End draining",
    effect="Partners that ask are told that messages are taken.",
    command="curl -X POST API/v1/drain -d '{{\"draining\": false}}'",
    done="Partners that ask are told that messages are taken.",
)


async def _revoke(calls: Calls, on: str, reason: str | None) -> Any:
    del reason
    return await calls.ask(REVOKE_KEY, KeyPath(name=on), NOTHING)


REVOKE: Final = Deed(
    name="revoke",
    subject="key",
    ask=_revoke,
    button="Revoke",
    effect="The key opens nothing any more, and its name is not used again.",
    risk="Whoever calls with it is refused from now on. It cannot be taken back.",
    is_grave=True,
    command="onceonly key revoke {on}",
    done="The key opens nothing any more.",
)

DEEDS: Final = {
    deed.name: deed
    for deed in (
        *(RESEND, NEW_VERSION, ANYWAY, CANCEL, ASK, TAKE_UP, *SETTLE),
        *(PING, SUSPEND, RESUME, RESUME_UNSENT),
        *(BEGIN, COMPLETE, REFUSE, REDELIVER),
        *(RELEASE, DROP, BACK_UP, PUBLISH, DRAIN, UNDRAIN, REVOKE),
    )
}
"""All of them, by the name that an address has."""
