"""ebMS 2.0 by mail (`ebms2.md` §14, right column)."""

import asyncio
import email
import re
from base64 import b64encode
from email.message import Message

import pytest
from aiosmtplib import SMTPDataError
from mail_parties import EAGER, ORDERING, mailing_parties
from mailing import BUYER, MAILBOXES, SELLER, MailSystem, Partners, bring

from onceonly.message.event import Event
from onceonly.store.contract.evidence import EvidenceKind
from ports import free_port

pytestmark = pytest.mark.anyio

ORDER = b"<Order number='1'/>"
ONCE = {"retries": None, "retry_interval": None}
"""What is never sent again has no use for these."""


def parsed(system: MailSystem) -> list[Message]:
    """The mails that the mail system took."""
    return [email.message_from_bytes(mail) for mail in system.mails]


def port_of(gateway) -> int:
    return int(gateway.configuration.smtp.listen.rpartition(":")[2])


async def to_seller(both: Partners, mail: bytes, sender: str = "msh@buyer.example") -> str:
    """What the seller says to a mail."""
    return await bring(mail, port_of(both.seller), MAILBOXES[SELLER], sender)


async def to_buyer(both: Partners, mail: bytes, sender: str = "") -> str:
    """What the buyer says to a mail, of a mail system unless a test says of whom."""
    return await bring(mail, port_of(both.buyer), MAILBOXES[BUYER], sender)


async def caught(both: Partners) -> tuple[str, bytes]:
    """A message of the buyer's whose mail the mail system keeps; its MessageId, and the mail."""
    both.system.is_holding.set()
    message_id = await both.submit(ORDER, **ORDERING)
    await both.buyer.until_row(Event.TRANSMITTED)
    # The time of the next transmission is noted after the commit.
    await both.buyer.everything_said()
    return message_id, both.system.mails[0]


def bounce(mail_id: str, *, action: str = "failed") -> bytes:
    """A delivery report of RFC 3464 about the mail."""
    lines = [
        "From: MAILER-DAEMON@relay.example",
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
        "",
        "--b",
        "Content-Type: text/plain",
        "",
        "Sorry.",
        "--b",
        "Content-Type: message/delivery-status",
        "",
        "Reporting-MTA: dns; relay.example",
        "",
        "Final-Recipient: rfc822; msh@seller.example",
        f"Action: {action}",
        "Status: 5.1.1",
        "Diagnostic-Code: smtp; 550 no such user",
        "--b",
        "Content-Type: text/rfc822-headers",
        "",
        "Message-ID:",
        f" {mail_id}",
        "--b--",
        "",
    ]
    return "\r\n".join(lines).encode()


@pytest.mark.statement("E2-118", "E2-113", "E2-13")
@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("payloads", [(), (ORDER, bytes(range(256)) * 40)])
async def test_a_message_and_its_acknowledgement_are_a_mail_each(tmp_path, is_signed, payloads):
    """With SOAPAction, MIME-Version, Subject, own Message-IDs, and every part in base64."""
    async with mailing_parties(tmp_path, is_signed=is_signed) as both:
        message_id = await both.submit(*payloads, **ORDERING)
        await both.until_acknowledged(message_id)
        await both.seller.until_handed_over(message_id)
        mails = parsed(both.system)
        kept = {one.kind for one in both.buyer.store.snapshot().list_evidence(message_id)}
    assert [(mail["From"], mail["To"]) for mail in mails] == [
        ("<msh@buyer.example>", "<msh@seller.example>"),
        ("<msh@seller.example>", "<msh@buyer.example>"),
    ]
    for mail in mails:
        assert mail["SOAPAction"] == '"ebXML"'
        assert mail["MIME-Version"] == "1.0"
        assert mail["Subject"].startswith("ebXML message")
        assert mail.is_multipart()
        assert {part["Content-Transfer-Encoding"] for part in mail.get_payload()} == {"base64"}
    assert len({mail["Message-ID"] for mail in mails}) == 2
    assert [len(mail.get_payload()) for mail in mails] == [1 + len(payloads), 1]
    assert (EvidenceKind.ACKNOWLEDGMENT in kept) is is_signed


@pytest.mark.statement("E2-113")
async def test_soap_action_is_what_was_agreed_in_quotes(tmp_path):
    async with mailing_parties(tmp_path, soap_action="{service}/{action}") as both:
        message_id = await both.submit(ORDER, **ORDERING)
        await both.until_acknowledged(message_id)
        actions = [mail["SOAPAction"] for mail in parsed(both.system)]
    signals = "urn:oasis:names:tc:ebxml-msg:service"
    assert actions == ['"urn:services:Ordering/NewOrder"', f'"{signals}/Acknowledgment"']


async def test_ir_06_a_silent_mailbox_gets_retries_and_one_mails_and_one_failure(tmp_path):
    """However short the interval is: no flood, and the application is told once."""
    system = MailSystem(chance={"lose": 1.0})
    terms = {"retries": 2, "retry_interval": 2}
    async with mailing_parties(tmp_path, system=system, **terms) as both:
        message_id = await both.submit(ORDER, **ORDERING)
        await both.buyer.until_state(message_id, "in_doubt")
        await both.buyer.everything_said()
        assert len(system.mails) == 3
        assert len(both.buyer.notices()) == 1
    assert len({mail["Message-ID"] for mail in parsed(system)}) == 3


async def test_ir_29_signals_go_to_the_mailbox_of_signals(tmp_path):
    """Which may be full, or gone, without a word to the mailbox of orders."""
    system = MailSystem()
    system.connect("signals@hub.example", free_port())
    signals = {"signals_to": "smtp:signals@hub.example"}
    async with mailing_parties(tmp_path, system=system, **signals) as both:
        orders = [await both.submit(ORDER, **ORDERING) for _ in range(2)]
        await both.seller.until_handed_over(*orders)
        await both.until(lambda: len(system.mails) == 4)
        to = [mail["To"] for mail in parsed(system)]
    assert sorted(to) == ["<msh@seller.example>"] * 2 + ["<signals@hub.example>"] * 2


@pytest.mark.statement("E2-118")
async def test_every_transmission_has_a_message_id_of_its_own(tmp_path):
    """A mailbox that drops copies must not drop a resend."""
    system = MailSystem()
    system.next["lose"] = 2
    async with mailing_parties(tmp_path, system=system, **EAGER) as both:
        message_id = await both.submit(ORDER, **ORDERING)
        await both.until_acknowledged(message_id)
        mails = parsed(both.system)
    assert len({mail["Message-ID"] for mail in mails}) == len(mails) >= 4


@pytest.mark.statement("E2-119")
async def test_the_same_mail_again_is_dropped_and_counted(tmp_path):
    """A copy that a mail system made: accepted, one row, no second acknowledgement."""
    async with mailing_parties(tmp_path) as both:
        message_id = await both.submit(ORDER, **ORDERING)
        await both.until_acknowledged(message_id)
        said = [await to_seller(both, both.system.mails[0]) for _ in range(2)]
        await both.seller.everything_said()
        rows = both.seller.rows(Event.REJECTED)
        assert len(both.system.mails) == 2
        assert not both.seller.rows(Event.DUPLICATE_ELIMINATED)
    assert [one.split()[-1] for one in said] == ["RepeatedMail"] * 2
    assert len(rows) == 2
    assert "came before" in rows[0].reason


@pytest.mark.statement("E2-119")
async def test_the_same_message_in_another_mail_gets_the_same_acknowledgement(tmp_path):
    async with mailing_parties(tmp_path) as both:
        message_id = await both.submit(ORDER, **ORDERING)
        await both.until_acknowledged(message_id)
        again = re.sub(rb"Message-ID: <[^@]+@", b"Message-ID: <another@", both.system.mails[0])
        await to_seller(both, again)
        await both.until(lambda: len(both.system.mails) == 3)
        first, second = (email.message_from_bytes(both.system.mails[at]) for at in (1, 2))
    parts = [mail.get_payload()[0].get_payload() for mail in (first, second)]
    assert parts[0] == parts[1]
    assert first["Message-ID"] != second["Message-ID"]


@pytest.mark.statement("E2-119")
async def test_nobody_takes_a_message_id_away_from_the_partner(tmp_path):
    """A stranger's mail under the Message-ID of the partner's next one does not hide that."""
    async with mailing_parties(tmp_path) as both:
        _, mail = await caught(both)
        mail_id = email.message_from_bytes(mail)["Message-ID"]
        forged = f"Message-ID: {mail_id}\r\nContent-Type: text/xml\r\n\r\n<a/>\r\n".encode()
        with pytest.raises(SMTPDataError, match="OtherXml"):
            await to_seller(both, forged, "x@y.example")
        said = await to_seller(both, mail)
        assert "RepeatedMail" not in said
        await both.seller.until_row(Event.STORED)


@pytest.mark.statement("E2-119")
@pytest.mark.parametrize("terms", [{}, {"delivery_semantics": "BestEffort", **ONCE}])
async def test_a_copy_is_dropped_after_a_crash_as_before(tmp_path, terms):
    """What was delivered without a wish for suppression is not delivered twice by a mail system."""
    async with mailing_parties(tmp_path, **terms) as both:
        message_id = await both.submit(ORDER, **ORDERING)
        await both.seller.until_handed_over(message_id)
        await both.seller.everything_said()
        await both.seller.restart()
        before = len(both.system.mails)
        assert (await to_seller(both, both.system.mails[0])).endswith("RepeatedMail")
        await both.seller.everything_said()
        assert len(both.system.mails) == before
        assert len(both.seller.rows(Event.HANDED_OVER)) == 1
        assert not both.seller.rows(Event.DUPLICATE_ELIMINATED)
        [dropped] = both.seller.rows(Event.REJECTED)
    assert "came before" in dropped.reason


@pytest.mark.statement("E2-119")
async def test_after_a_crash_the_same_message_in_another_mail_is_acknowledged(tmp_path):
    """And the copy of that mail is dropped as that of the first."""
    async with mailing_parties(tmp_path) as both:
        message_id = await both.submit(ORDER, **ORDERING)
        await both.until_acknowledged(message_id)
        await both.seller.restart()
        again = re.sub(rb"Message-ID: <[^@]+@", b"Message-ID: <another@", both.system.mails[0])
        await to_seller(both, again)
        await both.until(lambda: len(both.system.mails) == 3)
        await both.seller.restart()
        for mail in (again, both.system.mails[0]):
            assert (await to_seller(both, mail)).endswith("RepeatedMail")
        await both.seller.everything_said()
        assert len(both.system.mails) == 3


@pytest.mark.statement("E2-119")
async def test_after_a_crash_a_used_message_id_hides_no_other_message(tmp_path):
    """A stranger, or a careless product, that uses one Message-ID for everything."""
    async with mailing_parties(tmp_path) as both:
        first = await both.submit(ORDER, **ORDERING)
        await both.until_acknowledged(first)
        mail_id = email.message_from_bytes(both.system.mails[0])["Message-ID"]
        both.system.is_holding.set()
        await both.submit(b"<Other/>", **ORDERING)
        await both.until(lambda: len(both.system.mails) == 3)
        await both.seller.restart()
        mail = re.sub(
            rb"Message-ID: <[^>]+>", f"Message-ID: {mail_id}".encode(), both.system.mails[2]
        )
        assert "RepeatedMail" not in await to_seller(both, mail)
        await both.seller.until_row(Event.STORED, 2)


@pytest.mark.statement("E2-119")
async def test_of_copies_at_the_same_moment_one_is_taken(tmp_path):
    async with mailing_parties(tmp_path) as both:
        message_id, mail = await caught(both)
        both.system.is_holding.clear()
        said = await asyncio.gather(*(to_seller(both, mail) for _ in range(3)))
        await both.until_acknowledged(message_id)
        await both.seller.everything_said()
        assert len(both.system.mails) == 2
    assert sorted(one.split()[-1] for one in said) == ["OK", "RepeatedMail", "RepeatedMail"]


@pytest.mark.statement("E2-119")
async def test_a_mail_that_found_no_room_is_no_copy_later(tmp_path):
    """451 keeps it with the mail system, which brings the same mail again."""
    async with mailing_parties(tmp_path) as both:
        message_id, mail = await caught(both)
        both.system.is_holding.clear()
        both.seller.store.is_full = True
        with pytest.raises(SMTPDataError, match="451"):
            await to_seller(both, mail)
        both.seller.store.is_full = False
        assert (await to_seller(both, mail)).endswith("OK")
        await both.until_acknowledged(message_id)


@pytest.mark.statement("E2-118")
async def test_a_bounce_after_a_crash_is_told_once_as_before(tmp_path):
    """The row about the transmission names the mail, and the mail names the message."""
    async with mailing_parties(tmp_path) as both:
        message_id, mail = await caught(both)
        mail_id = email.message_from_bytes(mail)["Message-ID"]
        await both.buyer.restart()
        for _ in range(2):
            await to_buyer(both, bounce(mail_id))
        rows = [row for row in both.buyer.rows(Event.TRANSMITTED) if row.outcome == "refused"]
        assert both.buyer.state_of(message_id) == "sending"
        [strange] = both.buyer.rows(Event.REJECTED)
    [row] = rows
    assert (row.message_id, row.attempt, row.transport) == (message_id, 1, "smtp")
    assert "5.1.1" in row.reason
    assert "5.1.1" in strange.reason


@pytest.mark.statement("E2-118")
@pytest.mark.parametrize(
    ("local_part", "is_restarted"),
    [
        # Everything but the chance in it, which is 128 bits of the operating system's.
        ("{other}.{named}", False),
        ("{other}.{named}", True),
        ("{other}", False),
        ("{named}", False),
        # And what is damaged: after a restart the name of the message is needed, too.
        ("{token}", True),
        ("{token}.AAAA", True),
        ("{token}.{named}{named}", True),
        ("{token}.\x7f", True),
    ],
)
async def test_who_knows_the_message_and_not_the_mail_is_not_believed(
    tmp_path, local_part, is_restarted
):
    async with mailing_parties(tmp_path) as both:
        message_id, mail = await caught(both)
        mail_id = email.message_from_bytes(mail)["Message-ID"]
        token, named = mail_id.strip("<>").partition("@")[0].split(".")
        if is_restarted:
            await both.buyer.restart()
        other = "0123456789abcdef0123456789abcdef"
        forged = local_part.format(other=other, token=token, named=named)
        await to_buyer(both, bounce(f"<{forged}@buyer.example>"))
        # A restart sends again what is not acknowledged.
        assert {row.outcome for row in both.buyer.rows(Event.TRANSMITTED)} == {"accepted"}
        assert both.buyer.state_of(message_id) == "sending"
    assert len(token) == 32


@pytest.mark.statement("E2-118")
async def test_a_bounce_of_our_mail_is_a_refused_transmission(tmp_path):
    """A row at the message, with what the mail system said; and it is no verdict (R-05)."""
    async with mailing_parties(tmp_path) as both:
        message_id, mail = await caught(both)
        mail_id = email.message_from_bytes(mail)["Message-ID"]
        due_ns = both.buyer.parts.desk.find_due_ns(message_id)
        said = [await to_buyer(both, bounce(mail_id)) for _ in range(3)]
        rows = [row for row in both.buyer.rows(Event.TRANSMITTED) if row.outcome == "refused"]
        assert both.buyer.state_of(message_id) == "sending"
        assert both.buyer.parts.desk.find_due_ns(message_id) == due_ns
        await both.buyer.everything_said()
        assert len(both.system.mails) == 1
        strange = both.buyer.rows(Event.REJECTED)
    assert all(one.startswith("2.0.0") for one in said)
    assert [(row.message_id, row.attempt, row.transport) for row in rows] == [
        (message_id, 1, "smtp")
    ]
    assert "5.1.1" in rows[0].reason
    assert len(strange) == 2


@pytest.mark.statement("E2-118")
@pytest.mark.parametrize(
    ("kind", "terms"),
    [
        ("failed", {"delivery_semantics": "BestEffort", **ONCE}),
        ("failed", {"delivery_semantics": "AtMostOnce", **ONCE}),
        ("failed", {"delivery_semantics": "AtMostOnce", "ack_requested": "Unsigned", **ONCE}),
        ("delayed", {}),
        ("delivered", {}),
    ],
)
async def test_no_bounce_changes_what_a_message_has_become(tmp_path, kind, terms):
    """Whoever saw our mail on its way can forge one."""
    async with mailing_parties(tmp_path, **terms) as both:
        message_id, mail = await caught(both)
        await both.buyer.everything_said()
        before = both.buyer.state_of(message_id)
        mail_id = email.message_from_bytes(mail)["Message-ID"]
        await to_buyer(both, bounce(mail_id, action=kind))
        await both.buyer.everything_said()
        assert both.buyer.state_of(message_id) == before
        refused = [row for row in both.buyer.rows(Event.TRANSMITTED) if row.outcome == "refused"]
    assert len(refused) == (kind == "failed")


async def test_the_acknowledgement_counts_after_a_bounce(tmp_path):
    """The report was false, or of one of several ways."""
    async with mailing_parties(tmp_path) as both:
        message_id, mail = await caught(both)
        await to_buyer(both, bounce(email.message_from_bytes(mail)["Message-ID"]))
        both.system.let_go()
        await both.until_acknowledged(message_id)


@pytest.mark.parametrize("named", ["<0123456789abcdef0123456789abcdef@buyer.example>", "<>", "x"])
async def test_a_bounce_of_nothing_of_ours_is_a_row_and_nothing_else(tmp_path, named):
    async with mailing_parties(tmp_path) as both:
        message_id, _ = await caught(both)
        await to_buyer(both, bounce(named))
        rows = both.buyer.rows(Event.REJECTED)
        assert len(both.buyer.rows(Event.TRANSMITTED)) == 1
        assert both.buyer.state_of(message_id) == "sending"
    assert [row.message_id for row in rows] == [None]


async def test_a_bounced_acknowledgement_is_a_row(tmp_path):
    """The message comes again, and then its acknowledgement does."""
    async with mailing_parties(tmp_path) as both:
        message_id = await both.submit(ORDER, **ORDERING)
        await both.until_acknowledged(message_id)
        mail_id = parsed(both.system)[1]["Message-ID"]
        await to_seller(both, bounce(mail_id), "")
        rows = both.seller.rows(Event.REJECTED)
    assert "about the mail to smtp:msh@buyer.example" in rows[0].reason


def document_in(mail: bytes) -> bytes:
    return email.message_from_bytes(mail).get_payload()[0].get_payload(decode=True)


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable", "8bit", "QUOTED-PRINTABLE"])
async def test_a_document_alone_is_read_in_every_encoding(tmp_path, encoding):
    """text/xml without multipart, with folded fields, as other products write it."""
    async with mailing_parties(tmp_path) as both:
        both.system.is_holding.set()
        message_id = await both.submit(**ORDERING)
        await both.buyer.until_row(Event.TRANSMITTED)
        document = document_in(both.system.mails[0]).replace(b"\r\n", b"\n")
        body = {
            "base64": b64encode(document),
            "8bit": document.replace(b"\n", b"\r\n"),
        }.get(encoding, document.replace(b"=", b"=3D").replace(b"\n", b"\r\n"))
        if encoding == "base64":
            body = b"\r\n".join(body[at : at + 76] for at in range(0, len(body), 76))
        else:
            body = body.replace(b"><", b">" + (b"=\r\n" if "8" not in encoding else b"") + b"<")
        head = (
            "Message-ID:\r\n <other-1@buyer.example>\r\nMIME-Version: 1.0\r\n"
            'SOAPAction: "ebXML"\r\nContent-Type: text/xml;\r\n\tcharset="UTF-8"\r\n'
            f"Content-Transfer-Encoding: {encoding}\r\n\r\n"
        ).encode()
        said = await to_seller(both, head + body + b"\r\n")
        assert said.startswith("2.0.0 OK"), said
        await both.seller.until_handed_over(message_id)


async def test_an_encoding_of_the_whole_package_is_refused(tmp_path):
    """S18: a multipart that says base64 could be read in two ways."""
    async with mailing_parties(tmp_path) as both:
        _, mail = await caught(both)
        encoded = mail.replace(
            b"MIME-Version: 1.0\r\n",
            b"MIME-Version: 1.0\r\nContent-Transfer-Encoding: base64\r\n",
        )
        with pytest.raises(Exception, match="TransferEncodingNotSupported"):
            await to_seller(both, encoded)
        assert not both.seller.rows(Event.STORED)


def with_sync_reply(mail: bytes) -> bytes:
    """The mail with a SyncReply in its header, as another product might write it."""
    message = email.message_from_bytes(mail)
    part = message.get_payload()[0]
    document = part.get_payload(decode=True)
    block = (
        b'<eb:SyncReply eb:version="2.0" SOAP:mustUnderstand="1"'
        b' SOAP:actor="http://schemas.xmlsoap.org/soap/actor/next"/></SOAP:Header>'
    )
    return rewritten(mail, document.replace(b"</SOAP:Header>", block))


def rewritten(mail: bytes, document: bytes) -> bytes:
    """The mail with another header document."""
    lines = b64encode(document_in(mail))
    old = b"\r\n".join(lines[at : at + 76] for at in range(0, len(lines), 76))
    fresh = b64encode(document)
    new = b"\r\n".join(fresh[at : at + 76] for at in range(0, len(fresh), 76))
    assert old in mail
    return mail.replace(old, new)


async def test_a_sync_reply_by_mail_is_inconsistent(tmp_path):
    """Told by a mail of its own, although the agreement knows of synchronous answers."""
    async with mailing_parties(tmp_path) as both:
        message_id, mail = await caught(both)
        both.system.is_holding.clear()
        await to_seller(both, with_sync_reply(mail))
        row = await both.buyer.until_row(Event.ERROR_RECEIVED)
        assert not both.seller.rows(Event.STORED)
    assert (row.message_id, row.error_code) == (message_id, "Inconsistent")
    assert "no answer" in row.reason


async def test_a_fault_goes_by_mail_where_the_partner_is_known(tmp_path):
    """An unknown block that must be understood, in a message whose agreement can be read."""
    async with mailing_parties(tmp_path) as both:
        _, mail = await caught(both)
        both.system.is_holding.clear()
        block = b'<x:Y xmlns:x="urn:x" SOAP:mustUnderstand="1"/></SOAP:Header>'
        document = document_in(mail).replace(b"</SOAP:Header>", block)
        await to_seller(both, rewritten(mail, document))
        sent = await both.seller.until_row(Event.FAULT_SENT)
        received = await both.buyer.until_row(Event.FAULT_RECEIVED)
        await both.until(lambda: len(both.system.mails) == 2)
        answer = parsed(both.system)[1]
        assert not both.seller.rows(Event.STORED)
    assert b"MustUnderstand" in document_in(both.system.mails[1])
    assert answer["SOAPAction"] == '"ebXML"'
    assert sent.transport == "smtp"
    # A Fault has no header: of which message it speaks, nobody can know for certain.
    assert received.message_id is None
    assert "MustUnderstand" in received.reason


async def test_a_fault_for_nobody_known_is_in_the_journal(tmp_path):
    """No mail is sent to an address that no agreement names."""
    async with mailing_parties(tmp_path) as both:
        broken = b'Content-Type: text/xml\r\n\r\n<Envelope xmlns="urn:other"/>\r\n'
        with pytest.raises(Exception, match="5\\."):
            await to_seller(both, broken, "x@y.example")
        await both.seller.until_row(Event.REJECTED)
        await both.seller.everything_said()
        assert not both.system.mails
