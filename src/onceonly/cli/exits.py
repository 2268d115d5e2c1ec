"""Exit codes: what a script can tell from `$?`. One place, shown by `onceonly --help`."""

from enum import IntEnum
from typing import IO, Any

import click

from onceonly.api.messages import MessageDetail
from onceonly.api.refusals import REFUSALS
from onceonly.cli.output import complain
from onceonly.message.errors import LocalError


class Exit(IntEnum):
    """Every exit code there is."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    NOT_FOUND = 3
    NOT_ALLOWED = 4
    UNREACHABLE = 5
    FAILED = 6
    IN_DOUBT = 7
    REFUSED = 8
    STILL_TRYING = 9
    SUSPENDED = 10
    DIFFERENCES = 11
    PARTIAL = 12
    NOT_POSSIBLE = 13
    NOT_VALID_THEN = 14
    INTERRUPTED = 130


MEANINGS = {
    Exit.OK: "done",
    Exit.UNEXPECTED: "unexpected error",
    Exit.USAGE: "usage or configuration",
    Exit.NOT_FOUND: "not found",
    Exit.NOT_ALLOWED: "not allowed: no key or token, or not the right one",
    Exit.UNREACHABLE: "the gateway cannot be reached",
    Exit.FAILED: "delivery failed",
    Exit.IN_DOUBT: "in doubt: perhaps delivered",
    Exit.REFUSED: "refused by the peer",
    Exit.STILL_TRYING: "still trying",
    Exit.SUSPENDED: "the pair is suspended",
    Exit.DIFFERENCES: "differences found",
    Exit.PARTIAL: "done with some of many messages, and not with all",
    Exit.NOT_POSSIBLE: "refused by the gateway: not possible as things stand",
    Exit.NOT_VALID_THEN: "rightly signed, by a certificate that was not valid at the Timestamp",
    Exit.INTERRUPTED: "interrupted",
}


class Failure(click.ClickException):
    """Ends the command with one line on stderr and a documented exit code."""

    def __init__(self, code: Exit, text: str) -> None:
        super().__init__(text)
        self.exit_code = int(code)  # type: ignore[misc]  # because click reads it from the instance

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the failure; click calls this where the command did not catch it."""
        del file
        complain(self)


_BY_STATUS = {
    **dict.fromkeys((401, 403, 421), Exit.NOT_ALLOWED),
    404: Exit.NOT_FOUND,
    409: Exit.NOT_POSSIBLE,
    **dict.fromkeys((500, 503, 507), Exit.UNEXPECTED),
}
_BY_NAME = {
    "Ambiguous": Exit.USAGE,  # which of several messages is meant, the caller can say at once
    "ConfigurationRefused": Exit.USAGE,  # as at a start: the file has to be mended
    "Cancelled": Exit.NOT_FOUND,  # the application must take it as if it had never come
    "UnexpectedAnswer": Exit.UNEXPECTED,
}


def exit_of_refusal(name: str) -> Exit:
    """The exit code for a refusal with this name: by its HTTP status, else it is about usage."""
    kind = REFUSALS.get(name)
    by_status = Exit.USAGE if kind is None else _BY_STATUS.get(kind.status, Exit.USAGE)
    return _BY_NAME.get(name, by_status)


def failure_of(error: Exception) -> Failure:
    """What ends a command for an error: a refusal by its name, and whatever else as unexpected."""
    if isinstance(error, LocalError):
        return Failure(exit_of_refusal(error.name), f"{error.name}: {error}")
    return Failure(Exit.UNEXPECTED, str(error))


def exit_of_message(message: MessageDetail) -> Exit:
    """The exit code that tells the fate of a message (`message wait`, `send --wait`)."""
    state = message.state
    if state in ("acknowledged", "sent", "settled_delivered"):
        return Exit.OK
    refused = message.error_code not in (None, "DeliveryFailure", "TimeToLiveExpired")
    if state in ("failed", "in_doubt") and refused:
        return Exit.REFUSED
    if state == "in_doubt" or (state == "failed" and message.is_certain is False):
        return Exit.IN_DOUBT  # Its time is over, and a copy may have been taken before.
    if state in ("failed", "expired", "cancelled", "settled_not_delivered"):
        return Exit.FAILED
    if message.pair is not None and message.pair.state != "open":
        return Exit.SUSPENDED
    return Exit.STILL_TRYING
