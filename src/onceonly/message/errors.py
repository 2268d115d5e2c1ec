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


class FaultCode(StrEnum):
    """Whose turn it is after a SOAP Fault, in the words of SOAP 1.1 §4.4.1."""

    CLIENT = "Client"
    """The package cannot be processed as it is; the same bytes will be refused again."""
    SERVER = "Server"
    """The receiver could not process it now."""
    MUST_UNDERSTAND = "MustUnderstand"
    """A header block that must be understood is not."""
    VERSION_MISMATCH = "VersionMismatch"
    """The Envelope is not that of SOAP 1.1."""


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
    """The peer sent something that we refuse: it is neither stored nor acknowledged.

    `location` says where in the package the trouble is, as an XPath or a cid: URI, if the profile
    has a place for it. With `fault` the refusal is told as a SOAP Fault with this code, since no
    message can tell it (`ebms-2.0`).
    """

    def __init__(
        self,
        code: ErrorCode,
        description: str,
        severity: Severity = Severity.ERROR,
        *,
        location: str = "",
        fault: FaultCode | None = None,
    ) -> None:
        description = description[:DESCRIPTION_LENGTH_MAX]
        super().__init__(f"{code.value}: {description}")
        self.code = code
        self.description = description
        self.severity = severity
        self.location = location
        self.fault = fault


def changed_error(
    error: RemoteError,
    *,
    code: ErrorCode | None = None,
    description: str | None = None,
    location: str | None = None,
    fault: FaultCode | None = None,
) -> RemoteError:
    """The same refusal with some of its facts changed, or said for the first time."""
    return RemoteError(
        code or error.code,
        error.description if description is None else description,
        error.severity,
        location=error.location if location is None else location,
        fault=fault or error.fault,
    )
