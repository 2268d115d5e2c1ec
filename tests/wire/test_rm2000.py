"""The ebXMLHeader document of rm-2000, edit by edit."""

import pytest
from wire_samples import (
    DOCUMENT,
    ERROR_LIST,
    MESSAGE,
    NAMESPACE,
    ROUTING,
    decode_document,
    edited,
    signal_document,
)

from onceonly.message.errors import ErrorCode, RemoteError, Severity
from onceonly.message.identity import PartyId
from onceonly.message.message import DeliverySemantics, Message
from onceonly.message.signals import Acknowledgment, ErrorEntry, ErrorSignal
from onceonly.message.word import changed
from onceonly.wire.fields import DESCRIPTION_LENGTH_MAX

SEQUENCE_NUMBER = "    <SequenceNumber>000000001</SequenceNumber>\n"
INFO = DOCUMENT[DOCUMENT.index("    <ReliableMessagingInfo>") : DOCUMENT.index("  </Header>")]
ROUTING_HEADER = DOCUMENT[DOCUMENT.index("  <RoutingHeader>") : DOCUMENT.index("</ebXMLHeader>")]
HEADER = DOCUMENT[DOCUMENT.index("  <Header>") : DOCUMENT.index("  <RoutingHeader>")]
REFERENCE = DOCUMENT[DOCUMENT.index("    <DocumentReference>") : DOCUMENT.index("  </Manifest>")]
URIS = {
    name: DOCUMENT[DOCUMENT.index(f"    <{name}>") : DOCUMENT.index(f"</{name}>")] + f"</{name}>\n"
    for name in ("SenderURI", "ReceiverURI", "ErrorURI")
}
ATTRIBUTE = 'DeliverySemantics="OnceAndOnlyOnce"'
DESCRIPTION = "<DocumentDescription>an order</DocumentDescription>"
TIME_STAMP = "<TimeStamp>20001002T090000Z</TimeStamp>"
SEMANTICS = "<DeliverySemantics>BestEffort</DeliverySemantics>"
HOP_TIME = "    <Timestamp>20001002T090000.100Z</Timestamp>\n"
ERROR_DOCUMENT = signal_document("Error", ERROR_LIST)
ACKNOWLEDGEMENT = signal_document("Acknowledgement")


def message_of(document):
    content = decode_document(document).content
    assert isinstance(content, Message)
    return changed(content, payloads=())


def refusal(*edits, document=DOCUMENT):
    with pytest.raises(RemoteError) as refused:
        decode_document(edited(*edits, document=document))
    return refused.value.code


# --- What is read ------------------------------------------------------------------------------


@pytest.mark.statement("S0-36", "S0-58", "S0-59")
@pytest.mark.parametrize(
    "edits",
    [
        [],
        [("<Timestamp>20001002T090000.000Z</Timestamp>", TIME_STAMP)],
        [("20001002T090000.000Z", "2000-10-02T11:00:00+02:00")],
        [("20001002T090000.000Z", "\n\t20001002T090000.000Z ")],
        [('MessageType="Normal"', "")],
        [('Version="0.21"', 'Version="0.8"')],
        [("<PartyId>urn:duns:111111111", '<PartyId context="buyer">urn:duns:111111111')],
        [("<SenderURI>", '<SenderURI e-dtype="uri">')],
        [("urn:duns:111111111", "urn:duns:11111&#49;111")],
        [("<Action>", "<x:Extra xmlns:x='urn:x'>a<x:b/>c</x:Extra><Action>")],
        [("<Action>", "<Extra/><Action>")],
        [("<From>", '<Via a="b"><MessageId>m</MessageId></Via><From>')],
        [
            ("ebXMLHeader xmlns=", f"e:ebXMLHeader xmlns:e='{NAMESPACE}' xmlns="),
            ("</ebXMLHeader>", "</e:ebXMLHeader>"),
        ],
        [("<ReliableMessagingInfo>", f"<ReliableMessagingInfo {ATTRIBUTE}>")],
        [(INFO, ""), ("</ebXMLHeader>", INFO + "</ebXMLHeader>")],
        [("</DocumentReference>", f"{DESCRIPTION}</DocumentReference>")],
    ],
)
def test_the_forms_that_the_texts_allow_read_as_one_message(edits):
    """S0-36, S0-58 to S0-60, A12 and the contradictions of A3: many spellings, one value."""
    document = edited(*edits)
    envelope = decode_document(document)
    assert message_of(document) == MESSAGE
    assert envelope.routing == (ROUTING,)


@pytest.mark.statement("S0-59")
def test_white_space_around_uri_time_and_number_is_ignored():
    """S0-59: the seed's own sample (§2.4) puts each on a line of its own."""
    spread = ROUTING_HEADER
    for name in ("SenderURI", "ReceiverURI", "ErrorURI", "Timestamp", "SequenceNumber"):
        spread = spread.replace(f"<{name}>", f"<{name}>\n    ").replace(
            f"</{name}>", f"\n</{name}>"
        )
    assert decode_document(edited((ROUTING_HEADER, spread))).routing == (ROUTING,)


@pytest.mark.statement("S0-51", "S0-52")
@pytest.mark.parametrize(
    ("digits", "number"),
    [("1", 1), ("000000023", 23), ("999999999", 999_999_999), ("010", 10)],
)
def test_a_sequence_number_has_one_to_nine_digits(digits, number):
    """S0-51 and S0-52: leading zeros are read as in the sample."""
    assert decode_document(edited(("000000001", digits))).routing[0].sequence_number == number


def test_a_party_may_have_several_names():
    """The first PartyId names the party, the others are kept."""
    document = edited(
        ("<PartyId>urn:duns:111111111", '<PartyId type="DUNS">1</PartyId><PartyId>urn:x:1')
    )
    assert message_of(document).from_ids == (PartyId("1", "DUNS"), PartyId("urn:x:1"))


def test_a_reference_to_a_message_is_read():
    """RefToMessageId is the last of MessageData."""
    document = edited(("    </MessageData>", "<RefToMessageId>m-0</RefToMessageId></MessageData>"))
    assert message_of(document).ref_to_message_id == "m-0"


@pytest.mark.statement("S0-48")
def test_best_effort_needs_no_number():
    """S0-48 asks for a SequenceNumber of reliable messages only."""
    document = edited(("OnceAndOnlyOnce", "BestEffort"), (SEQUENCE_NUMBER, ""))
    assert message_of(document).semantics is DeliverySemantics.BEST_EFFORT
    assert decode_document(document).routing[0].sequence_number is None


def test_service_and_action_may_be_text_or_empty():
    """One line of text, in any script."""
    document = edited(
        ("<Action>NewPurchaseOrder</Action>", "<Action/>"), ("QuoteToCollect", "Angebot: Größe")
    )
    assert (message_of(document).service, message_of(document).action) == ("Angebot: Größe", "")


@pytest.mark.parametrize(
    "text",
    [
        "'; DROP TABLE m; --",
        "${jndi:ldap://a/b}",
        "{{7*7}}",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "../../etc/cron.d/x",
        "C:\\autoexec.bat",
    ],
)
def test_strings_that_hurt_others_are_only_text_here(text):
    """X16, X17 and P11: kept as they are, never expanded, never a path."""
    document = edited(("<DocumentLabel>PurchaseOrder", f"<DocumentLabel>{text}"))
    content = decode_document(document).content
    assert isinstance(content, Message)
    plain = text.replace("&lt;", "<").replace("&gt;", ">")
    assert content.payloads[0].name == plain


def test_identifiers_are_compared_code_point_by_code_point():
    """X13: what looks alike is not the same message."""
    composed = message_of(edited(("m-0001", "\u00e9"))).message_id
    decomposed = message_of(edited(("m-0001", "e\u0301"))).message_id
    assert composed != decomposed


# --- Signals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("edits", [[], [("BestEffort", "OnceAndOnlyOnce")]])
def test_an_acknowledgement_is_read(edits):
    """S0-61 to S0-66 bind its writer; what it says of its own delivery has no effect."""
    content = decode_document(edited(*edits, document=ACKNOWLEDGEMENT)).content
    assert isinstance(content, Acknowledgment)
    assert content.header.ref_to_message_id == "m-0"


@pytest.mark.parametrize("message_type", ["Error", "ErrorMessage", "Exception"])
def test_an_error_is_read_under_all_its_names(message_type):
    """A4: three spellings of one kind."""
    content = decode_document(signal_document(message_type, ERROR_LIST)).content
    assert isinstance(content, ErrorSignal)
    assert content.errors == (
        ErrorEntry(
            code=ErrorCode.TRANSIENT_ERROR,
            severity=Severity.WARNING,
            description="The next hop cannot be reached now.",
            min_retry_s=60,
        ),
    )


def test_an_unknown_error_code_is_kept_as_text():
    """The sender still learns that its message was refused, and why in the peer's words."""
    document = edited(("TransientError", "OutOfCheese"), document=ERROR_DOCUMENT)
    content = decode_document(document).content
    assert isinstance(content, ErrorSignal)
    assert content.errors[0].code is ErrorCode.UNKNOWN
    assert content.errors[0].code_text == "OutOfCheese"


def test_an_error_may_be_bare_and_may_come_in_company():
    """Description and MinRetrySecs are optional; several errors come in their order."""
    bare = '<Error ErrorCode="MimeProblem" Severity="Error"/>'
    document = edited(("<ErrorList>", f"<ErrorList>{bare}"), document=ERROR_DOCUMENT)
    content = decode_document(document).content
    assert isinstance(content, ErrorSignal)
    assert [entry.code for entry in content.errors] == [
        ErrorCode.MIME_PROBLEM,
        ErrorCode.TRANSIENT_ERROR,
    ]
    assert content.errors[0] == ErrorEntry(code=ErrorCode.MIME_PROBLEM, severity=Severity.ERROR)


def test_a_long_description_is_cut_and_the_error_kept():
    """An error report is not lost for being wordy."""
    text = "x" * 10_000
    document = edited(("The next hop cannot be reached now.", text), document=ERROR_DOCUMENT)
    content = decode_document(document).content
    assert isinstance(content, ErrorSignal)
    assert content.errors[0].description == text[:DESCRIPTION_LENGTH_MAX]


# --- What is refused ---------------------------------------------------------------------------


@pytest.mark.statement("S0-34", "S0-42", "S0-43", "S0-44", "S0-48", "S0-57")
@pytest.mark.parametrize(
    "edits",
    [
        [("<ebXMLHeader", "<ebxmlHeader"), ("</ebXMLHeader", "</ebxmlHeader")],
        [(f'xmlns="{NAMESPACE}"', "")],
        [(f'xmlns="{NAMESPACE}"', 'xmlns="http://www.ebxml.org/namespaces/messageheader"')],
        [('Version="0.21"', "")],
        [('Version="0.21"', 'Version="latest"')],
        [(HEADER, "")],
        [(HEADER, HEADER + HEADER)],
        [(ROUTING_HEADER, "")],
        [(HEADER, ""), (ROUTING_HEADER, ROUTING_HEADER + HEADER)],
        [(ROUTING_HEADER, "<Via/>" + ROUTING_HEADER)],
        [("  <Manifest>", "<Manifest/><Manifest>")],
        [("</ebXMLHeader>", "<Manifest/></ebXMLHeader>")],
        [("</ebXMLHeader>", ERROR_LIST + "</ebXMLHeader>")],
        [(REFERENCE, "")],
        [("<DocumentId>cid:po-1@a.example.com</DocumentId>", "")],
        [("<DocumentLabel>", "<DocumentLabel>a</DocumentLabel><DocumentLabel>")],
        [("  </Header>", f"{ROUTING_HEADER}</Header>")],
        [("<From><PartyId>urn:duns:111111111</PartyId></From>", "")],
        [("<From><PartyId>urn:duns:111111111</PartyId></From>", "<From/>")],
        [("<To>", "<To><PartyId>urn:a:b</PartyId></To><To>")],
        [("<TPAInfo>", "<TPAInfos>"), ("</TPAInfo>", "</TPAInfos>")],
        [("<TPAId>tpa-ab-1</TPAId>", "")],
        [("<TPAId>", "<TPAId>other</TPAId><TPAId>")],
        [("<ConversationId>conv-1</ConversationId>", "")],
        [("<ServiceInterface>QuoteToCollect</ServiceInterface>", "")],
        [("<Action>NewPurchaseOrder</Action>", "")],
        [("<Action>", "<Action>a<b/>")],
        [("<TPAInfo>", "<TPAInfo>text")],
        [("<Action>", "text<Action>")],
        [("</Action>", "</Action>text")],
        [("<MessageId>", "<MessageId>m-2</MessageId><MessageId>")],
        [("<MessageId>", "<x:MessageId xmlns:x='urn:x'>m-2</x:MessageId><MessageId>")],
        [("<MessageId>", "<MessageId xmlns=''>m-2</MessageId><MessageId>")],
        [("<TPAId>", "<MessageId>m-2</MessageId><TPAId>")],
        [("<MessageId>m-0001@a.example.com</MessageId>", "")],
        [("<Timestamp>20001002T090000.000Z</Timestamp>", "")],
        [("<Timestamp>20001002T090000.000Z", TIME_STAMP + "<Timestamp>20001002T090000Z")],
        [(INFO, "")],
        [("</ebXMLHeader>", INFO + "</ebXMLHeader>")],
        [("<DeliverySemantics>OnceAndOnlyOnce</DeliverySemantics>", "")],
        [("<DeliverySemantics>", SEMANTICS + "<DeliverySemantics>")],
        [(SEQUENCE_NUMBER, "")],
        [(SEQUENCE_NUMBER, SEQUENCE_NUMBER * 2)],
        [(URIS["SenderURI"], "")],
        [(URIS["ReceiverURI"], "")],
        [(URIS["ErrorURI"], "")],
        [(HOP_TIME, "")],
        [(URIS["SenderURI"], ""), (URIS["ReceiverURI"], URIS["ReceiverURI"] + URIS["SenderURI"])],
        [(SEQUENCE_NUMBER, ""), (HOP_TIME, SEQUENCE_NUMBER + HOP_TIME)],
        [(HOP_TIME, ""), (URIS["ErrorURI"], HOP_TIME + URIS["ErrorURI"])],
    ],
)
def test_elements_that_are_missing_doubled_or_misplaced_are_refused(edits):
    """S0-34, S0-42 to S0-44, S0-48, S0-57 and X12: never first wins."""
    assert refusal(*edits) is ErrorCode.OTHER_XML


@pytest.mark.statement("S0-35", "S0-51")
@pytest.mark.parametrize(
    "edits",
    [
        [("Normal", "normal")],
        [("Normal", "Acknowledgment")],
        [("Normal", "")],
        [("OnceAndOnlyOnce", "onceandonlyonce")],
        [("OnceAndOnlyOnce", "AtMostOnce")],
        [("OnceAndOnlyOnce", "ExactlyOnce")],
        [("OnceAndOnlyOnce", "")],
        [("m-0001@a.example.com", "")],
        [("m-0001@a.example.com", "m 1")],
        [("m-0001@a.example.com", "m&#13;1")],
        [("m-0001@a.example.com", "\u00a0m1")],
        [("m-0001@a.example.com", "m1&#x85;")],
        [("m-0001@a.example.com", "m&#x202F;1")],
        [("m-0001@a.example.com", "m" * 256)],
        [("tpa-ab-1", "tpa ab 1")],
        [("conv-1", "")],
        [("QuoteToCollect", "Quote\nToCollect")],
        [("QuoteToCollect", "\u00a0QuoteToCollect")],
        [("NewPurchaseOrder", "x" * 256)],
        [("<DocumentLabel>PurchaseOrder", "<DocumentLabel>" + "x" * 10_000)],
        [("</MessageData>", "<RefToMessageId/></MessageData>")],
        [("20001002T090000.000Z", "20001002")],
        [("20001002T090000.100Z", "20001002T240001Z")],
        [("http://a.example.com/ebxmlhandler/", "a.example.com")],
        [("http://b.example.com/ebxmlhandler/", "http://b.example.com/ x")],
        [("http://a.example.com/ebxmlerrorhandler/", "")],
        [("000000001", "0")],
        [("000000001", "000000000")],
        [("000000001", "-1")],
        [("000000001", "+1")],
        [("000000001", "1e3")],
        [("000000001", "1.0")],
        [("000000001", "1000000000")],
        [("000000001", "0000000001")],
        [("000000001", "\u0663")],
        [("000000001", "1 2")],
        [("000000001", "")],
        [("000000001", "9" * 900_000)],
    ],
    ids=lambda edits: edits[0][1][:30],
)
def test_values_outside_their_grammar_are_refused(edits):
    """S0-35, S0-51, X13 to X15: exact spelling, exact digits, no white space in identifiers."""
    assert refusal(*edits) is ErrorCode.VALUE_NOT_RECOGNIZED


@pytest.mark.statement("S0-36")
@pytest.mark.parametrize(
    "edits",
    [
        [("<ReliableMessagingInfo>", '<ReliableMessagingInfo DeliverySemantics="BestEffort">')],
        [("urn:duns:111111111", "111111111")],
        [("urn:duns:111111111", "urn:duns:111 111")],
        [("<PartyId>urn:duns:111111111", '<PartyId type="a">1</PartyId><PartyId type="a">2')],
        [("<PartyId>urn:duns:111111111", "<PartyId>urn:x:1</PartyId><PartyId>urn:x:1")],
    ],
)
def test_values_that_contradict_each_other_are_refused(edits):
    """S0-36 and MS section 8.4.1: two semantics, a party without type or URI, a type twice."""
    assert refusal(*edits) is ErrorCode.INCONSISTENT


def test_the_name_of_a_party_has_no_blank():
    """As a repeat of a known form, and as the first one: `ebms-2.0` alone has such names."""
    for name in ("1", "2", "a b"):
        edit = ("<PartyId>urn:duns:111111111", f'<PartyId type="name">{name}')
        if " " in name:
            assert refusal(edit) is ErrorCode.VALUE_NOT_RECOGNIZED
        else:
            assert message_of(edited(edit)).from_ids == (PartyId(name, "name"),)


@pytest.mark.parametrize("version", ["1.0", "2.0", "10.21"])
def test_another_major_version_is_not_supported(version):
    """A1: the drafts before SOAP were 0.x."""
    assert refusal(("0.21", version)) is ErrorCode.NOT_SUPPORTED


@pytest.mark.parametrize(
    "edits",
    [
        [("cid:po-1", "http://a.example.com/po-1")],
        [("cid:po-1@a.example.com", "file:///etc/passwd")],
        [("cid:po-1", "cid:po%252D1")],
        [("cid:po-1", "po-1")],
        [("cid:po-1", "cid: po-1")],
        [("cid:po-1@a.example.com", "cid:")],
        [("cid:po-1", "cid:cid:po-1")],
        [(REFERENCE, REFERENCE * 2)],
    ],
)
def test_a_manifest_that_names_anything_but_parts_is_refused(edits):
    """P7 and P8: nothing is fetched, nothing named twice, nothing nearly right."""
    assert refusal(*edits) is ErrorCode.MIME_PROBLEM


@pytest.mark.parametrize(
    ("edits", "document"),
    [
        ([(ROUTING_HEADER, ROUTING_HEADER * 17)], DOCUMENT),
        ([("</To>", "".join(f"<PartyId>u:{n}</PartyId>" for n in range(16)) + "</To>")], DOCUMENT),
        (
            [("<Error ", '<Error ErrorCode="Unknown" Severity="Error"/>' * 100 + "<Error ")],
            ERROR_DOCUMENT,
        ),
        (
            [
                (
                    REFERENCE,
                    "".join(
                        f"<DocumentReference><DocumentId>cid:{n}</DocumentId></DocumentReference>"
                        for n in range(101)
                    ),
                )
            ],
            DOCUMENT,
        ),
    ],
    ids=["hops", "names", "errors", "documents"],
)
def test_repetitions_are_bounded(edits, document):
    """Rule 23: every loop has a limit with a reason."""
    assert refusal(*edits, document=document) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ([("<RefToMessageId>m-0</RefToMessageId>", "")], ErrorCode.OTHER_XML),
        ([(ERROR_LIST, "")], ErrorCode.OTHER_XML),
        ([(ERROR_LIST, "<ErrorList/>")], ErrorCode.OTHER_XML),
        ([("<MinRetrySecs>60</MinRetrySecs>", "<MinRetrySecs/>")], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([("60", "1" * 10)], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([("60", "-1")], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([('Severity="Warning"', 'Severity="warning"')], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([('Severity="Warning"', "")], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([('ErrorCode="TransientError"', "")], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([("TransientError", "a&#10;b")], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([("<MinRetrySecs>60", "<MinRetrySecs>60<x/>")], ErrorCode.OTHER_XML),
        (
            [("<Description", "<MinRetrySecs>1</MinRetrySecs><Description")],
            ErrorCode.OTHER_XML,
        ),
    ],
)
def test_an_error_message_that_says_nothing_usable_is_refused(edits, code):
    """A8: it names its message, and each error has a code and a severity."""
    assert refusal(*edits, document=ERROR_DOCUMENT) is code


def test_an_acknowledgement_with_errors_is_refused():
    """Only an Error has an ErrorList; a signal is one thing."""
    edits = ("</ebXMLHeader>", ERROR_LIST + "</ebXMLHeader>")
    assert refusal(edits, document=ACKNOWLEDGEMENT) is ErrorCode.OTHER_XML


@pytest.mark.statement(ruling="R-44")
@pytest.mark.parametrize("without", ["", "<TPAId/>"])
def test_a_signal_may_name_no_agreement(without):
    """Then it has that of the message that it is about."""
    document = ACKNOWLEDGEMENT.replace("<TPAId>tpa-ab-1</TPAId>", without)
    assert document != ACKNOWLEDGEMENT
    content = decode_document(document).content
    assert isinstance(content, Acknowledgment)
    assert content.header.agreement_id == ""
