"""What a partner answers to an inquiry of ours, passed on to the machine that asked.

What the answer means is decided in `protocol/sending.py` (level 2) and `protocol/recovering.py`
(levels 3 to 5).
"""

from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.message.profile import Profile
from onceonly.message.signals import InquiryKind, Report, SignalHeader
from onceonly.protocol import recovering
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import CANNOT_BE_ASKED, PongReceived
from onceonly.protocol.pairing import PartnerHeard
from onceonly.protocol.sending import was_refused
from onceonly.steps import sending
from onceonly.steps.again import can_resend, may_be_forgotten
from onceonly.steps.authority import Caller, is_entitled
from onceonly.steps.ground import Ground, House
from onceonly.steps.leaving import Asker, Leaving, Question
from onceonly.steps.verdicts import is_from_partner, row_to_partner
from onceonly.steps.work import MessageWork, PairWork, RecoveryWork, Work
from onceonly.store.contract.entries import OutboundEntry
from onceonly.store.contract.store import Snapshot, Transaction


def is_answer_to(question: Question, report: Report, profile: Profile, caller: Caller) -> bool:
    """Whether the report answers the question, and its caller may answer for the partner (R-44)."""
    return (
        question.kind is report.kind
        and (report.kind is InquiryKind.PING or report.about == question.message_id)
        and is_from_asked(question, report.header, profile, caller)
    )


def is_from_asked(
    question: Question, header: SignalHeader, profile: Profile, caller: Caller
) -> bool:
    """Whether who was asked speaks, by what its caller shows (R-44)."""
    agreement = question.agreement
    return (
        agreement.profile is profile
        and is_from_partner(header, agreement)
        and is_entitled(caller, agreement)
        and header.agreement_id in ("", agreement.name_on_wire)
    )


def asked_before(snapshot: Snapshot, house: House, report: Report) -> Question | None:
    """The inquiry, if it was asked before the last start, or is not remembered any more."""
    entry = snapshot.find_outbound(report.about) if report.about else None
    inquiry_id = report.header.ref_to_message_id
    agreement = None if entry is None else house.agreements.find(entry.agreement_id)
    if entry is None or agreement is None:
        return None
    if snapshot.get_recovery(entry.message_id).inquiry_id != inquiry_id:
        return None
    return Question(
        inquiry_id,
        report.kind,
        agreement,
        Asker.RECOVERY,
        entry.message_id,
        report.header.conversation_id,
    )


def take(txn: Transaction, ground: Ground, question: Question, report: Report) -> Leaving | None:
    """Take the answer; None if the message that it is about is forgotten."""
    if question.message_id is None:
        said = "takes messages" if report.is_accepted else "takes no messages"
        pong = Journal(Event.PONG_RECEIVED, reason=said)
        txn.append((row_to_partner(ground, question.agreement, None, pong),))
        heard = PairWork(
            Pair(question.agreement.our_party, question.agreement.their_party), PartnerHeard()
        )
        return sending.run(txn, ground, (heard,) if report.is_accepted else ())
    entry = txn.find_outbound(question.message_id)
    if entry is None:
        return None
    return sending.run(txn, ground, _told_by(txn, ground, question, report, entry), entry=entry)


def refuse(txn: Transaction, ground: Ground, question: Question) -> Leaving:
    """The partner has no Ping: what waits for the answer goes on without it (`wire.md` B9)."""
    message_id = question.message_id
    entry = None if message_id is None else txn.find_outbound(message_id)
    if entry is None:
        row = Journal(Event.PONG_RECEIVED, reason=CANNOT_BE_ASKED)
        txn.append((row_to_partner(ground, question.agreement, None, row),))
        return sending.run(txn, ground, ())
    pong = PongReceived(is_available=True, cannot_be_asked=True)
    is_of_message = question.asker is Asker.MESSAGE
    work = (MessageWork if is_of_message else RecoveryWork)(entry.message_id, pong)
    return sending.run(txn, ground, (work,), entry=entry)


def _told_by(
    txn: Transaction, ground: Ground, question: Question, report: Report, entry: OutboundEntry
) -> list[Work]:
    message_id = entry.message_id
    match report.kind:
        case InquiryKind.PING if question.asker is Asker.MESSAGE:
            return [MessageWork(message_id, PongReceived(report.is_accepted))]
        case InquiryKind.PING:
            return [RecoveryWork(message_id, PongReceived(report.is_accepted))]
        case InquiryKind.STATUS:
            # If it was refused, no rule resends it: refusals and resends would never end.
            is_refused = was_refused(entry.state, ground.now)
            told = recovering.ReportReceived(
                report.status,
                report.processing,
                can_resend=can_resend(txn, ground, entry) and not is_refused,
                may_be_forgotten=may_be_forgotten(txn, ground, entry),
                was_refused=is_refused,
            )
            return [RecoveryWork(message_id, told)]
        case InquiryKind.CANCEL:
            answer = recovering.CancelAnswered(report.is_accepted, report.status, report.processing)
            return [RecoveryWork(message_id, answer)]
        case InquiryKind.RESPONSE:
            return [RecoveryWork(message_id, recovering.ResponseAnswered(report.is_accepted))]
