"""The Content-Type of a package: its boundary, which part is the header, and its version.

Knows RFC 2387 as far as a message needs it. Partners send the same Content-Type for ever but for
the boundary and the start parameter, so there is a short way for it, like that of `template` for
header documents.
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

# What every product changes from package to package. There is no blank, quote or separator in it,
# so it may stand in quotes or without them.
_CHANGING: Final = re.compile(
    r"(boundary=\"?|start=\"?<?)([0-9A-Za-z!#$%&'*+\-./:=?@^_`{|}~]{1,250}+)"
)

PackageType = tuple[str, str | None, str | None]
"""The boundary, the start parameter without angle brackets, and the version."""


def read_package_type(content_type: str, limits: Limits) -> PackageType:
    """What the Content-Type says, by the short way where one like it was read before."""
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
    """Which value is the boundary and which the start, and the version; None where it may differ.

    Two are read that have values which stand nowhere else (as in `template`).
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

    RFC 2387 asks for `type`; where it is absent, the header part's own type says the same.
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
