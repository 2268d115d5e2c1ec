"""Each row of the table of §12: what the element or attribute becomes (E2-121, E2-123)."""

import re
from pathlib import Path
from typing import Any

import pytest
from cpas import (
    BUYER,
    NEXT,
    NOW_AT,
    NR,
    RELIABLE,
    SELLER,
    SELLER_TYPE,
    SIGNED,
    certificate,
    characteristics,
    cpa,
    endpoint,
    imported,
    key_info,
    persist,
    reliable_messaging,
    signs,
    the_table,
)

from onceonly.gateway.config import read_configuration
from onceonly.gateway.cpa import CpaError, Wishes, import_cpa
from onceonly.gateway.cpa.security import Signer, certificate_of
from onceonly.gateway.cpa.terms import Allowed

NRR = 'c:isNonRepudiationReceiptRequired="true"'
HERE = "http://127.0.0.1:8401/msh"
OPEN = {"allowed": Allowed(is_open=True)}


VALUES: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    ("cpaid, outer blanks cut", {"cpaid": "  orders 2026 "}, {"cpa_id": "orders 2026"}),
    ("cpaid with a blank is no id", {"cpaid": "orders 2026"}, {"id": "orders-2026"}),
    (
        "Start and End",
        {"start": "2026-01-01T02:00:00+02:00", "end": "2029-12-31T24:00:00Z"},
        {"valid_from": "2026-01-01T00:00:00Z", "valid_until": "2030-01-01T00:00:00Z"},
    ),
    (
        "PartyId, all of them in order",
        {"ids_a": f"<c:PartyId>{BUYER}</c:PartyId><c:PartyId c:type='gln'>401</c:PartyId>"},
        {
            "party": [BUYER, {"id": "401", "type": "gln"}],
            "with": [{"id": SELLER, "type": SELLER_TYPE}],
        },
    ),
    ("Role, paired by OtherPartyActionBinding", {}, {"role": "Buyer", "partner_role": "Seller"}),
    (
        "Service with its type",
        {"service_type": ' c:type="anyURI"'},
        {
            "services": [
                {
                    "id": "urn:services:Orders",
                    "type": "anyURI",
                    "send": ["NewOrder"],
                    "receive": ["OrderResponse"],
                }
            ]
        },
    ),
    (
        "OtherPartyActionBinding missing: paired by service, action and direction",
        {"other_a1": ""},
        {"partner_role": "Seller", "send_to": "https://b.example.com/ebms"},
    ),
    (
        "syncReplyMode",
        {
            "characteristics_b": characteristics(syncReplyMode="mshSignalsOnly"),
            "characteristics_a": characteristics(syncReplyMode="mshSignalsOnly"),
        },
        {"sync_reply_mode": "mshSignalsOnly"},
    ),
    (
        "syncReplyMode absent",
        {
            "characteristics_b": characteristics(syncReplyMode=""),
            "characteristics_a": characteristics(syncReplyMode=""),
        },
        {"sync_reply_mode": "none"},
    ),
    (
        "acknowledged and suppressed",
        {},
        {
            "delivery_semantics": "OnceAndOnlyOnce",
            "ack_requested": "Unsigned",
            "duplicate_elimination": "always",
        },
    ),
    ("actor absent is toPartyMSH", {}, {"ack_actor": None}),
    (
        "TransportProtocol in lower case",
        {"protocol_b": "http"},
        {"send_to": "https://b.example.com/ebms"},
    ),
    (
        "Endpoint of a request",
        {"endpoints_b": endpoint("https://b.example.com/x", "request")},
        {"send_to": "https://b.example.com/x"},
    ),
    (
        "Endpoint without a type, slash kept",
        {"endpoints_b": endpoint("https://b.example.com/x/")},
        {"send_to": "https://b.example.com/x/"},
    ),
    (
        "Endpoint by mail",
        {"protocol_b": "SMTP", "endpoints_b": endpoint("mailto:msh@b.example.com")},
        {"send_to": "smtp:msh@b.example.com"},
    ),
    (
        "Endpoint by mail with slashes",
        {"protocol_b": "SMTP", "endpoints_b": endpoint("mailto://msh@b.example.com")},
        {"send_to": "smtp:msh@b.example.com"},
    ),
    (
        "Endpoint of errors",
        {
            "endpoints_b": endpoint("https://b.example.com/ebms")
            + endpoint("https://b.example.com/errors", "error")
        },
        {"error_to": "https://b.example.com/errors"},
    ),
    ("defaultMshChannelId", {}, {"signals_to": "https://b.example.com/signals"}),
    ("defaultMshChannelId is that of messages", {"default_b": "b_in"}, {"signals_to": None}),
    (
        "OverrideMshActionBinding of acknowledgements",
        {
            "override_b": '<c:OverrideMshActionBinding c:action="Acknowledgment" '
            'c:channelId="b_in"/>'
        },
        {"signals_to": None},
    ),
    (
        "OverrideMshActionBinding of errors",
        {"override_b": '<c:OverrideMshActionBinding c:action="MessageError" c:channelId="b_msh"/>'},
        {"error_to": "https://b.example.com/signals"},
    ),
    ("Retries and RetryInterval", {}, {"retries": 3, "retry_interval": 300}),
    ("PersistDuration, and TimeToLive", {}, {"persist_duration": "P1D", "time_to_live": "PT25M"}),
    (
        "no PersistDuration",
        {
            "receiver_a": reliable_messaging(),
            "receiver_b": reliable_messaging(),
            "sender_a": reliable_messaging(),
            "sender_b": reliable_messaging(),
        },
        {"persist_duration": None, "time_to_live": "PT25M"},
    ),
    (
        "MessageOrderSemantics",
        {
            "receiver_a": reliable_messaging(order="") + persist(),
            "receiver_b": reliable_messaging(order="") + persist(),
        },
        {"message_order": "Guaranteed"},
    ),
    (
        "isNonRepudiationRequired",
        {**SIGNED, "needs_back": NR},
        {"sign": "messages", "require_signature": "messages", "signature_algorithm": "rsa-sha256"},
    ),
    (
        "comments and CDATA",
        {"service": "urn:<!-- a -->services:<![CDATA[Orders]]>"},
        {"cpa_id": "orders-2026"},
    ),
]


@pytest.mark.statement("E2-121")
@pytest.mark.parametrize(
    ("changes", "values"), [row[1:] for row in VALUES], ids=[row[0] for row in VALUES]
)
def test_the_row_becomes_this_value(changes: dict[str, str], values: dict[str, Any]) -> None:
    """A key with its value; None: the key is not written."""
    found = the_table(**changes)
    assert {key: found.get(key) for key in values} == values


def directions(**changes: str) -> tuple[Any, Any]:
    """The tables of what is sent and of what is received, where their terms differ."""
    sent, received = imported(**changes).tables
    assert sent.values["services"][0].keys() == {"id", "send"}
    assert received.values["services"][0].keys() == {"id", "receive"}
    return sent.values, received.values


DEGREES = [
    ("always", "never", "always", "Unsigned", "OnceAndOnlyOnce"),
    ("always", "always", "always", "Signed", "OnceAndOnlyOnce"),
    ("always", "never", "never", "Unsigned", "AtLeastOnce"),
    ("never", "never", "always", "None", "AtMostOnce"),
    ("never", "never", "never", "None", "BestEffort"),
    ("perMessage", "perMessage", "perMessage", "Unsigned", "OnceAndOnlyOnce"),
]


@pytest.mark.statement("E2-121")
@pytest.mark.parametrize(("ack", "signature", "suppression", "asked", "semantics"), DEGREES)
def test_what_the_channel_asks_for_is_the_degree_of_reliability(
    ack: str, signature: str, suppression: str, asked: str, semantics: str
) -> None:
    """By ackRequested, ackSignatureRequested and duplicateElimination, of the receiving channel."""
    words = characteristics(
        ackRequested=ack, ackSignatureRequested=signature, duplicateElimination=suppression
    )
    found = the_table(
        **{**SIGNED, "needs_a": "", "characteristics_a": words, "characteristics_b": words}
    )
    assert (found["ack_requested"], found["delivery_semantics"]) == (asked, semantics)
    assert found["duplicate_elimination"] == suppression
    assert (found.get("check_header") == "lenient") is (ack == "perMessage")
    assert ("retries" in found) is (asked != "None")


@pytest.mark.statement("E2-121")
def test_each_direction_has_the_terms_of_its_receiver() -> None:
    """Two tables, where the channels of both parties say different things."""
    sent, received = directions(
        characteristics_b=characteristics(duplicateElimination="never", actor=NEXT),
        receiver_a=reliable_messaging(retries="9") + persist("P2D"),
        sender_b=reliable_messaging(retries="9") + persist("P9D"),
    )
    assert (sent["id"], received["id"]) == ("orders-2026", "orders-2026.2")
    assert sent["cpa_id"] == received["cpa_id"] == "orders-2026"
    assert (sent["delivery_semantics"], sent["ack_actor"]) == ("AtLeastOnce", "nextMSH")
    assert (received["delivery_semantics"], received["retries"]) == ("OnceAndOnlyOnce", 9)
    assert received["persist_duration"] == "P2D"


@pytest.mark.statement("E2-121")
def test_a_nested_binding_is_the_answer_in_the_exchange_of_the_outer_one() -> None:
    """CanReceive below CanSend goes into the table of what is sent, whatever its channel says."""
    inner = (
        '<c:Can{way}><c:ThisPartyActionBinding c:id="{id}" c:action="OrderPrice" c:packageId="p">'
        "<c:BusinessTransactionCharacteristics/><c:ChannelId>{channel}</c:ChannelId>"
        "</c:ThisPartyActionBinding><c:OtherPartyActionBinding>{other}</c:OtherPartyActionBinding>"
        "</c:Can{way}>"
    )
    sync = characteristics(syncReplyMode="signalsAndResponse")
    tables = imported(
        characteristics_b=sync,
        inside_a1=inner.format(way="Receive", id="a3", channel="a_msh", other="b3"),
        inside_b1=inner.format(way="Send", id="b3", channel="b_msh", other="a3"),
    ).tables
    assert [one.values["sync_reply_mode"] for one in tables] == ["signalsAndResponse", "none"]
    assert tables[0].values["services"] == [
        {"id": "urn:services:Orders", "send": ["NewOrder"], "receive": ["OrderPrice"]}
    ]


def test_each_role_has_a_table_where_parties_have_several(tmp_path: Path) -> None:
    """Both parties have both Roles with the same actions, and nothing pairs them by id."""
    document = re.sub(
        rb"<c:OtherPartyActionBinding>.*?</c:OtherPartyActionBinding>", b"", cpa(endpoint_a=HERE)
    )
    roles = re.compile(rb"<c:CollaborationRole>.*?</c:CollaborationRole>", re.DOTALL)

    def doubled(found: re.Match[bytes]) -> bytes:
        other = b"Seller" if b'"Buyer"' in found[0] else b"Buyer"
        again = re.sub(rb'<c:Role c:name="\w+"', b'<c:Role c:name="' + other + b'"', found[0])
        turned = again.replace(b"CanSend", b"Can-").replace(b"CanReceive", b"CanSend")
        turned = turned.replace(b"Can-", b"CanReceive").replace(b'c:id="', b'c:id="x')
        return found[0] + turned

    found = import_cpa(roles.sub(doubled, document), Wishes(party=BUYER), NOW_AT)
    assert [(one.values["role"], one.values["partner_role"]) for one in found.tables] == [
        ("Buyer", "Seller"),
        ("Seller", "Buyer"),
    ]
    gateway = f"""[gateway]
party = ["{BUYER}"]
listen = "{HERE}"
api = "http://127.0.0.1:8411"
store = "s.db"
"""
    path = tmp_path / "gateway.toml"
    path.write_text(gateway + found.text, "utf-8")
    assert len(read_configuration(path).agreements) == 2


@pytest.mark.statement("E2-121")
def test_of_several_channels_the_first_that_we_can_use_is_taken() -> None:
    """The others are named on stderr."""
    found = imported(
        channels_b1="<c:ChannelId>b_ftp</c:ChannelId><c:ChannelId>b_in</c:ChannelId>"
        "<c:ChannelId>b_msh</c:ChannelId>",
        more_b='<c:DeliveryChannel c:channelId="b_ftp" c:transportId="b_ftp" '
        f'c:docExchangeId="b_de"><c:MessagingCharacteristics {RELIABLE}/></c:DeliveryChannel>'
        '<c:Transport c:transportId="b_ftp"><c:TransportReceiver><c:TransportProtocol>FTP'
        f"</c:TransportProtocol>{endpoint('ftp://b.example.com/')}</c:TransportReceiver>"
        "</c:Transport>",
    )
    assert found.tables[0].values["send_to"] == "https://b.example.com/ebms"
    ignored = [line for line in found.notes if "the channel" in line]
    assert ["b_ftp" in ignored[0], "b_msh" in ignored[1]] == [True, True]


@pytest.mark.statement("E2-121")
def test_signing_names_the_certificates_of_both() -> None:
    """The partner's as a file beside the CPA, ours by the id of its identity."""
    ours = certificate_of(certificate("buyer")).fingerprint
    theirs = Signer(certificate=certificate_of(certificate("seller")), der=certificate("seller"))
    found = imported(
        wishes={"identities": {ours: "buyer-2026"}, "certificates": "keys/"},
        **{**SIGNED, "needs_back": NR},
    )
    name = f"partner-{theirs.certificate.fingerprint[:16]}.pem"
    [table] = found.tables
    assert table.values["partner_certificates"] == [f"keys/{name}"]
    assert table.values["identities"] == ["buyer-2026"]
    assert found.certificates == {name: theirs.pem}


@pytest.mark.statement("E2-121")
def test_a_receipt_that_proves_itself_is_a_signed_acknowledgement() -> None:
    """Where the channel lets it be signed; else it is only told."""
    words = characteristics(ackSignatureRequested="perMessage")
    found = imported(**{**SIGNED, "needs_a": NRR, "characteristics_b": words})
    assert found.tables[0].values["ack_requested"] == "Signed"
    found = imported(needs_a=NRR)
    assert found.tables[0].values["ack_requested"] == "Unsigned"
    assert any("business signals are not offered" in line for line in found.notes)


@pytest.mark.statement("E2-121")
def test_the_leaf_of_a_chain_is_the_certificate_of_a_caller() -> None:
    """ClientCertificateRef of the partner; of several certificates the one that issued no other."""
    leaf, authority = certificate("gateway", "authority"), certificate("authority", "root")
    found = the_table(
        certificates_b=key_info("client", authority, leaf),
        client_b='<c:TransportClientSecurity><c:ClientCertificateRef c:certId="client"/>'
        "</c:TransportClientSecurity>",
    )
    assert found["caller_certificate"] == [certificate_of(leaf).fingerprint]


def test_the_leaf_of_a_chain_with_a_gap_is_not_its_root() -> None:
    """The root comes first, and the authority between the two is missing."""
    leaf, root = certificate("gateway", "authority"), certificate("root")
    found = the_table(
        certificates_b=key_info("client", root, leaf),
        client_b='<c:TransportClientSecurity><c:ClientCertificateRef c:certId="client"/>'
        "</c:TransportClientSecurity>",
    )
    assert found["caller_certificate"] == [certificate_of(leaf).fingerprint]


@pytest.mark.statement("E2-121")
def test_the_longer_of_two_plans_is_taken() -> None:
    """Receiver and sender have other Retries and RetryInterval."""
    found = imported(sender_a=reliable_messaging("8", "PT3H") + persist())
    [sent, _] = found.tables
    assert (sent.values["retries"], sent.values["retry_interval"]) == (8, 10_800)
    assert sent.values["persist_duration"] == "P1DT8H24M"
    assert any("the longer plan is taken" in line for line in found.notes)
    assert any("97200 s" in line and "116640 s are written" in line for line in found.notes)


COMMENTS = [
    ({"needs_a": 'c:timeToPerform="PT4H"'}, "NewOrder is to be done within PT4H"),
    ({"needs_a": 'c:timeToPerform="P180M"'}, "NewOrder is to be done within P180M"),
    (
        {
            "endpoints_b": endpoint("https://b.example.com/ebms")
            + endpoint("https://b.example.com/r", "response")
        },
        "endpoint of type response is https://b.example.com/r",
    ),
    (
        {
            "certificates_b": key_info("server"),
            "server_b": '<c:TransportServerSecurity><c:ServerCertificateRef c:certId="server"/>'
            "</c:TransportServerSecurity>",
        },
        f"shows CN=server (SHA-256 {certificate_of(certificate('server')).fingerprint}",
    ),
    (
        {"override_b": '<c:OverrideMshActionBinding c:action="Ping" c:channelId="b_in"/>'},
        "Ping of the MSH has the channel b_in",
    ),
    (
        {
            **SIGNED,
            "sender_b": reliable_messaging()
            + persist()
            + signs("seller", "http://www.w3.org/2000/09/xmldsig#rsa-sha1"),
        },
        "accept_sha1 = true",
    ),
    ({}, "The partner posts to https://a.example.com/ebms"),
]


@pytest.mark.statement("E2-121")
@pytest.mark.parametrize(("changes", "said"), COMMENTS)
def test_what_no_key_can_say_is_a_comment(changes: dict[str, str], said: str) -> None:
    """Above the table of the action that it is about."""
    assert any(
        said in line for line in imported(**changes).text.splitlines() if line.startswith("#")
    )


NOTES = [
    ({"version": "1.7"}, "warning: the CPA's version is '1.7'"),
    (
        {"client_b": "<c:AccessAuthentication>basic</c:AccessAuthentication>"},
        "warning: the partner shows a user and a password",
    ),
    (
        {"needs_a": 'c:timeToAcknowledgeReceipt="PT1H"'},
        "warning: NewOrder of urn:services:Orders: timeToAcknowledgeReceipt PT1H",
    ),
    ({"needs_a": 'c:retryCount="2"'}, "warning: NewOrder of urn:services:Orders: retryCount 2"),
    (
        {"needs_a": 'c:isIntelligibleCheckRequired="true"'},
        "warning: NewOrder of urn:services:Orders: isIntelligibleCheckRequired",
    ),
    (
        {
            "endpoints_b": endpoint("https://b.example.com/ebms")
            + endpoint("https://b.example.com/2")
        },
        "ignored: the endpoint 'https://b.example.com/2'",
    ),
    ({"after": "<c:SimplePart/>"}, "ignored: SimplePart (line"),
    ({"after": "<c:Packaging/>"}, "ignored: Packaging (line"),
    ({"after": "<c:Comment>hello</c:Comment>"}, "ignored: Comment (line"),
    ({"before": "<c:ConversationConstraints/>"}, "ignored: ConversationConstraints (line"),
    (
        {"certificates_b": "<c:SecurityDetails><c:TrustAnchors/></c:SecurityDetails>"},
        "ignored: TrustAnchors (line",
    ),
    ({"after": "<c:Signature/>"}, "warning: the CPA is signed, and its signature was not verified"),
    (SIGNED, "note: we sign with CN=buyer (SHA-256"),
    (
        {**SIGNED, "sender_a": reliable_messaging() + persist() + signs("buyer", "rsa-sha1")},
        "warning: our party signs with rsa-sha1, which is broken; rsa-sha256 is written",
    ),
    ({"start": "2027-01-01T00:00:00Z"}, "note: it begins at 2027-01-01T00:00:00+00:00"),
]


@pytest.mark.statement("E2-121", "E2-123")
@pytest.mark.parametrize(("changes", "said"), NOTES)
def test_what_is_ignored_or_changed_is_told(changes: dict[str, str], said: str) -> None:
    """One line for each, for stderr."""
    assert any(line.startswith(said) for line in imported(**changes).notes), imported(
        **changes
    ).notes


ENVELOPE = "<c:ReceiverDigitalEnvelope><x/></c:ReceiverDigitalEnvelope>"
PLAIN = {"allowed": Allowed(is_plain=True)}

REFUSED: list[tuple[str, dict[str, str], str, dict[str, Any] | None]] = [
    ("expired", {"end": "2026-06-01T00:00:00Z"}, "it ended at 2026-06-01", {"takes_expired": True}),
    (
        "ends before it begins",
        {"end": "2025-01-01T00:00:00Z"},
        "expected is an end after the start",
        {"takes_expired": True},
    ),
    (
        "http although protected",
        {
            "needs_a": 'c:isConfidential="transient"',
            "endpoints_b": endpoint("http://b.example.com/ebms"),
        },
        "needs a protected way",
        OPEN,
    ),
    (
        "our own http although protected",
        {"needs_back": 'c:isAuthenticated="transient"', "endpoint_a": "http://a.example.com/ebms"},
        "needs a protected way",
        OPEN,
    ),
    (
        "persistent confidentiality",
        {"needs_b": 'c:isConfidential="persistent"'},
        "is to be encrypted",
        PLAIN,
    ),
    (
        "a digital envelope",
        {"receiver_b": reliable_messaging() + persist() + ENVELOPE},
        "is to be encrypted",
        PLAIN,
    ),
    (
        "unsigned, but non-repudiation",
        {"needs_a": NR},
        "we who sign it have no SenderNonRepudiation",
        None,
    ),
    (
        "persistent, which takes a signature",
        {"needs_back": 'c:isTamperProof="persistent"'},
        "the partner who sign it have no SenderNonRepudiation",
        None,
    ),
    (
        "a signed receipt without a certificate",
        {"characteristics_b": characteristics(ackSignatureRequested="always")},
        "the partner who sign its acknowledgement",
        None,
    ),
    (
        "a PartyId without type that is no URI",
        {"ids_b": "<c:PartyId>222222222</c:PartyId>"},
        "PartyId '222222222' has no type and is not a URI",
        None,
    ),
    (
        "an unknown transport",
        {"protocol_b": "FTP"},
        "goes by 'FTP', expected is HTTP or SMTP",
        None,
    ),
    (
        "a password",
        {"access_b": "<c:AccessAuthentication>basic</c:AccessAuthentication>"},
        "AccessAuthentication",
        None,
    ),
    (
        "an acknowledgement without a plan",
        {"receiver_b": "", "sender_a": ""},
        "has no ReliableMessaging",
        None,
    ),
    (
        "an algorithm that nobody has",
        {**SIGNED, "sender_a": reliable_messaging() + persist() + signs("buyer", "dsa-sha1")},
        "signs with 'dsa-sha1'",
        None,
    ),
    (
        "a month",
        {"receiver_b": reliable_messaging(interval="P1M") + persist()},
        "a year or a month has no fixed length",
        None,
    ),
    (
        "no counterpart",
        {"other_a1": "<c:OtherPartyActionBinding>b7</c:OtherPartyActionBinding>"},
        "names 'b7', which the partner has not",
        None,
    ),
    (
        "another action",
        {"other_a1": "<c:OtherPartyActionBinding>b2</c:OtherPartyActionBinding>"},
        "is paired with CanSend 'OrderResponse'",
        None,
    ),
]


@pytest.mark.statement("E2-121", "E2-123")
@pytest.mark.parametrize(
    ("changes", "said", "wishes"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_cannot_be_kept_is_refused(
    changes: dict[str, str], said: str, wishes: dict[str, Any] | None
) -> None:
    """With the reason; and taken with a warning, where the operator has an option to say so."""
    with pytest.raises(CpaError, match=re.escape(said)):
        imported(**changes)
    if wishes is None:
        return
    assert any(line.startswith("warning:") for line in imported(wishes=wishes, **changes).notes)


@pytest.mark.statement("E2-123")
def test_a_proposed_cpa_is_written_as_comments() -> None:
    """Until the operator says that it is meant."""
    found = imported(status="proposed")
    assert all(line.startswith("#") for line in found.text.splitlines() if line)
    assert "# [[agreement]]" in found.text
    taken = imported(status="proposed", wishes={"takes_proposed": True})
    assert "\n[[agreement]]" in taken.text


def test_an_identity_that_nobody_has_is_refused_with_its_subject() -> None:
    """The configuration is known, and has other certificates."""
    with pytest.raises(CpaError, match=r"CN=buyer .*no \[\[identity\]\]"):
        imported(wishes={"identities": {"00": "other"}}, **SIGNED)
