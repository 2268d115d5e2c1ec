"""Fuzzes what a relay does.

The input is a header document. Whatever of it is accepted goes on with one more RoutingHeader,
reads as the same content at the next MSH, and is otherwise the same bytes.
"""

from onceonly.message.message import RoutingHeader
from onceonly.wire.envelope import Decoder, Envelope, PayloadSink, boundary_for, forward
from onceonly.wire.mime import PartHead

BOUNDARY = boundary_for("0123456789abcdef")
HOP = RoutingHeader(
    sender_uri="urn:router:1",
    receiver_uri="urn:msh:2",
    error_uri="urn:router:errors",
    timestamp_at=982_235_534_000_000,
)


def relay(document: bytes) -> None:
    """A refusal, or the same content with one more hop."""
    before = _received("application/vnd.eb+xml", document)
    package = forward(before, HOP, boundary=BOUNDARY, root_content_id="root")
    decoder = Decoder(package.content_type, _no_payload)
    decoder.feed(b"".join(package.segments))
    after = decoder.finish()
    assert after.content == before.content
    assert after.routing == (*before.routing, HOP)
    _check_bytes(before.header, after.header)


def _received(part_type: str, document: bytes) -> Envelope:
    decoder = Decoder(
        'multipart/related; type="application/vnd.eb+xml"; boundary=fuzzed-boundary', _no_payload
    )
    decoder.feed(f"--fuzzed-boundary\r\nContent-Type: {part_type}\r\n\r\n".encode())
    decoder.feed(document + b"\r\n--fuzzed-boundary--\r\n")
    return decoder.finish()


def _no_payload(_: PartHead) -> PayloadSink:
    raise AssertionError("the package has no second part")


def _check_bytes(before: bytes, after: bytes) -> None:
    """What was there is still there, in front of one new stretch and behind it."""
    same = 0
    while same < len(before) and before[same] == after[same]:
        same += 1
    rest = len(before) - same
    assert after[len(after) - rest :] == before[same:]
