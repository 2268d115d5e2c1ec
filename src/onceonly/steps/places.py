"""The place of each row of a job: which number it gets, and what its caller is told.

Tasks of a run may be tried again, in another order, and a newer run may stage the rows of an older
one again. Knows how rows are told apart; must not know when a job is released.

In a named run numbers are in blocks, one per task. Only one attempt of a task stages at a time, the
latest, and each attempt hands over its rows in rising order. So a message that is found at a higher
number of the block was put there by an earlier attempt, and is moved. One that is found at a lower
number is a row of this attempt, so its second row is a replay.

A caller's number can be taken by another message that was sent already. Then the row gets the same
number on the next *storey*: there are 127 storeys, each with room for all numbers of callers, and
storey n begins at n * 2^56. A staged row that stands in the place of a row of a later attempt is
moved to the end ("put aside"), until a later attempt hands it over too. The outcomes "rejected" and
"replayed" of an earlier run keep their places until the present run is released, since it may be
dropped. After the release they are overtaken, and their numbers are free (`store.jobs`).
"""

from collections.abc import Callable

from onceonly.message.errors import LocalError, RemoteError
from onceonly.message.identity import checked_identifier
from onceonly.message.word import Word, changed
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Draft
from onceonly.steps.submission import Names, check_same
from onceonly.store.contract.jobs import Job, JobRow, RowOutcome, Run
from onceonly.store.contract.store import Transaction

NUMBER_BITS = 56
"""Callers' numbers are below 2^56; each storey above them has room for as many."""

STOREYS = 127
"""How many places one number of a caller can have."""

ASIDE_FROM = STOREYS << NUMBER_BITS
"""Number of the first row that is put aside; rows from here on are sent last."""

BLOCK_BITS = 32
"""Numbers of one block: the rows of one task of a named run."""


class RowName(Word):
    """The names that its caller gave a row."""

    number: int | None = None
    """The caller's number for the row; None: the next free one, or the one its MessageId has."""
    message_id: str | None = None
    """As the caller wrote it; it need not be a legal MessageId."""


class RowAnswer(Word):
    """What became of one row."""

    row: int
    message_id: str | None
    outcome: RowOutcome
    error: LocalError | None = None


class Wanted(Word):
    """A row that can become a message."""

    names: Names
    draft: Draft
    digest: str
    fingerprint: str


class Staging:
    """Stages rows of one run of a job in one step. Nothing raises after the first write."""

    def __init__(self, txn: Transaction, ground: Ground, job: Job, run: Run) -> None:
        self._txn = txn
        self._job = job
        self._run = run
        self._ground = ground
        self._runs = {run.number: run}
        self._latest_release = txn.find_latest_release(job.job_id) if self._is_named else None

    @property
    def _is_named(self) -> bool:
        return self._run.name is not None

    def take(self, row: RowName, wanted: Wanted | LocalError) -> RowAnswer:
        """The outcome of the row; if the same row was staged before, its outcome of then."""
        if isinstance(wanted, LocalError):
            return self._refuse(row, wanted)
        message_id = wanted.draft.message.message_id
        known = self._txn.find_accepted_row(self._job.job_id, message_id)
        if known is None:
            return self._take_unknown(row, wanted)
        if self._is_released(known) or not self._gives_way(known, row):
            return self._take_known(row, known, wanted)
        return self._take_over(row, known, wanted)

    def _take_known(self, row: RowName, known: JobRow, wanted: Wanted) -> RowAnswer:
        if known.fingerprint != wanted.fingerprint:
            return self._taken(row, known)
        if self._is_released(known):
            self._vacate(row.number)
            return self._answer(known, RowOutcome.REPLAYED)
        if row.number is None or _is_at(known, row.number):
            return self._answer(known, RowOutcome.ACCEPTED)
        if self._is_named and _is_left_behind(known, row.number):
            return self._adopt(row, known)
        return self._put(row, wanted, RowOutcome.REPLAYED)

    def _run_of(self, row: JobRow) -> Run:
        run = self._runs.get(row.run)
        if run is None:
            run = self._runs[row.run] = self._txn.get_run(row.run)
        return run

    def _is_released(self, row: JobRow) -> bool:
        return self._run_of(row).released_at is not None

    def _gives_way(self, known: JobRow, row: RowName) -> bool:
        """Whether a staged message may be replaced: its run is over, or it has this row's number.

        In an unnamed run only the first.
        """
        if known.run == self._run.number:
            return self._is_named and _is_at(known, row.number)
        return self._is_named or not self._run_of(known).is_open

    def _take_over(self, row: RowName, known: JobRow, wanted: Wanted) -> RowAnswer:
        is_same = known.fingerprint == wanted.fingerprint
        if is_same and known.run == self._run.number:
            return self._adopt(row, known)
        # A row of another run is staged again: a corrected name or type of a payload counts.
        self._txn.forget_row(self._job.job_id, known.row)
        return self._take_unknown(row, wanted)

    def _adopt(self, row: RowName, known: JobRow) -> RowAnswer:
        number = known.row
        if row.number is not None:
            number, _ = self._find_place(row.number, lambda before: before.row == known.row)
        if number != known.row:
            self._txn.move_staged(self._job.job_id, known.row, to=number)
        return self._answer(changed(known, row=number), RowOutcome.ACCEPTED)

    def _vacate(self, number: int | None) -> None:
        """Remove what an earlier attempt put at the number of a row that is kept elsewhere."""
        if not self._is_named or number is None:
            return
        place, _ = self._find_place(number, lambda _: False)
        there = self._txn.find_job_row(self._job.job_id, place)
        if there is not None and not self._is_released(there):
            self._txn.forget_row(self._job.job_id, place)

    def _answer(self, row: JobRow, outcome: RowOutcome) -> RowAnswer:
        return RowAnswer(row.row, row.message_id, outcome)

    def _next(self, least: int = 0) -> int:
        return max(self._txn.last_job_row(self._job.job_id) + 1, least)

    def _find_place(
        self, number: int | None, is_it: Callable[[JobRow], bool]
    ) -> tuple[int, JobRow | None]:
        """The number that a row gets, and the row there if it is the same one already."""
        if number is None:
            return self._next(), None
        for storey in range(STOREYS):
            place = storey << NUMBER_BITS | number
            before = self._txn.find_job_row(self._job.job_id, place)
            if before is None or self._is_overtaken(before):
                return place, None
            if self._stands(before):
                continue
            if is_it(before):
                return place, before
            if self._makes_way(before):
                return place, None
        return self._next(ASIDE_FROM), None

    def _is_overtaken(self, before: JobRow) -> bool:
        latest = self._latest_release
        if before.outcome is RowOutcome.ACCEPTED or latest is None or before.run >= latest.number:
            return False
        if self._run_of(before).name is None:
            return False
        return _is_refusal(before) or (
            (before.outcome is RowOutcome.REJECTED) == self._is_accepted(before.message_id)
        )

    def _is_accepted(self, message_id: str | None) -> bool:
        assert message_id is not None, "what was a message once has an id"
        return self._txn.find_accepted_row(self._job.job_id, message_id) is not None

    def _stands(self, before: JobRow) -> bool:
        """Whether it is an outcome of an earlier run, which stays until this one is released."""
        is_outcome = before.outcome is RowOutcome.REPLAYED or _is_refusal(before)
        return self._is_named and is_outcome and self._is_released(before)

    def _makes_way(self, before: JobRow) -> bool:
        if before.outcome is RowOutcome.REJECTED:
            return True
        if not self._is_named or self._is_released(before):
            return False
        if before.outcome is RowOutcome.ACCEPTED:
            aside = self._next(ASIDE_FROM)
            self._txn.move_staged(self._job.job_id, before.row, to=aside)
        return True

    def _take_unknown(self, row: RowName, wanted: Wanted) -> RowAnswer:
        message = wanted.draft.message
        earlier = self._txn.find_outbound_view(message.message_id)
        if earlier is None:
            return self._put(row, wanted, RowOutcome.ACCEPTED)
        try:
            check_same(earlier, message, wanted.digest, wanted.names)
        except LocalError as error:
            return self._refuse(row, error)
        return self._put(row, wanted, RowOutcome.REPLAYED)

    def _taken(self, row: RowName, known: JobRow) -> RowAnswer:
        text = f"the job has another message as {known.message_id!r}"
        return self._refuse(row, LocalError("MessageIdTaken", text))

    def _put(self, row: RowName, wanted: Wanted, outcome: RowOutcome) -> RowAnswer:
        message, payloads = wanted.draft.message, wanted.draft.payloads
        kept = JobRow(0, self._run.number, outcome, message.message_id, wanted.fingerprint)
        number, before = self._find_place(
            row.number, lambda there: changed(there, row=0, run=kept.run) == kept
        )
        if before is not None:
            return self._stay(before)
        kept = changed(kept, row=number)
        if outcome is RowOutcome.ACCEPTED:
            self._txn.add_staged(self._job.job_id, kept, message, payloads, digest=wanted.digest)
        else:
            self._txn.put_job_row(self._job.job_id, kept)
        return self._answer(kept, outcome)

    def _stay(self, row: JobRow) -> RowAnswer:
        """A replayed or rejected row keeps its outcome; its run is the one that staged it last."""
        if row.run != self._run.number and not self._is_released(row):
            self._txn.put_job_row(self._job.job_id, changed(row, run=self._run.number))
        return self._answer(row, row.outcome)

    def _refuse(self, row: RowName, error: LocalError) -> RowAnswer:
        message_id = row.message_id if is_identifier(row.message_id) else None
        refusal = (message_id, error.name, str(error))

        def is_it(there: JobRow) -> bool:
            return (there.message_id, there.error_code, there.reason) == refusal

        number, before = self._find_place(row.number, is_it)
        if before is not None:
            return changed(self._stay(before), error=error)
        refused = JobRow(number, self._run.number, RowOutcome.REJECTED, message_id, "")
        self.reject(refused, error, is_news=not self._was_told(row.number, is_it))
        return RowAnswer(number, message_id, RowOutcome.REJECTED, error)

    def _was_told(self, number: int | None, is_it: Callable[[JobRow], bool]) -> bool:
        """Whether an earlier run was told the same of this number, so that the journal has it."""
        for storey in range(0 if number is None else STOREYS):
            place = storey << NUMBER_BITS | (number or 0)
            before = self._txn.find_job_row(self._job.job_id, place)
            if before is None:
                return False
            if self._stands(before) and is_it(before):
                return True
        return False

    def reject(self, row: JobRow, error: LocalError, *, is_news: bool = True) -> None:
        """Keep that the row is refused, and say so in the journal, unless it has said so before."""
        reason = str(error)
        refused = changed(row, outcome=RowOutcome.REJECTED, error_code=error.name, reason=reason)
        self._txn.put_job_row(self._job.job_id, refused)
        if not is_news:
            return
        rows, actor = self._ground.house.rows, actor_of(self._job)
        now = self._ground.now
        self._txn.append((rows.refused_submission(row.message_id, error, actor, now),))


def _is_refusal(row: JobRow) -> bool:
    """Whether it was refused when it was staged; a row refused after its release was accepted."""
    return row.outcome is RowOutcome.REJECTED and not row.fingerprint


def _is_at(known: JobRow, number: int | None) -> bool:
    """Whether the row has this number, on any storey."""
    return known.row < ASIDE_FROM and known.row % (1 << NUMBER_BITS) == number


def _is_left_behind(known: JobRow, number: int) -> bool:
    """Whether an earlier attempt of the task put the row at its place."""
    before = known.row % (1 << NUMBER_BITS)
    is_above = before > number and before >> BLOCK_BITS == number >> BLOCK_BITS
    return is_above or known.row >= ASIDE_FROM


def actor_of(job: Job) -> str:
    """The name of the job in the column `actor` of the journal."""
    return f"job:{job.job_id}"


def is_identifier(value: str | None) -> bool:
    """Whether the value can be an id."""
    try:
        return value is not None and bool(checked_identifier(value, "job"))
    except RemoteError:
        return False
