"""Packages by mail (seed 000 §2.5.2): outgoing ones are encoded, automatic mails are dropped.

The transport knows mail but no packages, and the wire knows packages but no mail; this file joins
them. Incoming mail needs nothing of it: its parts name their encoding, and the decoder decodes
them; `incoming.repeated_mails` does what is left.
"""

from collections.abc import AsyncIterator, Iterable, Iterator

from onceonly.gateway.office import Office
from onceonly.gateway.outgoing.package_body import PackageBody
from onceonly.gateway.refusals import Refusals
from onceonly.gateway.sent_mails import MailName, SentMail, SentMails
from onceonly.journal.record import Record
from onceonly.message.event import Direction, Event
from onceonly.message.package import Package
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import Outcome
from onceonly.steps import mails
from onceonly.steps.verdicts import row_to_partner
from onceonly.transport.mail.report import AutomaticReport
from onceonly.transport.transport import Answer, Body, Outgoing, Transmission, Transport
from onceonly.wire.mail import framed, mail_pieces, mail_size_bytes


class MailTransport:
    """`Transport` for packages over one for mail text: the only place where they are encoded."""

    def __init__(self, mail: Transport, sent_mails: SentMails) -> None:
        self._mail = mail
        self._sent_mails = sent_mails
        self.schemes = mail.schemes

    def check(self, outgoing: Outgoing) -> None:
        """See `Transport.check`; also refuses a part whose head does not fit into a mail's line."""
        body = mail_body(outgoing.content_type, outgoing.body)
        self._mail.check(changed(outgoing, body=body, content_type=body.content_type))
        assert body.size_bytes >= 0, "asked, since that looks at every head"

    async def send(self, outgoing: Outgoing) -> Transmission:
        """Transmit once, see `Transport.send`. Mail has no answer that could carry a package."""
        body = mail_body(outgoing.content_type, outgoing.body)
        sent = SentMail(outgoing.endpoint, outgoing.message_id, outgoing.attempt)
        name = MailName.fresh(sent)
        as_mail = changed(
            outgoing,
            body=body,
            content_type=body.content_type,
            take_reply=None,
            mail_name=str(name),
        )
        self._sent_mails.note(name.token, sent)
        transmission = await self._mail.send(as_mail)
        if transmission.outcome is Outcome.REFUSED:
            self._sent_mails.forget(name.token)
            return transmission
        return changed(transmission, detail=mails.carried(transmission.detail, name.token))

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
    treated as acknowledgements, or as errors: what a mail system says about a mail does not come
    from the partner's MSH (R-05). An operator finds them in the journal.

    A bounce that names a mail of ours says that this transmission was refused (`ebms2.md` §14). It
    may be forged by who saw the mail, so it is a row at the message and no more: nothing is decided
    by it, and the next transmission comes when it would have come.
    """

    def __init__(self, *, office: Office, refusals: Refusals, sent_mails: SentMails) -> None:
        self._office = office
        self._refusals = refusals
        self._sent_mails = sent_mails

    async def drop(self, peer: str, report: AutomaticReport) -> Answer:
        """Note one that came from `peer`; the mail system that brought it is told "accepted"."""
        taken = Answer(204, report.kind)
        found = (self._find_mail(name, report) for name in report.names)
        mail = next(filter(None, found), None)
        if mail is not None and report.is_failure:
            row = self._refused(mail, report)
            if row is not None:
                await self._office.write(row)
                return taken
        about = "" if mail is None else f" about the mail to {mail.endpoint}"
        said = f": {report.words}" if report.words else ""
        row = changed(
            self._office.about_gateway(
                Event.REJECTED, f"automatic mail ({report.kind}){about}, dropped{said}"
            ),
            direction=Direction.IN,
            endpoint=peer,
            transport="smtp",
        )
        await self._refusals.write(row)
        return taken

    def _find_mail(self, mail_id: str, report: AutomaticReport) -> SentMail | None:
        """Our mail of that Message-ID; a failure is told of it once."""
        name = MailName.find(mail_id)
        if name is None:
            return None
        known = self._sent_mails
        mail = (known.forget if report.is_failure else known.find)(name.token)
        if mail is not None:
            return mail
        row = mails.find_carried(self._office.snapshot(), name.message_id, name.token)
        if row is None or row.endpoint is None or row.attempt is None:
            return None
        return SentMail(row.endpoint, name.message_id, row.attempt)

    def _refused(self, mail: SentMail, report: AutomaticReport) -> Record | None:
        """The row about a transmission that came back; None if it is not that of a message."""
        entry = self._office.snapshot().find_outbound(mail.message_id) if mail.attempt else None
        if entry is None:
            return None
        effect = Journal(
            Event.TRANSMITTED,
            attempt=mail.attempt,
            sequence_number=entry.state.sequence_number,
            outcome=Outcome.REFUSED.value,
            reason=f"{mails.CAME_BACK}: {report.words or report.kind}",
        )
        ground = self._office.ground()
        agreement = ground.house.agreement(entry.agreement_id)
        row = row_to_partner(ground, agreement, mail.message_id, effect)
        return changed(row, endpoint=mail.endpoint, transport="smtp")
