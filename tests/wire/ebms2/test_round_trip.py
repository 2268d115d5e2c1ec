"""Whatever we write is read as the same value, signed or not, and is valid for everybody."""

from hashlib import sha256

from ebms2_samples import AT_US, decode, written
from hypothesis import given, settings
from hypothesis import strategies as st
from signed_samples import RSA_SHA256, forms_in, signed
from wire_samples import collected, joined

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.identity import PartyId
from onceonly.message.message import (
    MESSAGE_ORDER_MAX,
    AcknowledgmentElement,
    AckRequested,
    Actor,
    DeliverySemantics,
    Message,
    MessageOrder,
    Payload,
    SchemaLocation,
    SyncReplyMode,
)
from onceonly.message.signals import (
    Acknowledgment,
    ErrorEntry,
    ErrorSignal,
    Inquiry,
    InquiryKind,
    MessageStatus,
    Report,
    SignalHeader,
)
from onceonly.wire.ebms2.names import CODE_CONTEXT, CODES, SERVICE
from onceonly.wire.proof import check_digests
from onceonly.wire.signature import EnvelopeSigning, Signature, Signer

_VISIBLE = st.characters(
    min_codepoint=0x21,
    max_codepoint=0x2FFFF,
    exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp", "Cf", "Cn", "Co"),
)
IDENTIFIERS = st.text(_VISIBLE, min_size=1, max_size=20).filter(lambda one: one not in (".", ".."))
WORDS = st.lists(st.text(_VISIBLE, min_size=1, max_size=8), min_size=1, max_size=3).map(" ".join)
TEXTS = st.one_of(st.just(""), WORDS)
CONTENT_IDS = st.text(st.sampled_from("abcXYZ019@._-+&'\"#"), min_size=1, max_size=20)
INSTANTS = st.integers(0, AT_US // 1000 * 2).map(lambda ms: ms * 1000)
PARTIES = st.lists(
    st.builds(PartyId, IDENTIFIERS, IDENTIFIERS), min_size=1, max_size=3, unique_by=lambda p: p.type
).map(tuple)
ROLES = st.one_of(st.none(), WORDS)


def acknowledgments(actor: Actor) -> st.SearchStrategy[AcknowledgmentElement | None]:
    return st.one_of(
        st.none(),
        st.builds(
            AcknowledgmentElement,
            timestamp_at=INSTANTS,
            from_ids=st.one_of(st.just(()), PARTIES),
            actor=st.just(actor),
            ref_to_message_id=IDENTIFIERS,
        ),
    )


@st.composite
def payloads(draw) -> list[tuple[Payload, bytes]]:
    found = []
    for content_id in draw(st.lists(CONTENT_IDS, max_size=3, unique=True)):
        data = draw(st.binary(max_size=50))
        payload = Payload(
            content_id,
            "application/xml",
            len(data),
            sha256(data).hexdigest(),
            draw(TEXTS),
            draw(TEXTS),
            draw(TEXTS),
            draw(TEXTS),
            tuple(draw(st.lists(st.builds(SchemaLocation, WORDS, TEXTS), max_size=2))),
        )
        found.append((payload, data))
    return found


@st.composite
def messages(draw) -> tuple[Message, list[bytes]]:
    parts = draw(payloads())
    asked = draw(st.sampled_from(AckRequested))
    eliminates = draw(st.booleans())
    semantics = DeliverySemantics.AT_MOST_ONCE if eliminates else DeliverySemantics.BEST_EFFORT
    order, sync = (
        None,
        draw(st.sampled_from([SyncReplyMode.NONE, SyncReplyMode.SIGNALS_AND_RESPONSE])),
    )
    if asked is not AckRequested.NONE:
        semantics = DeliverySemantics.ONCE_AND_ONLY_ONCE
        if sync is SyncReplyMode.NONE:
            numbers = st.builds(MessageOrder, st.integers(0, MESSAGE_ORDER_MAX))
            order = draw(st.one_of(st.none(), numbers, st.just(MessageOrder(0, is_reset=True))))
    message = Message(
        message_id=draw(IDENTIFIERS),
        from_ids=draw(PARTIES),
        to_ids=draw(PARTIES),
        agreement_id=draw(IDENTIFIERS),
        conversation_id=draw(IDENTIFIERS),
        service=draw(WORDS.filter(lambda one: one != SERVICE)),
        service_type=draw(IDENTIFIERS),
        action=draw(WORDS),
        timestamp_at=draw(INSTANTS),
        semantics=semantics,
        ref_to_message_id=draw(st.one_of(st.none(), IDENTIFIERS)),
        payloads=tuple(payload for payload, _ in parts),
        time_to_live_at=draw(st.one_of(st.none(), INSTANTS)),
        sync_reply_mode=sync,
        acknowledgment=draw(acknowledgments(Actor.TO_PARTY_MSH)),
        from_role=draw(ROLES),
        to_role=draw(ROLES),
        duplicate_elimination=eliminates,
        ack_requested=asked,
        next_ack_requested=draw(st.sampled_from(AckRequested)),
        next_acknowledgment=draw(acknowledgments(Actor.NEXT_MSH)),
        order=order,
        description=draw(TEXTS),
    )
    return message, [data for _, data in parts]


ERRORS = st.builds(
    ErrorEntry,
    code=st.sampled_from([code for code in CODES.values() if code is not ErrorCode.UNKNOWN]),
    severity=st.sampled_from(Severity),
    description=TEXTS,
    location=TEXTS,
) | st.builds(
    ErrorEntry,
    code=st.just(ErrorCode.UNKNOWN),
    severity=st.sampled_from(Severity),
    description=TEXTS,
    code_text=WORDS.filter(lambda one: one not in CODES),
    code_context=TEXTS.filter(lambda one: one != CODE_CONTEXT),
)


@st.composite
def signals(draw):
    about = draw(IDENTIFIERS)
    kind = draw(st.sampled_from(["ack", "error", "ping", "status", "pong", "report"]))
    header = SignalHeader(
        message_id=draw(IDENTIFIERS),
        from_ids=draw(PARTIES),
        to_ids=draw(PARTIES),
        agreement_id=draw(IDENTIFIERS),
        conversation_id=draw(IDENTIFIERS),
        timestamp_at=draw(INSTANTS),
        ref_to_message_id="" if kind == "ping" else about,
        from_role=draw(ROLES),
        to_role=draw(ROLES),
        wants_sync_reply=draw(st.booleans()),
    )
    match kind:
        case "ack":
            element = AcknowledgmentElement(
                timestamp_at=draw(INSTANTS), from_ids=draw(PARTIES), ref_to_message_id=about
            )
            return Acknowledgment(header, element)
        case "error":
            return ErrorSignal(header, tuple(draw(st.lists(ERRORS, min_size=1, max_size=3))))
        case "ping":
            return Inquiry(header, InquiryKind.PING)
        case "status":
            return Inquiry(header, InquiryKind.STATUS)
        case "pong":
            return Report(header=header, kind=InquiryKind.PING)
    return Report(
        header=header,
        kind=InquiryKind.STATUS,
        about=draw(IDENTIFIERS),
        status=draw(st.sampled_from(MessageStatus)),
        received_at=draw(st.one_of(st.none(), INSTANTS)),
    )


@given(messages())
def test_a_message_is_read_as_it_was_written(drawn):
    message, datas = drawn
    package = written(message)
    envelope = decode(joined(package, datas), package.content_type)
    assert (envelope.content, collected(envelope)) == (message, datas)


@given(signals())
def test_a_signal_is_read_as_it_was_written(signal):
    package = written(signal)
    assert decode(joined(package), package.content_type).content == signal


SIGNER = Signer(method=RSA_SHA256, certificate=b"DER", sign=lambda data: sha256(data).digest())


@given(messages(), st.booleans())
@settings(max_examples=50)
def test_a_signature_covers_every_message_that_can_be_written(drawn, is_exclusive):
    """What the writer digested is what the reader digests, and what the key signed as well."""
    message, datas = drawn
    how = EnvelopeSigning(signer=SIGNER, is_exclusive=is_exclusive)
    envelope = decode(*signed(message, how, datas))
    assert envelope.content == message
    assert isinstance(envelope.signature, Signature)
    forms = forms_in(envelope)
    names = [payload.content_id for payload in message.payloads]
    check_digests(envelope.signature, forms, envelope.part_digests, names)
    assert envelope.signature.value == sha256(forms.signed_info).digest()
