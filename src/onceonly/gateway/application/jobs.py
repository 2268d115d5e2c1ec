"""Jobs of one gateway: many messages are staged, released, and moved to the queues.

The steps themselves are in `steps.staging`.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from onceonly.gateway.application.submissions import Submission, Submissions
from onceonly.gateway.desk import Desk
from onceonly.gateway.tasks import Tasks
from onceonly.message.digest import content_digest
from onceonly.message.errors import LocalError
from onceonly.message.identity import JOB_NAME, is_job_name
from onceonly.message.word import Word
from onceonly.steps import staging
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Draft
from onceonly.steps.places import BLOCK_BITS, RowAnswer, RowName, Wanted, is_identifier
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.jobs import Job
from onceonly.store.contract.listing import JobFilter, Listing
from onceonly.store.contract.store import Transaction


class StagedRow(Word):
    """One row as its caller handed it over: a submission, or the reason why it is unreadable."""

    asked: Submission | LocalError
    number: int | None = None
    """The caller's number for the row; None: the next free one, or the one its MessageId has."""
    message_id: str | None = None
    """As the caller wrote it; it need not be a legal MessageId."""

    @property
    def name(self) -> RowName:
        """The names that tell the row from other rows."""
        return RowName(self.number, self.message_id)


class Jobs:
    """Takes, releases and drops the jobs of one gateway."""

    def __init__(self, *, desk: Desk, submissions: Submissions, tasks: Tasks) -> None:
        self._desk = desk
        self._submissions = submissions
        self._tasks = tasks
        self._is_moving = False

    async def stage(
        self,
        job_id: str,
        rows: Sequence[StagedRow],
        run: str | None = None,
        attempt: int | None = None,
    ) -> list[RowAnswer]:
        """Stage the rows, in one commit; nothing is sent. Returns the outcome of each row.

        `attempt` numbers the attempts of one task of a run; a later one has a greater number.
        Raises `LocalError`: InvalidField for an illegal name, RunOver for a run that may not stage
        any more, AttemptOver if a later attempt has begun; and `StoreFull`. Then no row is kept.
        An error in one row is reported in its answer.
        """
        _check_names(job_id, run)
        claims = _claims(run, rows, attempt)
        wanted = [(row.name, await self._wanted(row)) for row in rows]
        batch = staging.Batch(job_id, run, claims, wanted)
        return await self._desk.transact(lambda txn, ground: staging.stage(txn, ground, batch))

    async def _wanted(self, row: StagedRow) -> Wanted | LocalError:
        submission = row.asked
        if isinstance(submission, LocalError):
            return submission
        try:
            draft = await self._submissions.draft(submission)
        except LocalError as error:
            return error
        digest = content_digest(draft.message.payloads)
        return Wanted(submission.names, draft, digest, _fingerprint(submission, draft, digest))

    async def release(self, job_id: str, run: str | None = None, staged: int | None = None) -> Job:
        """Release what is staged in the run, or in the whole job if `run` is None. Idempotent.

        `staged`: how many rows of the run were accepted, as its caller was told. Returns after the
        commit, and before the messages are in their queues. Raises `LocalError`: NotFound, RunOver
        for a run that was dropped or is not the newest, JobChanged if rows of it are missing; and
        `StoreFull`. Then nothing is released.
        """
        job = await self._desk.transact(
            lambda txn, ground: staging.release(txn, ground, job_id, run, staged)
        )
        self._start_moving()
        return job

    async def drop(self, job_id: str, run: str | None = None) -> int:
        """Forget rows of the run that are not released; of all open runs if `run` is None.

        Returns how many rows. A dropped run may not stage any more, and is never released.
        """
        _check_names(job_id, run)
        await self._desk.transact(lambda txn, ground: staging.close_runs(txn, ground, job_id, run))
        dropped = 0
        while count := await self._desk.transact(
            lambda txn, _: txn.forget_dropped(job_id, staging.DROPPED_PER_STEP)
        ):
            dropped += count
        return dropped

    def get(self, job_id: str) -> tuple[Job, dict[str, int]]:
        """The job, and its number of rows for each word; call it in a thread.

        Raises `LocalError` (NotFound).
        """
        snapshot = self._desk.snapshot()
        job = snapshot.find_job(job_id)
        if job is None:
            raise staging.unknown_job(job_id)
        return job, snapshot.count_job(job_id)

    def list_page(self, wanted: JobFilter) -> Listing[tuple[Job, dict[str, int]]]:
        """A page of jobs, each with its number of rows for each word; call it in a thread."""
        snapshot = self._desk.snapshot()
        page = snapshot.search(wanted)
        jobs = [(job, snapshot.count_job(job.job_id)) for job in page.items]
        return Listing(jobs, page.next_after, page.is_cut)

    def sweep(self) -> None:
        """Move more released rows: after a start, or after room was made."""
        if not self._is_moving and self._desk.snapshot().list_released(1):
            self._start_moving()

    def _start_moving(self) -> None:
        if not self._is_moving:
            self._is_moving = True
            self._tasks.start(self._move())

    async def _move(self) -> None:
        try:
            while not self._desk.is_draining:
                if not (await self._desk.transact(self._move_some)).rows:
                    return
        except StoreFull:
            return  # The sweep comes again.
        finally:
            self._is_moving = False

    def _move_some(self, txn: Transaction, ground: Ground) -> staging.Moved:
        moved = staging.move_some(txn, ground)
        for _ in range(moved.messages):
            self._desk.failpoints.reach("before-commit")
        return moved


def _claims(run: str | None, rows: Sequence[StagedRow], attempt: int | None) -> Mapping[int, int]:
    """For each block of the rows, the number of the attempt. Raises `LocalError` (InvalidField)."""
    if attempt is None:
        return {}
    numbers = [row.number for row in rows if row.number is not None]
    if run is None or len(numbers) < len(rows) or attempt < 0:
        raise LocalError("InvalidField", "an attempt is of a run, and its rows have numbers")
    return {number >> BLOCK_BITS: attempt for number in numbers}


def _fingerprint(submission: Submission, draft: Draft, digest: str) -> str:
    """One digest of the submission, without the values that the gateway chose itself."""
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


def _check_names(job_id: str, run: str | None) -> None:
    if not is_job_name(job_id):
        raise LocalError("InvalidField", f"a job's name is {JOB_NAME}")
    if run is not None and not is_identifier(run):
        raise LocalError("InvalidField", "a run's name is an identifier")
