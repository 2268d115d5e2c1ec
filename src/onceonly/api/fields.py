"""Values that many requests have, each with its bounds: what is read, and what the document says.

A bound here is one that the gateway enforces when it reads the value; nothing else checks it, and
nothing else is written into `/openapi.json`. Answers have no bounds: what a partner wrote is shown
as it is.
"""

from typing import Annotated, Final

from msgspec import Meta

from onceonly.message.identity import IDENTIFIER_LENGTH_MAX

NUMBER_MAX: Final = (1 << 63) - 1
"""Above every offset and every seq."""

PAGE_MAX: Final = 1_000
"""Most items of one page."""

WAIT_S_MAX: Final = 60.0
"""Longest long-poll of the inbox, and longest wait for the answer to a Ping."""

PING_WAIT_S: Final = 10.0
"""Wait for the answer to a Ping, unless the caller says another."""

ROW_NUMBER_BITS: Final = 56
"""Callers' numbers of rows are below 2^56."""

_CONTROLS: Final = r"\u0000-\u001f\u007f-\u009f\u2028\u2029\ufffe\uffff"
_SIGN: Final = rf"[^{_CONTROLS}]"
_INK: Final = rf"[^\s{_CONTROLS}]"
_UNSEEN: Final = rf"\s\u0020{_CONTROLS}\ufeff"
_IN_IDENTIFIER: Final = rf"[^{_UNSEEN}]"
_NO_DOT: Final = rf"[^.{_UNSEEN}]"
_IN_JOB: Final = rf"[^/{_UNSEEN}]"
_NO_DOT_IN_JOB: Final = rf"[^./{_UNSEEN}]"

# Neither . nor .. are identifiers: one has a sign that is no dot, or at least three of them.
IDENTIFIER: Final = rf"^(?:{_IN_IDENTIFIER}*{_NO_DOT}{_IN_IDENTIFIER}*|\.{{3,}})$"
IDENTIFIER_OR_EMPTY: Final = rf"^(?:{_IN_IDENTIFIER}*{_NO_DOT}{_IN_IDENTIFIER}*|\.{{3,}})?$"
LINE: Final = rf"^(?:{_INK}(?:{_SIGN}*{_INK})?)?$"
FULL_LINE: Final = rf"^{_INK}(?:{_SIGN}*{_INK})?$"
JOB_NAME: Final = rf"^(?:{_IN_JOB}*{_NO_DOT_IN_JOB}{_IN_JOB}*|\.{{3,}})$"
NOT_BLANK: Final = r"\S"

Instant = Annotated[
    str,
    Meta(
        description="RFC 3339 in UTC, with microseconds",
        extra_json_schema={"format": "date-time"},
    ),
]

When = Annotated[
    str,
    Meta(
        description="RFC 3339 in UTC, as answers have it: 2026-11-25T08:00:00Z; a 31st of a month "
        "of 30 days is the first of the next one",
        pattern=r"^[1-9][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
        r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?Z$",
    ),
]

Digest = Annotated[str, Meta(description="SHA-256, hexadecimal")]

Identifier = Annotated[
    str,
    Meta(
        description="no white space, no control character, and neither . nor ..",
        min_length=1,
        max_length=IDENTIFIER_LENGTH_MAX,
        pattern=IDENTIFIER,
    ),
]

Choice = Annotated[
    str,
    Meta(
        description="an identifier; empty, the gateway chooses",
        max_length=IDENTIFIER_LENGTH_MAX,
        pattern=IDENTIFIER_OR_EMPTY,
    ),
]

Name = Annotated[str, Meta(description="what is looked up; any text", min_length=1)]

Line = Annotated[
    str,
    Meta(
        description="one line of text, without a blank at either end",
        max_length=IDENTIFIER_LENGTH_MAX,
        pattern=LINE,
    ),
]

FullLine = Annotated[
    str,
    Meta(
        description="one line of text that is not empty, without a blank at either end",
        min_length=1,
        max_length=IDENTIFIER_LENGTH_MAX,
        pattern=FULL_LINE,
    ),
]

JobName = Annotated[
    str,
    Meta(
        description="an identifier without a slash",
        min_length=1,
        max_length=IDENTIFIER_LENGTH_MAX,
        pattern=JOB_NAME,
    ),
]

Why = Annotated[
    str, Meta(description="why a person wants this; 500 characters are kept", pattern=NOT_BLANK)
]

Number = Annotated[int, Meta(ge=0, le=NUMBER_MAX)]

Limit = Annotated[
    int, Meta(description=f"items of the page, {PAGE_MAX} at most", ge=0, le=NUMBER_MAX)
]

RowNumber = Annotated[
    int, Meta(description="the row's number in the job", ge=0, le=(1 << ROW_NUMBER_BITS) - 1)
]

Seconds = Annotated[
    float, Meta(description=f"seconds; more than {WAIT_S_MAX:.0f} are as many", ge=0)
]

OFFSET_DIGITS_MAX: Final = 18
"""Of an offset in a path."""

PathOffset = Annotated[int, Meta(ge=0, le=10**OFFSET_DIGITS_MAX - 1)]

PathNumber = Annotated[int, Meta(ge=0, le=10**9 - 1)]
