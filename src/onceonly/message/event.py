"""The words for what can happen to a message: one per journal row.

The decisions name them, the journal keeps them, the lake counts them; they are defined once.
"""

from enum import StrEnum


class Event(StrEnum):
    """What happened, in the past tense. The text of each word says who writes the row."""

    SUBMITTED = "Submitted"
    """Sender: the application's message is stored and will be sent."""
    TRANSMITTING = "Transmitting"
    """Sender: transmission number `attempt` begins; its bytes may leave from now on."""
    TRANSMITTED = "Transmitted"
    """Sender: that transmission ended with `outcome`; accepted does not mean acknowledged
    (R-05)."""
    ACK_RECEIVED = "AckReceived"
    """Sender: the message is acknowledged."""
    LATE_ACK_RECEIVED = "LateAckReceived"
    """Sender: acknowledged after the application had been told of a failure (R-09)."""
    REPEATED_ACK_RECEIVED = "RepeatedAckReceived"
    """Sender: one more acknowledgement of an acknowledged message; nothing changed."""
    HOP_ACK_RECEIVED = "HopAckReceived"
    """Sender: the next MSH has the message; the To Party has not acknowledged it (`ebms-2.0`)."""
    ORPHAN_ACK_RECEIVED = "OrphanAckReceived"
    """Sender: an acknowledgement for no message of ours, or from the wrong peer; dropped."""
    EVIDENCE_KEPT = "EvidenceKept"
    """A signed envelope is kept that proves the message, or that the To Party has it; `reason` says
    which, `signer` who signed it."""
    SIGNATURE_REFUSED = "SignatureRefused"
    """What came is not signed as agreed, and nothing of it was believed; `reason` says why (R-30).
    With `direction` out: an acknowledgement of a message of ours that is no evidence (R-31)."""
    ERROR_RECEIVED = "ErrorReceived"
    """Sender: the peer answered with an error about the message."""
    FAULT_RECEIVED = "FaultReceived"
    """Sender: the answer to a transmission was a SOAP Fault, which `reason` quotes."""
    EXHAUSTED = "Exhausted"
    """Sender: the retries are used up."""
    EXPIRED = "Expired"
    """Sender: TimeToLive passed before any byte left; final."""
    FAILED = "Failed"
    """Sender: not delivered; final."""
    CANCELLED = "Cancelled"
    """Sender: taken back, since no byte ever left, or as `reason` says, confirmed by the receiver;
    final."""
    SENT = "Sent"
    """Sender: the transport has it, and no acknowledgement will come (BestEffort, method
    Transport); final."""
    SETTLED = "Settled"
    """Sender: an operator ended the doubt with a word, `outcome`: `delivered` or `not-delivered`;
    `reason` is his (R-49). Final, unless the partner says otherwise."""
    REQUEUED = "Requeued"
    """Sender: the message waits for its turn again; `reason` says who wanted it (R-21)."""
    RESENT = "Resent"
    """Sender: the content of this message, which has ended, is sent as a new one; `reason` names
    it."""
    PING_SENT = "PingSent"
    """An availability inquiry ended with `outcome` (level 2)."""
    PONG_RECEIVED = "PongReceived"
    """The partner answered a Ping; `reason` says whether it takes messages."""
    INQUIRY_SENT = "InquirySent"
    """An inquiry about the message ended with `outcome`; `reason` says which (levels 3 to 5)."""
    REPORT_RECEIVED = "ReportReceived"
    """The partner answered an inquiry about the message; `reason` has what it said."""
    INQUIRY_RECEIVED = "InquiryReceived"
    """A partner asked about the message, or pinged."""
    REPORT_SENT = "ReportSent"
    """The transmission of an answer to an inquiry ended with `outcome`."""
    RESPONSE_RECEIVED = "ResponseReceived"
    """Sender: the business response to the message arrived (level 5)."""
    RESPONSE_OVERDUE = "ResponseOverdue"
    """Sender: the business response did not arrive in the time agreed (level 5)."""
    RECEIPT_RECEIVED = "ReceiptReceived"
    """Sender: a delivery receipt arrived: the partner's application has the message."""
    NOTIFIED = "Notified"
    """Sender: a notice was put into the application's notification inbox; `reason` says which."""
    PAIR_SUSPENDED = "PairSuspended"
    PAIR_RESUMED = "PairResumed"
    PAIR_QUARANTINED = "PairQuarantined"
    SEQUENCE_RESET = "SequenceReset"
    """Sender: the next SequenceNumber of the pair is 1 (R-10)."""
    CONVERSATION_BLOCKED = "ConversationBlocked"
    """Sender: the message was not acknowledged, and later ones of its ordered conversation wait
    until it is sent again or the numbers begin again."""
    CONVERSATION_RESET = "ConversationReset"
    """Sender: an operator, `actor`, lets the numbers of the conversation begin again."""
    STORED = "Stored"
    """Receiver: the message is in persistent storage; an acknowledgement is owed."""
    DUPLICATE_ELIMINATED = "DuplicateEliminated"
    """Receiver: a repeat of a stored message; answered with the first response (R-03)."""
    COLLISION_DETECTED = "CollisionDetected"
    """Receiver: a known MessageId with other content; not acknowledged, not delivered (R-01)."""
    REJECTED = "Rejected"
    """Receiver: refused with `error_code`; neither stored nor acknowledged. With `direction` out:
    an answer about a message of ours that could not be used; or, with an `actor`, a row of a job
    that did not become a message, and the name of the refusal."""
    ACK_SENT = "AckSent"
    """Receiver: a transmission of the acknowledgement ended with `outcome`."""
    ERROR_SENT = "ErrorSent"
    """Receiver: a transmission of an error ended with `outcome`."""
    FAULT_SENT = "FaultSent"
    """Receiver: a package was answered with a SOAP Fault, since no message could tell the refusal.
    """
    RECEIPT_SENT = "ReceiptSent"
    """Receiver: a transmission of a delivery receipt ended with `outcome`."""
    WITHHELD = "Withheld"
    """Receiver: not handed over, since the acknowledgement certainly did not leave (R-12)."""
    HELD = "Held"
    """Receiver: the message is stored, and waits for an earlier number of its conversation."""
    RELEASED = "Released"
    """Receiver: the held message waits no longer: the number came, or `actor` said so."""
    DROPPED = "Dropped"
    """Receiver: `actor` gave up the held message; it is not handed over, and its sender is told."""
    CANCEL_CONFIRMED = "CancelConfirmed"
    """Receiver: the sender took the message back before work on it began; never processed."""
    APPLICATION_REFUSED = "ApplicationRefused"
    """Receiver: the application will not process the message; `reason` says why."""
    FAILURE_NOTICE_SENT = "FailureNoticeSent"
    """The transmission of a DeliveryFailure notice to the From Party ended with `outcome` (seed 001
    §1.6)."""
    ARRIVED_IN_TRANSIT = "ArrivedInTransit"
    """Intermediary: copy number `attempt` is stored and will be sent on; `hop` is the number of the
    next hop."""
    FORWARDED = "Forwarded"
    """Intermediary: the transmission of a copy to the next hop ended with `outcome`; `hop` is its
    number."""
    ACK_RELAYED = "AckRelayed"
    """Intermediary: the acknowledgement was sent on upstream; the transmission ended with
    `outcome`."""
    ERROR_RELAYED = "ErrorRelayed"
    """Intermediary: an error about a message in transit was sent upstream."""
    PURGED = "Purged"
    """Rows past their time were forgotten; `reason` counts them (R-19)."""
    HANDED_OVER = "HandedOver"
    """Receiver: the message is in the application's inbox; with `attempt`, once more, as it was
    asked for."""
    HANDED_OVER_AGAIN = "HandedOverAgain"
    """Receiver: `actor` asked for one more hand-over of a message that the application had, for
    `reason`. The rows of that hand-over come after it; `attempt` is its number, from 2."""
    PROCESSING_CHANGED = "ProcessingChanged"
    """Receiver: the application reported its processing state, in `reason`; with `attempt`, that of
    a hand-over that was asked for. Right after `HandedOverAgain`: what follows from that."""
    SECURITY_EVENT = "SecurityEvent"
    """Somebody tried something that is not allowed; `reason` says what (R-26)."""
    PARKED = "Parked"
    """A bug of ours met the message while it was sent, forwarded or handed over. The message is set
    aside until an operator takes it up; `reason` has the bug (R-43)."""
    TAKEN_UP = "TakenUp"
    """An operator took up a message that was parked, or stored and not handed over; `reason` is
    his."""
    ASKED = "Asked"
    """A person or a program asked for an action, over the API or by a command; written before it.
    `actor` says who, `reason` what and why; what came of it is in the rows after this one."""
    INTERNAL_ERROR = "InternalError"
    """A bug of ours met something that a peer sent or answered; `reason` says what (R-43)."""
    STARTED = "Started"
    """The gateway opened the store under a new epoch."""
    RECONFIGURED = "Reconfigured"
    """The gateway took over a changed configuration file while it ran; `reason` says who asked, and
    what changed."""
    STOPPED = "Stopped"
    """The gateway drained and closed the store."""
    DRILL = "Drill"
    """The gateway runs under a drill; its times and faults are not real."""


OUTCOMES = (Event.TRANSMITTED, Event.PING_SENT)
"""The events that tell how a transmission of a message, or of the Ping before it, ended."""


class Direction(StrEnum):
    """Which way the message of the row travels, seen from the journal's owner."""

    OUT = "out"
    IN = "in"
