"""A configuration, and a request that somebody captured on its way to that gateway."""

CONFIGURATION = """\
[gateway]
party  = ["urn:duns:222222222"]
listen = "http://127.0.0.1:8401/msh"
api    = "http://127.0.0.1:8411"
store  = "seller.db"
lake   = "lake"

[[agreement]]
id      = "tpa-ab-1"
with    = ["urn:duns:111111111"]
send_to = "http://127.0.0.1:8402/msh"
"""

DOCUMENT = """\
<?xml version="1.0" encoding="UTF-8"?>
<ebXMLHeader xmlns="http://www.ebxml.org/namespaces/messageHeader" Version="0.21"\
 MessageType="Normal">
  <Manifest>
    <DocumentReference>
      <DocumentLabel>{label}</DocumentLabel>
      <DocumentId>cid:order</DocumentId>
    </DocumentReference>
  </Manifest>
  <Header>
    <From><PartyId>urn:duns:111111111</PartyId></From>
    <To><PartyId>urn:duns:222222222</PartyId></To>
    <TPAInfo>
      <TPAId>{agreement}</TPAId>
      <ConversationId>conv-1</ConversationId>
      <ServiceInterface>Ordering</ServiceInterface>
      <Action>New</Action>
    </TPAInfo>
    <MessageData>
      <MessageId>m-1@a.example.com</MessageId>
      <Timestamp>20260131T120000.000Z</Timestamp>
    </MessageData>
    <ReliableMessagingInfo>
      <DeliverySemantics>OnceAndOnlyOnce</DeliverySemantics>
    </ReliableMessagingInfo>
  </Header>
  <RoutingHeader>
    <SenderURI>http://127.0.0.1:8402/msh</SenderURI>
    <ReceiverURI>http://127.0.0.1:8401/msh</ReceiverURI>
    <ErrorURI>http://127.0.0.1:8402/msh</ErrorURI>
    <Timestamp>20260131T120000.000Z</Timestamp>
    <SequenceNumber>1</SequenceNumber>
  </RoutingHeader>
</ebXMLHeader>
"""
PACKAGE_TYPE = 'multipart/related; type="application/vnd.eb+xml"; version="0.21"; boundary="b"'
AT = ("--at", "2026-01-31T12:00:05Z")
PAYLOAD = b"<Order>\x1b[2Jsecret</Order>"


def body(agreement: str = "tpa-ab-1", label: str = "order.xml") -> bytes:
    document = DOCUMENT.format(agreement=agreement, label=label)
    parts = [
        ('application/vnd.eb+xml; version="0.21"', "header", document.encode()),
        ("application/xml", "order", PAYLOAD),
    ]
    return (
        b"".join(
            f"--b\r\nContent-Type: {kind}\r\nContent-ID: <{name}>\r\n\r\n".encode()
            + content
            + b"\r\n"
            for kind, name, content in parts
        )
        + b"--b--\r\n"
    )


def request(content: bytes, **fields: str) -> bytes:
    lines = [
        "POST /msh HTTP/1.1",
        "Host: 127.0.0.1:8401",
        f"Content-Type: {PACKAGE_TYPE}",
        f"Content-Length: {len(content)}",
        *(f"{name}: {value}" for name, value in fields.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + content
