"""Messages, acknowledgements and errors by mail, alone and mixed with HTTP (seed 000 §2.5.2)."""

import email

import aiosmtplib
import packages
import pytest
from mailing import BUYER, EAGER, MAILBOXES, SELLER, MailSystem, bring, partners

from certificates import certify
from onceonly.message.event import Event
from ports import free_port

pytestmark = pytest.mark.anyio

ORDER = b"<Order number='1'/>"
BINARY = bytes(range(256)) * 40
LARGE = b".\r\n..\n\rMAIL FROM:<x@y.example>\r\n\0\xff" * 10_000


def text_of(kind: str, content: bytes, *fields: str) -> bytes:
    """A mail as another MSH would write it, without encoding."""
    lines = "\r\n".join([*fields, f"Content-Type: {kind}", "", ""]).encode()
    return lines + content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def mail_port(gateway) -> int:
    return int(gateway.configuration.smtp.listen.rpartition(":")[2])


@pytest.mark.statement("S0-70")
async def test_a_message_and_its_acknowledgement_are_a_mail_each(tmp_path):
    """One mail transaction there, one back, and the application has the document."""
    async with partners(tmp_path) as both:
        message_id = await both.submit(ORDER)
        await both.until_acknowledged(message_id)
        await both.seller.until_handed_over(message_id)
        mails = [email.message_from_bytes(mail) for mail in both.system.mails]
    assert [(mail["From"], mail["To"]) for mail in mails] == [
        ("<msh@buyer.example>", "<msh@seller.example>"),
        ("<msh@seller.example>", "<msh@buyer.example>"),
    ]
    assert [len(mail.get_payload()) for mail in mails] == [2, 1]
    assert message_id in mails[0]["Subject"]


async def test_what_happened_by_mail_is_in_the_journal_as_such(tmp_path):
    """Endpoint, transport and the relay's own word for it."""
    async with partners(tmp_path) as both:
        message_id = await both.submit(ORDER)
        await both.until_acknowledged(message_id)
        await both.seller.until_handed_over(message_id)
        sent = both.buyer.rows(Event.TRANSMITTED)[0]
        acknowledged = both.seller.rows(Event.ACK_SENT)[0]
    assert (sent.transport, sent.endpoint) == ("smtp", "smtp:msh@seller.example")
    assert (sent.outcome, sent.status_code) == ("accepted", 250)
    assert (acknowledged.transport, acknowledged.status_code) == ("smtp", 250)


@pytest.mark.parametrize("payloads", [[BINARY], [LARGE], [ORDER, BINARY, LARGE], []])
async def test_payloads_of_any_bytes_arrive_as_they_were(tmp_path, payloads):
    """M2: base64 both from memory and from the spool; nothing in it is read as mail."""
    async with partners(tmp_path) as both:
        message_id = await both.submit(*payloads)
        await both.until_acknowledged(message_id)
        await both.seller.until_handed_over(message_id)
        received = [
            (await both.seller.api.get(f"/v1/inbox/{message_id}/payloads/{number}")).content
            for number in range(len(payloads))
        ]
    assert received == payloads


@pytest.mark.parametrize("direction", ["messages by http", "messages by mail"])
async def test_messages_go_one_way_and_acknowledgements_the_other(tmp_path, direction):
    """The agreement says where each of them goes, and nobody minds how."""
    posts = {BUYER: f"http://127.0.0.1:{free_port()}/msh", SELLER: ""}
    posts[SELLER] = f"http://127.0.0.1:{free_port()}/msh"
    posting = SELLER if direction == "messages by http" else BUYER
    tables = {BUYER: {}, SELLER: {}}
    for party in (BUYER, SELLER):
        other = SELLER if party == BUYER else BUYER
        tables[party] = {"gateway": {"listen": posts[party]}, "agreement": {}}
        if party == posting:
            tables[party]["gateway"]["uri"] = posts[party]
        if other == posting:
            tables[party]["agreement"]["send_to"] = posts[other]
    async with partners(tmp_path, buyer=tables[BUYER], seller=tables[SELLER]) as both:
        message_id = await both.submit(ORDER)
        await both.until_acknowledged(message_id)
        await both.seller.until_handed_over(message_id)
        sent = both.buyer.rows(Event.TRANSMITTED)[0].transport
        acknowledged = both.seller.rows(Event.ACK_SENT)[0].transport
    expected = ("http", "smtp") if posting == SELLER else ("smtp", "http")
    assert (sent, acknowledged) == expected


@pytest.mark.statement("S1-46")
async def test_first_by_http_and_again_by_mail_is_one_message(tmp_path):
    """The acknowledgement of the posted copy is lost; the mailed copy is known by its id."""
    seller_uri = f"http://127.0.0.1:{free_port()}/msh"
    system = MailSystem()
    system.next["lose"] = 1
    again = {
        "send_to": seller_uri,
        "resend_to": f"smtp:{MAILBOXES[SELLER]}",
        "receiver_uri": f"smtp:{MAILBOXES[SELLER]}",
        **EAGER,
    }
    async with partners(
        tmp_path,
        system=system,
        buyer={"agreement": again},
        seller={"gateway": {"listen": seller_uri}},
    ) as both:
        message_id = await both.submit(ORDER)
        await both.until_acknowledged(message_id)
        await both.seller.until_handed_over(message_id)
        transports = [row.transport for row in both.buyer.rows(Event.TRANSMITTED)]
        repeats = both.seller.rows(Event.DUPLICATE_ELIMINATED)
    assert transports[:2] == ["http", "smtp"]
    assert len(repeats) == len(transports) - 1
    first_mailed = email.message_from_bytes(system.mails[1])
    assert message_id in first_mailed["Subject"]


@pytest.mark.statement("S0-72")
async def test_greylisting_costs_no_retry(tmp_path):
    """What the mail system overcomes is no business of the sending machine."""
    system = MailSystem()
    system.next["greylist"] = 2
    async with partners(tmp_path, system=system) as both:
        message_id = await both.submit(ORDER)
        await both.until_acknowledged(message_id)
        attempts = [row.attempt for row in both.buyer.rows(Event.TRANSMITTED)]
    assert system.counts["greylist"] == 2
    assert attempts == [1]


@pytest.mark.statement("S0-73", "S0-74", "S0-75")
async def test_a_relay_that_is_away_for_longer_starts_the_retries(tmp_path):
    """The transport gives up, the agreement's interval passes, and the same bytes go again."""
    system = MailSystem()
    system.next["greylist"] = 4
    async with partners(tmp_path, system=system, buyer={"agreement": EAGER}) as both:
        message_id = await both.submit(ORDER)
        await both.until_acknowledged(message_id)
        await both.seller.until_handed_over(message_id)
        rows = both.buyer.rows(Event.TRANSMITTED)
    # On a busy machine it may go once more before its acknowledgement is there.
    outcomes = [(row.attempt, row.outcome) for row in rows]
    assert outcomes[:2] == [(1, "refused"), (2, "accepted")]
    assert system.counts["greylist"] == 4


@pytest.mark.statement(ruling="R-38")
async def test_every_mail_that_left_whole_is_an_attempt_with_its_rows(tmp_path):
    """A relay that is busy behind the final dot gets the same bytes again in the agreed time."""
    system = MailSystem()
    system.next["busy"] = 2
    async with partners(tmp_path, system=system, buyer={"agreement": EAGER}) as both:
        message_id = await both.submit(ORDER)
        await both.until_acknowledged(message_id)
        await both.seller.until_handed_over(message_id)
        rows = both.buyer.rows(Event.TRANSMITTED)
        bodies = [mail.partition(b"\r\n\r\n")[2] for mail in system.mails]
    outcomes = [(row.attempt, row.outcome) for row in rows]
    assert outcomes == [(1, "refused"), (2, "refused"), (3, "accepted")]
    assert len(set(bodies[:3])) == 1


@pytest.mark.parametrize("seed", range(3))
async def test_a_mail_system_that_loses_and_doubles_changes_nothing(tmp_path, seed):
    """Lost behind its 250, delivered twice, delayed, greylisted, cut off: once, in order, known."""
    chance = {"lose": 0.15, "double": 0.3, "busy": 0.1, "greylist": 0.1, "hang_up": 0.15}
    system = MailSystem(seed=seed, chance=chance)
    async with partners(
        tmp_path, system=system, buyer={"agreement": EAGER}, seller={"agreement": EAGER}
    ) as both:
        sent = [await both.submit(b"<Order n='%d'/>" % number) for number in range(12)]
        await both.until_acknowledged(*sent)
        await both.seller.until_handed_over(*sent)
    assert sum(system.counts.values()) > 0


async def test_a_doubled_mail_is_one_message(tmp_path):
    """The relay delivers it twice; the second is eliminated and acknowledged again (R-03)."""
    system = MailSystem(chance={"double": 1.0})
    async with partners(tmp_path, system=system) as both:
        message_id = await both.submit(ORDER)
        await both.until_acknowledged(message_id)
        await both.seller.until_row(Event.DUPLICATE_ELIMINATED)
        await both.seller.until_handed_over(message_id)


async def test_a_crash_between_the_250_and_the_acknowledgement_loses_nothing(tmp_path):
    """The mail is stored when its 250 leaves; after the restart the acknowledgement is owed."""
    async with partners(tmp_path) as both:
        both.system.is_holding.set()
        message_id = await both.submit(ORDER)
        await both.buyer.until_row(Event.TRANSMITTED)
        both.system.chance["greylist"] = 1.0
        both.system.let_go()
        await both.seller.until_row(Event.STORED)
        # Its acknowledgement waits for the relay to be less busy, and dies with the process.
        await both.seller.restart(0.0)
        both.system.chance["greylist"] = 0.0
        await both.until_acknowledged(message_id)
        await both.seller.until_handed_over(message_id)


async def test_an_error_comes_back_by_mail(tmp_path):
    """A refused message is answered with an ErrorList; the sender ends it with its code."""
    async with partners(tmp_path, seller={"agreement": {"id": "tpa-other"}}) as both:
        message_id = await both.submit(ORDER)
        row = await both.buyer.until_row(Event.ERROR_RECEIVED)
        sent = await both.seller.until_row(Event.ERROR_SENT)
    assert row.message_id == message_id
    assert (sent.transport, sent.outcome) == ("smtp", "accepted")


BOUNCE = text_of(
    'multipart/report; report-type=delivery-status; boundary="b"',
    b"--b\nContent-Type: text/plain\n\nno such user\n--b--\n",
    "From: MAILER-DAEMON@relay.example",
)


@pytest.mark.parametrize(
    ("sender", "mail"),
    [
        ("", BOUNCE),
        ("postmaster@relay.example", BOUNCE),
        ("x@y.example", text_of("text/plain", b"gone fishing\n", "Auto-Submitted: auto-replied")),
        ("", text_of("text/plain", b"an old kind of bounce\n")),
    ],
)
async def test_what_mail_systems_say_about_a_mail_is_no_word_of_the_partner(tmp_path, sender, mail):
    """M10: accepted, noted in one row, nothing answered; the message still waits."""
    async with partners(tmp_path) as both:
        both.system.is_holding.set()
        message_id = await both.submit(ORDER)
        await both.buyer.until_row(Event.TRANSMITTED)
        said = await bring(mail, mail_port(both.buyer), MAILBOXES[BUYER], sender)
        assert said.split()[1] in ("Bounce", "DeliveryReport", "AutoReply")
        rows = both.buyer.rows(Event.REJECTED)
        assert [row.transport for row in rows] == ["smtp"]
        assert "automatic mail" in rows[0].reason
        assert both.buyer.state_of(message_id) == "sending"
        await both.buyer.everything_said()
        assert len(both.system.mails) == 1


async def forged(both, message_id: str, **named: str) -> bytes:
    header = {
        "sender_uri": f"smtp:{MAILBOXES[SELLER]}",
        "receiver_uri": f"smtp:{MAILBOXES[BUYER]}",
        **named,
    }
    parcel = packages.signal("Acknowledgement", message_id, message_id="a-1@s.example", **header)
    return text_of(parcel.content_type, parcel.body, "From: <msh@seller.example>")


async def test_an_acknowledgement_from_somebody_else_is_an_orphan(tmp_path):
    """M11: the right MessageId and a forged From of the mail; the identity inside decides."""
    async with partners(tmp_path) as both:
        both.system.is_holding.set()
        message_id = await both.submit(ORDER)
        await both.buyer.until_row(Event.TRANSMITTED)
        mail = await forged(both, message_id, sender_uri="smtp:x@attacker.example")
        await bring(mail, mail_port(both.buyer), MAILBOXES[BUYER], MAILBOXES[SELLER])
        assert len(both.buyer.rows(Event.ORPHAN_ACK_RECEIVED)) == 1
        assert both.buyer.state_of(message_id) == "sending"


async def test_an_unencoded_mail_of_another_product_is_taken(tmp_path):
    """7bit parts, as an MSH without our wire code writes them."""
    async with partners(tmp_path) as both:
        both.system.is_holding.set()
        message_id = await both.submit(ORDER)
        await both.buyer.until_row(Event.TRANSMITTED)
        mail = await forged(both, message_id)
        await bring(mail, mail_port(both.buyer), MAILBOXES[BUYER])
        await both.until_acknowledged(message_id)


async def test_what_is_no_package_is_refused_for_good(tmp_path):
    """554 and one row: a person who writes to the mailbox gets it back from his mail system."""
    async with partners(tmp_path) as both:
        with pytest.raises(aiosmtplib.SMTPDataError) as refusal:
            await bring(text_of("text/plain", b"hello\n"), mail_port(both.buyer), MAILBOXES[BUYER])
        assert refusal.value.code == 554
        row = both.buyer.rows(Event.REJECTED)[0]
    assert row.error_code == "NotSupported"
    assert row.endpoint.startswith("127.0.0.1:")


async def test_a_full_store_lets_the_mail_system_try_again(tmp_path):
    """451, for messages and acknowledgements alike; later everything is as it should."""
    async with partners(tmp_path) as both:
        both.system.is_holding.set()
        message_id = await both.submit(ORDER)
        await both.buyer.until_row(Event.TRANSMITTED)
        both.buyer.store.is_full = True
        port = mail_port(both.buyer)
        with pytest.raises(aiosmtplib.SMTPDataError) as refusal:
            await bring(await forged(both, message_id), port, MAILBOXES[BUYER], "x@y.example")
        assert refusal.value.code == 451
        both.buyer.store.is_full = False
        await bring(await forged(both, message_id), port, MAILBOXES[BUYER])
        await both.until_acknowledged(message_id)


async def test_more_than_is_agreed_is_refused_by_its_size(tmp_path):
    """552 from the announced size already."""
    async with partners(tmp_path, buyer={"gateway": {"payload_bytes_max": 1000}}) as both:
        mail = text_of("multipart/related", b"x\n" * 2_000_000)
        with pytest.raises(aiosmtplib.SMTPSenderRefused) as refusal:
            await bring(mail, mail_port(both.buyer), MAILBOXES[BUYER])
        assert refusal.value.code == 552


async def test_mail_under_tls_with_a_password(tmp_path):
    """Each is the other's relay: STARTTLS is required, and so is the password."""
    certify(tmp_path, "relay")
    pem, key = str(tmp_path / "relay.pem"), str(tmp_path / "relay.key")
    certificate = {"certificate": pem, "key": key, "trusted": pem}
    ports = {party: free_port() for party in (BUYER, SELLER)}
    tables = {}
    for party, other in ((BUYER, SELLER), (SELLER, BUYER)):
        tables[party] = {
            "smtp": {
                "listen": f"smtp://127.0.0.1:{ports[party]}",
                "relay": f"smtp://127.0.0.1:{ports[other]}",
                "starttls": "require",
                "user": "relay",
                "password": "s3cret",
                "listen_user": "relay",
                "listen_password": "s3cret",
            },
            "tls": certificate,
        }
    async with partners(tmp_path, buyer=tables[BUYER], seller=tables[SELLER]) as both:
        message_id = await both.submit(ORDER)
        await both.until_acknowledged(message_id)
        with pytest.raises(aiosmtplib.SMTPResponseException) as refusal:
            await bring(await forged(both, "m-1"), mail_port(both.buyer), MAILBOXES[BUYER])
    assert refusal.value.code == 530
