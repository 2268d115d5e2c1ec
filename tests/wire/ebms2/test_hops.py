"""An intermediary cuts blocks for the next MSH out of the bytes, or puts them in, and no more."""

import re

import pytest
from ebms2_samples import (
    ACK_REQUESTED,
    BLOCK,
    BOUNDARY,
    DOCUMENT,
    EB,
    NEXT,
    NEXT_MSH,
    PACKAGE_TYPE,
    PART_HEAD,
    PAYLOAD,
    PAYLOAD_HEAD,
    PLAIN_TYPE,
    SYNC_REPLY,
    TO_PARTY,
)
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import Collected

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.identity import PartyId
from onceonly.message.message import AcknowledgmentElement, AckRequested, Actor, Message
from onceonly.wire.ebms2.hops import pass_on
from onceonly.wire.envelope import Decoder, Envelope, HopChange, boundary_for, payload_order
from onceonly.wire.envelope import pass_on as passed_package
from onceonly.wire.signature import UnreadableSignature
from onceonly.wire.splitter import FRAME_BYTES_MAX

NEXT_ACK_REQUESTED = ACK_REQUESTED.replace(TO_PARTY, NEXT_MSH)
ACKNOWLEDGMENT = (
    f'<eb:Acknowledgment {BLOCK} SOAP:actor="{NEXT_MSH}"><eb:Timestamp>2002-05-01T10:00:05Z'
    "</eb:Timestamp><eb:RefToMessageId>m-0@a</eb:RefToMessageId></eb:Acknowledgment>"
)
TAKES_BOTH = HopChange(takes_ack_requested=True, takes_acknowledgment=True)
OURS = AcknowledgmentElement(
    timestamp_at=982_235_534_000_000,
    from_ids=(PartyId("urn:relay"),),
    actor=Actor.NEXT_MSH,
    ref_to_message_id="m-0@a",
)


def with_blocks(*blocks: str, between: str = " \n\t") -> str:
    """The sample document with these blocks after its own."""
    added = between.join(["", *blocks, ""])
    return DOCUMENT.replace(ACK_REQUESTED, ACK_REQUESTED + added)


def received(package: bytes, content_type: str, step: int = 10**9) -> Envelope:
    decoder = Decoder(content_type, Collected, keeps_wrapping=True)
    for start in range(0, len(package), step):
        decoder.feed(package[start : start + step])
    return decoder.finish()


def joined(envelope: Envelope, change: HopChange | None = None) -> bytes:
    """The package as it goes on."""
    package = passed_package(
        envelope,
        change or HopChange(),
        boundary=boundary_for("0123456789abcdef"),
        root_content_id="root@b",
    )
    sinks = [envelope.sinks[place] for place in payload_order(envelope)]
    contents = [sink.data for sink in sinks if isinstance(sink, Collected)]
    return b"".join(
        segment + content
        for segment, content in zip(package.segments, [*contents, b""], strict=True)
    )


@pytest.mark.statement("E2-110")
@pytest.mark.parametrize("between", ["", " ", "\r\n", "<!-- c -->", "\n\t <!--a--> "])
def test_a_block_is_cut_out_and_the_blanks_beside_it_stay(between):
    document = with_blocks(NEXT_ACK_REQUESTED, ACKNOWLEDGMENT, between=between)
    expected = document.replace(NEXT_ACK_REQUESTED, "").replace(ACKNOWLEDGMENT, "")
    assert pass_on(document.encode(), TAKES_BOTH, None) == expected.encode()


@pytest.mark.statement("E2-110")
@pytest.mark.parametrize(
    "block",
    [
        NEXT_ACK_REQUESTED,
        NEXT_ACK_REQUESTED.replace("/>", "></eb:AckRequested>"),
        NEXT_ACK_REQUESTED.replace("/>", " ></eb:AckRequested\n>"),
        NEXT_ACK_REQUESTED.replace("/>", "><!-- /></eb:AckRequested> --></eb:AckRequested>"),
        NEXT_ACK_REQUESTED.replace("/>", '><x y="/>"/></eb:AckRequested>'),
        NEXT_ACK_REQUESTED.replace(NEXT_MSH, f" {NEXT_MSH}\n"),
        NEXT_ACK_REQUESTED.replace(NEXT_MSH, NEXT),
        NEXT_ACK_REQUESTED.replace("eb:", "e:").replace(
            "version", f'x="" xmlns:e="{EB}" e:version'
        ),
    ],
)
def test_a_block_may_be_written_in_any_way(block):
    document = with_blocks(block)
    assert pass_on(document.encode(), TAKES_BOTH, None) == document.replace(block, "").encode()


@pytest.mark.statement("E2-110")
def test_what_is_put_in_stands_where_the_other_stood():
    """With its own declarations: the document may use other prefixes."""
    document = with_blocks(ACKNOWLEDGMENT)
    change = HopChange(takes_acknowledgment=True, acknowledgment=OURS)
    after = pass_on(document.encode(), change, None).decode()
    before, rest = document.split(ACKNOWLEDGMENT)
    assert after.startswith(before + "<eb:Acknowledgment xmlns:eb=")
    assert after.endswith("</eb:Acknowledgment>" + rest)


@pytest.mark.statement("E2-110")
def test_what_is_put_in_anew_stands_at_the_end_of_the_header():
    change = HopChange(ack_requested=AckRequested.UNSIGNED)
    after = pass_on(DOCUMENT.encode(), change, None).decode()
    before, rest = DOCUMENT.split("</SOAP:Header>")
    added = after.removeprefix(before).removesuffix("</SOAP:Header>" + rest)
    assert re.fullmatch(r"<eb:AckRequested xmlns:eb=[^<>]*nextMSH[^<>]*/>", added)


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_a_document_stays_in_its_encoding(codec):
    text = with_blocks(NEXT_ACK_REQUESTED).replace('encoding="UTF-8"', "")
    after = pass_on(text.encode(codec), TAKES_BOTH, None)
    assert after == text.replace(NEXT_ACK_REQUESTED, "").encode(codec)


def test_blocks_of_others_and_of_other_kinds_stay():
    """The To Party's, SyncReply, and what is for the next hop and not ebXML's."""
    foreign = f'<x:AckRequested xmlns:x="urn:x" SOAP:actor="{NEXT_MSH}"/>'
    document = with_blocks(SYNC_REPLY, foreign).encode()
    assert pass_on(document, TAKES_BOTH, None) == document


@pytest.mark.statement("E2-110")
def test_under_an_unknown_signature_nothing_is_changed():
    signature = UnreadableSignature(ErrorCode.SECURITY_FAILURE, "odd", "")
    document = with_blocks(NEXT_ACK_REQUESTED).encode()
    assert pass_on(document, HopChange(), signature) == document
    with pytest.raises(RemoteError, match="covers the blocks") as refused:
        pass_on(document, TAKES_BOTH, signature)
    assert refused.value.code is ErrorCode.NOT_SUPPORTED


def package_of(
    *parts: bytes, line_end: str = "\r\n", around: tuple[bytes, bytes] = (b"", b"")
) -> bytes:
    end = line_end.encode()
    mark = b"--" + BOUNDARY.encode()
    body = b"".join(mark + end + part + end for part in parts)
    return around[0] + body + mark + b"--" + end + around[1]


def part(head: str, content: bytes, line_end: str = "\r\n") -> bytes:
    return (head + "\r\n").replace("\r\n", line_end).encode() + content


@pytest.mark.statement("E2-110")
@pytest.mark.parametrize("line_end", ["\r\n", "\n"])
@pytest.mark.parametrize("step", [1, 7, 10**9])
@pytest.mark.parametrize(
    "around", [(b"", b""), (b"pre\r\n", b"epi\r\n--x")], ids=["bare", "around"]
)
def test_a_package_goes_on_as_it_came(line_end, step, around):
    """Frame, heads and payloads, in whatever pieces they came."""
    around = tuple(one.replace(b"\r\n", line_end.encode()) for one in around)
    package = package_of(
        part(PART_HEAD + "X-Odd: yes\r\n", DOCUMENT.encode(), line_end),
        part(PAYLOAD_HEAD, PAYLOAD, line_end),
        part("Content-ID: <other@a>\r\nContent-Type: a/b\r\n", b"not named", line_end),
        line_end=line_end,
        around=around,
    )
    envelope = received(package, PACKAGE_TYPE, step)
    assert joined(envelope) == package


@given(st.binary(max_size=300), st.integers(1, 400))
def test_any_payload_goes_on_as_it_came(payload, step):
    package = package_of(
        part(PART_HEAD, DOCUMENT.encode()), part(PAYLOAD_HEAD, payload)
    ).removesuffix(b"\r\n")
    assert joined(received(package, PACKAGE_TYPE, step)) == package


def test_parts_keep_their_order_where_the_manifest_has_another():
    second = '<eb:Reference xlink:type="simple" xlink:href="cid:a@a"/></eb:Manifest>'
    document = DOCUMENT.replace("</eb:Manifest>", second)
    package = package_of(
        part(PART_HEAD, document.encode()),
        part("Content-ID: <a@a>\r\nContent-Type: a/b\r\n", b"first"),
        part(PAYLOAD_HEAD, PAYLOAD),
    )
    envelope = received(package, PACKAGE_TYPE)
    assert isinstance(envelope.content, Message)
    assert [one.content_id for one in envelope.content.payloads] == ["po-1@a.example.com", "a@a"]
    assert payload_order(envelope) == [1, 0]
    assert joined(envelope) == package


@pytest.mark.parametrize("which", ["header", "payload", "frame", "unnamed"])
def test_what_cannot_be_kept_goes_on_in_a_new_frame(which):
    """A transfer encoding that was undone, or a frame that is too long to be kept in memory."""
    encoding = "Content-Transfer-Encoding: quoted-printable\r\n"
    parts = [
        part(PART_HEAD + (encoding if which == "header" else ""), quoted(which == "header")),
        part(PAYLOAD_HEAD + (encoding if which == "payload" else ""), b"plain"),
    ]
    long = b"x" * (FRAME_BYTES_MAX + 1)
    if which == "unnamed":
        parts.append(part("Content-ID: <o@a>\r\nContent-Type: a/b\r\n", long))
    around = (long + b"\r\n", b"") if which == "frame" else (b"", b"")
    envelope = received(package_of(*parts, around=around), PACKAGE_TYPE)
    assert envelope.wrapping is None
    again = joined(envelope)
    assert b"=_onceonly_0123456789abcdef" in again
    assert DOCUMENT.encode() in again
    assert b"\r\n\r\nplain\r\n" in again


def quoted(is_quoted: bool) -> bytes:
    return (DOCUMENT.replace("=", "=3D") if is_quoted else DOCUMENT).encode()


@pytest.mark.parametrize("encoding", ["binary", "quoted-printable"])
def test_a_document_alone_goes_on_alone(encoding):
    document = (
        DOCUMENT.replace("cid:", "x").partition("<eb:Manifest")[0] + "</SOAP:Body></SOAP:Envelope>"
    )
    text = document if encoding == "binary" else document.replace("=", "=3D")
    decoder = Decoder(PLAIN_TYPE, Collected, keeps_wrapping=True, transfer_encoding=encoding)
    decoder.feed(text.encode())
    envelope = decoder.finish()
    assert joined(envelope) == document.encode()


@pytest.mark.statement("E2-110")
def test_a_document_like_one_before_goes_on_as_it_came():
    """It is read by the short way then, the third at the latest."""
    document = DOCUMENT.partition("<eb:Manifest")[0] + "</SOAP:Body></SOAP:Envelope>"
    for number in range(4):
        text = document.replace("m-0001", f"m-{number}").encode()
        assert joined(received(text, PLAIN_TYPE)) == text


def test_no_frame_is_kept_where_nobody_asked():
    decoder = Decoder(PLAIN_TYPE, Collected)
    document = DOCUMENT.partition("<eb:Manifest")[0] + "</SOAP:Body></SOAP:Envelope>"
    decoder.feed(document.encode())
    assert decoder.finish().wrapping is None
