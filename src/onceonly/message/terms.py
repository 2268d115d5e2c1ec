"""What two parties agreed about delivery: the parameters of the seeds and R-06 to R-21.

`DeliveryTerms` travels with the message into `step`; nothing else of the configuration does.
"""

from enum import StrEnum

from onceonly.message.message import (
    AckRequested,
    DeliverySemantics,
    ReliableMessagingMethod,
    SyncReplyMode,
)
from onceonly.message.signals import PLAIN_ACK, AckStatus
from onceonly.message.word import Word


class OnExhausted(StrEnum):
    """What happens to the pair when the retries of a message are used up (ruling R-07)."""

    SUSPEND = "suspend"
    FAIL = "fail"


class ResponseChoice(StrEnum):
    """Which stored response answers a repeat, if there are several (R-03)."""

    FIRST = "first"
    MOST_RECENT = "most-recent"


class DeliveryReceiptProvided(StrEnum):
    """Which delivery receipts the To Party can give (seed 001 §2.1.1.2)."""

    NONE = "None"
    UNSIGNED = "Unsigned"
    SIGNED = "Signed"
    BOTH = "Both"


class Remedy(StrEnum):
    """What recovery does once it knows the status of the message (seed 004 levels 3, 5)."""

    RESEND = "resend"
    """The same message again, the same bytes."""
    NEW_VERSION = "new-version"
    """Cancel it, and submit its content under a new MessageId."""
    CANCEL = "cancel"
    WAIT = "wait"
    ASK_AGAIN = "ask-again"
    """Ask for the business response to be sent again (level 5)."""


class Intermediary(StrEnum):
    """How an intermediary carries a message (ruling R-13)."""

    RELAY = "relay"
    """Acknowledge to the previous hop only after the next hop has acknowledged."""
    ACCEPT = "accept"
    """Store, acknowledge, and take over the delivery."""


class RecoveryTerms(Word, kw_only=True):
    """Levels 2 to 5 of seed 004. Durations are whole seconds."""

    ping_above_bytes: int | None = None
    """Ping before a message whose payloads have more bytes than this (level 2); -1: before every
    message, None: before none."""
    inquires: bool = False
    """Ask for the status once the sender has given up (level 3)."""
    pings_before_inquiry: bool = False
    inquiries: int = 3
    """How often a question is asked without an answer, RetryInterval apart."""
    when_not_received: Remedy = Remedy.WAIT
    """The partner has no record of the message: resend, new-version, cancel or wait."""
    response_within_s: int | None = None
    """After this time the business response is late (level 5); None: no response is expected."""
    when_not_started: Remedy = Remedy.WAIT
    """The response is late, and the work is not started: cancel or wait."""
    when_complete: Remedy = Remedy.ASK_AGAIN
    """The response is late, and the work is complete: ask-again or wait."""


class DeliveryTerms(Word, kw_only=True):
    """The agreed parameters. Durations are whole seconds, as in the seeds."""

    semantics: DeliverySemantics = DeliverySemantics.ONCE_AND_ONLY_ONCE
    is_numbered: bool = True
    """Messages carry SequenceNumbers (`rm-2000`)."""
    window: int = 1
    """Most messages of the pair in flight at once; 1 where they are numbered."""
    method: ReliableMessagingMethod = ReliableMessagingMethod.EBXML
    timeout_s: int = 30
    """Time to wait for a response after the first transmission (Timeout)."""
    retries: int | None = 3
    """Most transmissions after the first one (Retries); None: until the message expires."""
    retry_interval_s: int = 60
    """Time to wait after each later transmission (RetryInterval)."""
    persist_duration_s: int = 30 * 86_400
    """Least time for which a receiver keeps what it needs to recognize a repeat
    (PersistDuration)."""
    time_to_live_s: int | None = None
    """After this age an unknown copy is refused and a failure is final (TimeToLive)."""
    msh_time_accuracy_s: int = 30
    """How far the two wall clocks may differ (mshTimeAccuracy)."""
    timestamp_ahead_max_s: int = 86_400
    """How far a Timestamp may be ahead of the receiver's clock, in addition to mshTimeAccuracy. The
    id of such a message is kept for as much longer (R-19)."""
    on_exhausted: OnExhausted = OnExhausted.SUSPEND
    transient_retries: int = 100
    """Most pauses in a row that TransientErrors may ask for (ruling R-15)."""
    fails_on_network_error: bool = False
    """Give up as soon as the transport reports that no byte left (seed 003 §1)."""
    strict_release: bool = False
    """Hand over only once an acknowledgement may have left (ruling R-12)."""
    drop_duplicates: bool = False
    """Eliminate repeats of BestEffort messages too (ruling R-16)."""
    response_choice: ResponseChoice = ResponseChoice.FIRST
    intermediary: Intermediary | None = None
    """What is between the parties: nothing (None), relays, or an intermediary that acknowledges in
    its own name, and may send a DeliveryFailure after its acknowledgement (R-39)."""
    may_be_copied: bool = False
    """The way may make copies of a message, as mail, brokers and intermediaries do: the copy that
    is refused may then not be the only one (R-46)."""
    notifies_failures: bool = False
    """Send DeliveryFailure notices to the From Party (ruling R-14)."""
    reports_refusals: bool = False
    """An application's refusal of what was acknowledged is told by an error message that says
    Unknown, in a profile with a CPA; and such an error of the partner is news to our application
    (`ebms2.md` §7)."""
    ack_requested: AckRequested = AckRequested.NONE
    acknowledges_on_request: bool = False
    """An acknowledgement comes only if `ack_requested` asks for one (R-29, `ebms-2.0`)."""
    ack_status: AckStatus = PLAIN_ACK
    """What our acknowledgements say; the receiver acknowledges only when it is true (level 0)."""
    sync_reply_mode: SyncReplyMode = SyncReplyMode.NONE
    delivery_receipt_requested: AckRequested = AckRequested.NONE
    delivery_receipt_provided: DeliveryReceiptProvided = DeliveryReceiptProvided.NONE
    reports_processing: bool = False
    """Our application reports its processing states, and asks before it starts (level 3, 5)."""
    is_ordered: bool = False
    """Messages of one conversation are handed over in the order of their numbers (`ebms-2.0`,
    MessageOrder)."""
    order_hold_max: int = 100
    """Most messages of a conversation that wait for an earlier one."""
    order_gap_after_s: int = 0
    """How long a number may be missing before an operator is told."""
    recovery: RecoveryTerms = RecoveryTerms()

    @property
    def is_acknowledged(self) -> bool:
        """Whether the acknowledgement protocol is used (seed 001 §1.3; S1-22)."""
        return (
            self.method is ReliableMessagingMethod.EBXML
            and self.semantics is not DeliverySemantics.BEST_EFFORT
            and not self._asks_for_none
        )

    @property
    def _asks_for_none(self) -> bool:
        return self.acknowledges_on_request and self.ack_requested is AckRequested.NONE

    @property
    def eliminates_duplicates(self) -> bool:
        """Whether our headers ask that repeats are suppressed."""
        return self.semantics not in (
            DeliverySemantics.BEST_EFFORT,
            DeliverySemantics.AT_LEAST_ONCE,
        )

    @property
    def header_semantics(self) -> DeliverySemantics:
        """What the header of a message asks for: acknowledgement, elimination, or neither."""
        if self.semantics is DeliverySemantics.AT_MOST_ONCE and self._asks_for_none:
            return self.semantics
        return self.semantics.on_wire

    @property
    def numbers_messages(self) -> bool:
        """Whether messages get SequenceNumbers: reliable ones of `rm-2000` (seed 000 §2.2.2)."""
        return self.is_numbered and self.is_acknowledged

    @property
    def leaves_once(self) -> bool:
        """Whether a message is sent only once, whatever the outcome (seed 000 §3.1.2, §3.1.3)."""
        return self.semantics in (DeliverySemantics.AT_MOST_ONCE, DeliverySemantics.BEST_EFFORT)

    @property
    def verdict_after_s(self) -> int | None:
        """Longest time from the first transmission to a verdict (R-06); None: no bound (R-17).

        If no acknowledgement is expected, there is nothing to wait for; to a reliable product the
        message is offered until it expires.
        """
        is_by_product = self.method is ReliableMessagingMethod.TRANSPORT
        if not self.is_acknowledged and not is_by_product:
            return 0
        if self.retries is not None and not is_by_product:
            return self.timeout_s + self.retries * self.retry_interval_s
        if self.semantics is DeliverySemantics.EXACTLY_ONCE:
            return None
        return self.time_to_live_s or self.persist_duration_s
