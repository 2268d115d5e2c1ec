"""The words of MIME: media types, Content-IDs, and the head of a part.

Knows RFC 2045, 2046 and 2392 as far as a message needs them, and their abuses (attacks P1-P10). It
must not know what the parts mean, or how a package is cut into them.
"""

import re
from functools import lru_cache
from typing import Final

from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.printable import quoted
from onceonly.message.word import Word
from onceonly.wire.limits import DEFAULT, Limits

DEFAULT_CONTENT_TYPE: Final = "text/plain; charset=us-ascii"
"""The type of a part without a Content-Type (RFC 2046 §5.1)."""

_USED_FIELDS = frozenset({"content-type", "content-id", "content-transfer-encoding"})
_TOKEN = r"[!#$%&'*+\-.0-9A-Z^_`a-z|~]+"  # noqa: S105 - because it is a grammar, not a secret
_ESSENCE = re.compile(rf"[ \t]*({_TOKEN}/{_TOKEN})[ \t]*")
# Unquoted values are wider than a token: `start=<id>` and `type=text/xml` are in the field.
_QUOTED = r"\"((?:[^\"\\\x00-\x08\x0a-\x1f\x7f-\U0010ffff]|\\[ -~])*+)\""
_UNQUOTED = r"([^\x00-\x20\";\\(),\x7f-\U0010ffff]++)"
_PARAMETER = re.compile(rf";[ \t]*(?:({_TOKEN})=(?:{_QUOTED}|{_UNQUOTED})[ \t]*)?")
# RFC 2045 §5.1 allows blanks around the equals sign, and mail programs fold there; the head of an
# HTTP request must not have them (RFC 9110 §5.6.6).
_PART_PARAMETER = re.compile(rf";[ \t]*(?:({_TOKEN})[ \t]*=[ \t]*(?:{_QUOTED}|{_UNQUOTED})[ \t]*)?")
_CHARSET = re.compile(r"[0-9A-Za-z._\-]{1,40}")
_QUOTED_PAIR = re.compile(r"\\(.)")
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]")
_CONTENT_ID = re.compile(r"[!-;=?-~]{1,250}")
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
_FIELD_NAME = re.compile(_TOKEN)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BARE_CR = re.compile(rb"\r(?!\n)")
BARE_LF = re.compile(rb"(?<!\r)\n")
_FOLD = re.compile(r"\n(?=[ \t])")


class MediaType(Word):
    """A Content-Type: `essence` is `type/subtype` in lower case, so are the parameters' names."""

    essence: str
    parameters: dict[str, str]


class PartHead(Word):
    """The head of one part; `content_id` is without angle brackets."""

    content_type: str
    content_id: str | None
    transfer_encoding: str


def broken(description: str) -> RemoteError:
    """The error for a part, or a frame around parts, that is not legal MIME."""
    return RemoteError(ErrorCode.MIME_PROBLEM, description)


def too_large(description: str) -> RemoteError:
    """The error for something that exceeds a limit."""
    return RemoteError(ErrorCode.MESSAGE_TOO_LARGE, description)


def parse_media_type(
    value: str, limits: Limits = DEFAULT, *, parameter: re.Pattern[str] = _PARAMETER
) -> MediaType:
    """The parts of a Content-Type value, as strictly as the head of an HTTP request is read.

    Raises `RemoteError` (MimeProblem, MessageTooLarge).
    """
    if len(value) > limits.part_head_bytes_max:
        raise too_large(
            f"a Content-Type has {len(value)} characters; at most {limits.part_head_bytes_max}"
            " are read"
        )
    found = _ESSENCE.match(value)
    if found is None:
        raise broken(f"the Content-Type is {quoted(value)}; expected is the form type/subtype")
    essence, at = found[1].lower(), found.end()
    parameters: dict[str, str] = {}
    count = 0
    while at < len(value):
        found = parameter.match(value, at)
        if found is None:
            raise broken(
                f"a Content-Type has a malformed parameter at {quoted(value[at:])}; expected is"
                ' ; name=value or ; name="value"'
            )
        at = found.end()
        count += 1
        if count > limits.parameters_max:
            raise too_large(
                f"a Content-Type has too many parameters; at most {limits.parameters_max} are read"
            )
        if found[1] is not None:
            _add_parameter(parameters, found)
    return MediaType(essence, parameters)


@lru_cache(maxsize=256)
def part_media_type(value: str, limits: Limits = DEFAULT) -> MediaType:
    """The parts of the Content-Type of a part. Raises `RemoteError` like `parse_media_type`.

    Partners send the same few types again and again, so at most 256 values of 16 KiB are cached.
    """
    return parse_media_type(value, limits, parameter=_PART_PARAMETER)


def _add_parameter(parameters: dict[str, str], found: re.Match[str]) -> None:
    name = found[1].lower()
    if name in parameters:
        raise broken(f"a Content-Type has the parameter {quoted(name)} twice; expected is one")
    parameters[name] = _value_of(found)


def _value_of(found: re.Match[str]) -> str:
    text: str | None = found[2]
    if text is None:
        return str(found[3])
    return _QUOTED_PAIR.sub(r"\1", text) if "\\" in text else text


def is_boundary(value: str) -> bool:
    """Whether RFC 2046 allows `value` as a boundary: 1-70 characters of its set."""
    return _BOUNDARY.fullmatch(value) is not None


def checked_content_id(value: str) -> str:
    """`value` without its angle brackets and blanks, if it is a Content-ID.

    Raises `RemoteError` (MimeProblem).
    """
    content_id = value.strip(" \t")
    if content_id[:1] == "<" and content_id[-1:] == ">":
        content_id = content_id[1:-1].strip(" \t")
    if _CONTENT_ID.fullmatch(content_id) is None:
        raise broken(
            f"the Content-ID is {quoted(value)}; expected are 1-250 visible ASCII characters in"
            " angle brackets"
        )
    return content_id


def is_content_id(value: str) -> bool:
    """Whether `value`, without angle brackets, can be written as a Content-ID."""
    return _CONTENT_ID.fullmatch(value) is not None


def content_ids_of(reference: str) -> tuple[str, ...]:
    """The Content-IDs that a cid: URI may mean; `reference` is the text after its scheme.

    First as it is, then percent-decoded if that is different (RFC 2392, ruling R-42).
    """
    if "%" not in reference:
        return (reference,)
    decoded = _ENCODED.sub(lambda found: chr(int(found[1], 16)), reference)
    if decoded == reference or not is_content_id(decoded):
        return (reference,)
    return (reference, decoded)


TYPE_LENGTH_MAX: Final = 960
"""Longest Content-Type of a payload that is kept as a whole. A line of a mail has 998 characters,
and only the essence and the charset say what a document is."""

UNKNOWN_TYPE: Final = "application/octet-stream"
"""Used for a longer type, which nobody has registered, and for a text without type/subtype."""

_NOT_CARRIED = re.compile(r"[^ -~]")


@lru_cache(maxsize=256)
def carried_type(value: str) -> str:
    """The Content-Type of a payload as it is kept, handed over and sent on, by any transport.

    Printable ASCII in one line, of limited length, which `parse_media_type` reads. Other characters
    are either part of a name, which is also in the Manifest, or an attack. The type is not used
    here, so a message is never refused for it (ruling R-42).
    """
    value = _NOT_CARRIED.sub(lambda found: " " if found[0] == "\t" else "?", value).strip()
    if len(value) <= TYPE_LENGTH_MAX and _is_type(value):
        return value
    found = _ESSENCE.match(value)
    if found is None or len(found[1]) > TYPE_LENGTH_MAX:
        return UNKNOWN_TYPE
    return _rewritten(found[1], value[found.end() :])


def _is_type(value: str) -> bool:
    try:
        parse_media_type(value)
    except RemoteError:
        return False
    return True


def _rewritten(essence: str, rest: str) -> str:
    """The type with its readable parameters, as many as there is room for.

    A parameter that comes twice is ambiguous, and is left out.
    """
    parameters: dict[str, str | None] = {}
    for found in _PART_PARAMETER.finditer(rest):
        if found[1] is not None and len(parameters) < DEFAULT.parameters_max:
            name = found[1].lower()
            parameters[name] = None if name in parameters else _value_of(found)
    charset = parameters.pop("charset", None)
    whole = essence
    if charset is not None and _CHARSET.fullmatch(charset) is not None:
        whole += f"; charset={charset}"
    for name, text in parameters.items():
        if text is not None:
            escaped = text.replace("\\", "\\\\").replace('"', '\\"')
            longer = f'{whole}; {name}="{escaped}"'
            whole = longer if len(longer) <= TYPE_LENGTH_MAX else whole
    return whole if len(whole) <= TYPE_LENGTH_MAX else essence


@lru_cache(maxsize=256)
def check_writable_type(value: str) -> None:
    """Raise `LocalError` (InvalidText) unless `value` can be written as a part's Content-Type."""
    try:
        parse_media_type(value)
    except RemoteError as error:
        raise LocalError("InvalidText", f"not a Content-Type: {value[:80]!r}") from error
    if value != value.strip(" \t"):
        raise LocalError("InvalidText", "white space around a Content-Type")


def parse_part_head(head: bytes) -> PartHead:
    """The fields that we use of a part's head. Raises `RemoteError` (MimeProblem).

    All its lines end in CRLF, or all in LF. Fields that we do not use are skipped, whatever they
    contain; a field that we use may come only once (P6), and without control characters.
    """
    if _BARE_CR.search(head) is not None:
        raise broken("a line of its head has a CR without LF; expected is one kind of line end")
    fields: dict[str, str] = {}
    lines = head.decode("latin-1").replace("\r\n", "\n")
    for line in _FOLD.sub("", lines).split("\n") if head else ():
        name, colon, value = line.partition(":")
        if not colon or _FIELD_NAME.fullmatch(name) is None:
            raise broken(
                f"the line {quoted(line)} of its head is not a field; expected is Name: value, and"
                " a blank before a line that goes on"
            )
        name = name.lower()
        if name in _USED_FIELDS:
            _check_used(name, value, fields)
        fields[name] = value.strip(" \t")
    content_id = fields.get("content-id")
    return PartHead(
        fields.get("content-type", DEFAULT_CONTENT_TYPE),
        None if content_id is None else checked_content_id(content_id),
        fields.get("content-transfer-encoding", "binary").lower(),
    )


PLAIN_HEAD: Final = re.compile(
    rb"\r\n([^<]{1,256}+)<([!-;=?-~]{1,250}+)>([\x00-\xff]{0,256}?)\r\n\r\n"
)
"""What follows a delimiter: a line end, what stands before and after the first name in angle
brackets, and the blank line. Longer heads have no short way; ours have 120 bytes."""


@lru_cache(maxsize=128)
def find_known_head(before: bytes, after: bytes) -> PartHead | None:
    """What every head says that has these bytes around a Content-ID; None where it may differ.

    The short way of `parse_part_head`: two heads are read, and the id of each has to come out as
    its Content-ID. Their lines end in CRLF.
    """
    heads = [before + b"<%d>" % at + after for at in (1, 2)]
    if BARE_LF.search(heads[0]) is not None:
        return None
    try:
        one, other = map(parse_part_head, heads)
    except RemoteError:
        return None
    return one if (one.content_id, other.content_id) == ("1", "2") else None


def _check_used(name: str, value: str, fields: dict[str, str]) -> None:
    if name in fields:
        raise broken(f"it has the field {name} twice; expected is one")
    if name != "content-type" and _CONTROL.search(value) is not None:
        raise broken(
            f"its field {name} has a control character, {quoted(value)}; expected is visible text"
        )
