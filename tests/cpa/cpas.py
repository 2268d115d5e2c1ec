"""A CPA between a buyer and a seller, of which a test changes what its claim is about.

The buyer sends `NewOrder` and the seller `OrderResponse`, each to the other's channel of messages;
signals have a channel of their own.
"""

import base64
import re
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from onceonly.gateway.cpa import Imported, Wishes, import_cpa
from onceonly.message.instant import from_datetime

NOW_AT = from_datetime(datetime(2026, 11, 1, tzinfo=UTC))
BUYER, SELLER = "urn:duns:111111111", "222222222"
SELLER_TYPE = "urn:oasis:names:tc:ebxml-cppa:partyid-type:duns"

TO_PARTY = "urn:oasis:names:tc:ebxml-msg:actor:toPartyMSH"
NEXT = "urn:oasis:names:tc:ebxml-msg:actor:nextMSH"

RELIABLE = (
    'c:syncReplyMode="none" c:ackRequested="always" c:ackSignatureRequested="never" '
    'c:duplicateElimination="always"'
)
SIGNALS = 'c:syncReplyMode="none" c:ackRequested="never" c:duplicateElimination="never"'


def reliable_messaging(retries: str = "3", interval: str = "PT5M", order: str = "Not") -> str:
    """The element with another plan."""
    return (
        f"<c:ReliableMessaging><c:Retries>{retries}</c:Retries>"
        f"<c:RetryInterval>{interval}</c:RetryInterval>"
        f"<c:MessageOrderSemantics>{order}Guaranteed</c:MessageOrderSemantics></c:ReliableMessaging>"
    )


def persist(duration: str = "P1D") -> str:
    """PersistDuration."""
    return f"<c:PersistDuration>{duration}</c:PersistDuration>"


def signs(name: str, algorithm: str = "rsa-sha256") -> str:
    """SenderNonRepudiation with the certificate of that certId."""
    return (
        "<c:SenderNonRepudiation><c:NonRepudiationProtocol>x</c:NonRepudiationProtocol>"
        "<c:HashFunction>sha256</c:HashFunction>"
        f"<c:SignatureAlgorithm>{algorithm}</c:SignatureAlgorithm>"
        f'<c:SigningCertificateRef c:certId="{name}"/></c:SenderNonRepudiation>'
    )


@cache
def certificate(name: str, issuer: str | None = None) -> bytes:
    """A certificate in DER, the same each time that a test asks for its name."""
    key = ec.generate_private_key(ec.SECP256R1())
    begins = datetime(2026, 1, 1, tzinfo=UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer or name)]))
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(days=700))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(Encoding.DER)


def key_info(name: str, *ders: bytes) -> str:
    """A Certificate element; without `ders` it has one certificate with the name as its subject."""
    inside = "".join(
        f"<d:X509Certificate>{base64.b64encode(der).decode()}</d:X509Certificate>"
        for der in ders or (certificate(name),)
    )
    return (
        f'<c:Certificate c:certId="{name}"><d:KeyInfo><d:X509Data>{inside}</d:X509Data>'
        "</d:KeyInfo></c:Certificate>"
    )


def characteristics(**words: str) -> str:
    """MessagingCharacteristics with some other words."""
    text = RELIABLE
    for name, word in words.items():
        text = re.sub(rf' ?c:{name}="\w+"', "", text)
        if word:
            text += f' c:{name}="{word}"'
    return text


def endpoint(uri: str, kind: str | None = None) -> str:
    given = "" if kind is None else f' c:type="{kind}"'
    return f'<c:Endpoint c:uri="{uri}"{given}/>'


WHOLE = """<?xml version="1.0" encoding="UTF-8"?>
<c:CollaborationProtocolAgreement
  xmlns:c="http://www.oasis-open.org/committees/ebxml-cppa/schema/cpp-cpa-2_0.xsd"
  xmlns:d="http://www.w3.org/2000/09/xmldsig#" xmlns:xlink="http://www.w3.org/1999/xlink"
  c:cpaid="@cpaid@" c:version="@version@">
 <c:Status c:value="@status@"/><c:Start>@start@</c:Start><c:End>@end@</c:End>@before@
 <c:PartyInfo c:partyName="Buyer" c:defaultMshChannelId="a_msh">
  @ids_a@
  <c:CollaborationRole>
   <c:Role c:name="Buyer"/>
   <c:ServiceBinding>
    <c:Service@service_type@>@service@</c:Service>
    <c:CanSend>
     <c:ThisPartyActionBinding c:id="a1" c:action="NewOrder" c:packageId="p">
      <c:BusinessTransactionCharacteristics @needs_a@/>@channels_a1@
     </c:ThisPartyActionBinding>@other_a1@@inside_a1@
    </c:CanSend>
    <c:CanReceive>
     <c:ThisPartyActionBinding c:id="a2" c:action="OrderResponse" c:packageId="p">
      <c:BusinessTransactionCharacteristics @needs_back@/><c:ChannelId>a_in</c:ChannelId>
     </c:ThisPartyActionBinding>
     <c:OtherPartyActionBinding>b2</c:OtherPartyActionBinding>
    </c:CanReceive>
   </c:ServiceBinding>
  </c:CollaborationRole>
  @certificates_a@
  <c:DeliveryChannel c:channelId="a_in" c:transportId="a_t" c:docExchangeId="a_de">
   <c:MessagingCharacteristics @characteristics_a@/></c:DeliveryChannel>
  <c:DeliveryChannel c:channelId="a_msh" c:transportId="a_t" c:docExchangeId="a_be">
   <c:MessagingCharacteristics @signals@/></c:DeliveryChannel>
  <c:Transport c:transportId="a_t">
   <c:TransportSender><c:TransportProtocol c:version="1.1">@protocol_a@</c:TransportProtocol>
    @client_a@</c:TransportSender>
   <c:TransportReceiver><c:TransportProtocol c:version="1.1">@protocol_a@</c:TransportProtocol>
    <c:Endpoint c:uri="@endpoint_a@" c:type="allPurpose"/></c:TransportReceiver>
  </c:Transport>
  <c:DocExchange c:docExchangeId="a_de">
   <c:ebXMLSenderBinding c:version="2.0">@sender_a@</c:ebXMLSenderBinding>
   <c:ebXMLReceiverBinding c:version="2.0">@receiver_a@</c:ebXMLReceiverBinding>
  </c:DocExchange>
  <c:DocExchange c:docExchangeId="a_be">
   <c:ebXMLSenderBinding c:version="2.0"/><c:ebXMLReceiverBinding c:version="2.0"/>
  </c:DocExchange>
 </c:PartyInfo>
 <c:PartyInfo c:partyName="Seller" c:defaultMshChannelId="@default_b@">
  @ids_b@
  <c:CollaborationRole>
   <c:Role c:name="Seller"/>
   <c:ServiceBinding>
    <c:Service@service_type@>@service@</c:Service>
    <c:CanReceive>
     <c:ThisPartyActionBinding c:id="b1" c:action="NewOrder" c:packageId="p">
      <c:BusinessTransactionCharacteristics @needs_b@/>@channels_b1@
     </c:ThisPartyActionBinding>
     <c:OtherPartyActionBinding>a1</c:OtherPartyActionBinding>@inside_b1@
    </c:CanReceive>
    <c:CanSend>
     <c:ThisPartyActionBinding c:id="b2" c:action="OrderResponse" c:packageId="p">
      <c:BusinessTransactionCharacteristics @needs_back@/><c:ChannelId>b_in</c:ChannelId>
     </c:ThisPartyActionBinding>
     <c:OtherPartyActionBinding>a2</c:OtherPartyActionBinding>
    </c:CanSend>
   </c:ServiceBinding>
  </c:CollaborationRole>
  @certificates_b@
  <c:DeliveryChannel c:channelId="b_in" c:transportId="b_t" c:docExchangeId="b_de">
   <c:MessagingCharacteristics @characteristics_b@/></c:DeliveryChannel>
  <c:DeliveryChannel c:channelId="b_msh" c:transportId="b_signals" c:docExchangeId="b_be">
   <c:MessagingCharacteristics @signals@/></c:DeliveryChannel>@more_b@
  <c:Transport c:transportId="b_t">
   <c:TransportSender><c:TransportProtocol c:version="1.1">@protocol_b@</c:TransportProtocol>
    @client_b@</c:TransportSender>
   <c:TransportReceiver><c:TransportProtocol c:version="1.1">@protocol_b@</c:TransportProtocol>
    @access_b@@endpoints_b@@server_b@</c:TransportReceiver>
  </c:Transport>
  <c:Transport c:transportId="b_signals">
   <c:TransportSender><c:TransportProtocol>HTTP</c:TransportProtocol></c:TransportSender>
   <c:TransportReceiver><c:TransportProtocol>HTTP</c:TransportProtocol>
    <c:Endpoint c:uri="https://b.example.com/signals"/></c:TransportReceiver>
  </c:Transport>
  <c:DocExchange c:docExchangeId="b_de">
   <c:ebXMLSenderBinding c:version="2.0">@sender_b@</c:ebXMLSenderBinding>
   <c:ebXMLReceiverBinding c:version="2.0">@receiver_b@</c:ebXMLReceiverBinding>
  </c:DocExchange>
  <c:DocExchange c:docExchangeId="b_be">
   <c:ebXMLSenderBinding c:version="2.0"/><c:ebXMLReceiverBinding c:version="2.0"/>
  </c:DocExchange>@override_b@
 </c:PartyInfo>@after@
</c:CollaborationProtocolAgreement>
"""

USUAL = {
    "cpaid": "orders-2026",
    "version": "2_0b",
    "status": "agreed",
    "start": "2026-01-01T00:00:00Z",
    "end": "2030-01-01T00:00:00Z",
    "before": "",
    "after": "",
    "ids_a": f"<c:PartyId>{BUYER}</c:PartyId>",
    "ids_b": f'<c:PartyId c:type="{SELLER_TYPE}">{SELLER}</c:PartyId>',
    "service": "urn:services:Orders",
    "service_type": "",
    "needs_a": "",
    "needs_b": "",
    "needs_back": "",
    "channels_a1": "<c:ChannelId>a_in</c:ChannelId>",
    "channels_b1": "<c:ChannelId>b_in</c:ChannelId>",
    "other_a1": "<c:OtherPartyActionBinding>b1</c:OtherPartyActionBinding>",
    "inside_a1": "",
    "inside_b1": "",
    "certificates_a": "",
    "certificates_b": "",
    "characteristics_a": RELIABLE,
    "characteristics_b": RELIABLE,
    "signals": SIGNALS,
    "protocol_a": "HTTP",
    "protocol_b": "HTTP",
    "client_a": "",
    "client_b": "",
    "server_b": "",
    "access_b": "",
    "endpoint_a": "https://a.example.com/ebms",
    "endpoints_b": '<c:Endpoint c:uri="https://b.example.com/ebms" c:type="allPurpose"/>',
    "default_b": "b_msh",
    "more_b": "",
    "override_b": "",
    "sender_a": reliable_messaging() + persist(),
    "receiver_a": reliable_messaging() + persist(),
    "sender_b": reliable_messaging() + persist(),
    "receiver_b": reliable_messaging() + persist(),
}

NR = 'c:isNonRepudiationRequired="true"'
SIGNED = {
    "needs_a": NR,
    "certificates_a": key_info("buyer"),
    "certificates_b": key_info("seller"),
    "sender_a": reliable_messaging() + persist() + signs("buyer"),
    "sender_b": reliable_messaging() + persist() + signs("seller"),
}
"""Messages are signed, and both parties can."""

_PLACE = re.compile(r"@(\w+)@")


def cpa(**changes: str) -> bytes:
    """The document with other values at some of its places."""
    assert changes.keys() <= USUAL.keys()
    values = {**USUAL, **changes}
    text = _PLACE.sub(lambda place: values[place[1]], WHOLE)
    return text.encode()


def imported(
    party: str = BUYER, *, wishes: dict[str, Any] | None = None, **changes: str
) -> Imported:
    """What comes out of the document, for one side."""
    return import_cpa(cpa(**changes), Wishes(party=party, **(wishes or {})), NOW_AT)


def the_table(party: str = BUYER, *, wishes: dict[str, Any] | None = None, **changes: str) -> Any:
    """The values of the one table that comes out."""
    [table] = imported(party, wishes=wishes, **changes).tables
    return table.values


def beside(*parts: str) -> Path:
    """A file or folder beside the checkout, or skip the test that wants it."""
    path = Path(__file__).parents[3].joinpath("shared", *parts)
    if not path.exists():
        pytest.skip(f"{path.name}: the specification and its samples are not on this machine")
    return path
