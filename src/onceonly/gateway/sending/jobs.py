"""Jobs: messages that are staged in bulk, and queued once their job is released.

Staging stores and sends nothing, so that whoever hands over many messages can be interrupted
anywhere and come again. A row is known by its number: the same row again is the same row, another
one with its MessageId is a replay, and each has one outcome. A release is one write; what it owes
is moved to the queues in steps, and asked of the store again after every start.

A caller that starts anew names its *run*. Of the named runs of a job the newest alone may stage:
what it stages takes the place of what the others have staged under the same MessageId, and it is
released without them. How its rows find their places is in `places`.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from onceonly.gateway.agreements import Agreements
from onceonly.gateway.clock import Clock
from onceonly.gateway.rows import Rows
from onceonly.gateway.sending.dispatch import Dispatch
from onceonly.gateway.sending.places import (
    BLOCK_BITS,
    RowAnswer,
    StagedRow,
    Staging,
    Wanted,
    actor_of,
    is_identifier,
)
from onceonly.gateway.sending.room import Room
from onceonly.gateway.sending.submit import Submission, Submissions
from onceonly.gateway.sending.work import Draft, Outcome
from onceonly.gateway.tasks import Tasks
from onceonly.message.digest import content_digest
from onceonly.message.errors import LocalError
from onceonly.message.identity import JOB_NAME, is_job_name
from onceonly.message.word import changed
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.entries import OutboundView
from onceonly.store.contract.jobs import Job, RowOutcome, Run, StagedMessage
from onceonly.store.contract.store import Store, Transaction
from onceonly.store.group import GroupCommit

MOVED_PER_STEP = 100
"""Messages queued in one step: some 20 ms in which no other step runs."""

DROPPED_PER_STEP = 500
"""Rows forgotten in one step: some 10 ms."""


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
        room: Room,
        rows: Rows,
        clock: Clock,
        tasks: Tasks,
    ) -> None:
        self._store = store
        self._group = group
        self._agreements = agreements
        self._submissions = submissions
        self._dispatch = dispatch
        self._room = room
        self._rows = rows
        self._clock = clock
        self._tasks = tasks
        self._is_moving = False

    async def stage(
        self,
        job_id: str,
        rows: Sequence[StagedRow],
        run: str | None = None,
        attempt: int | None = None,
    ) -> list[RowAnswer]:
        """What became of each row, all of it durable in one commit; nothing is sent.

        `attempt` tells the attempts of one task of a run apart; a later one has a greater number.
        Raises `LocalError` (InvalidField) for names, (RunOver) for a run that may stage no more
        and (AttemptOver) for an attempt behind which another has begun, and `StoreFull`; then no
        row is kept. What is wrong with one row is in its answer.
        """
        _check_names(job_id, run)
        claims = _claims(run, rows, attempt)
        wanted = [await self._wanted(row) for row in rows]

        def step(txn: Transaction) -> list[RowAnswer]:
            at = self._clock.at()
            opened = _open_run(txn, job_id, run)  # Before a write, since it may refuse.
            if opened is not None:
                _check_latest(txn, opened, claims)
            job = txn.open_job(job_id, at=at)
            opened = opened or txn.open_run(job_id, run, at=at)
            for block, claimant in claims.items():
                txn.put_block(opened.number, block, claimant)
            staging = Staging(txn, job, opened, self._rows, self._clock)
            return [staging.take(row, one) for row, one in zip(rows, wanted, strict=True)]

        return await self._group.transact(step)

    async def _wanted(self, row: StagedRow) -> Wanted | LocalError:
        submission = row.asked
        if isinstance(submission, LocalError):
            return submission
        try:
            draft = await self._submissions.draft(submission)
        except LocalError as error:
            return error
        digest = content_digest(draft.message.payloads)
        return Wanted(submission, draft, digest, _fingerprint(submission, draft, digest))

    async def release(self, job_id: str, run: str | None = None, staged: int | None = None) -> Job:
        """Let what is staged in the run go, or in the job without one; again, it changes nothing.

        `staged` is how many rows of the run its caller was told are accepted. Returns after the
        commit, and before the messages are in their queues. Raises `LocalError` (NotFound), before
        anything is released (RunOver) for a run that was dropped or has a newer one behind it and
        (JobChanged) where rows of it are missing; and `StoreFull`.
        """

        def step(txn: Transaction) -> Job:
            if txn.find_job(job_id) is None:
                raise _unknown(job_id)
            for one in _to_release(txn, job_id, run, staged):
                txn.release_run(one.number, at=self._clock.at())
            job = txn.find_job(job_id)
            assert job is not None, "a release forgets no job"
            return job

        job = await self._group.transact(step)
        self._start_moving()
        return job

    async def drop(self, job_id: str, run: str | None = None) -> int:
        """Forget what is staged in the run by now and not released; in the job, without a run.

        Returns how many rows. A run that was dropped may stage no more, and is never released.
        """

        def close(txn: Transaction) -> None:
            if run is not None and txn.find_run(job_id, run) is None:
                txn.open_run(job_id, run, at=self._clock.at())  # Stragglers of it may come yet.
            for one in txn.list_unreleased_runs(job_id):
                if one.is_open and run in (None, one.name):
                    txn.drop_run(one.number, at=self._clock.at())

        def forget(txn: Transaction) -> int:
            return txn.forget_dropped(job_id, DROPPED_PER_STEP)

        _check_names(job_id, run)
        await self._group.transact(close)
        dropped = 0
        while count := await self._group.transact(forget):
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
            while not self._dispatch.is_draining:
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
        most = min(MOVED_PER_STEP, self._room.left(txn))
        released = txn.list_released(most) if most else []
        return [self._move_one(txn, staged) for staged in released]

    def _move_one(self, txn: Transaction, staged: StagedMessage) -> Outcome | None:
        job_id, number = staged.job.job_id, staged.row.row
        try:
            outcome = self._submit(txn, staged)
            txn.remove_staged(job_id, number)
        except LocalError as error:
            txn.remove_staged(job_id, number)
            self._reject(txn, staged, error)
            return None
        if outcome is None:
            txn.put_job_row(job_id, changed(staged.row, outcome=RowOutcome.REPLAYED))
        return outcome

    def _reject(self, txn: Transaction, staged: StagedMessage, error: LocalError) -> None:
        run = txn.get_run(staged.row.run)
        Staging(txn, staged.job, run, self._rows, self._clock).reject(staged.row, error)

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
        actor = actor_of(staged.job)
        return self._submissions.enter(txn, Draft(message, payloads), staged.digest, actor=actor)


def _open_run(txn: Transaction, job_id: str, name: str | None) -> Run | None:
    """The run, if there is one that is open. Raises `LocalError` (RunOver)."""
    run = txn.find_run(job_id, name)
    if name is None:
        return run if run is not None and run.is_open else None
    if run is not None and not run.is_open:
        what = "dropped" if run.released_at is None else "released"
        raise LocalError("RunOver", f"run {name!r} of job {job_id!r} is {what} already")
    if run is not None:
        _check_newest(txn, run)
    return run


def _claims(run: str | None, rows: Sequence[StagedRow], attempt: int | None) -> Mapping[int, int]:
    """The attempt by the blocks that it stages in. Raises `LocalError` (InvalidField)."""
    if attempt is None:
        return {}
    numbers = [row.number for row in rows if row.number is not None]
    if run is None or len(numbers) < len(rows) or attempt < 0:
        raise LocalError("InvalidField", "an attempt is of a run, and its rows have numbers")
    return {number >> BLOCK_BITS: attempt for number in numbers}


def _check_latest(txn: Transaction, run: Run, claims: Mapping[int, int]) -> None:
    """Raises `LocalError` (AttemptOver)."""
    for block, attempt in claims.items():
        latest = txn.find_block(run.number, block)
        if latest is not None and latest > attempt:
            text = (
                f"attempt {latest} of block {block} in run {run.name!r} has begun after {attempt}"
            )
            raise LocalError("AttemptOver", text)


def _check_newest(txn: Transaction, run: Run) -> None:
    newest = txn.find_newest_run(run.job_id)
    if newest is not None and newest.number > run.number:
        text = f"run {newest.name!r} of job {run.job_id!r} began after run {run.name!r}"
        raise LocalError("RunOver", text)


def _to_release(
    txn: Transaction, job_id: str, name: str | None, staged: int | None
) -> Sequence[Run]:
    if name is None:
        return [run for run in txn.list_unreleased_runs(job_id) if run.is_open]
    run = txn.find_run(job_id, name)
    if run is None:
        raise LocalError("NotFound", f"no run {name!r} of job {job_id!r}")
    if run.released_at is not None:
        return ()
    if run.dropped_at is not None:
        raise LocalError("RunOver", f"run {name!r} of job {job_id!r} is dropped already")
    _check_newest(txn, run)
    if staged is not None and run.staged < staged:
        text = f"{run.staged} messages of {staged} are staged in run {name!r} of job {job_id!r}"
        raise LocalError("JobChanged", text)
    return (run,)


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


def _check_names(job_id: str, run: str | None) -> None:
    if not is_job_name(job_id):
        raise LocalError("InvalidField", f"a job's name is {JOB_NAME}")
    if run is not None and not is_identifier(run):
        raise LocalError("InvalidField", "a run's name is an identifier")


def _unknown(job_id: str) -> LocalError:
    return LocalError("NotFound", f"no job {job_id!r}")
