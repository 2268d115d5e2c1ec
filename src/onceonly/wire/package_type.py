"""The Content-Type of a package: its boundary, which part is the header, and its version.

Knows RFC 2387 as far as a message needs it. A partner's Content-Types differ only in the boundary
and the start parameter, so there is a short way for them, like that of `template` for header
documents.
"""

import re
from functools import lru_cache
from itertools import zip_longest
from typing import Final

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.printable import quoted
from onceonly.wire import names
from onceonly.wire.limits import Limits
from onceonly.wire.mime import checked_content_id, parse_media_type

PACKAGE_TYPE: Final = f'{names.PACKAGE_TYPE}; type="{names.HEADER_TYPE}"'
"""Without version, boundary and start."""

LENGTH_MAX: Final = 512
"""Longest Content-Type of a package that is remembered. Ours has 170 characters."""

# The values that every product changes from package to package. They have no blank, quote or
# separator, so they may be written with quotes or without.
_CHANGING: Final = re.compile(
    r"(boundary=\"?|start=\"?<?)([0-9A-Za-z!#$%&'*+\-./:=?@^_`{|}~]{1,250}+)"
)

PackageType = tuple[str, str | None, str | None]
"""The boundary, the start parameter without angle brackets, and the version."""


def read_package_type(content_type: str, limits: Limits) -> PackageType:
    """The parts of the Content-Type; by the short way if a similar one was read before."""
    if len(content_type) <= min(LENGTH_MAX, limits.part_head_bytes_max):
        pieces = _CHANGING.split(content_type)
        values = pieces[2::3]
        del pieces[2::3]
        known = _known_package_type(tuple(pieces), limits)
        if known is not None:
            boundary, start, version = known
            return values[boundary], None if start is None else values[start], version
    return parse_package_type(content_type, limits)


@lru_cache(maxsize=64)
def _known_package_type(
    pieces: tuple[str, ...], limits: Limits
) -> tuple[int, int | None, str | None] | None:
    """Which value is the boundary and which the start, and the version; None if it may differ.

    Two Content-Types with unique made-up values are read to find it out (as in `template`).
    """
    found = []
    for series in "xy":
        marks = [f"{series}{at}" for at in range(len(pieces) // 2)]
        text = "".join(map("".join, zip_longest(pieces[::2], pieces[1::2], marks, fillvalue="")))
        try:
            boundary, start, version = parse_package_type(text, limits)
        except RemoteError:
            return None
        if boundary not in marks or start not in (None, *marks):
            return None
        of_start = None if start is None else marks.index(start)
        found.append((marks.index(boundary), of_start, version))
    return found[0] if found[0] == found[1] else None


def parse_package_type(content_type: str, limits: Limits) -> PackageType:
    """The long way.

    RFC 2387 requires `type`; if it is absent, the type of the header part says the same.
    """
    media = parse_media_type(content_type, limits)
    essence, parameters = media.essence, media.parameters
    if (
        essence != names.PACKAGE_TYPE
        or parameters.get("type", names.HEADER_TYPE).lower() != names.HEADER_TYPE
    ):
        raise RemoteError(
            ErrorCode.NOT_SUPPORTED,
            f"the package is {quoted(content_type)}; expected is {PACKAGE_TYPE}",
        )
    boundary = parameters.get("boundary")
    if boundary is None:
        raise RemoteError(
            ErrorCode.MIME_PROBLEM,
            "the package has no boundary parameter; expected is one in its Content-Type, which is"
            f" {quoted(content_type)}",
        )
    start = parameters.get("start")
    return (
        boundary,
        None if start is None else checked_content_id(start),
        parameters.get("version"),
    )
