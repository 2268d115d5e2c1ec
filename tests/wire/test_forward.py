"""What was received goes one hop further with one more RoutingHeader, and nothing else changes."""

import pytest
import rm2001_samples
import wire_samples
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import NAMESPACE, ROOT_ID, body_of, collected, decode, joined, part

from onceonly.message.errors import LocalError
from onceonly.message.message import Message, RoutingHeader
from onceonly.message.profile import PROFILES, Profile
from onceonly.message.word import changed
from onceonly.wire.envelope import Envelope, boundary_for, forward

BOUNDARY = boundary_for("0123456789abcdef")
ROUTER = RoutingHeader(
    sender_uri="http://router.example.com/?a=1&b=2",
    receiver_uri="http://c.example.com/ebxmlhandler/",
    error_uri="http://router.example.com/errors",
    timestamp_at=982_235_534_000_000,
)
HOPS = {Profile.RM_2000: changed(ROUTER, sequence_number=1), Profile.RM_2001: ROUTER}
SAMPLES = {Profile.RM_2000: wire_samples, Profile.RM_2001: rm2001_samples}
DOCUMENTS = {profile: samples.DOCUMENT for profile, samples in SAMPLES.items()}
LAST_TAG = "</RoutingHeader>"
OLDER = tuple(one for one in PROFILES if one.has_routing_headers)
both_profiles = pytest.mark.parametrize("profile", OLDER, ids=lambda one: one.name)


def received(document: bytes, profile: Profile, charset: str = "utf-8") -> Envelope:
    """What an MSH receives with this header document."""
    samples = SAMPLES[profile]
    header_type = samples.HEADER_TYPE.replace("utf-8", charset)
    head = f"Content-Type: {header_type}\r\nContent-ID: <{ROOT_ID}>\r\n"
    payload = part(wire_samples.PAYLOAD_HEAD, wire_samples.PAYLOAD)
    parts = [payload] if "cid:" in document.decode(charset) else []
    return decode(body_of(part(head, document), *parts), samples.PACKAGE_TYPE)


def forwarded(envelope: Envelope) -> Envelope:
    """What the next MSH receives."""
    package = forward(
        envelope, HOPS[envelope.profile], boundary=BOUNDARY, root_content_id="header-2"
    )
    return decode(joined(package, collected(envelope)), package.content_type)


def check_only_a_hop_was_added(before: Envelope, after: Envelope, charset: str = "utf-8") -> None:
    """The content is the same, the hop is the last one, and cutting it out gives the old bytes."""
    assert after.content == before.content
    assert after.profile is before.profile
    assert after.routing == (*before.routing, HOPS[before.profile])
    assert collected(after) == collected(before)
    old, new = before.header.decode(charset), after.header.decode(charset)
    end = old.rindex(LAST_TAG) + len(LAST_TAG)
    added = len(new) - len(old)
    assert new[:end] + new[end + added :] == old
    assert new[end : end + added].strip().endswith(LAST_TAG)


@pytest.mark.statement("S0-80", "S0-89", "S1-45")
@both_profiles
def test_a_forwarded_message_is_the_received_one_with_one_more_hop(profile):
    """Header bytes are equal on both hops, the count of RoutingHeaders grows by one."""
    before = received(DOCUMENTS[profile].encode(), profile)
    after = forwarded(before)
    check_only_a_hop_was_added(before, after)
    assert b"xmlns=" not in after.header.partition(b"<RoutingHeader")[2]


@both_profiles
def test_a_message_can_be_forwarded_as_often_as_hops_are_allowed(profile):
    """Each router adds its own behind the one before."""
    envelope = received(DOCUMENTS[profile].encode(), profile)
    for count in range(2, 17):
        envelope = forwarded(envelope)
        assert len(envelope.routing) == count
    assert envelope.routing[1:] == (HOPS[profile],) * 15


@both_profiles
def test_line_ends_and_layout_of_the_sender_are_kept(profile):
    """CRLF, LF, or everything in one line."""
    text = DOCUMENTS[profile]
    for document in (text.replace("\n", "\r\n"), text.replace("\n", "")):
        before = received(document.encode(), profile)
        check_only_a_hop_was_added(before, forwarded(before))


@both_profiles
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_a_document_in_utf_16_stays_in_it(codec, profile):
    """The added element is written in the document's own encoding, under its byte order mark."""
    text = DOCUMENTS[profile].replace('encoding="UTF-8"', 'encoding="UTF-16"')
    text = text.replace("NewPurchaseOrder", "\U0001f600 Größe")
    before = received(("\ufeff" + text).encode(codec), profile, "utf-16")
    after = forwarded(before)
    check_only_a_hop_was_added(before, after, "utf-16")
    assert after.header[:2] == before.header[:2]


@both_profiles
@pytest.mark.parametrize("start", ["\ufeff", "\ufeff<?xml version='1.0'?>", ""])
def test_mark_and_declaration_are_kept_as_they_are(start, profile):
    """Each may be there or not."""
    text = DOCUMENTS[profile]
    document = start + text[text.index("<ebXMLHeader") :]
    before = received(document.encode(), profile)
    after = forwarded(before)
    check_only_a_hop_was_added(before, after)
    assert after.header.startswith(document[:40].encode())


@both_profiles
def test_a_sender_with_other_prefixes_gets_a_hop_that_says_its_namespace(profile):
    """What an unprefixed name means there is not for us to guess."""
    text = DOCUMENTS[profile]
    opening = "<RoutingHeader" if profile is Profile.RM_2000 else "<RoutingHeader "
    prefixed = text.replace(opening, opening.replace("<", "<e:")).replace(
        "</RoutingHeader>", "</e:RoutingHeader>"
    )
    prefixed = prefixed.replace("<ebXMLHeader ", f'<ebXMLHeader xmlns:e="{NAMESPACE}" ')
    before = received(prefixed.encode(), profile)
    after = forwarded(before)
    assert after.content == before.content
    assert after.routing == (*before.routing, HOPS[profile])
    added = (
        f'\r\n{"    " if profile is Profile.RM_2001 else "  "}<RoutingHeader xmlns="{NAMESPACE}"'
    )
    assert added.encode() in after.header
    assert len(forwarded(after).routing) == 3


@both_profiles
def test_a_namespace_of_the_hop_before_does_not_reach_its_sibling(profile):
    """A declaration on the last RoutingHeader itself ends with it."""
    text = DOCUMENTS[profile].replace(f'xmlns="{NAMESPACE}"', f'xmlns:e="{NAMESPACE}"', 1)
    elements = text.replace("<?xml", "\0").replace("</", "\1").replace("<", "<e:")
    prefixed = elements.replace("\0", "<?xml").replace("\1", "</e:")
    hop_start = prefixed.index(
        "<e:RoutingHeader>" if profile is Profile.RM_2000 else "<e:RoutingHeader "
    )
    hop_end = prefixed.index("</e:RoutingHeader>") + len("</e:RoutingHeader>")
    hop = prefixed[hop_start:hop_end].replace("e:", "", 1).replace("<e:", "<").replace("</e:", "</")
    hop = hop.replace("<RoutingHeader", f'<RoutingHeader xmlns="{NAMESPACE}"', 1)
    document = prefixed[:hop_start] + hop + prefixed[hop_end:]
    before = received(document.encode(), profile)
    after = forwarded(before)
    assert after.routing == (*before.routing, HOPS[profile])
    assert after.header.count(f'<RoutingHeader xmlns="{NAMESPACE}"'.encode()) == 2


@both_profiles
def test_a_routing_header_in_another_place_is_not_taken_for_the_last(profile):
    """X12: an element that is skipped may hold anything, and gets nothing."""
    decoy = (
        "<x:Via xmlns:x='urn:x'><x:In><RoutingHeader><SenderURI>http://evil/</SenderURI>"
        "</RoutingHeader></x:In><RoutingHeader a='>'/></x:Via>"
    )
    document = DOCUMENTS[profile].replace("</ebXMLHeader>", f"{decoy}</ebXMLHeader>")
    before = received(document.encode(), profile)
    after = forwarded(before)
    assert after.routing == (*before.routing, HOPS[profile])
    assert after.header.endswith(f"{decoy}</ebXMLHeader>\n".encode())


@both_profiles
def test_a_namespace_with_a_space_in_it_is_carried(profile):
    """Found by fuzzing: the second look at the document takes what the first one took."""
    document = DOCUMENTS[profile].replace("<ebXMLHeader ", "<ebXMLHeader xmlns:s='a b' ")
    before = received(document.encode(), profile)
    check_only_a_hop_was_added(before, forwarded(before))


@both_profiles
def test_signals_pass_too(profile):
    """An acknowledgement or an error on its way upstream has no payload, and keeps its header."""
    hop = changed(HOPS[profile], sequence_number=None)
    signal = (
        wire_samples.signal_document("Acknowledgement")
        if profile is Profile.RM_2000
        else rm2001_samples.signal_document("MessageAcknowledgment", "Acknowledgment")
    )
    before = received(signal.encode(), profile)
    package = forward(before, hop, boundary=BOUNDARY, root_content_id="header-2")
    after = decode(joined(package), package.content_type)
    assert (after.content, after.routing) == (before.content, (*before.routing, hop))


@both_profiles
def test_a_root_id_that_is_a_payloads_is_refused(profile):
    """Two parts of a package never share a Content-ID."""
    envelope = received(DOCUMENTS[profile].encode(), profile)
    with pytest.raises(LocalError):
        forward(
            envelope,
            HOPS[profile],
            boundary=BOUNDARY,
            root_content_id="po-1@a.example.com",
        )


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["C"], exclude_characters="<&"), max_size=60
)


@both_profiles
@given(extra=TEXT, place=st.sampled_from(["<Action>", "</Header>", "</ebXMLHeader>"]))
def test_whatever_we_do_not_know_goes_on_unchanged(extra, place, profile):
    """Elements of the real drafts that we skip are carried to the byte."""
    unknown = f"<z:Extra xmlns:z='urn:z' a='{extra.replace(chr(39), '')}'>{extra}</z:Extra>"
    document = DOCUMENTS[profile].replace(place, unknown + place)
    before = received(document.encode(), profile)
    check_only_a_hop_was_added(before, forwarded(before))


def test_payloads_keep_order_types_and_ids():
    """Two payloads, one of which came in base64: the same bytes go on under the same names."""
    second = (
        "    <DocumentReference><DocumentId>cid:bin-2</DocumentId></DocumentReference>\n"
        "  </Manifest>"
    )
    document = wire_samples.edited(("  </Manifest>", second))
    encoded = (
        "Content-Type: a/b; c=d\r\nContent-ID: <bin-2>\r\nContent-Transfer-Encoding: base64\r\n"
    )
    before = decode(
        body_of(
            wire_samples.header_part(document),
            part(encoded, b"AP8N\r\nCg==\r\n"),
            part(wire_samples.PAYLOAD_HEAD, wire_samples.PAYLOAD),
        )
    )
    after = forwarded(before)
    assert isinstance(after.content, Message)
    assert after.content == before.content
    assert [payload.content_type for payload in after.content.payloads] == [
        "a/b; c=d",
        "application/xml",
    ]
    assert collected(after) == [b"\x00\xff\r\n", wire_samples.PAYLOAD]
