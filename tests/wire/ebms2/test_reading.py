"""The SOAP envelope and its MessageHeader, edit by edit: what they read as, and what is refused."""

import pytest
from ebms2_samples import (
    ACK,
    ACK_REQUESTED,
    ACTION,
    AT,
    AT_US,
    BLOCK,
    DOCUMENT,
    ELIMINATION,
    FROM_ID,
    HEADER,
    HOP_ACK,
    ID,
    IN_HEADER,
    MANIFEST,
    NEXT,
    NEXT_MSH,
    OPENING,
    ORDER_BLOCK,
    SERVICE,
    SOAP,
    SYNC_REPLY,
    TIME,
    TO_PARTY,
    decode_document,
    edited,
    entry,
    errors,
    fault_of,
    message_of,
    refusal_of,
    signal_document,
    told,
    with_block,
    with_body,
)

from onceonly.message.errors import ErrorCode, FaultCode, RemoteError
from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AckRequested,
    DeliverySemantics,
    Message,
    MessageOrder,
    SyncReplyMode,
)

# --- SOAP ---------------------------------------------------------------------------------------


@pytest.mark.statement("E2-14")
@pytest.mark.parametrize("namespace", ["http://www.w3.org/2003/05/soap-envelope", "urn:x"])
def test_an_envelope_of_another_soap_is_a_version_mismatch(namespace):
    assert fault_of(DOCUMENT.replace(SOAP, namespace)) is FaultCode.VERSION_MISMATCH


@pytest.mark.parametrize(
    "document",
    [
        "<Envelope/>".replace("Envelope", "Letter"),
        f"{OPENING}</SOAP:Envelope>",
        f"{OPENING}<SOAP:Header/></SOAP:Envelope>",
        f"{OPENING}<SOAP:Body/></SOAP:Envelope>",
        f"{OPENING}<SOAP:Header/><SOAP:Body/></SOAP:Envelope>",
        edited(("<SOAP:Header>", "<SOAP:Header/><SOAP:Header>")),
        edited(("</SOAP:Envelope>", "<SOAP:Body/></SOAP:Envelope>")),
        edited(("<SOAP:Header>", "<x/><SOAP:Header>")),
        f"{OPENING}<SOAP:Body>{MANIFEST}</SOAP:Body><SOAP:Header>{HEADER}</SOAP:Header></SOAP:Envelope>",
        edited(("<SOAP:Header>", "text<SOAP:Header>")),
        edited(("</SOAP:Header>", "text</SOAP:Header>")),
        edited(("</SOAP:Body>", "text</SOAP:Body>")),
        edited(
            (BLOCK, f"{BLOCK}".replace('"1"', '"maybe"')),
            document=DOCUMENT.replace(ACK_REQUESTED, ""),
        ),
        "<not xml",
        edited(("<SOAP:Header>", "<?php?><SOAP:Header>")),
    ],
    ids=range(15),
)
def test_what_is_no_envelope_is_a_fault_of_the_client(document):
    error = refusal_of(document)
    assert error.fault is FaultCode.CLIENT
    assert error.code is ErrorCode.OTHER_XML
    assert "expected" in error.description


def test_what_stands_after_the_body_is_skipped():
    """SOAP 1.1 §4 allows it."""
    assert message_of(edited(("</SOAP:Body>", "</SOAP:Body><x:y xmlns:x='urn:x'/>")))


@pytest.mark.statement("E2-15")
@pytest.mark.parametrize(
    ("attributes", "fault"),
    [
        ('SOAP:mustUnderstand="1"', FaultCode.MUST_UNDERSTAND),
        ('SOAP:mustUnderstand=" true "', FaultCode.MUST_UNDERSTAND),
        (f'SOAP:mustUnderstand="1" SOAP:actor="{TO_PARTY}"', FaultCode.MUST_UNDERSTAND),
        (f'SOAP:mustUnderstand="1" SOAP:actor="{NEXT_MSH}"', FaultCode.MUST_UNDERSTAND),
        (f'SOAP:mustUnderstand="1" SOAP:actor="{NEXT}"', FaultCode.MUST_UNDERSTAND),
        ('SOAP:mustUnderstand="0"', None),
        ('SOAP:mustUnderstand="false"', None),
        ("", None),
        ('SOAP:mustUnderstand="1" SOAP:actor="urn:somebody:else"', None),
        ('mustUnderstand="1" actor="urn:somebody:else"', None),
    ],
)
def test_a_block_that_must_be_understood_and_is_not_is_a_fault(attributes, fault):
    document = with_block(f'<x:Trace xmlns:x="urn:x" {attributes}/>')
    if fault is None:
        assert isinstance(decode_document(document).content, Message)
    else:
        assert fault_of(document) is fault


def test_a_new_element_of_the_standards_namespace_is_a_block_like_any_other():
    assert message_of(with_block("<eb:Trace/>"))
    assert fault_of(with_block(f"<eb:Trace {BLOCK}/>")) is FaultCode.MUST_UNDERSTAND


@pytest.mark.statement("E2-16")
@pytest.mark.parametrize("word", ["1", "0", "true", "false"])
def test_every_word_for_must_understand_is_read(word):
    assert message_of(DOCUMENT.replace('mustUnderstand="1"', f'mustUnderstand="{word}"'))


@pytest.mark.statement("E2-17")
@pytest.mark.parametrize(
    ("old", "new", "location"),
    [
        (HEADER, HEADER.replace('"2.0"', '"2.1"'), AT),
        (ACK_REQUESTED, ACK_REQUESTED.replace('"2.0"', '"1.0"'), f"{IN_HEADER}AckRequested"),
        (ACK_REQUESTED, SYNC_REPLY.replace('"2.0"', '""'), f"{IN_HEADER}SyncReply"),
        (MANIFEST, MANIFEST.replace("eb:version", "version"), "//SOAP:Body/eb:Manifest"),
    ],
    ids=["header", "block", "hop", "body"],
)
def test_another_version_is_inconsistent(old, new, location):
    """Told by a message, since the header can be read (IR-20)."""
    found = told(edited((old, new)))
    assert found == (ErrorCode.INCONSISTENT, f"{location}/@eb:version")


@pytest.mark.statement("E2-18")
def test_foreign_elements_and_attributes_are_skipped():
    """Also those that have the name of one of the standard's."""
    document = edited(
        (ELIMINATION, f'{ELIMINATION}<x:From xmlns:x="urn:x">y</x:From>'),
        (
            ACK_REQUESTED,
            ACK_REQUESTED.replace("/>", ' z="1"><Role xmlns="urn:x"/></eb:AckRequested>'),
        ),
        (
            MANIFEST,
            MANIFEST.replace("/></eb", '><x:Payload xmlns:x="urn:x"/></eb:Reference></eb')
            + '<x:Thing xmlns:x="urn:x"/>',
        ),
    )
    assert message_of(document) == message_of(DOCUMENT)


@pytest.mark.statement("E2-19")
def test_prefixes_and_the_order_of_blocks_are_free():
    document = DOCUMENT.replace(HEADER, "").replace(ACK_REQUESTED, ACK_REQUESTED + HEADER)
    document = document.replace("SOAP:", "s:").replace("xmlns:SOAP", "xmlns:s")
    document = document.replace("eb:", "m:").replace("xmlns:eb", "xmlns:m")
    assert message_of(document) == message_of(DOCUMENT)


@pytest.mark.statement("E2-19")
@pytest.mark.parametrize(
    "document",
    [
        with_block(HEADER),
        with_block(ACK_REQUESTED),
        with_block(ACK_REQUESTED.replace(f' SOAP:actor="{TO_PARTY}"', "")),
        with_block(SYNC_REPLY + SYNC_REPLY),
        with_block(SYNC_REPLY + SYNC_REPLY.replace(NEXT, NEXT_MSH)),
        with_block(ORDER_BLOCK + ORDER_BLOCK),
        with_block(errors(entry()) * 2),
        with_block('<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/>' * 2),
        with_body(MANIFEST),
        with_block(HEADER.replace("<eb:MessageHeader", f'<eb:MessageHeader SOAP:actor="{NEXT}"')),
        with_block(ORDER_BLOCK.replace(BLOCK, f'{BLOCK} SOAP:actor="{NEXT_MSH}"')),
        with_block(errors(entry()).replace(BLOCK, f'{BLOCK} SOAP:actor="{NEXT}"')),
        with_block(MANIFEST),
        with_block("<eb:PartyId>x</eb:PartyId>"),
        with_body(HEADER),
        with_body(ACK),
        edited(("<eb:Manifest", f'<eb:Manifest SOAP:actor="{NEXT}"')),
        edited(("<eb:Manifest", f'<eb:Manifest SOAP:actor="{NEXT_MSH}"')),
    ],
    ids=range(18),
)
def test_two_of_one_block_or_one_in_the_wrong_place_is_a_fault(document):
    """Never "the first wins": another reader of the same bytes may take the other (S1, S2)."""
    assert fault_of(document) is FaultCode.CLIENT


@pytest.mark.parametrize("actor", [NEXT, NEXT_MSH, f" {NEXT} "])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<eb:To>", "<eb:To ACTOR>"),
        (TIME, f"{TIME}<eb:RefToMessageId ACTOR>m-7</eb:RefToMessageId>"),
        (TIME, f"{TIME}<eb:TimeToLive ACTOR>2002-05-01T10:00:00Z</eb:TimeToLive>"),
        (ELIMINATION, "<eb:DuplicateElimination ACTOR/>"),
        ("<eb:Reference ", "<eb:Reference ACTOR "),
        (
            ACK_REQUESTED,
            ACK_REQUESTED.replace("/>", '><x:y xmlns:x="urn:x" ACTOR/></eb:AckRequested>'),
        ),
        ("<SOAP:Body>", "<SOAP:Body ACTOR>"),
        ("<SOAP:Header>", "<SOAP:Header ACTOR>"),
        ("<SOAP:Envelope ", "<SOAP:Envelope ACTOR "),
        ("</SOAP:Envelope>", '<x:y xmlns:x="urn:x" ACTOR/></SOAP:Envelope>'),
    ],
    ids=range(10),
)
def test_nothing_inside_of_a_block_is_outside_of_the_signature(old, new, actor):
    """The filter leaves out any element with this actor, so nothing there is believed (S1)."""
    document = edited((old, new.replace("ACTOR", f'SOAP:actor="{actor}"')))
    assert fault_of(document) is FaultCode.CLIENT


def test_a_message_header_for_somebody_else_is_none():
    document = edited(("<eb:MessageHeader", '<eb:MessageHeader SOAP:actor="urn:else"'))
    assert fault_of(document) is FaultCode.CLIENT


# --- The MessageHeader --------------------------------------------------------------------------


def test_all_names_of_a_party_are_read_in_their_order():
    document = edited((FROM_ID, f"{FROM_ID}<eb:PartyId>urn:x:1</eb:PartyId>"))
    assert message_of(document).from_ids == (PartyId("111111111", "DUNS"), PartyId("urn:x:1"))


def test_the_name_of_a_party_may_have_single_blanks():
    """§2: outer blanks are cut. Two of them inside would look like one."""
    given = FROM_ID.replace("111111111", "\n Acme Corp, Ltd ")
    assert message_of(edited((FROM_ID, given))).from_ids == (PartyId("Acme Corp, Ltd", "DUNS"),)
    twice = edited((FROM_ID, given.replace("Acme ", "Acme  ")))
    assert fault_of(twice) is FaultCode.CLIENT


@pytest.mark.statement("E2-23")
@pytest.mark.parametrize(
    "ids",
    [
        FROM_ID + '<eb:PartyId eb:type="DUNS">2</eb:PartyId>',
        "<eb:PartyId>urn:x</eb:PartyId>" * 2,
        "<eb:PartyId>111111111</eb:PartyId>",
        '<eb:PartyId type="DUNS">111111111</eb:PartyId>',
    ],
    ids=["type twice", "id twice", "no type", "unqualified type"],
)
def test_a_party_that_contradicts_itself_is_inconsistent(ids):
    found = told(edited((FROM_ID, ids)))
    assert found == (ErrorCode.INCONSISTENT, f"{AT}/eb:From/eb:PartyId")


@pytest.mark.statement("E2-29")
def test_a_service_without_a_type_is_a_uri():
    plain = edited((SERVICE, "<eb:Service>Orders</eb:Service>"))
    assert told(plain) == (ErrorCode.INCONSISTENT, f"{AT}/eb:Service")
    words = '<eb:Service eb:type=" string ">Orders and more</eb:Service>'
    typed = message_of(edited((SERVICE, words)))
    assert (typed.service, typed.service_type) == ("Orders and more", "string")


def test_an_unknown_action_of_the_msh_is_not_supported():
    assert told(signal_document("Negotiate")) == (ErrorCode.NOT_SUPPORTED, f"{AT}/eb:Action")


@pytest.mark.parametrize("name", ["m-1@a.example.com", "C614484E-4B10-499A-9ACD-5D645CFACF61"])
def test_ids_are_read_with_and_without_a_domain(name):
    assert message_of(edited((ID, f"<eb:MessageId> {name}\n</eb:MessageId>"))).message_id == name


@pytest.mark.statement("E2-32")
@pytest.mark.parametrize(
    "text",
    [
        "2002-05-01T10:00:00Z",
        "2002-05-01T10:00:00",
        "2002-05-01T12:00:00+02:00",
        "2002-05-01T10:00:00.0000000001-00:00",
        " 2002-05-01T10:00:00Z\n",
    ],
)
def test_every_time_of_xml_schema_is_read(text):
    assert message_of(edited((TIME, f"<eb:Timestamp>{text}</eb:Timestamp>"))).timestamp_at == AT_US


def test_a_first_message_refers_to_nothing():
    assert message_of(DOCUMENT).ref_to_message_id is None


@pytest.mark.statement("E2-36")
@pytest.mark.parametrize(
    ("descriptions", "kept"),
    [
        ("", ""),
        ("<eb:Description/><eb:Description>second</eb:Description>", "second"),
        ("<eb:Description>a\u2028</eb:Description><eb:Description>b</eb:Description>", "a"),
    ],
)
def test_a_description_is_kept_and_changes_nothing(descriptions, kept):
    document = edited(("<eb:DuplicateElimination/>", f"<eb:DuplicateElimination/>{descriptions}"))
    assert message_of(document).description == kept


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (FROM_ID, "", ErrorCode.OTHER_XML),
        (FROM_ID, '<eb:PartyId eb:type="x"></eb:PartyId>', ErrorCode.VALUE_NOT_RECOGNIZED),
        (FROM_ID, FROM_ID * 17, ErrorCode.OTHER_XML),
        ("<eb:Role>Buyer</eb:Role>", "<eb:Role>Buyer</eb:Role>" * 2, ErrorCode.OTHER_XML),
        ("<eb:Role>Buyer</eb:Role>", "<eb:Role/>", ErrorCode.OTHER_XML),
        (ACTION, "", ErrorCode.OTHER_XML),
        (ACTION, "<eb:Action/>", ErrorCode.OTHER_XML),
        (ACTION, ACTION * 2, ErrorCode.OTHER_XML),
        (ACTION, "<eb:Action><b/></eb:Action>", ErrorCode.OTHER_XML),
        (ID, "<eb:MessageId>a b</eb:MessageId>", ErrorCode.VALUE_NOT_RECOGNIZED),
        (TIME, "<eb:Timestamp>yesterday</eb:Timestamp>", ErrorCode.VALUE_NOT_RECOGNIZED),
        (TIME, f"{TIME}<eb:TimeToLive>soon</eb:TimeToLive>", ErrorCode.VALUE_NOT_RECOGNIZED),
        (TIME, f"{TIME}<eb:RefToMessageId/>", ErrorCode.VALUE_NOT_RECOGNIZED),
        (SERVICE, f"{SERVICE}<eb:Order/>", ErrorCode.OTHER_XML),
        (SERVICE, f"{SERVICE}text", ErrorCode.OTHER_XML),
    ],
    ids=range(15),
)
def test_a_message_header_that_cannot_be_read_is_a_fault(old, new, code):
    """Nobody is known who could be told; where it is wrong is said all the same (P14, IR-11)."""
    error = refusal_of(edited((old, new)))
    assert (error.code, error.fault) == (code, FaultCode.CLIENT)
    assert error.location.startswith(AT)


# --- What is asked for --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("eliminates", "asks", "semantics"),
    [
        (True, True, DeliverySemantics.ONCE_AND_ONLY_ONCE),
        (False, True, DeliverySemantics.ONCE_AND_ONLY_ONCE),
        (True, False, DeliverySemantics.AT_MOST_ONCE),
        (False, False, DeliverySemantics.BEST_EFFORT),
    ],
)
def test_the_two_flags_are_read_apart(eliminates, asks, semantics):
    """An acknowledged message is suppressed as well, asked for or not (R-29)."""
    document = DOCUMENT if eliminates else edited(("<eb:DuplicateElimination/>", ""))
    message = message_of(document if asks else document.replace(ACK_REQUESTED, ""))
    assert message.duplicate_elimination is eliminates
    assert message.ack_requested is (AckRequested.UNSIGNED if asks else AckRequested.NONE)
    assert message.semantics is semantics


def test_the_text_of_duplicate_elimination_means_nothing():
    document = edited((ELIMINATION, f"{ELIMINATION[:-2]}>no</eb:DuplicateElimination>"))
    assert message_of(document).duplicate_elimination is True


@pytest.mark.parametrize("actor", [NEXT_MSH, NEXT])
def test_both_msh_may_be_asked_for_an_acknowledgement(actor):
    block = ACK_REQUESTED.replace(TO_PARTY, actor).replace('"false"', '"1"')
    message = message_of(with_block(block))
    assert message.ack_requested is AckRequested.UNSIGNED
    assert message.next_ack_requested is AckRequested.SIGNED


def test_a_sync_reply_asks_for_all_that_there_is():
    assert message_of(DOCUMENT).sync_reply_mode is SyncReplyMode.NONE
    assert message_of(with_block(SYNC_REPLY)).sync_reply_mode is SyncReplyMode.SIGNALS_AND_RESPONSE


@pytest.mark.parametrize(
    ("number", "order"),
    [
        ('eb:status="Reset">0', MessageOrder(0, is_reset=True)),
        ('eb:status="Continue">1', MessageOrder(1)),
        ("> 99999999 ", MessageOrder(99_999_999)),
        (">+0000000007", MessageOrder(7)),
    ],
)
def test_a_place_in_the_conversation_is_read(number, order):
    block = ORDER_BLOCK.replace('eb:status="Reset">0', number)
    assert message_of(with_block(block)).order == order


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (">100000000", ErrorCode.OTHER_XML),
        (">x", ErrorCode.OTHER_XML),
        (">", ErrorCode.OTHER_XML),
        ('eb:status="reset">0', ErrorCode.OTHER_XML),
        ('eb:status="Reset">1', ErrorCode.INCONSISTENT),
    ],
)
def test_a_place_that_is_none_is_told(number, code):
    block = ORDER_BLOCK.replace('eb:status="Reset">0', number)
    place = "//SOAP:Header/eb:MessageOrder/eb:SequenceNumber"
    assert told(with_block(block)) == (code, place)


@pytest.mark.statement("E2-108")
@pytest.mark.parametrize(
    "document",
    [with_block(ORDER_BLOCK + SYNC_REPLY), edited((ACK_REQUESTED, ORDER_BLOCK))],
    ids=["sync", "not acknowledged"],
)
def test_an_order_that_nothing_can_keep_is_inconsistent(document):
    assert told(document) == (ErrorCode.INCONSISTENT, "//SOAP:Header/eb:MessageOrder")


def test_an_acknowledgement_rides_on_a_business_message():
    message = message_of(with_block(ACK + HOP_ACK))
    assert message.acknowledgment is not None
    assert message.acknowledgment.ref_to_message_id == "m-0"
    assert message.next_acknowledgment is not None


def test_an_acknowledgement_without_a_reference_is_about_what_the_header_names():
    """Products fill one of the two places only (IR-08)."""
    bare = ACK.replace("<eb:RefToMessageId>m-0</eb:RefToMessageId>", "")
    with pytest.raises(RemoteError, match="names no message"):
        decode_document(with_block(bare))
    document = edited((TIME, f"{TIME}<eb:RefToMessageId>m-0</eb:RefToMessageId>"))
    message = message_of(document.replace(ACK_REQUESTED, bare))
    assert message.acknowledgment is not None
    assert message.acknowledgment.ref_to_message_id == ""


# --- The Manifest -------------------------------------------------------------------------------


@pytest.mark.statement("E2-38")
@pytest.mark.parametrize(
    "href", ["http://example.com/order.xml", "file:///etc/passwd", "#part", "cid:", "", "cid:a b"]
)
def test_what_is_no_part_of_the_package_is_never_fetched(href):
    code, location = told(edited(("cid:po-1@a.example.com", href)))
    assert code is ErrorCode.MIME_PROBLEM
    assert location == (href or "//SOAP:Body/eb:Manifest")


@pytest.mark.parametrize(
    "manifest",
    [
        '<eb:Manifest eb:version="2.0"/>',
        MANIFEST.replace("/></eb", "><eb:Schema/></eb:Reference></eb"),
        MANIFEST.replace("/></eb", ' xlink:title="a&#10;b"/></eb'),
    ],
    ids=["empty", "no location", "title"],
)
def test_a_manifest_that_is_none_is_told(manifest):
    found = told(edited((MANIFEST, manifest)))
    assert found == (ErrorCode.OTHER_XML, "//SOAP:Body/eb:Manifest")


def test_what_a_manifest_says_of_a_part_is_kept():
    reference = (
        ' eb:id="po" xlink:role="urn:role" xlink:title="Order"><eb:Schema eb:location="urn:s"/>'
        "<eb:Description/><eb:Description>An order</eb:Description></eb:Reference></eb"
    )
    (part,) = message_of(edited((MANIFEST, MANIFEST.replace("/></eb", reference)))).payloads
    assert (part.reference_id, part.role, part.name) == ("po", "urn:role", "Order")
    assert part.description == "An order"
    assert [schema.location for schema in part.schemas] == ["urn:s"]
