"""Fuzzes the short way to read a header document against the long one.

The input is either a document, or lines of text that become the values of a document in our
writer's layout: only such a document does the template read. What the template reads, the tree
must read as the same; what it passes on is the tree's affair.
"""

from pathlib import Path

from onceonly.wire import header
from onceonly.wire.limits import DEFAULT
from onceonly.wire.rm2000 import template
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
)
_LAYOUTS = tuple(
    (_CORPUS / name).read_bytes().rstrip().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") + b"\r\n"
    for name in ("normal", "acknowledgement")
)


def compare(data: bytes) -> None:
    """No difference, for any charset parameter that the header part may have."""
    _compare_one(data)
    lines = data.split(b"\n")
    for document in _LAYOUTS:
        for value, line in zip(_VALUES, lines, strict=False):
            document = document.replace(value, line)  # noqa: PLW2901 - because it grows step by step
        _compare_one(document)


def _compare_one(document: bytes) -> None:
    for charset in (None, "utf-8", "UTF-16"):
        short = template.find(document, charset, DEFAULT)
        if short is not None:
            assert header.read(parse(document, charset, DEFAULT), None, DEFAULT) == short
