"""Fuzzes the MIME splitter against the standard library's parser, on inputs that both can read.

The input is a body with boundary `b`. Ours is the stricter one, so only what it accepts is
compared; and the standard library takes a bare CR or LF for a line end and looks into parts that
are messages or packages themselves, so inputs with those are left out.
"""

import re
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32

from onceonly.wire.splitter import PartBegun, PartBytes, Splitter

_BARE = re.compile(rb"\r(?!\n)|(?<!\r)\n")
_NESTED = re.compile(rb"(?i)content-t|mime-version")
_HEAD = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"

Part = tuple[str | None, bytes]


def compare(data: bytes) -> None:
    """The same parts: as many, with the same Content-ID and the same bytes."""
    ours = _ours(data)
    if _BARE.search(data) is None and _NESTED.search(data) is None:
        assert _theirs(data) == ours


def _ours(data: bytes) -> list[Part]:
    splitter = Splitter("b")
    parts: list[Part] = []
    for event in (*splitter.feed(data), *splitter.finish()):
        if isinstance(event, PartBegun):
            parts.append((event.head.content_id, b""))
        elif isinstance(event, PartBytes):
            content_id, body = parts[-1]
            parts[-1] = (content_id, body + event.data)
    return parts


def _theirs(data: bytes) -> list[Part]:
    whole = BytesParser(policy=compat32).parsebytes(_HEAD + data)
    parts = whole.get_payload()
    assert isinstance(parts, list)
    return [_part(part) for part in parts if isinstance(part, Message)]


def _part(part: Message) -> Part:
    body = part.get_payload(decode=True)
    assert isinstance(body, bytes)
    content_id = part.get("Content-ID")
    name = None if content_id is None else str(content_id).strip(" \t")
    if name is not None and name.startswith("<") and name.endswith(">"):
        name = name[1:-1].strip(" \t")
    return name, body
