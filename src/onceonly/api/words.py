"""The words of the API: what a member with a closed list of values can be.

They are a contract of their own, since a client knows nothing of the gateway's machines. A test
holds each equal to the Enum that the gateway shows by it.
"""

from typing import Literal

MessageState = Literal[
    "queued",
    "sending",
    "in_doubt",
    "acknowledged",
    "failed",
    "expired",
    "cancelled",
    "sent",
    "settled_delivered",
    "settled_not_delivered",
]
"""Where an outbound message stands."""

PairState = Literal["open", "suspended", "quarantined"]
"""Whether messages go on between two parties."""

Role = Literal["sender", "receiver"]
"""Our side of a pair."""

RecoveryPhase = Literal["at-rest", "pinging", "asking", "cancelling", "asking-again"]
"""What is being asked of the partner about a message."""

ResponseState = Literal["not-expected", "awaited", "overdue", "received"]
"""How the business response to a message stands."""

ProcessingState = Literal["not-started", "in-progress", "complete"]
"""How far the application is with a received message."""

TransmissionOutcome = Literal["accepted", "refused", "unknown"]
"""How one transmission, or one Ping, ended."""

NoticeKind = Literal["DeliveryFailure", "AcknowledgedLate", "NotProcessed", "SettledByOperator"]
"""What a notice tells."""

RowOutcome = Literal["accepted", "rejected", "replayed"]
"""What became of a row of a job when it was staged."""

JobState = Literal["staging", "released"]
"""Whether something of a job waits for a release."""

ErrorWord = Literal[
    "TransientError",
    "InvalidSequenceNumber",
    "ValueNotRecognized",
    "NotSupported",
    "Inconsistent",
    "OtherXml",
    "MimeProblem",
    "MessageTooLarge",
    "SecurityFailure",
    "TimeToLiveExpired",
    "DeliveryFailure",
    "Unknown",
]
"""What is wrong with a message."""

Order = Literal["oldest", "newest"]
"""Which row of a list comes first."""

BulkAction = Literal[
    "resend",
    "resend-anyway",
    "cancel",
    "resume",
    "ask",
    "settle-delivered",
    "settle-not-delivered",
    "redeliver",
]
"""What is done with each message of a selection: `redeliver` with messages of the inbox, the others
with sent ones."""

Settlement = Literal["delivered", "not-delivered"]
"""What a person says became of a message in doubt."""

WayOn = Literal["resend", "new-version"]
"""How the content of a message in doubt can go out again without a person's word."""

BulkState = Literal["selecting", "prepared", "running", "stopped", "done"]
"""How far an action on many messages is."""

ItemOutcome = Literal["done", "skipped", "failed"]
"""What became of one message of it."""

TakenUp = Literal["sent", "forwarded", "handed over", "noted"]
"""What went on when a message was resumed."""

Scope = Literal["submit", "read", "payloads", "operate", "admin"]
"""What a key allows: `admin` is every one of them, and the others are apart."""
