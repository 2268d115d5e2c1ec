"""The digest of a header: over what its From Party said, and over nothing else."""

import json
from hashlib import sha256

import pytest
import rm2001_samples
import wire_samples
from wire_samples import MESSAGE, decode, decode_document, edited

from onceonly.message.digest import Digests
from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AckRequested,
    DeliverySemantics,
    Message,
    Payload,
    SyncReplyMode,
)
from onceonly.message.profile import Profile
from onceonly.message.word import changed
from onceonly.wire.header_digest import digests_of, header_digest

GOLDEN = wire_samples.GOLDEN.parent
PINNED = json.loads((GOLDEN / "header-digests.json").read_text(encoding="utf-8"))
PROFILES = {"rm2000": Profile.RM_2000, "rm2001": Profile.RM_2001}
PACKAGE_TYPES = {
    "rm2000": wire_samples.PACKAGE_TYPE,
    "rm2001": rm2001_samples.PACKAGE_TYPE,
}
XML = Payload("p1", "application/xml", 8, "a" * 64, "order.xml")
WITH_PAYLOAD = changed(MESSAGE, payloads=(XML,))


def of(message: Message, profile: Profile = Profile.RM_2000) -> str:
    return header_digest(message, profile)


def typed(content_type: str) -> Message:
    return changed(MESSAGE, payloads=(changed(XML, content_type=content_type),))


@pytest.mark.statement(ruling="R-37")
def test_it_is_the_hash_of_this_text():
    """Byte by byte, so that anybody can compute it."""
    message = changed(
        WITH_PAYLOAD,
        from_ids=(PartyId("urn:duns:111111111"), PartyId("Käufer", "name")),
        payloads=(XML, changed(XML, content_type='Text/XML; Charset="UTF-8"; name=a.xml; a="b c"')),
    )
    text = (
        "7:rm-2000|1:2|~|18:urn:duns:111111111|4:name|6:Käufer|1:1|~|18:urn:duns:222222222"
        "|8:tpa-ab-1|6:conv-1|~|14:QuoteToCollect|16:NewPurchaseOrder|20:m-0001@a.example.com|~"
        "|15:OnceAndOnlyOnce|1:2|15:application/xml|30:text/xml; a=b c; charset=UTF-8"
    )
    assert of(message) == sha256(text.encode()).hexdigest()


@pytest.mark.statement(ruling="R-37")
@pytest.mark.parametrize("name", PINNED)
def test_it_is_pinned_for_what_was_ever_sent(name: str):
    """Journals of years ago are compared with it: golden values."""
    folder = name.partition("/")[0]
    envelope = decode((GOLDEN / f"{name}.mime").read_bytes(), PACKAGE_TYPES[folder])
    assert isinstance(envelope.content, Message)
    assert of(envelope.content, PROFILES[folder]) == PINNED[name]


@pytest.mark.statement(ruling="R-37")
@pytest.mark.parametrize(
    "change",
    [
        {"from_ids": (PartyId("urn:duns:111111112"),)},
        {"from_ids": (PartyId("urn:duns:111111111", "URI"),)},
        {"from_ids": (*MESSAGE.from_ids, PartyId("buyer", "name"))},
        {"to_ids": (PartyId("urn:duns:222222223"),)},
        {"agreement_id": "tpa-ab-2"},
        {"conversation_id": "conv-2"},
        {"service": "Another"},
        {"action": "Another"},
        {"message_id": "m-0002@a.example.com"},
        {"ref_to_message_id": "m-0000@b.example.com"},
        {"semantics": DeliverySemantics.BEST_EFFORT},
        {"leaves_semantics": True},
        {"payloads": ()},
        {"payloads": (XML, XML)},
        {"payloads": (changed(XML, content_type="text/xml"),)},
        {"payloads": (changed(XML, content_type="application/xml; charset=utf-8"),)},
    ],
    ids=str,
)
def test_what_the_from_party_said_is_in_it(change: dict[str, object]):
    """Each of these is another message under the same MessageId."""
    assert of(changed(WITH_PAYLOAD, **change)) != of(WITH_PAYLOAD)


@pytest.mark.statement(ruling="R-37")
@pytest.mark.parametrize(
    "change",
    [
        {"timestamp_at": 1},
        {"time_to_live_at": 1},
        {"sync_reply_mode": SyncReplyMode.SIGNALS_ONLY},
        {"delivery_receipt_requested": AckRequested.UNSIGNED},
        {"payloads": (changed(XML, content_id="p2", name="other.xml", digest="b" * 64),)},
    ],
    ids=str,
)
def test_what_may_be_said_anew_is_not_in_it(change: dict[str, object]):
    """Some products stamp each transmission anew; Content-IDs and labels are spelling."""
    assert of(changed(WITH_PAYLOAD, **change)) == of(WITH_PAYLOAD)


@pytest.mark.statement(ruling="R-37")
def test_the_profile_is_in_it():
    """The same words under other rules are another message."""
    assert of(MESSAGE) != of(MESSAGE, Profile.RM_2001)


@pytest.mark.statement(ruling="R-37")
@pytest.mark.parametrize(
    "spelling",
    [
        'TEXT/XML;charset="utf-8";a=b',
        "text/xml; a=b; Charset=utf-8",
        'text/xml; name="Bestellung.xml"; charset=utf-8; a="\\b"',
    ],
)
def test_a_type_has_one_spelling(spelling: str):
    """Quotes, order and capitals of names, and the label in it, say nothing."""
    assert of(typed(spelling)) == of(typed("text/xml; charset=utf-8; a=b"))


@pytest.mark.statement(ruling="R-37")
def test_the_spelling_of_a_document_is_not_in_it():
    """White space, comments and hops may differ between two copies of one message."""
    other = edited(
        ("<Action>New", "<Action> <!-- a hop was here -->New"),
        ("<SequenceNumber>000000001", "<SequenceNumber>000000007"),
        ("<TPAId>tpa-ab-1", "<TPAId>\n  tpa-ab-1"),
    )
    first, second = (decode_document(one).content for one in (wire_samples.DOCUMENT, other))
    assert isinstance(first, Message)
    assert isinstance(second, Message)
    assert of(first) == of(second)
    assert digests_of(first, Profile.RM_2000) == Digests(
        sha256(wire_samples.PAYLOAD).hexdigest(), of(first)
    )
