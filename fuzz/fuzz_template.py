"""Fuzzes the short way to read a header document against the long one.

The input is either a document, or lines of text that become the values of a document in a layout
that has a template. What a template reads, the tree must read as the same; what it passes on is
the tree's affair. A document that the tree reads is also given a template of its own.
"""

from functools import partial
from pathlib import Path

from onceonly.message.errors import RemoteError
from onceonly.wire import header
from onceonly.wire.codec import Codec
from onceonly.wire.document import Document
from onceonly.wire.limits import DEFAULT
from onceonly.wire.registry import codecs
from onceonly.wire.template import Templates
from onceonly.wire.xml import parse

_CORPUS = Path(__file__).parent / "corpus" / "header"

# Values of the samples that the lines of an input replace, one after another.
_VALUES = (
    b"m-0001@a.example.com",
    b"20001002T090000.000Z",
    b"urn:duns:111111111",
    b"tpa-ab-1",
    b"http://b.example.com/ebxmlhandler/",
    b"PurchaseOrder",
    b"000000001",
    b"po-1@a.example.com",
    b"conv-1",
    b"NewPurchaseOrder",
    b"OnceAndOnlyOnce",
    b"2001-02-15T11:12:12Z",
    b"cpa-ab-1",
    b"urn:services:QuoteToCollect",
)
_LAYOUTS = tuple(
    (_CORPUS / name).read_bytes().rstrip().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") + b"\r\n"
    for name in ("normal", "acknowledgement", "rm2001-normal", "rm2001-acknowledgment")
)


_CHARSETS = (None, "utf-8", "UTF-16")


def compare(data: bytes) -> None:
    """No difference, for any charset parameter that the header part may have."""
    _compare_one(data, _KNOWN)
    _compare_one(data, _learned(data))
    lines = data.split(b"\n")
    for document in _LAYOUTS:
        for value, line in zip(_VALUES, lines, strict=False):
            document = document.replace(value, line)  # noqa: PLW2901 - because it grows step by step
        _compare_one(document, _KNOWN)


def _compare_one(document: bytes, templates: Templates) -> None:
    for charset in _CHARSETS:
        for codec in codecs():
            short = templates.find(document, charset, codec, DEFAULT)
            if short is not None:
                assert _read(document, charset, codec) == short


def _learned(*documents: bytes) -> Templates:
    """Templates that have seen each of them twice, if it can be read."""
    templates = Templates()
    for document in documents:
        for charset in _CHARSETS:
            for codec in codecs():
                _learn(templates, document, charset, codec)
    return templates


def _learn(templates: Templates, document: bytes, charset: str | None, codec: Codec) -> None:
    try:
        _read(document, charset, codec)
    except RemoteError:
        return
    read = partial(_read, charset=charset, codec=codec)
    for _ in range(2):
        templates.learn(document, charset, codec, DEFAULT, read=read)


def _read(document: bytes, charset: str | None, codec: Codec) -> Document:
    return header.read(parse(document, charset, DEFAULT), codec.profile, DEFAULT)


_KNOWN = _learned(*_LAYOUTS)
