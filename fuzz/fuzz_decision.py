"""Fuzzes the way from bytes to a decision: package, agreement, and what the receiver makes of it.

The input is a Content-Type, an empty line, and the body of a package to the gateway below.
"""

import tempfile
from pathlib import Path

from fuzz_package import Counted
from onceonly.gateway.config import Configuration, read_configuration
from onceonly.message.digest import content_digest
from onceonly.message.instant import Now
from onceonly.message.message import Message
from onceonly.protocol.receiving import Arrival, Case, Known, ReceivingPair, Reception, receive
from onceonly.steps.agreements import AdmittedMessage, Agreements
from onceonly.wire.envelope import Decoder
from onceonly.wire.header_digest import digests_of

CONFIGURATION = """
[gateway]
party = ["urn:duns:222222222"]
listen = "http://127.0.0.1:8402/msh"
uri = "http://b.example.com/ebxmlhandler/"
api = "http://127.0.0.1:8412"
store = "gateway.db"

[[agreement]]
id = "tpa-ab-1"
with = ["urn:duns:111111111"]
send_to = "http://a.example.com/ebxmlhandler/"
persist_duration = "P36500D"
"""


def _configured() -> Configuration:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gateway.toml"
        path.write_text(CONFIGURATION, "utf-8")
        return read_configuration(path)


_CONFIGURATION = _configured()
_AGREEMENTS = Agreements(_CONFIGURATION.agreements)
_NOW = Now(982_235_534_000_000, 0)


def decide(data: bytes) -> None:
    """A message once, its repeat never, and another message of its name by alarm."""
    content_type, _, body = data.partition(b"\r\n\r\n")
    decoder = Decoder(content_type.decode("latin-1"), Counted)
    decoder.feed(body)
    envelope = decoder.finish()
    if not isinstance(envelope.content, Message):
        return
    admitted = _AGREEMENTS.admit(
        envelope.content,
        envelope.routing,
        profile=envelope.profile,
        our_uris=frozenset({_CONFIGURATION.uri}),
    )
    for pair in (ReceivingPair(), ReceivingPair(sequence_number=1)):
        first = _received(admitted, None, pair)
        if first.case is Case.NEW and first.is_remembered:
            digest = content_digest(admitted.message.payloads)
            again = _received(admitted, Known(digest), first.pair)
            assert (again.case, again.pair) == (Case.DUPLICATE, first.pair)
            other = _received(admitted, Known("another"), first.pair)
            assert (other.case, other.pair) == (Case.COLLISION, first.pair)


def _received(admitted: AdmittedMessage, known: Known | None, pair: ReceivingPair) -> Reception:
    message = admitted.message
    digests = digests_of(message, admitted.agreement.profile)
    arrival = Arrival(
        message.message_id,
        digests.payloads,
        message.wants_ack,
        message.timestamp_at,
        admitted.sequence_number,
        message.time_to_live_at,
        admitted.terms.method,
        admitted.terms.sync_reply_mode,
        message.delivery_receipt_requested,
        digests.header,
        wants_elimination=message.is_eliminated,
    )
    return receive(arrival, known, pair, _NOW, admitted.terms)
