"""Packages by mail (seed 000 §2.5.2): outgoing ones are encoded, automatic mails are dropped.

The transport knows mail but no packages, and the wire knows packages but no mail; this file joins
them. Incoming mail needs nothing: its parts name their encoding, and the decoder decodes them.
"""

from collections.abc import AsyncIterator, Iterable, Iterator

from onceonly.gateway.office import Office
from onceonly.gateway.outgoing.package_body import PackageBody
from onceonly.gateway.refusals import Refusals
from onceonly.message.event import Direction, Event
from onceonly.message.package import Package
from onceonly.message.word import changed
from onceonly.transport.transport import Answer, Body, Outgoing, Transmission, Transport
from onceonly.wire.mail import framed, mail_pieces, mail_size_bytes


class MailTransport:
    """`Transport` for packages over one for mail text: the only place where they are encoded."""

    def __init__(self, mail: Transport) -> None:
        self._mail = mail
        self.schemes = mail.schemes

    def check(self, outgoing: Outgoing) -> None:
        """See `Transport.check`; also refuses a part whose head does not fit into a mail's line."""
        body = mail_body(outgoing.content_type, outgoing.body)
        self._mail.check(changed(outgoing, body=body, content_type=body.content_type))
        assert body.size_bytes >= 0, "asked, since that looks at every head"

    async def send(self, outgoing: Outgoing) -> Transmission:
        """Transmit once, see `Transport.send`. Mail has no answer that could carry a package."""
        body = mail_body(outgoing.content_type, outgoing.body)
        as_mail = changed(outgoing, body=body, content_type=body.content_type, take_reply=None)
        return await self._mail.send(as_mail)

    async def close(self) -> None:
        """Close the transport for mail."""
        await self._mail.close()


def mail_body(content_type: str, body: Body) -> "MailBody":
    """A package as mail text: with its payloads in memory or spool, or a signal in memory."""
    if isinstance(body, PackageBody):
        return MailBody(body)
    whole = body.whole()
    assert whole is not None, "what is no stored package is a signal, and small"
    return MailBody(PackageBody(Package(content_type, (whole,)), (), None))


class MailBody:
    """Every part of a package in base64."""

    def __init__(self, body: PackageBody) -> None:
        self._body = body
        self._package = framed(body.package)
        self.content_type = self._package.content_type
        """That of the mail."""

    @property
    def size_bytes(self) -> int:
        """Length of the mail body."""
        payloads = tuple(stored.payload for stored in self._body.payloads)
        return mail_size_bytes(self._package, payloads)

    def whole(self) -> bytes | None:
        """All of it, where every payload is in memory."""
        return b"".join(self._pieces()) if self._body.is_in_memory else None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes in bounded pieces."""
        for piece in self._pieces():
            yield piece

    def _pieces(self) -> Iterator[bytes]:
        payloads: Iterable[Iterable[bytes]] = map(self._body.read, self._body.payloads)
        return mail_pieces(self._package, payloads)


class AutomaticMail:
    """Bounces, reports and automatic replies: a row each, and no answer by mail (attack M10).

    Anybody can send one, so their rows count against the ration of strangers (R-45). They are never
    treated as acknowledgements: what a mail system says about a mail does not come from the
    partner's MSH (R-05). An operator finds them in the journal.
    """

    def __init__(self, *, office: Office, refusals: Refusals) -> None:
        self._office = office
        self._refusals = refusals

    async def drop(self, peer: str, kind: str) -> Answer:
        """Note one that came from `peer`; the mail system that brought it is told "accepted"."""
        row = changed(
            self._office.about_gateway(Event.REJECTED, f"automatic mail ({kind}), dropped"),
            direction=Direction.IN,
            endpoint=peer,
            transport="smtp",
        )
        await self._refusals.write(row)
        return Answer(204, kind)
