"""Mail on its way in: the copies that mail systems make of a mail are dropped.

Mail systems deliver a mail again if a connection broke after its last dot. Such a copy has the same
Message-ID, its own, not that of ebXML, and the same bytes. It is no resend of the partner, so it is
accepted and dropped (`ebms2.md` §14, E2-119). The ebXML MessageId in another mail is a resend,
which gets the stored response as over HTTP.

A copy is known by Message-ID *and* bytes: a Message-ID is easily guessed, and a stranger who sends
something under the next one of a partner must not make us drop what the partner sends (R-44). Only
what was taken without fault is remembered: a copy of what was refused, or found the disk full, gets
its chance.

What was seen is in memory, whatever it brought. A business message is also known by its row in the
journal (`steps.mails`), which a crash does not forget. So after a restart a copied signal is read
once more: an acknowledgement says again what is known, a question is answered again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from onceonly.gateway.office import Office
from onceonly.gateway.refusals import Refusals
from onceonly.message.event import Direction, Event
from onceonly.message.instant import NS_PER_S
from onceonly.message.word import changed
from onceonly.steps.mails import COPIES_COME_FOR_S
from onceonly.transport.transport import Answer, Request
from onceonly.wire.envelope import find_declared_profile

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

SEEN_MAX: Final = 10_000
"""Mails that are remembered: about 1 MB."""

Reception = Callable[[AsyncIterator[bytes]], Awaitable[Answer]]
"""Receives the body of a package."""


class RepeatedMail(Exception):  # noqa: N818 - because it names what the mail is
    """At the end of its body a mail turned out to be a copy of one that was taken."""


REPEATED_MAIL: Final = Answer(204, "RepeatedMail")
"""What is answered to a copy: accepted, so that no mail system brings it again."""


class RepeatedMails:
    """The mails of the last day, and what becomes of their copies."""

    def __init__(self, office: Office, refusals: Refusals) -> None:
        self._office = office
        self._refusals = refusals
        self._seen: OrderedDict[bytes, int] = OrderedDict()
        self._in_work: dict[bytes, asyncio.Event] = {}

    async def receive(
        self, request: Request, chunks: AsyncIterator[bytes], reception: Reception
    ) -> Answer:
        """Give `reception` the body of a mail; that of a copy breaks off at its end."""
        profile = find_declared_profile(request.content_type)
        is_watched = request.mail_id is not None
        if not is_watched or (profile is not None and not profile.drops_repeated_mail):
            return await reception(chunks)
        digest = sha256(f"{request.mail_id}\n{request.content_type}\n".encode())
        is_over = asyncio.Event()
        try:
            answer = await reception(self._watched(chunks, digest, is_over))
            if answer is REPEATED_MAIL:
                await self._note(request)
            elif answer.status_code < 300 and answer.error is None:
                self._remember(digest.digest())
            return answer
        finally:
            if self._in_work.get(digest.digest()) is is_over:
                del self._in_work[digest.digest()]
            is_over.set()

    async def _watched(
        self, chunks: AsyncIterator[bytes], digest: "Hash", is_over: asyncio.Event
    ) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            digest.update(chunk)
            yield chunk
        name = digest.digest()
        # Of two that come at the same moment the second waits for what becomes of the first.
        while name in self._in_work:
            await self._in_work[name].wait()
        if self._is_seen(name):
            raise RepeatedMail
        self._in_work[name] = is_over

    def _is_seen(self, name: bytes) -> bool:
        self._forget()
        return name in self._seen

    def _remember(self, name: bytes) -> None:
        self._seen[name] = self._office.clock.now().monotonic_ns
        while len(self._seen) > SEEN_MAX:
            self._seen.popitem(last=False)

    def _forget(self) -> None:
        oldest_ns = self._office.clock.now().monotonic_ns - COPIES_COME_FOR_S * NS_PER_S
        while self._seen and next(iter(self._seen.values())) < oldest_ns:
            self._seen.popitem(last=False)

    async def _note(self, request: Request) -> None:
        """Counted in the journal, within the ration of strangers (R-45)."""
        row = self._office.about_gateway(
            Event.REJECTED, f"mail {request.mail_id} came before; dropped"
        )
        row = changed(row, direction=Direction.IN, endpoint=request.peer, transport="smtp")
        await self._refusals.write(row)
