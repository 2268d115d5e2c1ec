"""A message as it travels: bytes around payloads.

The bytes of a package are `segments[0] + payload 0 + segments[1] + payload 1 + … + segments[-1]`.
The segments are kept apart from the payloads, so that a resend has exactly the same bytes (ruling
R-04), while a 100 MiB payload is stored only once and is never in memory.
"""

from collections.abc import Iterable
from typing import Final

from onceonly.message.message import Payload
from onceonly.message.word import Word

HOPS_HEADER: Final = "Onceonly-Hops"
"""The header of a transmission that counts the intermediaries of ours which passed the package on.
One whose bytes say nothing of its way would go round a loop of intermediaries for ever."""


class Package(Word):
    """`content_type` is the whole Content-Type value of the MIME package.

    `segments` has exactly one element more than the message has payloads.
    """

    content_type: str
    segments: tuple[bytes, ...]

    def __post_init__(self) -> None:
        assert self.segments, "a package has at least one segment"

    def size_bytes(self, payloads: Iterable[Payload]) -> int:
        """Length of the package with these payloads in it."""
        return sum(map(len, self.segments)) + sum([payload.size_bytes for payload in payloads])
