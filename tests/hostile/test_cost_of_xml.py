"""What a megabyte of XML can cost us, whatever stands in it (attacks X4-X6, S32).

Each document is one thing again and again, in one of some surroundings, as long as a header may
be. A parser copies, resolves and counts where nobody expects it: so not those are tried that are
known to cost much, but each thing in all surroundings.
"""

import resource
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from ground import CPU_S_MAX, Growth

from onceonly.gateway.cpa.document import CpaError, read_document
from onceonly.message.errors import RemoteError
from onceonly.wire.canonical import Method, View, canonical_forms
from onceonly.wire.limits import DEFAULT
from onceonly.wire.part_digests import XML_PART
from onceonly.wire.xml import parse
from slowness import is_cheaper

LENGTH = DEFAULT.header_bytes_max
LONG = "u" * (LENGTH // 2)
PREFIXES = [f"p{number}" for number in range(1_000)]


def declared(prefixes: Iterable[str], length: int) -> str:
    """Each for a name of this length."""
    return "".join(f' xmlns:{one}="{one:u<{length}}"' for one in prefixes)


def attributes(number: int, prefixes: Iterable[int]) -> str:
    """With these prefixes, and with names that no other element has."""
    return " ".join(f'p{one}:b{at}x{number}=""' for at, one in enumerate(prefixes))


SURROUNDINGS = {
    "nothing": ("<r>", "</r>"),
    "all names": (f"<r{declared(PREFIXES[:63], DEFAULT.namespace_bytes_max)}>", "</r>"),
    "all names of a part": (f"<r{declared(PREFIXES[:900], 16)}>", "</r>"),
    "a long name": (f'<r xmlns:p0="{LONG}"{declared(PREFIXES[1:4], 8)}>', "</r>"),
    "a long name for all": (f'<r xmlns="{LONG}">', "</r>"),
    "a declaration": (f"<r {'xmlns' * 60}=", "'u'/>"),
    "a declaration of a part": (f"<r {'xmlns' * 900}=", "'u'/>"),
    "a value": ('<r a="', '"/>'),
    "a tag": ("<r ", "/>"),
    "a comment": ("<r><!--", "--></r>"),
    "a section": ("<r><![CDATA[", "]]></r>"),
    "depth": ("<r>" * 60, "</r>" * 60),
}
ONES: dict[str, Callable[[int], str]] = {
    "text": lambda _: "x" * 1_000,
    "references": lambda _: "&#38;" * 1_000,
    "lines": lambda _: "\r\n" * 1_000,
    "equals": lambda _: "=" * 1_000,
    "quotes": lambda _: "a='" * 1_000,
    "elements": lambda _: "<a/>",
    "elements with names": lambda n: f"<p{n % 4}:a/>",
    "elements with all names": lambda n: f"<p{n % 900}:a{n}/>",
    "elements with attributes": lambda n: f"<a {attributes(n, [n % 4] * 9)}/>",
    "elements with all attributes": lambda n: f"<a {attributes(n, range(60))}/>",
    "declarations": lambda n: f'<a xmlns:p{n}="{n}"/>',
    "blanks": lambda _: " " * 1_000,
    "words": lambda _: "xmlns ",
    "attributes": lambda n: f'a{n}="" ',
    "attributes with names": lambda n: f'p0:a{n}="" ',
    "comments": lambda _: "<!---->",
    "sections": lambda _: "<![CDATA[]]>",
    "depth": lambda _: "<a>",
}


def document(around: str, one: Callable[[int], str], most: int) -> bytes:
    """As many of the thing as fit in, and as may be in it, where they are elements."""
    before, after = SURROUNDINGS[around]
    room = LENGTH - len(before) - len(after)
    made: list[str] = []
    while room >= len(one(len(made))) and len(made) < most:
        made.append(one(len(made)))
        room -= len(made[-1])
    return (before + "".join(made) + after).encode()


def read_or_refuse(read: Callable[[bytes], None], given: bytes) -> None:
    with suppress(RemoteError, CpaError):
        read(given)


def read_header(document: bytes) -> None:
    parse(document, None, DEFAULT)


def read_agreement(document: bytes) -> None:
    read_document(document)


def make_canonical(method: Method) -> Callable[[bytes], None]:
    def read(document: bytes) -> None:
        parse(document, None, XML_PART)
        canonical_forms(document, (View(method),))

    return read


READERS = {
    "header": (DEFAULT.elements_max, read_header),
    "agreement": (XML_PART.elements_max, read_agreement),
    "canonical": (XML_PART.elements_max, make_canonical(Method())),
    "exclusive": (
        XML_PART.elements_max,
        make_canonical(Method(is_exclusive=True, prefixes=frozenset(PREFIXES))),
    ),
}


@contextmanager
def little_memory() -> Iterator[None]:
    """A parser that asks for a gigabyte more is refused it, before the machine has none left."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + (1 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("around", SURROUNDINGS)
def test_a_megabyte_of_xml_is_cheap_whatever_is_in_it(around, reader):
    """Read or refused, in less than a second of processor and 256 MB."""
    most, read = READERS[reader]
    for one in ONES.values():
        is_limited = one(0).startswith("<")
        given = document(around, one, most - DEFAULT.depth_max if is_limited else LENGTH)
        growth = Growth()
        with little_memory():
            is_cheap = is_cheaper(partial(read_or_refuse, read, given), CPU_S_MAX)
        assert is_cheap, one(0)
        growth.check()
