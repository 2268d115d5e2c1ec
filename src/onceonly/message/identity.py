"""Who sent a message, to whom, and which message it is.

Identifiers come from the wire and go into a database, a log, a web page and a Parquet file, so
their grammar is narrow and checked once, here. Seed 000 §5.1 (2) and (7); ruling R-01.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.printable import quoted
from onceonly.message.word import Word

IDENTIFIER_LENGTH_MAX = 255
"""Longest PartyId, MessageId, ConversationId …: it fits into an index of every usual database."""

# White space and control characters inside an identifier are how two different strings are made
# to look the same (attack X13), so nothing below U+0021 and no separator is let in; a surrogate
# on its own is no character, and no database takes it.
_IDENTIFIER = re.compile(
    r"[^\s\x00-\x20\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]{1,255}"
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^<>\"{}|\\^`]+")
_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]{0,255}")


_DOTS = frozenset({".", ".."})


def checked_identifier(value: str, name: str) -> str:
    """`value`, if it is an identifier: 1-255 characters, no white space, no control characters.

    `.` and `..` are refused too: identifiers are put into the path of a URL, where clients resolve
    these. Raises `RemoteError` (ValueNotRecognized) that names the field.
    """
    if _IDENTIFIER.fullmatch(value) is None or value in _DOTS:
        raise RemoteError(
            ErrorCode.VALUE_NOT_RECOGNIZED,
            f"{name} {quoted(value)} is not an identifier: {_identifier_fault(value)}; expected are"
            f" 1-{IDENTIFIER_LENGTH_MAX} characters without blanks and control characters",
        )
    return value


def checked_name(value: str, name: str) -> str:
    """`value`, if it names something both parties know: an identifier with single blanks inside.

    So CPAId and ConversationId are in `ebms-2.0`; the older profiles have identifiers there. Raises
    `RemoteError` (ValueNotRecognized) that names the field.
    """
    checked_identifier(value.replace(" ", "_"), name)
    if value != " ".join(value.split()):
        raise RemoteError(
            ErrorCode.VALUE_NOT_RECOGNIZED,
            f"{name} {quoted(value)} is not a name: expected are single blanks, and none at either"
            " end",
        )
    return value


def _identifier_fault(value: str) -> str:
    """What is wrong with it, in words."""
    if not value:
        return "it is empty"
    if len(value) > IDENTIFIER_LENGTH_MAX:
        return f"it has {len(value)} characters"
    if value in _DOTS:
        return "it is a step of a path"
    at = next(at for at, sign in enumerate(value) if _IDENTIFIER.fullmatch(sign) is None)
    sort = "a blank" if value[at].isspace() else "a character that nobody sees"
    return f"it has {sort}, U+{ord(value[at]):04X}, at place {at + 1}"


JOB_NAME: Final = "an identifier without a slash, and neither . nor .."
"""What a job's name is, in words."""


def is_job_name(value: str) -> bool:
    """Whether a job may have this name: an identifier that can be one segment of a URL's path."""
    is_step = "/" not in value and value not in _DOTS
    return is_step and _IDENTIFIER.fullmatch(value) is not None


def checked_text(value: str, name: str) -> str:
    """`value`, if it is one line of at most 255 characters without control characters.

    Service and Action are such text; they may be empty in signals (seed 000 §2.2.2).
    Raises `RemoteError` (ValueNotRecognized) that names the field.
    """
    if _TEXT.fullmatch(value) is None or value != value.strip():
        raise RemoteError(
            ErrorCode.VALUE_NOT_RECOGNIZED,
            f"{name} {quoted(value)} is not one line of text: expected are at most 255 characters,"
            " none of them a line end or a control character, and no blank at either end",
        )
    return value


def checked_key(value: str) -> str:
    """`value`, if it can be a business key: one line of text, not empty, 255 characters at most.

    A caller without a key may send an empty or blank one; as a key it would make all such
    submissions the same. Raises `RemoteError` (ValueNotRecognized).
    """
    if not value.strip():
        raise RemoteError(
            ErrorCode.VALUE_NOT_RECOGNIZED,
            "key is empty or blank: expected is none at all, or one that is the order's own",
        )
    if len(value) > IDENTIFIER_LENGTH_MAX:
        raise RemoteError(
            ErrorCode.VALUE_NOT_RECOGNIZED,
            f"key has {len(value)} characters; expected are at most 255",
        )
    if _TEXT.fullmatch(value) is None or value != value.strip():
        text = "key has a line end, a control character or white space around it"
        raise RemoteError(ErrorCode.VALUE_NOT_RECOGNIZED, text)
    return value


def is_uri(value: str) -> bool:
    """Whether `value` has the form of an absolute URI.

    It must be an identifier too, since a URI from a message becomes a PartyId in our answer.
    """
    return _IDENTIFIER.fullmatch(value) is not None and _URI.fullmatch(value) is not None


_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)


def printable(text: str, length_max: int) -> str:
    """A text of a peer as it may be stored and repeated: printable, and cut at `length_max`."""
    return _UNPRINTABLE.sub(" ", text[:length_max])


class PartyId(Word):
    """One name of a Party. Without a `type` the value must be a URI (MS section 8.4.1).

    Single blanks inside are for `ebms-2.0` (`ebms2.md` §2); what reads and configures the older
    profiles refuses them, by `checked_party`.

    Raises `RemoteError` (Inconsistent) when it is not.
    """

    value: str
    type: str | None = None

    def __post_init__(self) -> None:
        checked_name(self.value, "PartyId")
        if self.type is not None:
            checked_identifier(self.type, "PartyId/@type")
        elif not is_uri(self.value):
            raise RemoteError(
                ErrorCode.INCONSISTENT,
                f"PartyId {quoted(self.value)} has no type and is not a URI; expected is a type"
                " attribute, or a URI such as urn:duns:123456789",
            )

    def __str__(self) -> str:
        """The one string that names this party in keys, columns and reports."""
        return self.value if self.type is None else f"{self.type}:{self.value}"


def checked_party(party_id: PartyId) -> PartyId:
    """`party_id`, if its value is an identifier, as the profiles before SOAP have it.

    Raises `RemoteError` (ValueNotRecognized).
    """
    checked_identifier(party_id.value, "PartyId")
    return party_id


class Pair(NamedTuple):
    """An ordered Sender-Receiver pair, named by the parties' first PartyIds.

    It has the SequenceNumbers, stop-and-wait and suspension (seed 000 §2.1.3, §5.1 (7)).
    """

    from_party: str
    to_party: str


@lru_cache(maxsize=1024)
def pair_of(from_id: PartyId, to_id: PartyId) -> Pair:
    """The pair of two parties. Kept: whoever has a message asks for its pair again and again."""
    return Pair(str(from_id), str(to_id))


class ConversationKey(Word):
    """The messages of one ConversationId that travel on a pair: they may have an order."""

    pair: Pair
    conversation_id: str


class MessageKey(NamedTuple):
    """What makes two arrivals the same message: ruling R-01's (From, To, MessageId)."""

    from_party: str
    to_party: str
    message_id: str

    @property
    def pair(self) -> Pair:
        """The Sender-Receiver pair that the message belongs to."""
        # Without the call of Python that a NamedTuple makes of its constructor.
        return tuple.__new__(Pair, self[:2])
