"""Packages that are not as they should be: odd values in their places, or no package at all.

Knows only bytes: where the values of a header document are, and which values the gateway's authors
may have forgotten. A gateway answers each of them with a value or a named error (R-25), and goes on
(R-43).
"""

from base64 import b64encode
from collections.abc import Callable
from random import Random

from onceonly.message.word import changed
from onceonly.simulation.packing import Forged

_ODD_TEXTS = (
    "",
    " ",
    "\n\t",
    "x" * 5_000,
    "\u202eebxml",
    "é" * 300,
    "\U0001f600",
    "&amp;&lt;&#10;",
    "0",
    "-1",
    "00000000000000000001",
    "9" * 40,
    "1e9",
    "NaN",
    "\u0661\u0662",
    "true",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999Z",
    "9999-12-31T23:59:60Z",
    "2000-02-30T00:00:00Z",
    "-0044-03-15T00:00:00Z",
    "99990101T000000.000Z",
    "00010101T000000.000Z",
    "1970-01-01T00:00:00+14:00",
    "http://[::1",
    "http://user:pw@169.254.169.254:1/x",
    "http://B.example:99999/msh",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "smtp:",
    "smtp:root@localhost",
    "urn:",
    "../../../../etc/passwd",
    "'; DROP TABLE outbound; --",
    "%s%n{0}$(id)",
    "P99999999999Y",
    "-P1D",
    "999999999",
    "1000000000",
)
"""What stands where a word, a number, an instant or an address should."""

_EDITS_MAX = 3


def oddly(forged: Forged, name: str) -> Forged:
    """The same package with some values of its header replaced; `name` decides which."""
    chance = Random(f"odd/{name}")  # noqa: S311 - because a world must be repeatable
    body = forged.body
    for _ in range(chance.randrange(1, _EDITS_MAX + 1)):
        places = _values(body)
        if not places:
            break
        begin, end = chance.choice(places)
        body = body[:begin] + chance.choice(_ODD_TEXTS).encode() + body[end:]
    return changed(forged, body=body)


def _values(body: bytes) -> list[tuple[int, int]]:
    """Where the texts and attribute values of the header document stand."""
    begin = body.find(b"\r\n\r\n") + 4
    end = body.find(b"\r\n--", begin)
    found = []
    at = begin
    while 0 <= at < end:
        for opening, closing in ((b">", b"<"), (b'="', b'"')):
            if body.startswith(opening, at):
                first = at + len(opening)
                last = body.find(closing, first, end)
                if last > first and body[first:last].strip():
                    found.append((first, last))
        at += 1
    return found


def malformed(forged: Forged, name: str) -> Forged:
    """Something that was this package before; `name` decides what became of it."""
    chance = Random(f"malformed/{name}")  # noqa: S311 - because a world must be repeatable
    return chance.choice(_DAMAGES)(forged, chance)


def _cut(forged: Forged, chance: Random) -> Forged:
    return changed(forged, body=forged.body[: chance.randrange(len(forged.body))])


def _emptied(forged: Forged, chance: Random) -> Forged:
    return changed(forged, body=chance.choice((b"", b"\r\n", b"\x00" * 64, b"--", b"--\r\n--")))


def _other_type(forged: Forged, chance: Random) -> Forged:
    types = (
        "",
        "text/xml",
        "multipart/related",
        "multipart/related; boundary=",
        'multipart/related; boundary="' + "b" * 4_000 + '"',
        "application/octet-stream",
        "multipart/mixed; boundary=\u00e9",
        ";;;=,",
    )
    return changed(forged, content_type=chance.choice(types))


def _doubled(forged: Forged, chance: Random) -> Forged:
    at = chance.randrange(len(forged.body))
    return changed(forged, body=forged.body[:at] + forged.body)


def _flipped(forged: Forged, chance: Random) -> Forged:
    body = bytearray(forged.body)
    for _ in range(chance.choice((1, 8, 64))):
        body[chance.randrange(len(body))] = chance.randrange(256)
    return changed(forged, body=bytes(body))


def _declared(forged: Forged, chance: Random) -> Forged:
    """A document type, entities, processing instructions: nothing of it is ever read (R-24)."""
    bombs = (
        b'<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]>',
        b'<!DOCTYPE a SYSTEM "http://169.254.169.254/">',
        b"<?xml-stylesheet href='x'?>",
        b"<!-- " + b"-" * 3 + b" -->",
    )
    at = forged.body.find(b"\r\n\r\n") + 4
    end = forged.body.find(b"?>", at)
    at = at if end < 0 else end + 2
    return changed(forged, body=forged.body[:at] + chance.choice(bombs) + forged.body[at:])


def _deep(forged: Forged, chance: Random) -> Forged:
    depth = chance.choice((50, 2_000))
    at = forged.body.find(b"</")
    nest = b"<a>" * depth + b"</a>" * depth
    return changed(forged, body=forged.body[:at] + nest + forged.body[at:])


def _encoded(forged: Forged, chance: Random) -> Forged:
    heads = (b"Content-Transfer-Encoding: base64\r\n", b"Content-Transfer-Encoding: x-none\r\n")
    at = forged.body.find(b"\r\n") + 2
    begin = forged.body.find(b"\r\n\r\n") + 4
    end = forged.body.find(b"\r\n--", begin)
    inner = b64encode(forged.body[begin:end]) if chance.random() < 0.5 else forged.body[begin:end]
    head = forged.body[:at] + chance.choice(heads) + forged.body[at:begin]
    return changed(forged, body=head + inner + forged.body[end:])


def _renamed(forged: Forged, chance: Random) -> Forged:
    """An element that is another one, in the beginning or in the end."""
    at = forged.body.find(b"<", chance.randrange(len(forged.body)))
    return changed(forged, body=forged.body[: at + 1] + b"x" + forged.body[at + 1 :])


def _bare_lines(forged: Forged, chance: Random) -> Forged:
    body = forged.body.replace(b"\r\n", b"\n") if chance.random() < 0.5 else forged.body[:-2]
    return changed(forged, body=body)


_DAMAGES: tuple[Callable[[Forged, Random], Forged], ...] = (
    _cut,
    _emptied,
    _other_type,
    _doubled,
    _flipped,
    _declared,
    _deep,
    _encoded,
    _renamed,
    _bare_lines,
)
