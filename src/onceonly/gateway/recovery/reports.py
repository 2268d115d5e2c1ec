"""What partners answer to our inquiries, taken to the machine that asked.

Knows which inquiry an answer belongs to: by the inquiry's MessageId, by what it is about, and by
who sends it (R-20). What the answer means is decided in `protocol/sending.py` (level 2) and
`protocol/recovering.py` (levels 3 to 5).
"""

from onceonly.gateway.authority import Caller, is_entitled
from onceonly.gateway.clock import Clock
from onceonly.gateway.recovery.questions import Questions, is_from_partner, message_row
from onceonly.gateway.recovery.steps import Asker, Question
from onceonly.gateway.sending.dispatch import Dispatch
from onceonly.gateway.sending.outbound import SendingSteps
from onceonly.gateway.sending.sender import Sender
from onceonly.gateway.sending.work import MessageWork, Outcome, PairWork, RecoveryWork, Work
from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.message.instant import Now
from onceonly.message.profile import Profile
from onceonly.message.signals import InquiryKind, Report
from onceonly.protocol import recovering
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import PongReceived
from onceonly.protocol.pairing import PartnerHeard
from onceonly.protocol.sending import was_refused
from onceonly.store.contract.entries import OutboundEntry
from onceonly.store.contract.store import Snapshot, Store, Transaction


class Reports:
    """Takes the reports of partners."""

    def __init__(
        self,
        *,
        sender: Sender,
        steps: SendingSteps,
        dispatch: Dispatch,
        questions: Questions,
        store: Store,
        clock: Clock,
    ) -> None:
        self._sender = sender
        self._steps = steps
        self._dispatch = dispatch
        self._questions = questions
        self._store = store
        self._clock = clock

    async def take(self, report: Report, profile: Profile, caller: Caller) -> bool:
        """Take the answer to an inquiry of ours; False if it fits none (R-20)."""
        question: Question | None = None
        if self._find_question(self._store.snapshot(), report, profile, caller) is None:
            return False

        def step(txn: Transaction) -> Outcome | None:
            nonlocal question
            question = self._find_question(txn, report, profile, caller)
            return None if question is None else self._answer(txn, question, report)

        if not await self._dispatch.take(step):
            return False
        self._questions.close(report.header.ref_to_message_id, is_available=report.is_accepted)
        return True

    def asked_about(self, inquiry_id: str) -> str | None:
        """The message of an open inquiry."""
        question = self._questions.find(inquiry_id)
        return None if question is None else question.message_id

    def _find_question(
        self, snapshot: Snapshot, report: Report, profile: Profile, caller: Caller
    ) -> Question | None:
        """The inquiry that the report answers, if its caller may answer for the partner (R-44)."""
        inquiry_id = report.header.ref_to_message_id
        question = self._questions.find(inquiry_id) or self._asked_before(snapshot, report)
        if question is None or question.kind is not report.kind:
            return None
        agreement = question.agreement
        fits = (
            (report.kind is InquiryKind.PING or report.about == question.message_id)
            and agreement.profile is profile
            and is_from_partner(report.header, agreement)
            and is_entitled(caller, agreement)
            and report.header.agreement_id in ("", agreement.id)
        )
        return question if fits else None

    def _asked_before(self, snapshot: Snapshot, report: Report) -> Question | None:
        """The inquiry of an earlier life of this process, or one that was forgotten since."""
        entry = snapshot.find_outbound(report.about) if report.about else None
        inquiry_id = report.header.ref_to_message_id
        agreement = None if entry is None else self._sender.find_agreement(entry.agreement_id)
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

    def _answer(self, txn: Transaction, question: Question, report: Report) -> Outcome | None:
        now = self._clock.now()
        if question.message_id is None:
            pong = Journal(
                Event.PONG_RECEIVED,
                reason="takes messages" if report.is_accepted else "takes no messages",
            )
            txn.append((message_row(self._sender.rows, question.agreement, None, pong, now),))
            heard = PairWork(
                Pair(question.agreement.our_party, question.agreement.their_party), PartnerHeard()
            )
            return self._steps.run(txn, now, (heard,) if report.is_accepted else ())
        entry = txn.find_outbound(question.message_id)
        if entry is None:
            return None
        work = self._told_by(txn, now, question, report, entry)
        return self._steps.run(txn, now, work, entry=entry)

    def _told_by(
        self,
        txn: Transaction,
        now: Now,
        question: Question,
        report: Report,
        entry: OutboundEntry,
    ) -> list[Work]:
        message_id = entry.message_id
        match report.kind:
            case InquiryKind.PING if question.asker is Asker.MESSAGE:
                return [MessageWork(message_id, PongReceived(report.is_accepted))]
            case InquiryKind.PING:
                return [RecoveryWork(message_id, PongReceived(report.is_accepted))]
            case InquiryKind.STATUS:
                # By rule only what may be taken: refusal and remedy would chase each other.
                is_refused = was_refused(entry.state, now)
                told = recovering.ReportReceived(
                    report.status,
                    report.processing,
                    can_resend=self._steps.can_resend(txn, now, entry) and not is_refused,
                    may_be_forgotten=self._steps.may_be_forgotten(txn, now, entry),
                    was_refused=is_refused,
                )
                return [RecoveryWork(message_id, told)]
            case InquiryKind.CANCEL:
                answer = recovering.CancelAnswered(
                    report.is_accepted, report.status, report.processing
                )
                return [RecoveryWork(message_id, answer)]
            case InquiryKind.RESPONSE:
                return [RecoveryWork(message_id, recovering.ResponseAnswered(report.is_accepted))]
