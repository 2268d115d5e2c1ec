"""The Content-Type of a package: its boundary, which part is the header, its type and version.

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
from onceonly.wire.registry import (
    fault_of,
    find_by_type,
    forget_with,
    has_header_type,
    package_types,
)
from onceonly.wire.xml import WHITE_SPACE

PACKAGE_TYPE: Final = f'{names.PACKAGE_TYPE}; type="{names.HEADER_TYPE}"'
"""Without version, boundary and start."""

LENGTH_MAX: Final = 512
"""Longest Content-Type of a package that is remembered. Ours has 170 characters."""

# The values that every product changes from package to package. They have no blank, quote or
# separator, so they may be written with quotes or without.
_CHANGING: Final = re.compile(
    r"(boundary=\"?|start=\"?<?)([0-9A-Za-z!#$%&'*+\-./:=?@^_`{|}~]{1,250}+)"
)

PackageType = tuple[str | None, str | None, str | None, str | None]
"""The boundary, the start parameter without angle brackets, the version, and the media type of the
header document. The boundary is None where that document is the whole package, the others are None
where the Content-Type does not say them."""


def read_package_type(content_type: str, limits: Limits) -> PackageType:
    """The parts of the Content-Type; by the short way if a similar one was read before."""
    if len(content_type) <= min(LENGTH_MAX, limits.part_head_bytes_max):
        pieces = _CHANGING.split(content_type)
        values = pieces[2::3]
        del pieces[2::3]
        known = _known_package_type(tuple(pieces), limits)
        if known is not None:
            boundary, start, version, header_type = known
            begin = None if start is None else values[start]
            return values[boundary], begin, version, header_type
    return parse_package_type(content_type, limits)


@lru_cache(maxsize=64)
def _known_package_type(
    pieces: tuple[str, ...], limits: Limits
) -> tuple[int, int | None, str | None, str | None] | None:
    """Which value is the boundary and which the start, and the rest; None if it may differ.

    Two Content-Types with unique made-up values are read to find it out (as in `template`).
    """
    found = []
    for series in "xy":
        marks = [f"{series}{at}" for at in range(len(pieces) // 2)]
        text = "".join(map("".join, zip_longest(pieces[::2], pieces[1::2], marks, fillvalue="")))
        try:
            boundary, start, version, header_type = parse_package_type(text, limits)
        except RemoteError:
            return None
        if boundary not in marks or start not in (None, *marks):
            return None
        of_start = None if start is None else marks.index(start)
        found.append((marks.index(boundary), of_start, version, header_type))
    return found[0] if found[0] == found[1] else None


forget_with(_known_package_type.cache_clear)


def parse_package_type(content_type: str, limits: Limits) -> PackageType:
    """The long way.

    RFC 2387 requires `type`; if it is absent, the type of the header part says the same.
    """
    media = parse_media_type(content_type, limits)
    essence, parameters = media.essence, media.parameters
    if has_header_type(essence, stands_alone=True):
        return None, None, parameters.get("version"), essence
    header_type = _header_type_of(parameters.get("type"))
    if essence != names.PACKAGE_TYPE or not (header_type is None or has_header_type(header_type)):
        raise RemoteError(
            ErrorCode.NOT_SUPPORTED,
            f"the package is {quoted(content_type)}; expected is {package_types()}",
        )
    boundary = parameters.get("boundary")
    if boundary is None:
        raise RemoteError(
            ErrorCode.MIME_PROBLEM,
            "the package has no boundary parameter; expected is one in its Content-Type, which is"
            f" {quoted(content_type)}",
            fault=fault_of(find_by_type(header_type)),
        )
    start = parameters.get("start")
    return (
        boundary,
        None if start is None else checked_content_id(start),
        parameters.get("version"),
        header_type,
    )


def _header_type_of(given: str | None) -> str | None:
    """The media type in `type`; a charset or another parameter beside it says nothing new."""
    return None if given is None else given.partition(";")[0].strip(WHITE_SPACE).lower()
