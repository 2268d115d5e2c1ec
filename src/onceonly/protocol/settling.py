"""A person ends a doubt, and what the partner may still say about it (R-49).

The theory
----------
Where the two armies leave a doubt, people telephone. What they learn is a word and no fact: the
person may have asked about another document, or mistyped. So a word is told apart from everything
that the gateway found out itself: it ends a doubt and nothing else, in a status of its own, which
nothing but a word of the partner changes:

    in_doubt -> settled_delivered      -> acknowledged   by an acknowledgement: as it was said
                                       -> in_doubt       by an error: it was perhaps not as said
             -> settled_not_delivered  -> acknowledged   by an acknowledgement: it was not as said,
                                                         and an operator is told
             -> either                 -> cancelled      by the receiver's tombstone

Nothing of the message is sent after the word, except a response that the partner itself asks for
again after `delivered`, and the word itself never leaves this gateway. Its turn is given back, if
it had one, and its number with it, as if it were abandoned (R-10): a pair that restarts at 1 is
right whether the partner has the message or not. The pair stays as it is.

Must not know who may say the word, nor how the content goes out again (R-41).
"""

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal, NoticeKind, Notify, OpenIncident
from onceonly.protocol.events import ErrorReceived, Settled, Settlement
from onceonly.protocol.outbound import (
    Effects,
    Outbound,
    OutboundStatus,
    Silence,
    Step,
    release,
)
from onceonly.protocol.verdict import notifies

_STATUS = {
    Settlement.DELIVERED: OutboundStatus.SETTLED_DELIVERED,
    Settlement.NOT_DELIVERED: OutboundStatus.SETTLED_NOT_DELIVERED,
}


def settle(state: Outbound, event: Settled, terms: DeliveryTerms) -> Step:
    """The doubt is over; the application is told whose word that is."""
    is_delivered = event.word is Settlement.DELIVERED
    row = Journal(Event.SETTLED, outcome=event.word.value, reason=event.reason, actor=event.actor)
    told = _told(state, event, terms)
    turn = release(state, abandoned=True)
    state = changed(
        state,
        status=_STATUS[event.word],
        error_code=None if is_delivered else state.error_code,
        silence=Silence.NONE,
        due_ns=None,
    )
    return state, (row, *told, turn)


def _told(state: Outbound, event: Settled, terms: DeliveryTerms) -> Effects:
    if not notifies(terms):
        return ()
    is_delivered = event.word is Settlement.DELIVERED
    severity = Severity.WARNING if is_delivered else Severity.ERROR
    code = state.error_code or ErrorCode.DELIVERY_FAILURE
    kind = NoticeKind.SETTLED_BY_OPERATOR
    reason = f"an operator says that it was {_SAID[event.word]}: {event.reason}"
    row = Journal(Event.NOTIFIED, error_code=code, severity=severity, reason=kind)
    return row, Notify(kind, severity, code, reason, state.episode)


_SAID = {Settlement.DELIVERED: "delivered", Settlement.NOT_DELIVERED: "not delivered"}


def what_else(state: Outbound) -> str:
    """Why there is no doubt to settle, and what would be possible."""
    return f"only a doubt is settled, and the message is {state.status}; {_INSTEAD[state.status]}"


_INSTEAD = {
    OutboundStatus.QUEUED: "no byte of it has left, so that it can be cancelled",
    OutboundStatus.SENDING: "its sender has not given up yet: wait, or ask the partner",
    OutboundStatus.ACKNOWLEDGED: "there is nothing left to do",
    OutboundStatus.FAILED: "if it was not delivered, resend it",
    OutboundStatus.EXPIRED: "it was not delivered: resend it",
    OutboundStatus.CANCELLED: "if it is wanted after all, resend it",
    OutboundStatus.SENT: "no acknowledgement was agreed, so that no doubt is kept",
    OutboundStatus.SETTLED_DELIVERED: "if that was wrong, resend it anyway, with a reason",
    OutboundStatus.SETTLED_NOT_DELIVERED: "if that was wrong, do not resend it, and tell the"
    " application",
}

ACKNOWLEDGED_AGAINST_WORD = "the partner acknowledged what an operator had called not delivered"
"""If its content was sent again meanwhile, the partner may have the document twice."""
CANCELLED_AGAINST_WORD = "the partner cancelled what an operator had called delivered"


def against_word(state: Outbound) -> Effects:
    """What an acknowledgement of a settled message means to operators."""
    is_wrong = state.status is OutboundStatus.SETTLED_NOT_DELIVERED
    return (OpenIncident(ACKNOWLEDGED_AGAINST_WORD),) if is_wrong else ()


def doubt_again(state: Outbound, event: ErrorReceived, row: Journal, terms: DeliveryTerms) -> Step:
    """The partner says that it has not what was called delivered: nobody knows, as before (R-09).

    TransientError says only that a copy was not taken now, and a warning that something is odd.
    """
    is_denial = event.code is ErrorCode.DELIVERY_FAILURE or event.severity is Severity.ERROR
    if event.code is ErrorCode.TRANSIENT_ERROR or not is_denial:
        return state, (row,)
    reason = f"the partner reports {event.code} about what an operator had called delivered"
    reason = f"{reason}: {event.description}" if event.description else reason
    state = changed(
        state, status=OutboundStatus.IN_DOUBT, episode=state.episode + 1, error_code=event.code
    )
    if not notifies(terms):
        return state, (row, OpenIncident(reason))
    kind, severity = NoticeKind.DELIVERY_FAILURE, Severity.WARNING
    told = Journal(Event.NOTIFIED, error_code=event.code, severity=severity, reason=kind)
    notice = Notify(kind, severity, event.code, reason, state.episode)
    return state, (row, told, notice, OpenIncident(reason))
