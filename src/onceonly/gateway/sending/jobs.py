"""Jobs: messages that are staged in bulk, and queued once their job is released.

Staging stores and sends nothing, so that whoever hands over many messages can be interrupted
anywhere and come again. A row is known by its number: the same row again is the same row, another
one with its MessageId is a replay, and each has one outcome. A release is one write; what it owes
is moved to the queues in steps, and asked of the store again after every start.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from onceonly.gateway.agreements import Agreements
from onceonly.gateway.clock import Clock
from onceonly.gateway.rows import Rows
from onceonly.gateway.sending.dispatch import Dispatch
from onceonly.gateway.sending.submit import Submission, Submissions, check_same
from onceonly.gateway.sending.work import Draft, Outcome
from onceonly.gateway.tasks import Tasks
from onceonly.message.digest import content_digest
from onceonly.message.errors import LocalError, RemoteError
from onceonly.message.identity import checked_identifier
from onceonly.store.group import GroupCommit
from onceonly.store.jobs import Job, JobRow, RowOutcome, StagedMessage
from onceonly.store.store import OutboundView, Store, StoreFull, Transaction

MOVED_PER_STEP = 100
"""Messages queued in one step: some 20 ms in which no other step runs."""

DROPPED_PER_STEP = 500
"""Rows forgotten in one step: some 10 ms."""

DISPLACED_FROM = 1 << 62
"""Number of the first row whose own number has another message: above all that callers give."""


class StagedRow(NamedTuple):
    """One row as it is handed over: what it asks for, or why it cannot be read."""

    asked: Submission | LocalError
    number: int | None = None
    """The caller's number for the row; None gives it the next, or its MessageId's own."""
    message_id: str | None = None
    """What the row calls itself, whether or not it can be a message."""


class RowAnswer(NamedTuple):
    """What became of one row."""

    row: int
    message_id: str | None
    outcome: RowOutcome
    error: LocalError | None = None


class _Wanted(NamedTuple):
    """A row that can become a message."""

    submission: Submission
    draft: Draft
    digest: str
    fingerprint: str


class Jobs:
    """Takes, releases and drops the jobs of one gateway."""

    def __init__(  # noqa: PLR0913 - because a job is a submission that is put off
        self,
        *,
        store: Store,
        group: GroupCommit,
        agreements: Agreements,
        submissions: Submissions,
        dispatch: Dispatch,
        rows: Rows,
        clock: Clock,
        tasks: Tasks,
    ) -> None:
        self._store = store
        self._group = group
        self._agreements = agreements
        self._submissions = submissions
        self._dispatch = dispatch
        self._rows = rows
        self._clock = clock
        self._tasks = tasks
        self._is_moving = False

    async def stage(self, job_id: str, rows: Sequence[StagedRow]) -> list[RowAnswer]:
        """What became of each row, all of it durable in one commit; nothing is sent.

        Raises `LocalError` (InvalidField) for the job's name, and `StoreFull`; then no row is
        kept. What is wrong with one row is in its answer.
        """
        _check_job_id(job_id)
        wanted = [await self._wanted(row) for row in rows]

        def step(txn: Transaction) -> list[RowAnswer]:
            job = txn.open_job(job_id, at=self._clock.at())
            staging = _Staging(txn, job, self._rows, self._clock)
            return [staging.take(row, one) for row, one in zip(rows, wanted, strict=True)]

        return await self._group.transact(step)

    async def _wanted(self, row: StagedRow) -> "_Wanted | LocalError":
        submission = row.asked
        if isinstance(submission, LocalError):
            return submission
        try:
            draft = await self._submissions.draft(submission)
        except LocalError as error:
            return error
        digest = content_digest(draft.message.payloads)
        return _Wanted(submission, draft, digest, _fingerprint(submission, draft, digest))

    async def release(self, job_id: str) -> None:
        """Let everything that is staged in the job go; again, it changes nothing.

        Returns after the commit, and before the messages are in their queues. Raises `LocalError`
        (NotFound) and `StoreFull`.
        """

        def step(txn: Transaction) -> None:
            if txn.find_job(job_id) is None:
                raise _unknown(job_id)
            txn.release_job(job_id, at=self._clock.at())

        await self._group.transact(step)
        self._start_moving()

    async def drop(self, job_id: str) -> int:
        """Forget what is staged in the job and not released; how many rows."""
        dropped = 0

        def step(txn: Transaction) -> int:
            return txn.drop_unreleased(job_id, DROPPED_PER_STEP)

        while count := await self._group.transact(step):
            dropped += count
        return dropped

    def get(self, job_id: str) -> tuple[Job, dict[str, int]]:
        """The job and its rows by word; for a thread. Raises `LocalError` (NotFound)."""
        snapshot = self._store.snapshot()
        job = snapshot.find_job(job_id)
        if job is None:
            raise _unknown(job_id)
        return job, snapshot.count_job(job_id)

    def list_page(self, after: int, limit: int) -> list[tuple[Job, dict[str, int]]]:
        """A page of jobs with their rows by word; for a thread."""
        snapshot = self._store.snapshot()
        return [(job, snapshot.count_job(job.job_id)) for job in snapshot.list_jobs(after, limit)]

    def sweep(self) -> None:
        """Go on with what is released: after a start, or once there is room again."""
        if not self._is_moving and self._store.snapshot().list_released(1):
            self._start_moving()

    def _start_moving(self) -> None:
        if not self._is_moving:
            self._is_moving = True
            self._tasks.start(self._move())

    async def _move(self) -> None:
        try:
            while not self._dispatch.is_draining and self._submissions.has_room():
                outcomes = await self._group.transact(self._move_some)
                for outcome in outcomes:
                    if outcome is not None:
                        self._dispatch.release(outcome)
                if not outcomes:
                    return
        except StoreFull:
            return  # The sweep comes again.
        finally:
            self._is_moving = False

    def _move_some(self, txn: Transaction) -> list[Outcome | None]:
        released = txn.list_released(MOVED_PER_STEP)
        return [self._move_one(txn, staged) for staged in released]

    def _move_one(self, txn: Transaction, staged: StagedMessage) -> Outcome | None:
        job_id, number = staged.job.job_id, staged.row.row
        try:
            outcome = self._submit(txn, staged)
            txn.remove_staged(job_id, number)
        except LocalError as error:
            txn.remove_staged(job_id, number)
            _Staging(txn, staged.job, self._rows, self._clock).reject(staged.row, error)
            return None
        if outcome is None:
            txn.put_job_row(job_id, staged.row._replace(outcome=RowOutcome.REPLAYED))
        return outcome

    def _submit(self, txn: Transaction, staged: StagedMessage) -> Outcome | None:
        """None where somebody else has submitted the same since it was staged."""
        message = staged.message
        if self._agreements.find(message.agreement_id) is None:
            raise LocalError(
                "UnknownAgreement", f"agreement {message.agreement_id!r} is configured no more"
            )
        earlier = txn.find_outbound_view(message.message_id)
        if earlier is not None:
            _check_same_message(earlier, staged)
            return None
        payloads = txn.list_staged_payloads(staged.job.job_id, staged.row.row)
        actor = _actor(staged.job)
        return self._submissions.enter(txn, Draft(message, payloads), staged.digest, actor=actor)


class _Staging:
    """Rows of one job in one step. Nothing here raises once something is written."""

    def __init__(self, txn: Transaction, job: Job, rows: Rows, clock: Clock) -> None:
        self._txn = txn
        self._job = job
        self._rows = rows
        self._clock = clock

    def take(self, row: StagedRow, wanted: _Wanted | LocalError) -> RowAnswer:
        """The outcome of the row, which is the one it had where it was here before."""
        before = None if row.number is None else self._find(row.number)
        if isinstance(wanted, LocalError):
            return self._refuse(row, before, wanted)
        message_id = wanted.draft.message.message_id
        if before is not None and before.outcome is not RowOutcome.REJECTED:
            if (before.message_id, before.fingerprint) == (message_id, wanted.fingerprint):
                return self._again(before)
            row = row._replace(number=self._next(DISPLACED_FROM))
        return self._take_new(row, wanted)

    def _find(self, number: int) -> JobRow | None:
        return self._txn.find_job_row(self._job.job_id, number)

    def _next(self, least: int = 0) -> int:
        return max(self._txn.last_job_row(self._job.job_id) + 1, least)

    def _again(self, row: JobRow) -> RowAnswer:
        """What was released before is a replay to whoever comes again, and counts as it did."""
        is_released = row.round <= self._job.releases
        outcome = RowOutcome.REPLAYED if is_released else row.outcome
        return RowAnswer(row.row, row.message_id, outcome)

    def _take_new(self, row: StagedRow, wanted: _Wanted) -> RowAnswer:
        message = wanted.draft.message
        accepted = self._txn.find_accepted_row(self._job.job_id, message.message_id)
        if accepted is not None and accepted.fingerprint == wanted.fingerprint:
            if row.number is None:
                return self._again(accepted)
            return self._put(row, wanted, RowOutcome.REPLAYED)
        if accepted is not None:
            text = f"another message is staged as {message.message_id!r}"
            return self._refuse_new(row, LocalError("MessageIdTaken", text))
        earlier = self._txn.find_outbound_view(message.message_id)
        if earlier is None:
            return self._put(row, wanted, RowOutcome.ACCEPTED)
        try:
            check_same(earlier, message, wanted.digest, wanted.submission)
        except LocalError as error:
            return self._refuse_new(row, error)
        return self._put(row, wanted, RowOutcome.REPLAYED)

    def _put(self, row: StagedRow, wanted: _Wanted, outcome: RowOutcome) -> RowAnswer:
        number = self._next() if row.number is None else row.number
        kept = self._row(number, wanted.draft.message.message_id, wanted.fingerprint, outcome)
        if outcome is RowOutcome.ACCEPTED:
            message, payloads = wanted.draft
            self._txn.add_staged(self._job.job_id, kept, message, payloads, digest=wanted.digest)
        else:
            self._txn.put_job_row(self._job.job_id, kept)
        return RowAnswer(kept.row, kept.message_id, outcome)

    def _row(
        self, number: int, message_id: str | None, fingerprint: str, outcome: RowOutcome
    ) -> JobRow:
        return JobRow(number, self._job.releases + 1, outcome, message_id, fingerprint)

    def _refuse_new(self, row: StagedRow, error: LocalError) -> RowAnswer:
        before = None if row.number is None else self._find(row.number)
        return self._refuse(row, before, error)

    def _refuse(self, row: StagedRow, before: JobRow | None, error: LocalError) -> RowAnswer:
        number = self._next() if row.number is None else row.number
        if before is not None:
            if (before.error_code, before.reason) == (error.name, str(error)):
                return RowAnswer(number, before.message_id, RowOutcome.REJECTED, error)
            if before.outcome is not RowOutcome.REJECTED:
                number = self._next(DISPLACED_FROM)
        message_id = row.message_id if _is_identifier(row.message_id) else None
        self.reject(self._row(number, message_id, "", RowOutcome.REJECTED), error)
        return RowAnswer(number, message_id, RowOutcome.REJECTED, error)

    def reject(self, row: JobRow, error: LocalError) -> None:
        """Keep that the row is refused, and say so in the journal."""
        reason = str(error)
        refused = row._replace(outcome=RowOutcome.REJECTED, error_code=error.name, reason=reason)
        self._txn.put_job_row(self._job.job_id, refused)
        now, actor = self._clock.now(), _actor(self._job)
        self._txn.append((self._rows.refused_submission(row.message_id, error, actor, now),))


def _actor(job: Job) -> str:
    return f"job:{job.job_id}"


def _fingerprint(submission: Submission, draft: Draft, digest: str) -> str:
    """One digest of what is asked for, but for what the gateway chose itself."""
    asked = (
        draft.message.message_id,
        draft.message.agreement_id,
        submission.service,
        submission.action,
        submission.conversation_id or "",
        submission.ref_to_message_id or "",
        digest,
    )
    return sha256("\n".join(asked).encode()).hexdigest()


def _check_same_message(earlier: OutboundView, staged: StagedMessage) -> None:
    """As `check_same`, of a message whose submission is long over."""
    then, now = earlier.message, staged.message
    is_same = (earlier.digest, then.agreement_id, then.service, then.action) == (
        staged.digest,
        now.agreement_id,
        now.service,
        now.action,
    )
    if not is_same or then.ref_to_message_id != now.ref_to_message_id:
        text = f"another message was submitted as {now.message_id!r} meanwhile"
        raise LocalError("MessageIdTaken", text)


def _check_job_id(job_id: str) -> None:
    if not _is_identifier(job_id) or "/" in job_id:
        raise LocalError("InvalidField", "a job's name is an identifier without a slash")


def _is_identifier(value: str | None) -> bool:
    try:
        return value is not None and bool(checked_identifier(value, "job"))
    except RemoteError:
        return False


def _unknown(job_id: str) -> LocalError:
    return LocalError("NotFound", f"no job {job_id!r}")
