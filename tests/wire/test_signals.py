"""Signals of both profiles: inquiries, reports, what acknowledgements say, and nothing lost."""

from pathlib import Path

import pytest
import rm2001_samples
import wire_samples
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import BOUNDARY, NAMESPACE, PAYLOAD, ROOT_ID, collected, decode, joined, payload

from onceonly.message.errors import ErrorCode, RemoteError, Severity
from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    DeliverySemantics,
    Message,
    ReliableMessagingMethod,
    RoutingHeader,
    SyncReplyMode,
)
from onceonly.message.profile import PROFILES, Profile
from onceonly.message.signals import (
    PLAIN_ACK,
    Acknowledgment,
    AckStatus,
    Assurance,
    ErrorEntry,
    ErrorSignal,
    Inquiry,
    InquiryKind,
    MessageStatus,
    Report,
    ReportedProcessing,
    Signal,
    SignalHeader,
)
from onceonly.message.word import changed
from onceonly.wire import names
from onceonly.wire.envelope import Content, Envelope, encode

GOLDEN = Path(__file__).parents[1] / "golden"
ROUTINGS = {
    Profile.RM_2000: wire_samples.SIGNAL_ROUTING,
    Profile.RM_2001: rm2001_samples.SIGNAL_ROUTING,
}
FOLDERS = {Profile.RM_2000: "rm2000", Profile.RM_2001: "rm2001"}
SIGNAL = rm2001_samples.SIGNAL
PING = changed(SIGNAL, ref_to_message_id="")
OLDER = tuple(one for one in PROFILES if one.has_routing_headers)
both_profiles = pytest.mark.parametrize("profile", OLDER, ids=lambda one: one.name)


def passed_on(
    content: Content, routing: RoutingHeader, profile: Profile, datas: tuple[bytes, ...] = ()
) -> Envelope:
    """What a peer makes of `content`."""
    package = encode(content, routing, profile=profile, boundary=BOUNDARY, root_content_id=ROOT_ID)
    return decode(joined(package, datas), package.content_type)


# --- Inquiries and reports, pinned -------------------------------------------------------------

REPORTS = {
    "pong": Report(header=SIGNAL, kind=InquiryKind.PING, is_accepted=False),
    "status-response": Report(
        header=SIGNAL,
        kind=InquiryKind.STATUS,
        about="m-0001@a.example.com",
        status=MessageStatus.RECEIVED,
        processing=ReportedProcessing.IN_PROGRESS,
        received_at=982_235_533_250_000,
    ),
    "status-response-not-recognized": Report(
        header=SIGNAL, kind=InquiryKind.STATUS, about="<m>", status=MessageStatus.NOT_RECOGNIZED
    ),
    "cancel-response": Report(
        header=SIGNAL,
        kind=InquiryKind.CANCEL,
        about="m-0001@a.example.com",
        is_accepted=False,
        processing=ReportedProcessing.COMPLETE,
    ),
    "response-notice": Report(header=SIGNAL, kind=InquiryKind.RESPONSE, about="m-1"),
}
CASES: dict[str, Signal] = {
    "ping": Inquiry(PING, InquiryKind.PING),
    "status-request": Inquiry(SIGNAL, InquiryKind.STATUS),
    "cancel-request": Inquiry(SIGNAL, InquiryKind.CANCEL),
    "response-request": Inquiry(SIGNAL, InquiryKind.RESPONSE),
    **REPORTS,
    "acknowledgement-with-status": Acknowledgment(
        SIGNAL, status=AckStatus(Assurance.CONTENT, is_passed_on=True)
    ),
}


@both_profiles
@pytest.mark.parametrize("name", CASES)
def test_an_encoding_is_the_golden_file_and_reads_back(name, profile):
    """What partners see changes only with a golden file."""
    content, routing = CASES[name], ROUTINGS[profile]
    package = encode(content, routing, profile=profile, boundary=BOUNDARY, root_content_id=ROOT_ID)
    assert joined(package) == (GOLDEN / FOLDERS[profile] / f"{name}.mime").read_bytes()
    envelope = decode(joined(package), package.content_type)
    assert (envelope.content, envelope.routing) == (content, (routing,))
    assert envelope.profile is profile


@pytest.mark.statement("S4-20")
@both_profiles
@pytest.mark.parametrize("kind", list(InquiryKind))
def test_an_inquiry_names_the_message_that_it_is_about(kind, profile):
    """A Ping is about none; the others are nothing without it."""
    header = PING if kind is InquiryKind.PING else SIGNAL
    content = passed_on(Inquiry(header, kind), ROUTINGS[profile], profile).content
    assert content == Inquiry(header, kind)
    text = passed_on(Inquiry(header, kind), ROUTINGS[profile], profile).header
    assert (b"RefToMessageId" in text) is (kind is not InquiryKind.PING)


@pytest.mark.statement("S4-21", "S4-23")
@both_profiles
@pytest.mark.parametrize("status", list(MessageStatus))
@pytest.mark.parametrize("processing", [None, *ReportedProcessing])
def test_every_status_has_a_word(status, processing, profile):
    """No record, received in four states of work, complete, forwarded, not yours."""
    report = changed(REPORTS["status-response"], status=status, processing=processing)
    assert passed_on(report, ROUTINGS[profile], profile).content == report


@pytest.mark.statement("S4-03", "S4-04", "S4-05")
@both_profiles
@pytest.mark.parametrize("assurance", list(Assurance))
@pytest.mark.parametrize("is_passed_on", [True, False])
def test_an_acknowledgement_says_how_far_the_receiver_looked(assurance, is_passed_on, profile):
    """Structure, content, passed on; the least of them takes no place on the wire."""
    status = AckStatus(assurance, is_passed_on)
    envelope = passed_on(Acknowledgment(SIGNAL, status=status), ROUTINGS[profile], profile)
    assert isinstance(envelope.content, Acknowledgment)
    assert envelope.content.status == status
    assert (names.EXTENSION.encode() in envelope.header) is (status != PLAIN_ACK)


# --- What is nearly a report -------------------------------------------------------------------


def edited(content: Content, profile: Profile, old: str, new: str) -> bytes:
    """The package of `content` with one edit in its header."""
    package = encode(
        content, ROUTINGS[profile], profile=profile, boundary=BOUNDARY, root_content_id=ROOT_ID
    )
    body = joined(package).decode()
    assert body.count(old) == 1, old
    return body.replace(old, new).encode()


PACKAGE_TYPES = {
    Profile.RM_2000: wire_samples.PACKAGE_TYPE,
    Profile.RM_2001: rm2001_samples.PACKAGE_TYPE,
}


def read(content: Content, profile: Profile, old: str, new: str) -> Content:
    return decode(edited(content, profile, old, new), PACKAGE_TYPES[profile]).content


def refusal(content: Content, profile: Profile, old: str, new: str) -> ErrorCode:
    with pytest.raises(RemoteError) as refused:
        read(content, profile, old, new)
    return refused.value.code


@both_profiles
def test_a_pong_of_a_peer_that_does_not_know_us_says_yes(profile):
    """It came, so the peer is there and takes messages."""
    line = '  <Report xmlns="urn:onceonly:extension" accepted="false"/>\r\n'
    assert read(REPORTS["pong"], profile, line, "") == Report(header=SIGNAL, kind=InquiryKind.PING)
    about = 'about="m-1"/>'
    report = read(REPORTS["pong"], profile, 'accepted="false"/>', f'accepted="true" {about}')
    assert report == Report(header=SIGNAL, kind=InquiryKind.PING, about="m-1")


STATUS = REPORTS["status-response"]
CANCEL = REPORTS["cancel-response"]


@both_profiles
@pytest.mark.parametrize(
    ("report", "old", "new", "code"),
    [
        (STATUS, ' status="Received"', "", ErrorCode.OTHER_XML),
        (STATUS, '"Received"', '"received"', ErrorCode.VALUE_NOT_RECOGNIZED),
        (STATUS, '"in-progress"', '"done"', ErrorCode.VALUE_NOT_RECOGNIZED),
        (STATUS, 'receivedAt="', 'receivedAt="x', ErrorCode.VALUE_NOT_RECOGNIZED),
        (STATUS, ' about="m-0001@a.example.com"', "", ErrorCode.VALUE_NOT_RECOGNIZED),
        (STATUS, 'about="m-', 'about="m ', ErrorCode.VALUE_NOT_RECOGNIZED),
        (STATUS, "<Report ", "<Other ", ErrorCode.OTHER_XML),
        (STATUS, "<Report ", f'<Report xmlns="{names.EXTENSION}"/><Report ', ErrorCode.OTHER_XML),
        (CANCEL, ' accepted="false"', "", ErrorCode.OTHER_XML),
        (CANCEL, '"false"', '"no"', ErrorCode.VALUE_NOT_RECOGNIZED),
        (CANCEL, names.EXTENSION, "urn:other", ErrorCode.OTHER_XML),
    ],
)
def test_a_report_that_does_not_say_what_was_asked_is_refused(report, old, new, code, profile):
    """A cancel that nobody confirmed must not count as confirmed: nothing is guessed."""
    if old == "<Report " and new == "<Other ":
        old, new = f'<Report xmlns="{names.EXTENSION}"', f'<Other xmlns="{names.EXTENSION}"'
    assert refusal(report, profile, old, new) is code


@both_profiles
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"content"', '"everything"'),
        ('passedOn="true"', 'passedOn="yes"'),
    ],
)
def test_a_status_in_other_words_is_refused(old, new, profile):
    """What is in our namespace is read strictly; an unknown word could mean less."""
    content = CASES["acknowledgement-with-status"]
    assert refusal(content, profile, old, new) is ErrorCode.VALUE_NOT_RECOGNIZED


@both_profiles
def test_a_status_may_leave_out_what_is_least(profile):
    """Attributes that are absent claim nothing."""
    content = CASES["acknowledgement-with-status"]
    bare = read(content, profile, ' assurance="content" passedOn="true"', "")
    assert bare == Acknowledgment(SIGNAL)


@both_profiles
@pytest.mark.parametrize(
    ("name", "new", "code"),
    [
        ("status-request", "", ErrorCode.OTHER_XML),
        ("status-request", "<RefToMessageId/>", ErrorCode.VALUE_NOT_RECOGNIZED),
        ("pong", "", ErrorCode.OTHER_XML),
    ],
)
def test_a_signal_about_nothing_is_refused(name, new, code, profile):
    """Only a Ping asks about no message."""
    old = "      <RefToMessageId>m-0001@a.example.com</RefToMessageId>\r\n"
    assert refusal(CASES[name], profile, old, new) is code


@both_profiles
def test_a_ping_may_refer_to_a_message_but_not_to_nothing(profile):
    """Other products write a reference; it has no effect here, and must still be one."""
    old, filled = "</MessageData>", "<RefToMessageId>m-1</RefToMessageId></MessageData>"
    ping = read(CASES["ping"], profile, old, filled)
    assert ping == Inquiry(changed(PING, ref_to_message_id="m-1"), InquiryKind.PING)
    empty = "<RefToMessageId/></MessageData>"
    assert refusal(CASES["ping"], profile, old, empty) is ErrorCode.VALUE_NOT_RECOGNIZED


@pytest.mark.parametrize("name", ["ping", "status-request", "pong", "status-response"])
@pytest.mark.parametrize(
    "particulars", [rm2001_samples.ACKNOWLEDGMENT, rm2001_samples.ERROR_LIST], ids=["ack", "error"]
)
def test_an_inquiry_or_report_is_one_thing(name, particulars):
    """No second signal rides on it."""
    new = f"</RoutingHeaderList>{particulars}"
    code = refusal(CASES[name], Profile.RM_2001, "</RoutingHeaderList>", new)
    assert code is ErrorCode.OTHER_XML


@both_profiles
def test_what_others_add_in_their_own_names_is_skipped(profile):
    """A12: our extension is skipped by them, and theirs by us."""
    content = Acknowledgment(SIGNAL)
    new = '<AckStatus xmlns="urn:other" assurance="all"/></ebXMLHeader>'
    assert read(content, profile, "</ebXMLHeader>", new) == content
    new = f'<AckStatus xmlns="{NAMESPACE}" assurance="all"/></ebXMLHeader>'
    assert read(content, profile, "</ebXMLHeader>", new) == content


# --- Properties: whatever a value says comes back ----------------------------------------------

IDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=40
).filter(lambda text: text not in (".", ".."))
LINES = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), max_size=40)
MOMENTS = st.integers(-62_135_596_800_000, 253_402_300_799_999).map(lambda ms: ms * 1000)
URIS = IDS.map(lambda text: "urn:x:" + text.translate({ord(c): "-" for c in '<>"{}|\\^`'}))
PARTIES = st.one_of(
    st.tuples(URIS.map(PartyId)),
    st.lists(IDS, min_size=1, max_size=3, unique=True).map(
        lambda types: tuple(PartyId("party", type_) for type_ in types)
    ),
)
WIRE_SEMANTICS = st.sampled_from(
    [DeliverySemantics.ONCE_AND_ONLY_ONCE, DeliverySemantics.BEST_EFFORT]
)
SYNC_REPLY_MODES = st.sampled_from(
    [mode for mode in SyncReplyMode if mode is not SyncReplyMode.MSH_SIGNALS_ONLY]
)
CODES = st.sampled_from([code for code in ErrorCode if code is not ErrorCode.UNKNOWN])
ENTRIES = st.one_of(
    st.builds(
        ErrorEntry,
        code=CODES,
        severity=st.sampled_from(Severity),
        description=LINES,
        min_retry_s=st.none() | st.integers(0, 999_999_999),
    ),
    st.builds(
        ErrorEntry,
        code=st.just(ErrorCode.UNKNOWN),
        severity=st.sampled_from(Severity),
        code_text=IDS.map("x-{}".format),
    ),
)
ELEMENTS = st.builds(
    AcknowledgmentElement,
    timestamp_at=MOMENTS,
    from_ids=st.just(()) | PARTIES,
    is_signed=st.booleans(),
)


@st.composite
def headers(draw) -> SignalHeader:
    return SignalHeader(
        message_id=draw(IDS),
        from_ids=draw(PARTIES),
        to_ids=draw(PARTIES),
        agreement_id=draw(IDS),
        conversation_id=draw(IDS),
        timestamp_at=draw(MOMENTS),
        ref_to_message_id=draw(IDS),
    )


@st.composite
def signals(draw, profile: Profile) -> Signal:
    header = draw(headers())
    has_elements = profile is Profile.RM_2001
    kind = draw(st.sampled_from(InquiryKind))
    is_ping = kind is InquiryKind.PING
    match draw(st.integers(0, 3)):
        case 0:
            return Acknowledgment(
                header,
                draw(st.none() | ELEMENTS) if has_elements else None,
                draw(st.builds(AckStatus, st.sampled_from(Assurance), st.booleans())),
                is_receipt=has_elements and draw(st.booleans()),
            )
        case 1:
            errors = draw(st.lists(ENTRIES, min_size=1, max_size=3))
            return ErrorSignal(header, tuple(errors), draw(WIRE_SEMANTICS))
        case 2:
            return Inquiry(changed(header, ref_to_message_id="") if is_ping else header, kind)
        case _:
            statuses = st.sampled_from(MessageStatus)
            return Report(
                header=header,
                kind=kind,
                about=draw(st.just("") | IDS if is_ping else IDS),
                is_accepted=draw(st.booleans()),
                status=draw(statuses if kind is InquiryKind.STATUS else st.none() | statuses),
                processing=draw(st.none() | st.sampled_from(ReportedProcessing)),
                received_at=draw(st.none() | MOMENTS),
            )


@st.composite
def messages_of_2001(draw) -> Message:
    reference = draw(st.none() | IDS)
    leaves_semantics = draw(st.booleans())
    return Message(
        message_id=draw(IDS),
        from_ids=draw(PARTIES),
        to_ids=draw(PARTIES),
        agreement_id=draw(IDS),
        conversation_id=draw(IDS),
        service=draw(LINES),
        action=draw(LINES),
        timestamp_at=draw(MOMENTS),
        semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE
        if leaves_semantics
        else draw(WIRE_SEMANTICS),
        ref_to_message_id=reference,
        payloads=draw(st.sampled_from([(), (payload(PAYLOAD, name='<&">'),)])),
        time_to_live_at=draw(st.none() | MOMENTS),
        sync_reply_mode=draw(st.none() | SYNC_REPLY_MODES),
        delivery_receipt_requested=draw(st.none() | st.sampled_from(AckRequested)),
        acknowledgment=None if reference is None else draw(st.none() | ELEMENTS),
        leaves_semantics=leaves_semantics,
    )


@st.composite
def hops(draw, profile: Profile) -> RoutingHeader:
    if profile is Profile.RM_2000:
        return RoutingHeader(
            sender_uri=draw(URIS),
            receiver_uri=draw(URIS),
            error_uri=draw(URIS),
            timestamp_at=draw(MOMENTS),
        )
    return RoutingHeader(
        sender_uri=draw(URIS),
        receiver_uri=draw(URIS),
        error_uri=draw(st.none() | URIS),
        timestamp_at=draw(MOMENTS),
        reliable_messaging_method=draw(st.none() | st.sampled_from(ReliableMessagingMethod)),
        ack_requested=draw(st.none() | st.sampled_from(AckRequested)),
    )


@both_profiles
@given(data=st.data())
def test_every_signal_that_is_encoded_decodes_to_itself(data, profile):
    """decode(encode(x)) == x for acknowledgements, errors, inquiries and reports."""
    signal, hop = data.draw(signals(profile)), data.draw(hops(profile))
    envelope = passed_on(signal, hop, profile)
    assert (envelope.content, envelope.routing, envelope.profile) == (signal, (hop,), profile)


@given(messages_of_2001(), hops(Profile.RM_2001))
def test_every_message_of_rm_2001_that_is_encoded_decodes_to_itself(message, hop):
    """decode(encode(x)) == x with every field that the header may carry or leave out."""
    datas = (PAYLOAD,) * len(message.payloads)
    envelope = passed_on(message, hop, Profile.RM_2001, datas)
    assert (envelope.content, envelope.routing) == (message, (hop,))
    assert tuple(collected(envelope)) == datas
