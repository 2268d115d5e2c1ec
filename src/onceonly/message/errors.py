"""What can be wrong with a message, and whose fault it is.

Whose fault is the first fact: `LocalError` is our caller's, `RemoteError` is the peer's and
carries what goes back in an ErrorList (ruling R-25: the wire yields a value or a named error).
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class Severity(StrEnum):
    """Severity of an Error, in its wire spelling.

    In a DeliveryFailure notice, Error means that no byte of any copy ever left and Warning that
    one may have arrived (ruling R-08).
    """

    WARNING = "Warning"
    ERROR = "Error"


class ErrorCode(StrEnum):
    """Error codes in their wire spelling. Seeds name the first two; the rest are ebMS words."""

    TRANSIENT_ERROR = "TransientError"
    """The peer cannot take the message now; try again after MinRetrySecs (seed 000 §4.2)."""
    INVALID_SEQUENCE_NUMBER = "InvalidSequenceNumber"
    """Case 4 of the sequence rule: neither the next number, nor a repeat, nor a reset to 1."""
    VALUE_NOT_RECOGNIZED = "ValueNotRecognized"
    """A well-formed value that we do not know, such as an agreement or a party."""
    NOT_SUPPORTED = "NotSupported"
    """Understood, but not offered here."""
    INCONSISTENT = "Inconsistent"
    """Two values of the message, or the message and the agreement, contradict each other."""
    OTHER_XML = "OtherXml"
    """The header is not the XML document that the profile prescribes."""
    MIME_PROBLEM = "MimeProblem"
    """The package is not well formed, or the manifest names a part that is not there."""
    MESSAGE_TOO_LARGE = "MessageTooLarge"
    """Above a limit of bytes, parts, depth or count."""
    SECURITY_FAILURE = "SecurityFailure"
    """A known MessageId with other content, or an identity that does not fit the channel."""
    TIME_TO_LIVE_EXPIRED = "TimeToLiveExpired"
    """Arrived for the first time after its TimeToLive, or older than PersistDuration."""
    DELIVERY_FAILURE = "DeliveryFailure"
    """Surely or probably not delivered."""
    UNKNOWN = "Unknown"
    """Anything else, or a code of the peer that we do not know."""


class OnceonlyError(Exception):
    """Root of every error that this product raises on purpose."""


class LocalError(OnceonlyError):
    """Our caller asked for something that cannot be done; nothing was changed.

    `name` is a stable word for programs (`UnknownAgreement`), the text is for people. `facts` are
    the values in the text that a program may need (`offsets`), of types that JSON has.
    """

    def __init__(
        self, name: str, text: str, facts: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        super().__init__(text)
        self.name = name
        self.facts = dict(facts)
        # With the name in it, since a traceback is all that Spark shows of an error of its workers.
        self.add_note(name)


DESCRIPTION_LENGTH_MAX = 500
"""Longest description of a refusal, which may quote foreign text: it goes into a row and an
answer."""


class RemoteError(OnceonlyError):
    """The peer sent something that we refuse: it is neither stored nor acknowledged."""

    def __init__(
        self, code: ErrorCode, description: str, severity: Severity = Severity.ERROR
    ) -> None:
        description = description[:DESCRIPTION_LENGTH_MAX]
        super().__init__(f"{code.value}: {description}")
        self.code = code
        self.description = description
        self.severity = severity
