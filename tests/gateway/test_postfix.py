"""The recipe of `docs/how-to/mail.md`, run by a real Postfix between two gateways."""

import asyncio

import aiosmtplib
import pytest
from mailing import BUYER, SELLER, bring, partners

from certificates import certify
from onceonly.message.event import Event
from ports import free_port
from postfix import own_postfix
from recipes import files_of, put, replaced

pytestmark = [pytest.mark.anyio, pytest.mark.process]

RECIPE = files_of("how-to/mail.md", "/etc/postfix")
PASSWORD = "s3cret"
ORDER = b"<Order number='1'/>"
ABOVE_POSTFIX_DEFAULT = bytes(range(256)) * 40_000
"""10 MB: with base64 more than the 10,240,000 bytes that Postfix takes without the recipe."""


class Relay:
    """One Postfix as the relay of both houses: the recipe, with the maps of each."""

    def __init__(self, postfix, certificates) -> None:
        self.postfix = postfix
        self.listens = {party: free_port() for party in (BUYER, SELLER)}
        self._certificates = certificates

    def start(self, without: str | None = None, *, forwards: str = "") -> None:
        """Take mail; `forwards` is a mailbox that only the relay believes the seller has."""
        lines = RECIPE["main.cf"].splitlines(keepends=True)
        main = put(
            "".join(line for line in lines if without is None or not line.startswith(without)),
            {
                "/etc/postfix/mail.pem": str(self._certificates / "gateway.pem"),
                "/etc/postfix/mail.key": str(self._certificates / "gateway.key"),
                "/etc/postfix": str(self.postfix.directory),
                "buyer.example": "buyer.example, seller.example",
            },
        )
        maps = {name: text for name, text in RECIPE.items() if name != "main.cf"}
        both = {name: self._buyer(text) + self._seller(text) for name, text in maps.items()}
        if forwards:
            both["relay_recipients"] += f"{forwards} OK\n"
            both["transport"] += f"{forwards} smtp:[127.0.0.1]:{self.listens[SELLER]}\n"
        self.postfix.configure(main, both)
        self.postfix.start()

    def _buyer(self, text: str) -> str:
        here = {"[10.0.0.5]:2525": f"[127.0.0.1]:{self.listens[BUYER]}", "relay:…": "relay:s3cret"}
        return replaced(text, here)

    def _seller(self, text: str) -> str:
        mine, theirs = (f":{self.listens[party]}" for party in (BUYER, SELLER))
        return self._buyer(text).replace("msh@buyer", "msh@seller").replace(mine, theirs)

    def tables(self, party: str) -> dict:
        """What each gateway's configuration says of it."""
        return {
            "smtp": {
                "relay": f"smtp://127.0.0.1:{self.postfix.port}",
                "listen": f"smtp://127.0.0.1:{self.listens[party]}",
                "starttls": "require",
                "listen_user": "relay",
                "listen_password": PASSWORD,
            },
            "tls": {
                "certificate": str(self._certificates / "gateway.pem"),
                "key": str(self._certificates / "gateway.key"),
                "trusted": str(self._certificates / "gateway.pem"),
            },
        }


@pytest.fixture(scope="module")
def postfix():
    """Its folders are made once, which takes longer than a start."""
    with own_postfix() as made:
        yield made


@pytest.fixture
def relay(tmp_path, postfix):
    certify(tmp_path, "gateway")
    yield Relay(postfix, tmp_path)
    postfix.kill()


@pytest.fixture
async def both(tmp_path, relay):
    tables = {"buyer": relay.tables(BUYER), "seller": relay.tables(SELLER)}
    async with partners(tmp_path, **tables) as gateways:
        yield gateways


async def test_what_the_page_says_carries_messages_and_their_acknowledgements(both, relay):
    """Under TLS with a password, small and large, byte for byte, each once."""
    relay.start()
    sent = [await both.submit(ORDER), await both.submit(ABOVE_POSTFIX_DEFAULT, ORDER)]
    await both.until_acknowledged(*sent)
    await both.seller.until_handed_over(*sent)
    large = await both.seller.api.get(f"/v1/inbox/{sent[1]}/payloads/0")
    assert large.content == ABOVE_POSTFIX_DEFAULT
    outcomes = [row.outcome for row in both.buyer.rows(Event.TRANSMITTED)]
    assert outcomes == ["accepted", "accepted"], relay.postfix.said()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("smtp_tls_", "530 Must issue a STARTTLS command first"),
        ("smtp_sasl_auth_enable", "530 5.7.0 Authentication required"),
        ("smtp_sasl_tls_security_options", "no mechanism available"),
    ],
)
async def test_without_a_line_of_the_page_the_gateway_takes_nothing(both, relay, line, words):
    """Each is there for a reason, which the log says in the words of the page."""
    relay.start(without=line)
    await both.submit(ORDER)
    await both.buyer.until_row(Event.TRANSMITTED)
    await asyncio.to_thread(relay.postfix.until_said, words)
    both.seller.assert_nothing_stored()


async def test_postfix_refuses_other_names_at_its_own_door(relay):
    """Nothing is taken that would have to be sent back to whoever is named as its sender."""
    relay.start()
    with pytest.raises(aiosmtplib.SMTPRecipientRefused, match="User unknown") as refusal:
        await bring(b"Subject: x\r\n\r\n", relay.postfix.port, "postmaster@buyer.example")
    assert refusal.value.code == 550


async def test_a_bounce_of_postfix_is_told_at_the_message(tmp_path, relay):
    """It took the mail with 250, and the partner's gateway refused it: a delivery report is due."""
    nobody = "nobody@seller.example"
    tables = {"buyer": relay.tables(BUYER), "seller": relay.tables(SELLER)}
    tables["buyer"]["agreement"] = {"send_to": f"smtp:{nobody}"}
    relay.start(forwards=nobody)
    async with partners(tmp_path, **tables) as both:
        message_id = await both.submit(ORDER)
        row = await both.buyer.until_row(Event.TRANSMITTED, 2)
        assert both.buyer.state_of(message_id) == "sending"
    assert (row.message_id, row.outcome, row.attempt) == (message_id, "refused", 1)
    assert (row.transport, row.endpoint) == ("smtp", f"smtp:{nobody}")
    assert row.reason.startswith("its mail came back: failed 5."), relay.postfix.said()
    assert "550" in row.reason
