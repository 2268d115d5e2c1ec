"""A program that takes over what a gateway has received: a function for each kind of message.

    receiver = Receiver(gateway, last_offset=orders.last_offset)

    @receiver.on(service="Ordering", action="NewOrder")
    def book(order: ReceivedMessage) -> None:
        with orders.transaction():
            orders.add(order.read(), offset=order.offset)

    receiver.run()

A function is called *at least once* for each message, in the order of the inbox, and never for two
messages at a time: a program can die between its own commit and the report to the gateway, and then
only its own database knows that the work is done. Give `last_offset` and write the offset in the
transaction of the work, as above, and the work is done *exactly once*. Without `last_offset` the
gateway's processing states are all that is known, and the last message before a crash may be
given to the function again.
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from threading import Event
from typing import Final, Protocol, TypeVar

from onceonly.api.inbox import InboxItem
from onceonly.client import Client, GatewayUnreachable
from onceonly.message.errors import LocalError, OnceonlyError
from onceonly.message.word import Word

__all__ = [
    "NoFunction",
    "OffsetNotKept",
    "PayloadAltered",
    "ReceivedMessage",
    "Receiver",
    "Refusal",
]

PAGE: Final = 100
WAIT_S: Final = 5.0
"""How long one call waits for a message: as long as `stop` may take."""

PAUSE_S: Final = 1.0
PAUSE_S_MAX: Final = 60.0
"""Pauses between two tries, of a function or of a gateway that cannot be reached: twice as long
each time, up to this."""

T = TypeVar("T")

_log = logging.getLogger("onceonly.receiver")


class NoFunction(OnceonlyError):  # noqa: N818 - because it is a condition of the program
    """No function takes a message of this service and action; it was left as it is."""


class OffsetNotKept(OnceonlyError):  # noqa: N818 - because it is a condition of the program
    """A function returned, and `last_offset` does not have its message: it would be given again."""


class PayloadAltered(OnceonlyError):  # noqa: N818 - because it is a condition of a disk or a proxy
    """The bytes of a payload are not those that the gateway has received."""


class Refusal(Word):
    """Returned by a function that will not process its message; the sender is told the reason.

    The gateway keeps it, and does not give the message again: the function writes nothing down.
    """

    reason: str


class ReceivedMessage:
    """One received message, as a function is given it."""

    def __init__(self, gateway: Client, item: InboxItem) -> None:
        self._gateway = gateway
        self.item = item
        """All that the API says of it."""

    @property
    def offset(self) -> int:
        """Its place in the inbox: no other message of this gateway has it."""
        return self.item.offset

    @property
    def message_id(self) -> str:
        """Its MessageId, which a message of another partner may have, too."""
        return self.item.message_id

    @property
    def handed_over_again(self) -> int:
        """0, or which repetition it is: an operator had the message handed over once more.

        It has another offset than the first time; `item.first_offset` has that one.
        """
        return self.item.handed_over_again

    def stream(self, n: int = 0) -> Iterator[bytes]:
        """The bytes of a payload, in pieces. Raises `PayloadAltered`, after the last of them."""
        digest = sha256()
        for piece in self._gateway.payload(self.item, n):
            digest.update(piece)
            yield piece
        expected = self.item.payloads[n].digest
        if digest.hexdigest() != expected:
            raise PayloadAltered(
                f"payload {n} of {self.message_id} has SHA-256 {digest.hexdigest()}, and not "
                f"{expected}"
            )

    def read(self, n: int = 0) -> bytes:
        """The bytes of a payload. Raises `PayloadAltered`."""
        return b"".join(self.stream(n))


class Function(Protocol):
    """What is called for a message. It returns None when its work is durable, or a `Refusal`.

    Where it raises, it is called again after a pause, and no other message is taken meanwhile.
    """

    def __call__(self, received: ReceivedMessage, /) -> Refusal | None:
        """Do the work of one message."""
        ...


class _Entry(Word):
    """A function, and which messages are its."""

    function: Function
    service: str | None
    action: str | None
    agreement: str | None

    def takes(self, item: InboxItem) -> bool:
        """Whether the item is one of its messages."""
        return (
            self.service in (None, item.service)
            and self.action in (None, item.action)
            and self.agreement in (None, item.agreement)
        )


class Receiver:
    """Takes the messages of one gateway, one after the other.

    `last_offset` says the greatest offset whose work is durable in the program's own database. It
    is asked at the start, and after each function that did its work, which must have written it.
    Without it, `after` is where to begin: messages up to that offset are not looked at. `tries` is
    how often a function is called for one message before its error ends `run`; None: without end.
    """

    def __init__(
        self,
        gateway: Client,
        *,
        last_offset: Callable[[], int] | None = None,
        after: int = 0,
        tries: int | None = None,
    ) -> None:
        self._gateway = gateway
        self._last_offset = last_offset
        self._after = after
        self._tries = tries
        self._entries: list[_Entry] = []
        self._stopped = Event()

    def on(
        self,
        *,
        service: str | None = None,
        action: str | None = None,
        agreement: str | None = None,
    ) -> Callable[[Function], Function]:
        """The function takes the messages that have all of these; the first that fits is called."""

        def registered(function: Function) -> Function:
            self._entries.append(_Entry(function, service, action, agreement))
            return function

        return registered

    def stop(self) -> None:
        """Let `run` return after the message under way; for a signal handler, or another thread."""
        self._stopped.set()

    def run(self, *, until_empty: bool = False) -> int:
        """Take messages until `stop`, or until there is none; returns how many were done.

        Raises the error of a function after its last try, `NoFunction`, `OffsetNotKept`, and
        `LocalError` where the gateway refuses the program (Unauthorized, say). A gateway that
        cannot be reached is waited for.
        """
        wait_s = 0.0 if until_empty else WAIT_S
        done = 0
        try:
            after = self._begin_at()
            while not self._stopped.is_set():
                items = self._insist(partial(self._gateway.inbox, after, PAGE, wait_s))
                if until_empty and not items:
                    break
                for item in items:
                    if self._stopped.is_set():
                        break
                    done += self._take(item)
                    after = item.offset
        except _Stopped:
            pass
        return done

    def _begin_at(self) -> int:
        if self._last_offset is None:
            return self._after
        after = self._last_offset()
        # The program may have died between its own commit and its report.
        self._insist(partial(self._gateway.report_range, 0, after, "complete"))
        return after

    def _take(self, item: InboxItem) -> bool:
        """Let the message's function do its work; False where there is nothing to do."""
        if self._last_offset is None and item.processing == "complete":
            return False
        function = self._function_of(item)
        if not self._begin(item):
            return False
        refusal = self._call(function, ReceivedMessage(self._gateway, item))
        if refusal is not None:
            self._insist(partial(self._gateway.refuse, item, refusal.reason))
            return True
        if self._last_offset is not None and (kept := self._last_offset()) < item.offset:
            raise OffsetNotKept(
                f"{_name(function)} returned for offset {item.offset}, and last_offset says "
                f"{kept}: write the offset in the transaction of the work"
            )
        self._insist(partial(self._gateway.report, item, "complete"))
        return True

    def _function_of(self, item: InboxItem) -> Function:
        for entry in self._entries:
            if entry.takes(item):
                return entry.function
        raise NoFunction(
            f"no function takes {item.message_id} at offset {item.offset}: service "
            f"{item.service!r}, action {item.action!r}, agreement {item.agreement!r}"
        )

    def _begin(self, item: InboxItem) -> bool:
        """Say that work begins, from when on its sender cannot take the message back."""
        try:
            self._insist(partial(self._gateway.report, item, "in-progress"))
        except LocalError as error:
            if error.name == "ProcessingWentBack":
                # Complete by the gateway. A database that lacks it was restored: work once more.
                return self._last_offset is not None
            if error.name in ("Cancelled", "Refused"):
                return False
            raise
        return True

    def _call(self, function: Function, received: ReceivedMessage) -> Refusal | None:
        pause_s, tried = PAUSE_S, 0
        while True:
            try:
                return function(received)
            except GatewayUnreachable as error:
                _log.warning("%s: the gateway cannot be reached: %s", _name(function), error)
            except Exception:
                tried += 1
                if tried == self._tries:
                    raise
                text = "%s failed for %s at offset %s; it is called again in %s s"
                _log.exception(text, _name(function), received.message_id, received.offset, pause_s)
            pause_s = self._pause(pause_s)

    def _insist(self, call: Callable[[], T]) -> T:
        """The result of the call, repeated while the gateway cannot be reached."""
        pause_s = PAUSE_S
        while True:
            try:
                return call()
            except GatewayUnreachable as error:
                _log.warning("the gateway cannot be reached, again in %s s: %s", pause_s, error)
            pause_s = self._pause(pause_s)

    def _pause(self, pause_s: float) -> float:
        """Wait; returns how long to wait the next time."""
        if self._stopped.wait(pause_s):
            raise _Stopped
        return min(2 * pause_s, PAUSE_S_MAX)


class _Stopped(Exception):  # noqa: N818 - because it is no error: `stop` was called
    """Ends the work that has not begun."""


def _name(function: Function) -> str:
    return getattr(function, "__name__", type(function).__name__)
