"""From a CPA in the spelling of another product to the verdict on a signed message under it.

The CPA is imported as `onceonly agreement import` does it, its tables are read as a configuration,
and a message of the partner is signed by libxmlsec with the key that the CPA names.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from captures import explained
from cryptography.hazmat.primitives.serialization import Encoding
from foreign_packages import (
    FROM,
    MESSAGE,
    RECEIVED_AT,
    TO,
    Frame,
    Payload,
    Style,
    as_mail,
    as_request,
    body_of,
    certificate,
    sign,
    with_manifest,
)

# The CPA is that of its own tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "cpa"))

from cpas import (
    BUYER,
    NOW_AT,
    NR,
    RELIABLE,
    SELLER,
    SELLER_TYPE,
    SIGNED,
    cpa,
    key_info,
)

from onceonly.explain.explanation import CaptureVerdict, CheckResult, Explanation
from onceonly.gateway.config import read_configuration
from onceonly.gateway.cpa import Wishes, import_cpa

URI_SERVICE = "<eb:Service>urn:services:Orders</eb:Service>"
FROM_SELLER = f'<eb:PartyId eb:type="{SELLER_TYPE}">{SELLER}</eb:PartyId>'
TO_BUYER = f"<eb:PartyId>{BUYER}</eb:PartyId>"
ACME = '<c:PartyId c:type="name">Acme Corp</c:PartyId>'
TO_ACME = '<eb:PartyId eb:type="name">Acme Corp</eb:PartyId>'


def der(name: str = "signer", issuer: str = "issuer") -> bytes:
    return certificate(name, issuer=issuer).public_bytes(Encoding.DER)


LEAF, ISSUER, ROOT = der(), der("issuer", "root"), der("root", "root")


def as_is(text: str) -> str:
    return text


def prefixed(prefix: str) -> Callable[[str], str]:
    """The CPA with that prefix in place of its own."""

    def edit(text: str) -> str:
        text = re.sub(r"(</?|\s)c:", rf"\1{prefix}:", text)
        return text.replace("xmlns:c=", f"xmlns:{prefix}=")

    return edit


def other_order(text: str) -> str:
    """The partner comes first."""
    first, second = re.findall(r"<c:PartyInfo.*?</c:PartyInfo>", text, re.DOTALL)
    return text.replace(first, "@").replace(second, first).replace("@", second, 1)


def described(text: str) -> str:
    """With all that says what is done, and binds nobody who delivers messages."""
    process = (
        '<c:ProcessSpecification c:name="P" c:version="2.0" xlink:type="simple"'
        ' xlink:href="http://x/p.xml"><d:Reference URI="http://x/p.xml"><d:DigestMethod'
        ' Algorithm="x"/><d:DigestValue>AAAA</d:DigestValue></d:Reference>'
        "</c:ProcessSpecification>"
    )
    role = '<c:Role c:name="Buyer" xlink:type="simple" xlink:href="http://x#Buyer"/>'
    return text.replace('<c:Role c:name="Buyer"/>', process + role)


def in_lines(text: str) -> str:
    """Certificates in lines with carriage returns, and values with blanks around them."""
    text = re.sub(
        "(<d:X509Certificate>)([^<]+)",
        lambda found: found[1] + re.sub("(.{64})", r"\1&#13;\n  ", found[2]) + "\n",
        text,
    )
    return text.replace(f">{SELLER}<", f">\n  {SELLER}\n <")


PACKAGING = (
    '<c:SimplePart c:id="s1" c:mimetype="text/xml"><c:NamespaceSupported c:location="http://x"'
    ' c:version="1">urn:x</c:NamespaceSupported></c:SimplePart><c:SimplePart c:id="s2"'
    ' c:mimetype="application/*" c:mimeparameters="charset=utf-8"/><c:Packaging c:id="p">'
    '<c:ProcessingCapabilities c:parse="true" c:generate="true"/><c:CompositeList>'
    '<c:Encapsulation c:id="e" c:mimetype="x"><c:Constituent c:idref="s2"/></c:Encapsulation>'
    '<c:Composite c:id="k" c:mimetype="multipart/related" c:mimeparameters="type=text/xml;">'
    '<c:Constituent c:idref="s1"/><c:Constituent c:idref="e" c:minOccurs="0"/></c:Composite>'
    "</c:CompositeList></c:Packaging>"
)
BY_MAIL = (
    '<c:DeliveryChannel c:channelId="b_mail" c:transportId="b_m" c:docExchangeId="b_de">'
    f"<c:MessagingCharacteristics {RELIABLE}/></c:DeliveryChannel>"
    '<c:Transport c:transportId="b_m"><c:TransportReceiver><c:TransportProtocol>SMTP'
    '</c:TransportProtocol><c:Endpoint c:uri="mailto:b@b.example.com"/></c:TransportReceiver>'
    "</c:Transport>"
)
W3C = '<c:SignatureAlgorithm c:w3c="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256">'


class Way(NamedTuple):
    """How a CPA is written, and the message under it."""

    edit: Callable[[str], str] = as_is
    changes: dict[str, str] = {}  # noqa: RUF012 - because nobody changes it
    party: str = BUYER
    to: str = TO_BUYER
    service: str = URI_SERVICE
    cpa_id: str = "orders-2026"
    is_mail: bool = False


def with_chain(*ders: bytes) -> Way:
    return Way(changes={"certificates_b": key_info("seller", *ders)})


WAYS = {
    "as usual": Way(),
    "prefix cpa": Way(prefixed("cpa")),
    "prefix tp": Way(prefixed("tp")),
    "attributes without a prefix": Way(lambda text: text.replace(" c:", " ")),
    "version 2_0": Way(changes={"version": "2_0"}),
    "version 2_0a": Way(changes={"version": "2_0a"}),
    "version 1.0": Way(changes={"version": "1.0"}),
    "chain, leaf first": with_chain(LEAF, ISSUER, ROOT),
    "chain, leaf last": with_chain(ROOT, ISSUER, LEAF),
    "chain with a gap": with_chain(ROOT, LEAF),
    "chain in several X509Data": with_chain(ISSUER, LEAF)._replace(
        edit=lambda text: text.replace(
            "</d:X509Certificate><d:X509C",
            "</d:X509Certificate></d:X509Data><d:X509Data><d:X509C",
        )
    ),
    "certificates in lines": Way(in_lines),
    "partner first": Way(other_order),
    "several ids, one with a blank": Way(
        changes={"ids_a": f"<c:PartyId>{BUYER}</c:PartyId>{ACME}"}, to=TO_ACME
    ),
    "called by a name with a blank": Way(changes={"ids_a": ACME}, party="Acme Corp", to=TO_ACME),
    "service of type string": Way(
        changes={"service": "Order Service", "service_type": ' c:type="string"'},
        service='<eb:Service eb:type="string">Order Service</eb:Service>',
    ),
    "name with blanks": Way(changes={"cpaid": " Orders of A "}, cpa_id="Orders of A"),
    "process specification": Way(described),
    "packaging and comment": Way(
        changes={"after": f'{PACKAGING}<c:Comment xml:lang="en-US">x</c:Comment>'}
    ),
    "override for acknowledgements": Way(
        changes={
            "override_b": '<c:OverrideMshActionBinding c:action="Acknowledgment"'
            ' c:channelId="b_in"/>'
        }
    ),
    "algorithm by its URI": Way(lambda text: text.replace("<c:SignatureAlgorithm>", W3C)),
    "HTTP and mail": Way(
        changes={
            "more_b": BY_MAIL,
            "channels_b1": "<c:ChannelId>b_in</c:ChannelId><c:ChannelId>b_mail</c:ChannelId>",
        }
    ),
    "mail both ways": Way(
        changes={
            "protocol_a": "SMTP",
            "protocol_b": "SMTP",
            "endpoint_a": "mailto:a@a.example.com",
            "endpoints_b": '<c:Endpoint c:uri="mailto:ebxml@b.example.com"/>',
        },
        is_mail=True,
    ),
    "signed CPA": Way(changes={"after": "<d:Signature><d:SignedInfo/></d:Signature>"}),
}


def explained_under(way: Way, folder: Path, *, name: str = "signer") -> Explanation:
    """What is said of a message that the holder of that key signed."""
    usual = {**SIGNED, "certificates_b": key_info("seller", LEAF), "needs_back": NR}
    document = way.edit(cpa(**{**usual, **way.changes}).decode()).encode()
    found = import_cpa(document, Wishes(party=way.party), NOW_AT)
    for file, text in found.certificates.items():
        (folder / file).write_text(text, "utf-8")
    path = folder / "gateway.toml"
    path.write_text(f"{HEAD}party = {toml_of(found.tables[0].values['party'])}\n{REST}{found.text}")
    payload = Payload(encoding="base64" if way.is_mail else "")
    text = (
        MESSAGE.replace(FROM, f"<eb:From>{FROM_SELLER}<eb:Role>Seller</eb:Role></eb:From>")
        .replace(TO, f"<eb:To>{way.to}<eb:Role>Buyer</eb:Role></eb:To>")
        .replace('<eb:Service eb:type="string">orders</eb:Service>', way.service)
        .replace("NewOrder", "OrderResponse")
        .replace("cpa-ab-1", way.cpa_id)
    )
    signed = sign(with_manifest(text, [payload]), {payload.href: payload.data}, Style(), name=name)
    framed = body_of(signed, [payload], Frame(root_encoding=payload.encoding))
    capture = as_mail(*framed) if way.is_mail else as_request(*framed)
    return explained(capture, read_configuration(path), at=RECEIVED_AT)


HEAD = "[gateway]\n"
REST = """
listen = "http://127.0.0.1:8080/ebms"
uri = "https://a.example.com/ebms"
api = "http://127.0.0.1:8081"
store = "g.db"

[smtp]
mailbox = "a@a.example.com"
listen = "smtp://127.0.0.1:2525"
relay = "smtp://127.0.0.1:25"
starttls = "never"

[[identity]]
id = "buyer"
certificate = "not-here.pem"
key = "not-here.key"

"""


def toml_of(ids: list[Any]) -> str:
    found = (
        f'{{id = "{one["id"]}", type = "{one["type"]}"}}' if isinstance(one, dict) else f'"{one}"'
        for one in ids
    )
    return f"[{', '.join(found)}]"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_signed_message_is_verified_under_what_was_imported(way, tmp_path):
    """With the certificate that the CPA names for signing, and no other."""
    found = explained_under(way, tmp_path)
    assert found.answer is not None
    bad = [one for one in found.answer.checks if one.result is CheckResult.FAILED]
    assert found.verdict is CaptureVerdict.ACCEPTED, bad
    signed = {one.name for one in found.answer.checks if one.result is CheckResult.PASSED}
    assert {"signature", "digests", "signer", "validity"} <= signed
    other = explained_under(way, tmp_path, name="other")
    assert other.answer is not None
    assert [one.name for one in other.answer.checks if one.result is CheckResult.FAILED] == [
        "signer"
    ]
