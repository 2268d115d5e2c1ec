"""Fuzzes what reads one value: timestamps, numbers, durations, types, names, replies.

The first byte of the input chooses the reader, the rest is the text. Whatever is accepted and can
be written again reads as the same.
"""

from collections.abc import Callable
from xml.etree.ElementTree import Element

from onceonly.gateway.config import values
from onceonly.message.errors import LocalError
from onceonly.message.identity import PartyId, checked_identifier, checked_text, is_uri
from onceonly.transport.mail.address import is_mailbox, is_path, read_endpoint, read_relay
from onceonly.transport.mail.reply import read_detail
from onceonly.wire.fields import get_number, get_uri
from onceonly.wire.limits import DEFAULT
from onceonly.wire.mime import check_writable_type, parse_media_type, parse_part_head
from onceonly.wire.timestamp import read_timestamp, write_extended_timestamp, write_timestamp
from onceonly.wire.version import profile_of
from onceonly.wire.xml import escaped, parse


def read(data: bytes) -> None:
    """A value or a named refusal."""
    if data:
        READERS[data[0] % len(READERS)](data[1:].decode("utf-8", "replace"))


def _timestamp(text: str) -> None:
    at = read_timestamp(text)
    whole_ms = at - at % 1000
    assert read_timestamp(write_timestamp(at)) == whole_ms
    assert read_timestamp(write_extended_timestamp(at)) == whole_ms


def _number(text: str) -> None:
    assert 0 <= get_number({"SequenceNumber": _leaf(text)}, "SequenceNumber") < 1_000_000_000


def _leaf(text: str) -> Element:
    element = Element("SequenceNumber")
    element.text = text
    return element


def _setting(read: Callable[[str], object]) -> Callable[[str], None]:
    """A key's reader, whose refusals the configuration's reader names."""

    def judge(text: str) -> None:
        try:
            read(text)
        except values.Illegal as error:
            raise LocalError("Illegal", str(error)) from error

    return judge


def _part_head(text: str) -> None:
    head = parse_part_head(text.encode())
    assert head.content_id is None or head.content_id


def _writable_type(text: str) -> None:
    check_writable_type(text)
    assert text.isascii() or parse_media_type(text)


def _detail(text: str) -> None:
    detail = read_detail(text)
    assert detail.isascii()
    assert detail.isprintable() or not detail


def _escaped(text: str) -> None:
    (safe,) = escaped((text,))
    root = parse(f'<a b="{safe}">{safe}</a>'.encode(), "utf-8", DEFAULT)
    assert ((root.text or ""), root.get("b")) == (text, text)


def _address(text: str) -> None:
    assert not is_mailbox(text) or is_path(f"<{text}>")
    read_endpoint(text)


READERS: tuple[Callable[[str], object], ...] = (
    _timestamp,
    _number,
    parse_media_type,
    _part_head,
    _writable_type,
    _detail,
    _escaped,
    _address,
    read_relay,
    profile_of,
    is_uri,
    PartyId,
    lambda text: checked_identifier(text, "MessageId"),
    lambda text: checked_text(text, "Action"),
    lambda text: get_uri({"SenderURI": _leaf(text)}, "SenderURI"),
    _setting(values.duration_s),
    _setting(values.minutes_seconds),
    _setting(values.endpoint),
    _setting(values.listen_uri),
    _setting(values.queue),
    _setting(values.http_uri),
)
