"""Partners' answers to our inquiries: find the inquiry, and run the step that takes the answer.

An answer belongs to an inquiry if it has the inquiry's MessageId, is about the same message, and
comes from the right sender (R-20).
"""

from onceonly.gateway.desk import Desk
from onceonly.message.profile import Profile
from onceonly.message.signals import ErrorSignal, Report
from onceonly.steps import reports
from onceonly.steps.authority import Caller
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Leaving, Question
from onceonly.store.contract.store import Snapshot, Transaction


class Reports:
    """Takes the reports of partners."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._questions = desk.questions

    async def take(self, report: Report, profile: Profile, caller: Caller) -> bool:
        """Take the answer to an inquiry of ours; False if it fits none (R-20)."""

        def find(snapshot: Snapshot) -> Question | None:
            question = self._questions.find(report.header.ref_to_message_id)
            question = question or reports.asked_before(snapshot, self._desk.house, report)
            is_its = question is not None and reports.is_answer_to(
                question, report, profile, caller
            )
            return question if is_its else None

        def step(txn: Transaction, ground: Ground) -> Leaving | None:
            question = find(txn)
            return None if question is None else reports.take(txn, ground, question, report)

        if find(self._desk.snapshot()) is None:
            return False
        if await self._desk.transact(step, point="verdict") is None:
            return False
        self._questions.close(report.header.ref_to_message_id, is_available=report.is_accepted)
        return True

    async def take_refusal(self, signal: ErrorSignal, profile: Profile, caller: Caller) -> bool:
        """Take an error about an inquiry of ours; False if it fits none."""
        question = self._questions.find(signal.header.ref_to_message_id)
        if question is None or not reports.is_from_asked(question, signal.header, profile, caller):
            return False
        return await self._questions.note_refused(question)

    def asked_about(self, inquiry_id: str) -> str | None:
        """The message of an open inquiry."""
        question = self._questions.find(inquiry_id)
        return None if question is None else question.message_id
