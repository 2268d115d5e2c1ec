"""One mail on its way in: lines between DATA and the final dot become one package and one answer.

The package streams through: only what the gateway has not taken yet is in memory. Nothing here
knows sockets or commands; `connection` feeds it. If anything is wrong with a mail, the answer after
its final dot says so (RFC 5321 §4.2.5), and nothing of it is taken (attacks M1, M8, M9).
"""

import asyncio
from collections.abc import Awaitable, Callable

from onceonly.message.word import Word
from onceonly.transport.http.limits import BODY_BUFFER_MAX
from onceonly.transport.incoming_body import IncomingBody
from onceonly.transport.mail import reply
from onceonly.transport.mail.head import HeadReader, MailHead
from onceonly.transport.mail.limits import BATCH_BYTES, DISCARD_BYTES_MAX, LINE_MAX
from onceonly.transport.mail.reply import MailRefused, to_smtp
from onceonly.transport.mail.report import AutomaticReport, ReportReader
from onceonly.transport.transport import (
    Answer,
    NoteRefusal,
    Receive,
    Request,
    TransferBroken,
    note_nothing,
)

DropAutomatic = Callable[[str, AutomaticReport], Awaitable[Answer]]
"""Called with the peer and what an automatic mail says: the gateway notes it (M10) and returns an
answer, as `Receive` does."""


class Taker(Word):
    """What takes mails: the two callbacks of the gateway."""

    receive: Receive
    drop_automatic: DropAutomatic
    mail_bytes_max: int
    note_refusal: NoteRefusal = note_nothing


class MailReception:
    """Takes the lines of one mail; `finish` answers it.

    `task` is the gateway's reception, once it has begun. A mail that came whole is received to its
    end, even if nobody waits for the answer any more.
    """

    def __init__(self, taker: Taker, *, peer: str, has_sender: bool) -> None:
        self._taker = taker
        self._peer = peer
        self._reader: HeadReader | None = HeadReader(has_sender=has_sender)
        self._report: ReportReader | None = None
        self._refusal: Answer | None = None
        self._batch: list[bytes] = []
        self._batch_bytes = 0
        self._room = asyncio.Event()
        self._body = IncomingBody(self._room.set)
        self.task: asyncio.Future[Answer] | None = None
        self.received_bytes = 0

    def feed(self, line: bytes) -> None:
        """Take the next line with its CRLF, dots still doubled."""
        self.count(len(line))
        if self._refusal is not None:
            return
        if line.startswith(b"."):
            line = line[1:]
        try:
            self._check(line)
            if self._report is not None:
                self._report.feed(line[:-2])
            elif self._reader is None:
                self._gather(line)
            else:
                self._read_head(self._reader, line)
        except MailRefused as error:
            self.refuse(error.answer)

    def count(self, size_bytes: int) -> None:
        """Count bytes against the limit, including those of lines that are too long."""
        self.received_bytes += size_bytes
        if self.received_bytes > self._taker.mail_bytes_max:
            self.refuse(reply.MAIL_TOO_LARGE)

    def refuse(self, answer: Answer) -> None:
        """Take nothing of this mail; the first reason is the answer."""
        if self._refusal is None:
            self._refusal = answer
            if self.task is None:
                self._taker.note_refusal(self._peer, "smtp", answer.error or "refused")
            self.break_off(answer.error or "refused")

    def break_off(self, reason: str) -> None:
        """The rest will never come."""
        self._batch.clear()
        self._body.break_off(reason)

    @property
    def is_beyond_bearing(self) -> bool:
        """Whether too many bytes came after the mail exceeded its limit."""
        return self.received_bytes > self._taker.mail_bytes_max + DISCARD_BYTES_MAX

    @property
    def is_full(self) -> bool:
        """Whether the gateway is slower than the network; then `await room()` before more lines."""
        is_taking = self.task is not None and not self.task.done()
        return is_taking and self._body.buffered_bytes > BODY_BUFFER_MAX

    async def room(self) -> None:
        """Wait until the gateway has taken what it was given, or reads no more."""
        self._room.clear()
        if self.is_full:
            await self._room.wait()

    async def finish(self) -> Answer:
        """The final dot came: return the answer, with SMTP's codes."""
        if self._reader is not None:
            self.refuse(reply.MALFORMED_HEAD)
        if self._refusal is None and self._report is not None:
            report = self._report.finish()
            self.task = asyncio.ensure_future(self._taker.drop_automatic(self._peer, report))
            self.task.add_done_callback(self._ended)
        elif self._refusal is None:
            self._hand_on()
            self._body.finish()
        if self.task is not None:
            await asyncio.wait((self.task,))
        return self._refusal or self._answer_of(self.task)

    def _check(self, line: bytes) -> None:
        text = line[:-2]
        if len(text) > LINE_MAX:
            raise MailRefused(reply.LINE_TOO_LONG)
        if b"\n" in text or b"\r" in text:
            raise MailRefused(reply.BARE_LINE_BREAK)
        if b"\0" in text:
            raise MailRefused(reply.NUL_BYTE)

    def _read_head(self, reader: HeadReader, line: bytes) -> None:
        head = reader.feed(line[:-2])
        if head is not None:
            self._reader = None
            self._begin(head)

    def _begin(self, head: MailHead) -> None:
        if head.automatic is not None:
            self._report = ReportReader(head.automatic)
            return
        request = Request(
            head.content_type,
            None,
            self._peer,
            "smtp",
            mail_id=head.message_id,
            transfer_encoding=head.transfer_encoding,
            hops=head.hops,
        )
        self.task = asyncio.ensure_future(self._taker.receive(request, self._body))
        self.task.add_done_callback(self._ended)

    def _gather(self, line: bytes) -> None:
        self._batch.append(line)
        self._batch_bytes += len(line)
        if self._batch_bytes >= BATCH_BYTES:
            self._hand_on()

    def _hand_on(self) -> None:
        self._body.feed(b"".join(self._batch))
        self._batch.clear()
        self._batch_bytes = 0

    def _ended(self, task: asyncio.Future[Answer]) -> None:
        # What still comes is thrown away: the mail was refused unread, or is no package.
        self.break_off("answered already")
        self._room.set()
        if task.cancelled():
            return
        error = task.exception()
        if error is not None and not isinstance(error, TransferBroken):
            message = "receiving a package failed on our side"
            context = {"message": message, "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

    def _answer_of(self, task: asyncio.Future[Answer] | None) -> Answer:
        assert task is not None, "it began with the end of the head"
        if task.cancelled() or task.exception() is not None:
            return reply.INTERNAL_ERROR
        return to_smtp(task.result())
