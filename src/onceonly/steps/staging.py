"""Jobs: messages that are staged in bulk, and queued after their job is released.

Staging stores messages and sends none of them, so a caller with many messages can be interrupted
at any point and start again. A row is known by its number. The same row again changes nothing;
another row with the same MessageId is a replay; and each row has one outcome. A release is one
write. After it the rows are moved to the queues in steps, and after every start the store is asked
again which released rows are still to be moved.

A caller that starts again gives its *run* a name. Of the named runs of a job only the newest may
stage. What it stages replaces what the others have staged under the same MessageId, and it is
released without them. How rows get their places is in `places`.
"""

from collections.abc import Mapping, Sequence

from onceonly.message.errors import LocalError
from onceonly.message.word import Word, changed
from onceonly.steps.cpa import check_sendable
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Draft, Leaving, Released, together
from onceonly.steps.places import RowAnswer, RowName, Staging, Wanted, actor_of
from onceonly.steps.submission import enter_staged, room_left
from onceonly.store.contract.entries import OutboundView
from onceonly.store.contract.jobs import Job, RowOutcome, Run, StagedMessage
from onceonly.store.contract.store import Transaction

MOVED_PER_STEP = 100
"""Most messages queued in one step: about 20 ms in which no other step runs."""

DROPPED_PER_STEP = 500
"""Most rows forgotten in one step: about 10 ms in which no other step runs."""


class Batch(Word):
    """Rows of a job that are handed over together."""

    job_id: str
    run: str | None
    claims: Mapping[int, int]
    """For each block that is staged in, the number of the attempt that stages."""
    rows: Sequence[tuple[RowName, Wanted | LocalError]]


def stage(txn: Transaction, ground: Ground, batch: Batch) -> list[RowAnswer]:
    """Stage the rows; returns the outcome of each. Raises `LocalError` (RunOver, AttemptOver)."""
    at = ground.now.at
    opened = _open_run(txn, batch.job_id, batch.run)  # Before a write, since it may refuse.
    if opened is not None:
        _check_latest(txn, opened, batch.claims)
    job = txn.open_job(batch.job_id, at=at)
    opened = opened or txn.open_run(batch.job_id, batch.run, at=at)
    for block, claimant in batch.claims.items():
        txn.put_block(opened.number, block, claimant)
    staging = Staging(txn, ground, job, opened)
    return [staging.take(name, wanted) for name, wanted in batch.rows]


def release(
    txn: Transaction, ground: Ground, job_id: str, run: str | None, staged: int | None
) -> Job:
    """Release what is staged. Raises `LocalError` (NotFound, RunOver, JobChanged)."""
    if txn.find_job(job_id) is None:
        raise unknown_job(job_id)
    for one in _to_release(txn, job_id, run, staged):
        txn.release_run(one.number, at=ground.now.at)
    job = txn.find_job(job_id)
    assert job is not None, "a release forgets no job"
    return job


def close_runs(txn: Transaction, ground: Ground, job_id: str, run: str | None) -> None:
    """Drop the run; if `run` is None, all open runs of the job."""
    if run is not None and txn.find_run(job_id, run) is None:
        txn.open_run(job_id, run, at=ground.now.at)  # Late requests of it may still come.
    for one in txn.list_unreleased_runs(job_id):
        if one.is_open and run in (None, one.name):
            txn.drop_run(one.number, at=ground.now.at)


class Moved(Released):
    """How many rows of released jobs were looked at, and how many became messages."""

    rows: int
    messages: int


def move_some(txn: Transaction, ground: Ground) -> Moved:
    """Queue the next messages of released jobs, as far as there is room."""
    most = min(MOVED_PER_STEP, room_left(txn, ground.house))
    released = txn.list_released(most) if most else []
    moved = [_move(txn, ground, staged) for staged in released]
    leavings = [leaving for leaving in moved if leaving is not None]
    return Moved(len(moved), len(leavings), leaving=together(leavings))


def _move(txn: Transaction, ground: Ground, staged: StagedMessage) -> Leaving | None:
    job_id, number = staged.job.job_id, staged.row.row
    try:
        leaving = _submit(txn, ground, staged)
        txn.remove_staged(job_id, number)
    except LocalError as error:
        txn.remove_staged(job_id, number)
        run = txn.get_run(staged.row.run)
        Staging(txn, ground, staged.job, run).reject(staged.row, error)
        return None
    if leaving is None:
        txn.put_job_row(job_id, changed(staged.row, outcome=RowOutcome.REPLAYED))
    return leaving


def _submit(txn: Transaction, ground: Ground, staged: StagedMessage) -> Leaving | None:
    """Submit the message; None if somebody else submitted the same one after it was staged."""
    message = staged.message
    agreement = ground.house.agreements.find(message.agreement_id)
    if agreement is None:
        raise LocalError(
            "UnknownAgreement", f"agreement {message.agreement_id!r} is configured no more"
        )
    check_sendable(agreement, message, ground.now.at)
    earlier = txn.find_outbound_view(message.message_id)
    if earlier is not None:
        _check_same_message(earlier, staged)
        return None
    payloads = txn.list_staged_payloads(staged.job.job_id, staged.row.row)
    draft, actor = Draft(message, payloads), actor_of(staged.job)
    return enter_staged(txn, ground, draft, staged.digest, actor=actor)


def unknown_job(job_id: str) -> LocalError:
    """The error for a job that does not exist."""
    return LocalError("NotFound", f"no job {job_id!r}")


def _open_run(txn: Transaction, job_id: str, name: str | None) -> Run | None:
    """The open run of this name, or None. Raises `LocalError` (RunOver)."""
    run = txn.find_run(job_id, name)
    if name is None:
        return run if run is not None and run.is_open else None
    if run is not None and not run.is_open:
        what = "dropped" if run.released_at is None else "released"
        raise LocalError("RunOver", f"run {name!r} of job {job_id!r} is {what} already")
    if run is not None:
        _check_newest(txn, run)
    return run


def _check_latest(txn: Transaction, run: Run, claims: Mapping[int, int]) -> None:
    """Raise `LocalError` (AttemptOver) if a later attempt has begun."""
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


def _check_same_message(earlier: OutboundView, staged: StagedMessage) -> None:
    """Like `check_same`, for a message that was staged earlier. Raises `LocalError`."""
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
