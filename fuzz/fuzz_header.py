"""Fuzzes the header document.

What is accepted, of either profile, must survive being written and read again:
encode(decode(x)) is a fixed point.
"""

from onceonly.message.errors import RemoteError
from onceonly.message.message import Message, RoutingHeader
from onceonly.message.word import changed
from onceonly.wire import header
from onceonly.wire.document import About, Document, about
from onceonly.wire.limits import DEFAULT
from onceonly.wire.registry import codec_of
from onceonly.wire.xml import parse


def read(data: bytes) -> None:
    """A document or a refusal; and of every tree whatever can be known of its sender."""
    root = parse(data, None, DEFAULT)
    assert isinstance(header.salvage(root, DEFAULT), About)
    try:
        document = header.read(root, None, DEFAULT)
    except RemoteError:
        return
    _check_fixed_point(document)


def _check_fixed_point(document: Document) -> None:
    assert about(document).message_id is not None
    text = _written(document)
    again = header.read(parse(text.encode(), "utf-8", DEFAULT), None, DEFAULT)
    assert again.profile is document.profile
    assert _written(again) == text


def _written(document: Document) -> str:
    return codec_of(document.profile).write(document.content, _hop(document))


def _hop(document: Document) -> RoutingHeader:
    """What a signal says of a sequence has no effect, and is not written."""
    hop = document.routing[-1]
    return hop if isinstance(document.content, Message) else changed(hop, sequence_number=None)
