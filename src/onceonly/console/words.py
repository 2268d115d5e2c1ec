"""The console's words for states and events: what they mean, and how they look.

One table per closed list of the API; a test holds each equal to the list. `tone` is a class of the
style sheet, the same in which the lake's report shows the same standing.
"""

from typing import Final

from onceonly.message.event import Event
from onceonly.message.word import Word


class StateWords(Word):
    """How a state looks, and what it means in one sentence."""

    tone: str
    shown: str
    meaning: str


MESSAGE_STATES: Final = {
    "queued": StateWords("open", "queued", "waits for its turn; no byte of it has left"),
    "sending": StateWords("open", "sending", "is being sent, or waits for its acknowledgement"),
    "in_doubt": StateWords("doubt", "in doubt", "perhaps delivered: nobody here can know"),
    "acknowledged": StateWords("agreed", "acknowledged", "the partner has it, once"),
    "failed": StateWords("alarm", "failed", "was given up, or refused by the partner"),
    "expired": StateWords("alarm", "expired", "its time to live ended before a byte of it left"),
    "cancelled": StateWords("outside", "cancelled", "was taken back"),
    "sent": StateWords("agreed", "sent", "the transport has it; no acknowledgement was agreed"),
    "settled_delivered": StateWords(
        "agreed", "settled: delivered", "was in doubt; an operator says that the partner has it"
    ),
    "settled_not_delivered": StateWords(
        "alarm", "settled: not delivered", "was in doubt; an operator says that it did not arrive"
    ),
}
PAIR_STATES: Final = {
    "open": StateWords("agreed", "open", "messages go on"),
    "suspended": StateWords("doubt", "suspended", "what is submitted waits until it is resumed"),
    "quarantined": StateWords("alarm", "quarantined", "order was lost; somebody has to look"),
}
PROCESSING_STATES: Final = {
    "not-started": StateWords("open", "not started", "the application has not begun"),
    "in-progress": StateWords("doubt", "in progress", "the application works on it"),
    "complete": StateWords("agreed", "complete", "the application is done with it"),
}
JOB_STATES: Final = {
    "staging": StateWords("open", "staging", "some of its rows wait for a release"),
    "released": StateWords("agreed", "released", "all of its rows were released"),
}
BACKUP_STATES: Final = {
    "running": StateWords("open", "running", "is being made"),
    "done": StateWords("agreed", "done", "is whole"),
    "failed": StateWords("alarm", "failed", "was not made"),
}
NOTICE_KINDS: Final = {
    "DeliveryFailure": StateWords("alarm", "delivery failure", "was not delivered, or perhaps not"),
    "AcknowledgedLate": StateWords("agreed", "acknowledged late", "is there after all"),
    "NotProcessed": StateWords("alarm", "not processed", "arrived, and the application refused it"),
    "SettledByOperator": StateWords("outside", "settled", "an operator ended the doubt"),
}
OUTCOMES: Final = {
    "accepted": StateWords("agreed", "accepted", "the other side took the bytes"),
    "refused": StateWords("alarm", "refused", "the other side certainly did not take them"),
    "unknown": StateWords("doubt", "unknown", "nobody knows whether they were taken"),
}
BULK_ACTIONS: Final = {
    "resend": "Send again, where no document can arrive twice; the others are skipped.",
    "resend-anyway": "Send again as new messages, though documents may arrive twice.",
    "cancel": "Take back.",
    "resume": "Let go on what a bug of onceonly set aside.",
    "ask": "Ask the partners how it stands; changes nothing there.",
    "settle-delivered": "Settle the doubts: delivered, as the partners told you.",
    "settle-not-delivered": "Settle the doubts: not delivered, as the partners told you.",
    "redeliver": "Hand over to the application once more; it does the work again.",
}
"""What is done with each message of a selection."""
OF_INBOX: Final = frozenset({"redeliver"})
"""Those of them that are done with received messages; the others are for sent ones."""
BULK_STATES: Final = {
    "selecting": StateWords("open", "selecting", "its messages are being selected"),
    "prepared": StateWords("open", "prepared", "selected; nothing is done yet"),
    "running": StateWords("open", "running", "message by message"),
    "stopped": StateWords("doubt", "stopped", "what is done stays done; it can go on"),
    "done": StateWords("agreed", "done", "every message had its turn"),
}
ITEM_OUTCOMES: Final = {
    "done": StateWords("agreed", "done", "it was done with this message"),
    "skipped": StateWords("outside", "skipped", "it did not fit this message any more"),
    "failed": StateWords("alarm", "failed", "a bug of onceonly; nothing was changed"),
}
UNKNOWN: Final = StateWords("outside", "", "")
"""For a word that a newer gateway has, which is shown as it is."""

LANES: Final = ("Application", "Store", "Attempts", "Partner", "Answers")
"""Where a row of the journal happened, in the order in which a message passes."""

_APPLICATION, _STORE, _ATTEMPTS, _PARTNER, _ANSWERS = range(len(LANES))


class Told(Word):
    """What a row of the journal means on a message's page."""

    lane: int
    tone: str
    text: str


EVENTS: Final = {
    Event.SUBMITTED: Told(_APPLICATION, "open", "taken from the application, and stored"),
    Event.TRANSMITTING: Told(_ATTEMPTS, "open", "its bytes may leave from now on"),
    Event.TRANSMITTED: Told(_ATTEMPTS, "open", "the transmission ended"),
    Event.ACK_RECEIVED: Told(_ANSWERS, "agreed", "acknowledged: the partner has it"),
    Event.LATE_ACK_RECEIVED: Told(_ANSWERS, "agreed", "acknowledged late: it is there after all"),
    Event.REPEATED_ACK_RECEIVED: Told(_ANSWERS, "outside", "acknowledged once more"),
    Event.HOP_ACK_RECEIVED: Told(_ANSWERS, "open", "the next gateway on the way has it"),
    Event.ORPHAN_ACK_RECEIVED: Told(_ANSWERS, "doubt", "an acknowledgement that fits no message"),
    Event.EVIDENCE_KEPT: Told(_STORE, "agreed", "a signed envelope is kept as evidence"),
    Event.SIGNATURE_REFUSED: Told(_PARTNER, "alarm", "what came is not signed as agreed"),
    Event.ERROR_RECEIVED: Told(_ANSWERS, "alarm", "the partner answered with an error"),
    Event.FAULT_RECEIVED: Told(_ANSWERS, "alarm", "the answer was a SOAP Fault"),
    Event.EXHAUSTED: Told(_STORE, "doubt", "all tries are used up"),
    Event.EXPIRED: Told(_STORE, "alarm", "its time to live ended before a byte left"),
    Event.FAILED: Told(_STORE, "alarm", "failed: it will not be sent any more"),
    Event.CANCELLED: Told(_STORE, "outside", "taken back"),
    Event.SENT: Told(_STORE, "agreed", "the transport has it"),
    Event.SETTLED: Told(_STORE, "doubt", "an operator ended the doubt with his word"),
    Event.REQUEUED: Told(_STORE, "open", "waits for its turn again"),
    Event.RESENT: Told(_STORE, "open", "its content is sent as a new message"),
    Event.PING_SENT: Told(_PARTNER, "open", "asked whether the partner takes messages"),
    Event.PONG_RECEIVED: Told(_PARTNER, "open", "the partner answered whether it takes messages"),
    Event.INQUIRY_SENT: Told(_PARTNER, "open", "asked the partner about the message"),
    Event.REPORT_RECEIVED: Told(_PARTNER, "open", "the partner said how the message stands"),
    Event.INQUIRY_RECEIVED: Told(_PARTNER, "open", "the partner asked"),
    Event.REPORT_SENT: Told(_ANSWERS, "open", "the partner was told how the message stands"),
    Event.RESPONSE_RECEIVED: Told(_ANSWERS, "agreed", "the business response arrived"),
    Event.RESPONSE_OVERDUE: Told(_ANSWERS, "doubt", "the business response is late"),
    Event.RECEIPT_RECEIVED: Told(_ANSWERS, "agreed", "the partner's application has it"),
    Event.NOTIFIED: Told(_APPLICATION, "doubt", "the application was told by a notice"),
    Event.PAIR_SUSPENDED: Told(_STORE, "doubt", "sending to the partner was suspended"),
    Event.PAIR_RESUMED: Told(_STORE, "open", "sending to the partner was resumed"),
    Event.PAIR_QUARANTINED: Told(_STORE, "alarm", "the pair was quarantined"),
    Event.SEQUENCE_RESET: Told(_STORE, "open", "the next number of the pair is 1"),
    Event.CONVERSATION_BLOCKED: Told(
        _STORE, "doubt", "later messages of its conversation wait for it"
    ),
    Event.CONVERSATION_RESET: Told(_STORE, "open", "the numbers of its conversation begin again"),
    Event.STORED: Told(_STORE, "open", "stored; an acknowledgement is owed"),
    Event.DUPLICATE_ELIMINATED: Told(_PARTNER, "outside", "a repeat came, and was eliminated"),
    Event.COLLISION_DETECTED: Told(_PARTNER, "alarm", "the same id came with another content"),
    Event.REJECTED: Told(_PARTNER, "alarm", "what came was refused"),
    Event.ACK_SENT: Told(_ANSWERS, "open", "an acknowledgement was sent"),
    Event.ERROR_SENT: Told(_ANSWERS, "alarm", "an error was sent"),
    Event.FAULT_SENT: Told(_ANSWERS, "alarm", "it was answered with a SOAP Fault"),
    Event.RECEIPT_SENT: Told(_ANSWERS, "open", "a delivery receipt was sent"),
    Event.WITHHELD: Told(_STORE, "doubt", "not handed over: the acknowledgement did not leave"),
    Event.HELD: Told(_STORE, "doubt", "waits for an earlier message of its conversation"),
    Event.RELEASED: Told(_STORE, "open", "waits no longer for an earlier message"),
    Event.DROPPED: Told(_STORE, "alarm", "an operator gave it up, and its sender is told"),
    Event.CANCEL_CONFIRMED: Told(_STORE, "outside", "the sender took it back before work began"),
    Event.APPLICATION_REFUSED: Told(_APPLICATION, "alarm", "the application will not process it"),
    Event.FAILURE_NOTICE_SENT: Told(_ANSWERS, "doubt", "the sender was told of a failure"),
    Event.ARRIVED_IN_TRANSIT: Told(_STORE, "open", "a copy is stored, to be sent on"),
    Event.FORWARDED: Told(_ATTEMPTS, "open", "a copy was sent to the next hop"),
    Event.ACK_RELAYED: Told(_ANSWERS, "open", "the acknowledgement was sent on"),
    Event.ERROR_RELAYED: Told(_ANSWERS, "alarm", "an error was sent on"),
    Event.ASKED: Told(_APPLICATION, "open", "somebody asked for an action"),
    Event.PURGED: Told(_STORE, "outside", "old rows were forgotten"),
    Event.HANDED_OVER: Told(_APPLICATION, "agreed", "in the application's inbox"),
    Event.HANDED_OVER_AGAIN: Told(
        _APPLICATION, "doubt", "somebody asked for one more hand-over, since it was lost"
    ),
    Event.PROCESSING_CHANGED: Told(_APPLICATION, "open", "the application said how far it is"),
    Event.SECURITY_EVENT: Told(_PARTNER, "alarm", "somebody tried what is not allowed"),
    Event.PARKED: Told(_STORE, "alarm", "set aside: a bug of onceonly met it"),
    Event.TAKEN_UP: Told(_STORE, "open", "taken up again by an operator"),
    Event.INTERNAL_ERROR: Told(_STORE, "alarm", "a bug of onceonly met what came"),
    Event.STARTED: Told(_STORE, "outside", "the gateway started"),
    Event.STOPPED: Told(_STORE, "outside", "the gateway stopped"),
    Event.RECONFIGURED: Told(_STORE, "outside", "the gateway took over another configuration"),
    Event.DRILL: Told(_STORE, "doubt", "a drill: times and faults are not real"),
}
