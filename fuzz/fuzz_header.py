"""Fuzzes the header document: `python fuzz/fuzz_header.py --runs N --seed S`.

What is accepted must survive being written and read again: encode(decode(x)) is a fixed point.
"""

from fuzzing import run
from onceonly.message.errors import RemoteError
from onceonly.wire import rm2000, rm2000_writing
from onceonly.wire.limits import DEFAULT
from onceonly.wire.rm2000 import About, Document
from onceonly.wire.xml import parse


def read(data: bytes) -> None:
    """A document or a refusal; and of every tree whatever can be known of its sender."""
    root = parse(data, None, DEFAULT)
    assert isinstance(rm2000.salvage(root, DEFAULT), About)
    try:
        document = rm2000.read(root, DEFAULT)
    except RemoteError:
        return
    _check_fixed_point(document)


def _check_fixed_point(document: Document) -> None:
    about = rm2000.about(document)
    assert about.message_id is not None
    hop = document.routing[-1]
    if about.message_type != "Normal":
        hop = type(hop)(
            sender_uri=hop.sender_uri,
            receiver_uri=hop.receiver_uri,
            error_uri=hop.error_uri,
            timestamp_at=hop.timestamp_at,
        )
    text = rm2000_writing.write(document.content, hop)
    again = rm2000.read(parse(text.encode(), "utf-8", DEFAULT), DEFAULT)
    assert rm2000_writing.write(again.content, again.routing[-1]) == text


if __name__ == "__main__":
    run(read, "header")
