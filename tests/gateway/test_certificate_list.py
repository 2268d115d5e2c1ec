"""Every certificate that is used or expected: what it says, who uses it, and when it was seen."""

import ssl
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from running_gateway import NEVER_S, RunningGateway, form

from certificates import certify, need_openssl
from onceonly.api.certificates import UsedCertificate
from onceonly.gateway.application.certificates import US_PER_DAY, used_certificates
from onceonly.gateway.certificate_file import certificates_in
from onceonly.gateway.config import Configuration, read_configuration
from onceonly.gateway.seen_certificates import SEEN_MAX, SeenCertificates
from onceonly.message.instant import from_datetime
from ports import free_port

pytestmark = pytest.mark.anyio

BUYER, SELLER = "urn:duns:111111111", "urn:duns:222222222"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("buyer", "seller"):
        certify(tmp_path, name)
    return tmp_path


def fingerprint(folder: Path, name: str) -> str:
    der = ssl.PEM_cert_to_DER_cert((folder / f"{name}.pem").read_text("ascii"))
    return sha256(der).hexdigest()


def configured(folder: Path, name: str, ports: Mapping[str, int]) -> Configuration:
    """One of two gateways that show each other their certificates."""
    other, parties = ("seller", "buyer")[name == "seller"], {"buyer": BUYER, "seller": SELLER}
    path = folder / f"{name}.toml"
    path.write_text(
        f"""
[gateway]
party = ["{parties[name]}"]
listen = "https://127.0.0.1:{ports[name]}/msh"
api = "http://127.0.0.1:{free_port()}"
store = "{name}.db"

[tls]
certificate = "{name}.pem"
key = "{name}.key"
trusted = "{other}.pem"
clients = true

[[agreement]]
id = "tpa-ab-1"
name = "The {other}"
with = ["{parties[other]}"]
send_to = "https://127.0.0.1:{ports[other]}/msh"
caller_certificate = ["{fingerprint(folder, other)}", "{"ab" * 32}"]
timeout = {NEVER_S}
retry_interval = {NEVER_S}
retries = 1
""",
        "utf-8",
    )
    return read_configuration(path)


def in_days(days: float) -> int:
    return from_datetime(datetime.now(UTC) + timedelta(days=days))


def listed(configuration: Configuration, now_at: int) -> list[UsedCertificate]:
    return [*used_certificates(configuration, {}, now_at)]


@pytest.mark.parametrize(
    ("later", "levels"),
    [
        (-40, ["critical", "critical", "unknown"]),
        (0, ["critical", "critical", "unknown"]),
        (3, ["critical", "critical", "unknown"]),
    ],
)
def test_one_that_ends_soon_or_has_not_begun_is_critical(
    folder: Path, later: int, levels: list[str]
) -> None:
    found = listed(configured(folder, "buyer", {"buyer": 1, "seller": 2}), in_days(later))
    assert [one.level for one in found] == levels
    assert {one.days_left for one in found} == {1 - later, None}


def test_a_certificate_says_whose_it_is_and_whose_word_that_is(tmp_path: Path) -> None:
    """As openssl reads it: the name, the issuer, the fingerprint, from and until."""
    need_openssl()
    name = "/C=DE/O=Müller & Söhne/OU=Edi/CN=gateway.example"
    file = tmp_path / "one.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "400",
        "-utf8",
        "-keyout",
        "/dev/null",
    ]
    subprocess.run([*made, "-subj", name, "-out", file], check=True, capture_output=True)
    [found] = certificates_in(file)
    assert found.subject == found.issuer == "CN=gateway.example, OU=Edi, O=Müller & Söhne, C=DE"
    asked = ["openssl", "x509", "-in", file, "-noout", "-fingerprint", "-sha256"]
    said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    assert said.partition("=")[2].strip().replace(":", "").lower() == found.fingerprint
    assert found.until_at - found.from_at == 400 * US_PER_DAY


def test_each_is_listed_once_with_all_its_uses(folder: Path) -> None:
    """Our own, the partner's that is trusted and expected, and one that is only expected."""
    found = listed(configured(folder, "buyer", {"buyer": 1, "seller": 2}), in_days(0))
    by_name = {one.subject: one for one in found}
    assert sorted(one.kind for one in found) == ["own", "partner", "partner"]
    assert [use.what for use in by_name["CN=buyer"].uses] == [
        "[tls] certificate: shown to partners"
    ]
    seller = by_name["CN=seller"]
    assert [(use.what.partition(":")[0], use.partner_name) for use in seller.uses] == [
        ("[tls] trusted", None),
        ("caller_certificate", "The seller"),
    ]
    unknown = by_name[None]
    assert (unknown.fingerprint, unknown.valid_until, unknown.days_left) == ("ab" * 32, None, None)


def test_a_certificate_that_a_partner_signs_with_is_listed_by_name(folder: Path) -> None:
    """It is in the agreement as a whole, so its end is known before the partner shows it."""
    path = folder / "signed.toml"
    path.write_text(
        f"""
[gateway]
party = ["{BUYER}"]
listen = "http://127.0.0.1:{free_port()}/msh"
api = "http://127.0.0.1:{free_port()}"
store = "signed.db"

[[agreement]]
id = "cpa-1"
profile = "ebms-2.0"
with = ["{SELLER}"]
send_to = "http://b.example/msh"
partner_certificates = ["seller.pem"]
""",
        "utf-8",
    )
    (only,) = listed(read_configuration(path), in_days(0))
    assert (only.kind, only.subject) == ("partner", "CN=seller")
    assert only.fingerprint == fingerprint(folder, "seller")
    (use,) = only.uses
    assert (use.what, use.agreement, use.partner) == (
        "partner_certificates: the partner signs with it",
        "cpa-1",
        SELLER,
    )


def test_a_file_without_a_certificate_is_first_in_the_list(folder: Path) -> None:
    """It is worse than any end."""
    configuration = configured(folder, "buyer", {"buyer": 1, "seller": 2})
    (folder / "buyer.pem").unlink()
    first = listed(configuration, in_days(0))[0]
    assert (first.fingerprint, first.file) == (None, str(folder / "buyer.pem"))


async def test_a_certificate_that_a_partner_showed_was_seen(folder: Path) -> None:
    """The list says when, and the agreement too."""
    ports = {"buyer": free_port(), "seller": free_port()}
    both = [RunningGateway(configured(folder, name, ports)) for name in ports]
    for one in both:
        await one.start()
    buyer, seller = both
    try:
        before = await certificates(seller)
        assert before["CN=buyer"]["seen_at"] is None
        header = {"to": SELLER, "service": "Ordering", "action": "NewOrder"}
        answer = await buyer.call("POST", "/v1/messages", files=form(header, b"<Order/>"))
        await buyer.until_state(answer.json["message_id"], "acknowledged")
        after = await certificates(seller)
        assert after["CN=buyer"]["seen_at"] is not None
        assert after["CN=seller"]["seen_at"] is None
        detail = await seller.get("/v1/agreements/tpa-ab-1")
        assert [one["subject"] for one in detail["certificates"]] == ["CN=buyer", None]
    finally:
        for one in both:
            await one.stop(0.0)


async def test_an_application_is_told_of_no_use_but_its_own(folder: Path) -> None:
    """Neither of another agreement with the same certificate, nor of the file that has it."""
    path = configured(folder, "seller", {"buyer": free_port(), "seller": free_port()}).path
    pinned = f'caller_certificate = ["{fingerprint(folder, "buyer")}"]'
    lines = ("[[agreement]]", 'id = "other"', 'with = ["urn:duns:333333333"]', pinned)
    more = "\n".join((*lines, 'send_to = "https://127.0.0.1:1/msh"', ""))
    path.write_text(f"{path.read_text('utf-8')}\n{more}", "utf-8")
    gateway = RunningGateway(read_configuration(path))
    await gateway.start()
    try:
        [whole, _] = (await gateway.get("/v1/agreements/tpa-ab-1"))["certificates"]
        assert {use["agreement"] for use in whole["uses"]} == {None, "tpa-ab-1", "other"}
        body = {"name": "shop", "scopes": ["read"], "application": "shop", "agreements": ["other"]}
        boss = await gateway.call("POST", "/v1/keys", json={"name": "boss", "scopes": ["admin"]})
        gateway.api.headers["authorization"] = f"Bearer {boss.json['key']}"
        shop = await gateway.call("POST", "/v1/keys", json=body)
        gateway.api.headers["authorization"] = f"Bearer {shop.json['key']}"
        [own] = (await gateway.get("/v1/agreements/other"))["certificates"]
        assert [use["agreement"] for use in own["uses"]] == ["other"]
        assert (own["fingerprint"], own["file"]) == (whole["fingerprint"], None)
        assert whole["file"] is not None
    finally:
        await gateway.stop(0.0)


async def certificates(gateway: RunningGateway) -> dict[str, Any]:
    found = await gateway.get("/v1/certificates")
    return {one["subject"]: one for one in found["certificates"]}


def test_what_was_seen_is_bounded_and_what_is_none_is_left_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was not seen for longest is forgotten."""
    monkeypatch.setattr("onceonly.gateway.seen_certificates.SEEN_MAX", 1)
    assert SEEN_MAX > 1
    seen = SeenCertificates(lambda: 7)
    seen.note(b"\x30\x03no")
    for name in ("seller", "buyer"):
        text = (folder / f"{name}.pem").read_text("ascii")
        seen.note(ssl.PEM_cert_to_DER_cert(text))
    assert [*seen.by_fingerprint()] == [fingerprint(folder, "buyer")]
    assert seen.by_fingerprint()[fingerprint(folder, "buyer")].at == 7
