"""The short way to cut a package into its parts: it is here as a whole, and as plain as most are.

Plain: its frame has CRLF line ends, nothing before it, after it or in its delimiter lines, and
heads that are known except for their Content-IDs; its parts are transferred as they are. Such a
package is cut at once, without a state and without events. What is not plain, or not allowed, has
no short way: `splitter` reads it then, from its beginning, and says what is wrong. A property test
holds both to the same answer.
"""

from functools import lru_cache
from typing import Final

from onceonly.message.errors import RemoteError
from onceonly.wire.limits import Limits
from onceonly.wire.mime import PLAIN_HEAD, PartHead, find_known_head, part_media_type
from onceonly.wire.registry import forget_with, has_header_type

Part = tuple[PartHead, bytes]
"""The head of a part, and its bytes."""

_IDENTITIES: Final = frozenset({"binary", "8bit"})
_CR: Final = 13


def find_parts(package: bytes, boundary: str, limits: Limits) -> list[Part] | None:
    """All parts of a whole package, the header part first, or None where it has no short way."""
    mark = b"\n--" + boundary.encode("ascii")
    if not package.startswith(mark[1:]) or len(package) > limits.package_bytes_max:
        return None
    # With the line ends before the delimiters: no part keeps its CR, and that of the frame is LF.
    pieces = package.split(mark)
    if pieces.pop() != b"--\r\n" or not 0 < len(pieces) <= limits.parts_max:
        return None
    parts: list[Part] = []
    at = len(mark) - 1
    for piece in pieces:
        found = PLAIN_HEAD.match(piece, at)
        if found is None or piece[-1] != _CR:
            return None
        before, content_id, after = found.groups()
        known = find_known_head(before, after)
        end = found.end()
        if known is None or end - at - len(b"\r\n\r\n\r\n") > limits.part_head_bytes_max:
            return None
        data = piece[end:-1]
        encoding = known.transfer_encoding
        if encoding not in _IDENTITIES and not (encoding == "7bit" and data.isascii()):
            return None
        head = PartHead(known.content_type, content_id.decode("ascii"), encoding)
        parts.append((head, data))
        at = 0
    return parts


@lru_cache(maxsize=64)
def find_header_type(
    content_type: str, header_type: str | None, limits: Limits
) -> tuple[str | None, str | None, str] | None:
    """The charset and the version of the header part of this type, and its media type.

    None where it is not the header of a package that says `header_type` of it.
    """
    try:
        media_type = part_media_type(content_type, limits)
    except RemoteError:
        return None
    essence, parameters = media_type.essence, media_type.parameters
    if essence != header_type and (header_type is not None or not has_header_type(essence)):
        return None
    return parameters.get("charset"), parameters.get("version"), essence


forget_with(find_header_type.cache_clear)
