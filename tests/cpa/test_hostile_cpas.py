"""CPAs of an attacker: S35 to S39. Each gets a named refusal, and nothing is written."""

import base64
import re
import tomllib

import pytest
from cpas import (
    RELIABLE,
    SIGNED,
    certificate,
    cpa,
    endpoint,
    imported,
    key_info,
    persist,
    reliable_messaging,
    signs,
)

from onceonly.gateway.cpa import CpaError, Wishes, import_cpa
from onceonly.gateway.cpa.document import (
    BYTES_MAX,
    DEPTH_MAX,
    ELEMENTS_MAX,
    NAMESPACE_LENGTH_MAX,
)
from onceonly.gateway.cpa.duration import seconds_of

LAUGHS = (
    '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>'
)


def refused(document: bytes, reason: str) -> None:
    """It is, with this reason."""
    with pytest.raises(CpaError, match=re.escape(reason)):
        import_cpa(document, Wishes(party="urn:duns:111111111"), 0)


def after_declaration(text: str) -> bytes:
    return cpa().replace(b"?>\n", b"?>\n" + text.encode(), 1)


DOCUMENTS = [
    ("billion laughs", lambda: after_declaration(LAUGHS), "a DOCTYPE, which is never read"),
    (
        "external entity",
        lambda: after_declaration('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
        "a DOCTYPE, which is never read",
    ),
    (
        "external subset",
        lambda: after_declaration('<!DOCTYPE r SYSTEM "http://x.example/r.dtd">'),
        "a DOCTYPE, which is never read",
    ),
    ("instruction", lambda: after_declaration("<?php x?>"), "the processing instruction 'php'"),
    ("entity without a DTD", lambda: cpa(service="urn:&secret;"), "undefined entity"),
    ("4 MB and a byte", lambda: cpa() + b" " * BYTES_MAX, f"at most {BYTES_MAX} are read"),
    (
        "too many elements",
        lambda: cpa(after="<c:Comment/>" * ELEMENTS_MAX),
        f"more than {ELEMENTS_MAX} elements",
    ),
    (
        "too deep",
        lambda: cpa(after="<x>" * DEPTH_MAX + "</x>" * DEPTH_MAX),
        f"more than {DEPTH_MAX} elements inside each other",
    ),
    (
        "a long name of a namespace",
        lambda: cpa(after="<x xmlns='" + "u" * (NAMESPACE_LENGTH_MAX + 1) + "'/>"),
        f"at most {NAMESPACE_LENGTH_MAX} are read",
    ),
    ("no XML", lambda: b"\x00\x01", "not well-formed XML"),
    ("nothing", lambda: b"", "not well-formed XML"),
    ("an encoding that nobody has", lambda: cpa().replace(b"UTF-8", b"x-none"), "encoding"),
    ("another document", lambda: b"<html/>", "expected is a CollaborationProtocolAgreement"),
    (
        "another version",
        lambda: cpa().replace(b"cpp-cpa-2_0.xsd", b"cpp-cpa-2_1.xsd"),
        "whose namespace is",
    ),
    (
        "a channel that is not there",
        lambda: cpa(channels_b1="<c:ChannelId>gone</c:ChannelId>"),
        "ChannelId names 'gone'",
    ),
    ("a default that is not there", lambda: cpa(default_b="gone"), "defaultMshChannelId names"),
    (
        "a transport that is not there",
        lambda: cpa(
            more_b='<c:DeliveryChannel c:channelId="x" c:transportId="gone" c:docExchangeId="b_de">'
            f"<c:MessagingCharacteristics {RELIABLE}/></c:DeliveryChannel>"
        ),
        "transportId names 'gone'",
    ),
    (
        "a certificate that is not there",
        lambda: cpa(**{**SIGNED, "certificates_b": ""}),
        "the certificate 'seller' is not in the PartyInfo",
    ),
    ("an id twice", lambda: cpa().replace(b'c:id="b2"', b'c:id="b1"'), "is there twice"),
    (
        "a line end in an action",
        lambda: cpa().replace(b'"NewOrder"', b'"New&#10;Order"'),
        "line end",
    ),
    ("a name of 300 characters", lambda: cpa(cpaid="x" * 300), "300 characters"),
    ("a Start that is no instant", lambda: cpa(start="yesterday"), "line 6: Start 'yesterday'"),
    (
        "a cpaid that is a step of a path",
        lambda: cpa(cpaid=".."),
        "cpaid '..' is not an identifier",
    ),
    ("one party", lambda: cpa().replace(b"<c:PartyInfo", b"<c:Other", 1), "not well-formed XML"),
    ("a third party", lambda: cpa(after="<c:PartyInfo/>"), "it has 3 PartyInfo elements"),
    ("a second Status", lambda: cpa(before="<c:Status/>"), "a second Status"),
    ("no Status", lambda: cpa().replace(b"c:Status", b"c:Stat"), "has no Status"),
    (
        "a word that the schema has not",
        lambda: cpa(characteristics_b='c:ackRequested="maybe"'),
        "is 'maybe', expected is one of always, never, perMessage",
    ),
    ("an empty name", lambda: cpa(service=" "), "Service is empty"),
    (
        "retries without an end",
        lambda: cpa(receiver_b=reliable_messaging("9" * 30) + persist()),
        "expected is a count",
    ),
    (
        "a negative duration",
        lambda: cpa(receiver_b=reliable_messaging(interval="-PT5M") + persist()),
        "expected is a duration",
    ),
]


@pytest.mark.parametrize(
    ("make", "reason"), [row[1:] for row in DOCUMENTS], ids=[row[0] for row in DOCUMENTS]
)
def test_a_hostile_document_is_refused(make, reason):
    """S35, S36, S39: with the reason."""
    refused(make(), reason)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("file:///etc/passwd", "expected is an http, https or mailto address"),
        ("ftp://b.example.com/", "expected is an http, https or mailto address"),
        ("amqp://b.example.com/x", "expected is an http, https or mailto address"),
        ("http://[::1", "expected is an http, https or mailto address"),
        ("https://user:word@b.example.com/", "has a user"),
        ("https://a.example.com/ebms", "is our own address"),
        ("https://b.example.com/&#13;&#10;X-Injected: 1", "with a line end"),
        ("https://b.example.com/ x", "has characters that a URI has not"),
        *[
            (f"https://{host}/ebms", "on the machine of whoever posts")
            for host in (
                "localhost",
                "localhost.",
                "x.localhost",
                "127.0.0.1",
                "127.9.9.9",
                "[::1]",
            )
        ],
        ("https://[::ffff:127.0.0.1]/ebms", "on the machine of whoever posts"),
        *[
            (f"https://{host}/ebms", "is an address that no partner can have")
            for host in ("0.0.0.0", "169.254.169.254", "224.0.0.1", "2130706433", "127.1", "0x7f.1")
        ],
    ],
)
def test_an_address_that_is_no_partners_is_refused(uri, reason):
    """S36."""
    refused(cpa(endpoints_b=endpoint(uri)), reason)


def test_an_address_that_the_operator_typed_is_taken():
    """`--endpoint OLD=NEW`, where a partner stands on this machine for a test."""
    new = "https://127.0.0.1:8402/msh?a=b"
    given = "https://b.example.com/ebms?c=d"
    found = imported(endpoints_b=endpoint(given), wishes={"instead": (f"{given}={new}",)})
    assert found.tables[0].values["send_to"] == new
    with pytest.raises(CpaError, match="begins with no endpoint of this CPA"):
        imported(wishes={"instead": ("https://c.example.com/=x",)})
    with pytest.raises(CpaError, match="cannot be used"):
        imported(wishes={"instead": ("https://b.example.com/ebms=file:/x",)})


def test_two_parties_of_one_machine_are_told():
    """A CPA for tests has both of them there; then it is taken, with a warning."""
    found = imported(
        endpoint_a="https://localhost:8401/x", endpoints_b=endpoint("https://localhost:8402/x")
    )
    assert any("can only be reached on this machine" in line for line in found.notes)


@pytest.mark.parametrize(
    "odd",
    [
        '"]\n[gateway]\nparty = ["x"]',
        "'''",
        '"""',
        "\\",
        "#",
        "x = 1",
        "\u202e\u2066",
        "\u00e9\u4e2d\U0001f600",
        "a\\u0022b",
    ],
)
def test_no_value_is_syntax(odd):
    """S36: what a reader of the text gets is what the CPA said; or the CPA was refused."""
    escaped = odd.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    attribute = escaped.replace("\n", "&#10;")
    document = cpa(cpaid=f"x{attribute}", service=f"urn:x{escaped}").replace(
        b'"Buyer"', f'"{attribute}x"'.encode()
    )
    wishes = Wishes(party="urn:duns:111111111")
    if not odd.isprintable():
        with pytest.raises(CpaError):
            import_cpa(document, wishes, 0)
        return
    [table] = tomllib.loads(import_cpa(document, wishes, 0).text)["agreement"]
    assert table["cpa_id"] == f"x{odd}"
    assert table["role"] == f"{odd}x"
    assert table["services"][0]["id"] == f"urn:x{odd}"


@pytest.mark.parametrize(
    ("blob", "reason"),
    [
        (b"A" * (1 << 20), "characters, at most"),
        (b"!!!", "is not base64"),
        (base64.b64encode(b"-----BEGIN PRIVATE KEY-----"), "is not one certificate in DER"),
        (base64.b64encode(certificate("seller") + b"more"), "is not one certificate in DER"),
        (base64.b64encode(certificate("seller")[:-40]), "is not one certificate in DER"),
        (base64.b64encode(b"\x30\x82\x00\x04abcd"), "cannot be read as a certificate"),
        (base64.b64encode(b"\x30\x81\x80" + b"\x30" * 128), "cannot be read as a certificate"),
        (b"", "is not one certificate in DER"),
    ],
)
def test_a_blob_that_is_no_certificate_is_refused(blob, reason):
    """S37: by its length before it is read; never a part of it."""
    info = (
        '<c:Certificate c:certId="seller"><d:KeyInfo><d:X509Data><d:X509Certificate>'
        f"{blob.decode()}</d:X509Certificate></d:X509Data></d:KeyInfo></c:Certificate>"
    )
    refused(cpa(**{**SIGNED, "certificates_b": info}), reason)


def test_ten_megabytes_of_certificate_are_not_read():
    """S37: the file is too long before anything of it is looked at."""
    refused(cpa(certificates_b=key_info("seller", b"x" * (10 << 20))), "are read")


def test_a_certificate_that_cannot_be_read_is_the_file_of_nobody():
    """S37: no file is written for it, and a private key beside one is not looked at."""
    key = base64.b64encode(b"-----BEGIN PRIVATE KEY-----").decode()
    beside = (
        key_info("seller")
        + f'<c:Certificate c:certId="k"><d:KeyName>{key}</d:KeyName></c:Certificate>'
    )
    found = imported(**{**SIGNED, "certificates_b": beside})
    assert next(iter(found.certificates.values())).count("-----BEGIN") == 1


def test_a_binding_that_is_written_twice_counts_once():
    """Some tools do that, and use the same ids in both parties."""
    document = cpa().replace(b'"b1"', b'"a1"').replace(b">b1<", b">a1<")
    begin, end = document.index(b"<c:CanSend>"), document.index(b"</c:CanSend>") + 12
    twice = document[:end] + document[begin:end] + document[end:]
    for party in ("urn:duns:111111111", "222222222"):
        wishes = Wishes(party=party)
        found = import_cpa(twice, wishes, 0)
        assert found.tables == import_cpa(document, wishes, 0).tables


@pytest.mark.parametrize("name", ["../../etc/cron.d/x", "/etc/passwd", "C:\\x", "x\u2044y"])
def test_no_file_is_named_by_a_cpa(name):
    """S38: neither for cpaid nor for certId; a part of the fingerprint is the name."""
    certificates = key_info(name, certificate("seller"))
    found = imported(
        cpaid=name,
        **{
            **SIGNED,
            "certificates_b": certificates,
            "sender_b": reliable_messaging() + persist() + signs(name),
        },
    )
    [file] = found.certificates
    assert re.fullmatch(r"partner-[0-9a-f]{16}\.pem", file)
    assert found.tables[0].values["cpa_id"] == name


def test_thousands_of_actions_are_read_one_after_the_other():
    """S39: as many bindings as the elements that are read can be."""
    more_a = "".join(
        f'</c:CanSend><c:CanSend><c:ThisPartyActionBinding c:id="x{n}" c:action="A{n}">'
        "<c:ChannelId>a_in</c:ChannelId></c:ThisPartyActionBinding>"
        for n in range(3000)
    )
    more_b = "".join(
        f'</c:CanReceive><c:CanReceive><c:ThisPartyActionBinding c:id="y{n}" c:action="A{n}">'
        "<c:ChannelId>b_in</c:ChannelId></c:ThisPartyActionBinding>"
        for n in range(3000)
    )
    [table] = imported(inside_a1=more_a, inside_b1=more_b).tables
    assert len(table.values["services"][0]["send"]) == 3001


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT5M", 300),
        ("P2W", 1_209_600),
        ("PT36H", 129_600),
        ("P1DT0.5S", 86_401),
        ("PT0.000000001S", 1),
        ("PT90M1S", 5401),
        ("P0Y0M1D", 86_400),
        ("PT0S", 0),
    ],
)
def test_every_form_of_a_duration_is_read(text, seconds):
    """IR-24: weeks, more hours than a day has, fractions, which are rounded up."""
    assert seconds_of(text, "RetryInterval", 1) == seconds


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "P1DT", "5M", "P1Y", "P1M", "-P1D", "P1S", "PT1,5S"]
)
def test_no_other_form_is(text):
    """IR-24: and nothing is guessed."""
    with pytest.raises(CpaError, match="expected is a duration"):
        seconds_of(text, "RetryInterval", 1)


@pytest.mark.parametrize(
    ("start", "written"),
    [
        ("2026-01-01T00:00:00", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00-14:00", "2026-01-01T14:00:00Z"),
        ("2025-12-31T24:00:00+01:00", "2025-12-31T23:00:00Z"),
    ],
)
def test_a_clock_may_be_in_any_zone(start, written):
    """IR-24: an instant without a zone is UTC."""
    assert imported(start=start).tables[0].values["valid_from"] == written
