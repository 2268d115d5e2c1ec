"""The settings of `docs/how-to/proxy.md`, run by a real nginx and a real haproxy."""

import ssl
from contextlib import asynccontextmanager
from hashlib import sha256

import httpx
import packages
import pytest
from running_gateway import OUR_PARTY, PATIENT, RunningGateway, form

from certificates import certify
from onceonly.gateway.config import read_configuration
from onceonly.message.event import Event
from ports import free_port
from proxies import own_proxy
from recipes import configurations_of, files_of, put

pytestmark = [pytest.mark.anyio, pytest.mark.process]

PAGE = "how-to/proxy.md"
ENDING_TLS, PASSING_THROUGH = configurations_of(PAGE)
NGINX, HAPROXY = files_of(PAGE, "/etc/nginx"), files_of(PAGE, "/etc/haproxy")
RECIPES = {
    ("nginx", "ends TLS"): NGINX["conf.d/onceonly.conf"],
    ("haproxy", "ends TLS"): HAPROXY["haproxy.cfg"],
    ("nginx", "passes through"): NGINX["onceonly-stream.conf"],
    ("haproxy", "passes through"): HAPROXY["pass-through.cfg"],
}
BEHIND, PARTNER = "urn:duns:111111111", OUR_PARTY
ABOVE_NGINX_DEFAULT = bytes(range(256)) * 20_000

PARTNERS_FILE = """\
[gateway]
party  = ["{PARTNER}"]
listen = "http://127.0.0.1:{listen}/msh"
api    = "http://127.0.0.1:{api}"
store  = "partner.db"

[tls]
trusted     = "{folder}/gateway.pem"
certificate = "{folder}/partner.pem"
key         = "{folder}/partner.key"

[[agreement]]
id      = "tpa-ab-1"
with    = ["{BEHIND}"]
send_to = "https://127.0.0.1:{proxy}/msh"
"""
WITH_PARTNER = """
[[agreement]]
id      = "tpa-ab-1"
with    = ["{PARTNER}"]
send_to = "http://127.0.0.1:{listen}/msh"
"""
TERMS = "".join(f"{key} = {value}\n" for key, value in PATIENT.items())


@pytest.fixture(params=["nginx", "haproxy"])
def proxy(request, tmp_path):
    with own_proxy(request.param) as made:
        made.kind = request.param
        certify(tmp_path, "gateway")
        certify(tmp_path, "partner")
        (tmp_path / "partners.pem").write_bytes((tmp_path / "partner.pem").read_bytes())
        pair = [(tmp_path / f"gateway.{end}").read_bytes() for end in ("pem", "key")]
        (tmp_path / "both.pem").write_bytes(b"".join(pair))
        yield made


class Both:
    """A gateway behind the proxy, and a partner that calls it there."""

    def __init__(self, folder, proxy, way: str, *, pin: str | None = None) -> None:
        self.proxy = proxy
        listens = {"listen": free_port(), "gateway": free_port()}
        page = ENDING_TLS if way == "ends TLS" else PASSING_THROUGH
        here = {
            ":8401": f":{listens['gateway']}",
            ":8411": f":{free_port()}",
            "b2b.buyer.example": f"127.0.0.1:{proxy.port}",
        }
        ours = put(page, here) + WITH_PARTNER.format(PARTNER=PARTNER, **listens) + TERMS
        if pin is not None:
            ours += f'caller_certificate = "{pin}"\n'
        (folder / "behind.toml").write_text(ours, "utf-8")
        names = {"PARTNER": PARTNER, "BEHIND": BEHIND, "folder": folder, "proxy": proxy.port}
        theirs = PARTNERS_FILE.format(listen=listens["listen"], api=free_port(), **names) + TERMS
        (folder / "partner.toml").write_text(theirs, "utf-8")
        recipe = RECIPES[proxy.kind, way]
        places = {"443": str(proxy.port), ":8401": f":{listens['gateway']}"}
        if way == "ends TLS":
            places["/etc/ssl/onceonly"] = str(folder)
        proxy.configure(put(recipe, places))
        self.behind, self.partner = (
            RunningGateway(read_configuration(folder / f"{name}.toml"))
            for name in ("behind", "partner")
        )

    async def submit(self, *payloads: bytes) -> str:
        header = {"to": BEHIND, "service": "Ordering", "action": "NewOrder"}
        answer = await self.partner.call("POST", "/v1/messages", files=form(header, *payloads))
        assert answer.status == 201, answer
        return answer.json["message_id"]


@asynccontextmanager
async def running(*arguments, **options):
    both = Both(*arguments, **options)
    both.proxy.start()
    await both.behind.start()
    await both.partner.start()
    try:
        yield both
    finally:
        await both.partner.stop(0.0)
        await both.behind.stop(0.0)


@pytest.mark.parametrize("way", ["ends TLS", "passes through"])
async def test_a_message_comes_through_and_is_acknowledged(tmp_path, proxy, way):
    """Larger than what nginx takes by itself, byte for byte, at the first attempt."""
    async with running(tmp_path, proxy, way) as both:
        message_id = await both.submit(ABOVE_NGINX_DEFAULT)
        await both.behind.until_handed_over(message_id)
        await both.partner.until_state(message_id, "acknowledged")
        row = await both.partner.until_row(Event.TRANSMITTED)
        assert (row.outcome, row.attempt, row.status_code) == ("accepted", 1, 204), proxy.said()
        payload = await both.behind.api.get(f"/v1/inbox/{message_id}/payloads/0")
        assert payload.content == ABOVE_NGINX_DEFAULT


async def test_messages_pass_while_the_proxy_is_reloaded(tmp_path, proxy):
    """Old processes finish what they carry: every message is handed over, none is sent twice."""
    async with running(tmp_path, proxy, "ends TLS") as both:
        sent = []
        for number in range(12):
            sent.append(await both.submit(b"<Order n='%d'/>" % number))
            if number % 4 == 2:
                proxy.reload()
        await both.behind.until_handed_over(*sent)
        for message_id in sent:
            await both.partner.until_state(message_id, "acknowledged")
        attempts = {row.attempt for row in both.partner.rows(Event.TRANSMITTED)}
        assert attempts == {1}, proxy.said()


@pytest.mark.parametrize("size_bytes", [0, 3 << 20])
async def test_a_refusal_is_the_gateways_own(tmp_path, proxy, size_bytes):
    """Status and reason arrive as they were said, also where they come before the body's end."""
    async with running(tmp_path, proxy, "ends TLS") as both:
        parcel = packages.normal(
            "m-1@a.example.com",
            1,
            from_party=PARTNER,
            to_party=BEHIND,
            sender_uri=both.partner.uri,
            receiver_uri=both.behind.uri,
            agreement="tpa-other",
            payloads=[packages.PayloadPart("p-1@a.example.com", "text/plain", b"x" * size_bytes)],
        )
        context = ssl.create_default_context(cafile=tmp_path / "gateway.pem")
        async with httpx.AsyncClient(verify=context) as client:
            answer = await client.post(
                both.behind.uri,
                content=parcel.body,
                headers={"Content-Type": parcel.content_type},
            )
        row = await both.behind.until_row(Event.REJECTED)
        assert answer.headers["Onceonly-Error"].split()[0] == row.error_code, proxy.said()


@pytest.mark.parametrize(("believed", "outcome"), [("partner", "accepted"), ("gateway", "refused")])
async def test_certificates_hold_where_tcp_passes_through(tmp_path, proxy, believed, outcome):
    """The gateway sees the certificate of the partner, and of nobody in between."""
    pem = (tmp_path / f"{believed}.pem").read_text("ascii")
    pin = sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
    async with running(tmp_path, proxy, "passes through", pin=pin) as both:
        message_id = await both.submit(b"<Order/>")
        row = await both.partner.until_row(Event.TRANSMITTED)
        assert row.outcome == outcome, proxy.said()
        if outcome == "accepted":
            await both.partner.until_state(message_id, "acknowledged")
        else:
            both.behind.assert_nothing_stored()
