"""What somebody on the way does to a signed package, so that it is still one (R-30).

Everything but its signature stays as it should be: what is changed has a legal form, so that nobody
who does not verify could see it. Knows our own layout; must not know keys.
"""

import re
from collections.abc import Callable

_TEXT = re.compile(rb"<eb:(?:ConversationId|Action|Timestamp|RefToMessageId)>([^<]+)<")
_SIGNATURE = re.compile(rb"  <ds:Signature .*?</ds:Signature>\r\n", re.DOTALL)
_PAYLOAD = re.compile(rb"<Order id='[^']*' part='[0-9]+'/> *")

Draw = Callable[[int], int]
"""One of so many, the same one for the same package."""


def altered(body: bytes, draw: Draw) -> bytes:
    """A character in a text of the header, or in a payload, is another one."""
    texts = [(found.start(1), found.end(1)) for found in _TEXT.finditer(body)]
    payloads = [(found.start() + 1, found.start() + 6) for found in _PAYLOAD.finditer(body)]
    places = [*texts, *payloads]
    if not places:
        return body
    first, last = places[draw(len(places))]
    at = first + draw(last - first)
    while not body[at : at + 1].isalnum():
        at = first if at + 1 == last else at + 1
    return body[:at] + _other(body[at : at + 1]) + body[at + 1 :]


def _other(character: bytes) -> bytes:
    if character.isdigit():
        return b"%d" % ((int(character) + 1) % 10)
    return character.swapcase()


def stripped(body: bytes, draw: Draw) -> bytes:
    """Its signature is gone."""
    del draw
    return _SIGNATURE.sub(b"", body, count=1)


def swapped(body: bytes, draw: Draw) -> bytes:
    """Two of its payloads have changed their places; where it has fewer, one is another."""
    payloads = [*_PAYLOAD.finditer(body)]
    if len(payloads) < 2:
        return altered(body, draw)
    first, second = payloads[:2]
    return (
        body[: first.start()]
        + second[0]
        + body[first.end() : second.start()]
        + first[0]
        + body[second.end() :]
    )
