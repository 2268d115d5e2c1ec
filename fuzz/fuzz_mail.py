"""Fuzzes packages as mail: what was read goes out in seven bits and comes back as it was.

The input is a Content-Type, an empty line, and the body, as for whole packages; the corpus has
packages with every transfer encoding.
"""

from hashlib import sha256

from onceonly.message.message import Message
from onceonly.message.package import Package
from onceonly.transport.mail.text import MailText
from onceonly.wire.envelope import Decoder, Envelope, boundary_for, encode
from onceonly.wire.mail import mail_pieces, mail_size_bytes
from onceonly.wire.mime import PartHead

BOUNDARY = boundary_for("0123456789abcdef")
LINE_MAX = 998


class Kept:
    """A sink in memory."""

    def __init__(self, _: PartHead) -> None:
        self.body = b""

    def write(self, data: bytes, /) -> None:
        """Keep it."""
        self.body += data

    def close(self) -> tuple[int, str]:
        """The sum of it all."""
        return len(self.body), sha256(self.body).hexdigest()


def travel(data: bytes) -> None:
    """The mail is text in short lines, and the other side reads the same content."""
    content_type, _, body = data.partition(b"\r\n\r\n")
    before = _decoded(content_type.decode("latin-1"), body)
    package = encode(
        before.content,
        before.routing[-1],
        profile=before.profile,
        boundary=BOUNDARY,
        root_content_id="root",
    )
    mail = _mail_of(package, before)
    after = _decoded(package.content_type, mail)
    assert _bodies(after) == _bodies(before)
    assert after.content == _in_whole_milliseconds(after, before)


def _decoded(content_type: str, body: bytes) -> Envelope:
    decoder = Decoder(content_type, Kept)
    decoder.feed(body)
    return decoder.finish()


def _mail_of(package: Package, envelope: Envelope) -> bytes:
    payloads = envelope.content.payloads if isinstance(envelope.content, Message) else ()
    mail = b"".join(mail_pieces(package, [[body] for body in _bodies(envelope)]))
    assert len(mail) == mail_size_bytes(package, payloads)
    text = MailText()
    on_the_wire = text.feed(mail) + text.finish()
    assert on_the_wire.endswith(b"\r\n.\r\n")
    assert b"\r\n.\r\n" not in on_the_wire[:-5]
    assert max(map(len, mail.split(b"\r\n"))) <= LINE_MAX
    return mail


def _bodies(envelope: Envelope) -> list[bytes]:
    return [sink.body for sink in envelope.sinks if isinstance(sink, Kept)]


def _in_whole_milliseconds(after: Envelope, before: Envelope) -> object:
    """What was read once more reads the same from then on: times lose what the wire has no
    digits for, once."""
    again = encode(
        after.content,
        after.routing[-1],
        profile=after.profile,
        boundary=BOUNDARY,
        root_content_id="root",
    )
    return _decoded(again.content_type, _mail_of(again, before)).content
