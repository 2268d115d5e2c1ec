"""The store's contract about jobs, sentence by sentence, on every store there is."""

from typing import Any

from store_samples import (
    ACKNOWLEDGED,
    BODY,
    commit,
    handed_over,
    message,
    spooled,
    stored,
    submitted,
)
from store_samples import row as journal_row

from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.protocol.receiving import ProcessingState
from onceonly.store.contract.jobs import JOBS_PER_PURGE, JobPurge, JobRow, RowOutcome
from onceonly.store.contract.store import Store, Transaction

DIGEST = "d" * 64


def row(number: int, message_id: str | None, **changes: Any) -> JobRow:
    return changed(JobRow(number, 1, RowOutcome.ACCEPTED, message_id, f"f-{message_id}"), **changes)


def opened(tx: Transaction, job: str, name: str | None = None) -> int:
    """The run of this name, or a new one where it may stage no more."""
    tx.open_job(job, at=5)
    run = tx.find_run(job, name)
    return run.number if run and run.is_open else tx.open_run(job, name, at=5).number


def stage(tx: Transaction, job: str, number: int, message_id: str, name: str | None = None) -> None:
    kept = row(number, message_id, run=opened(tx, job, name))
    part = stored(message_id.encode())
    tx.add_staged(job, kept, message(message_id, part), [part], digest=DIGEST)


def staged(store: Store, job: str, *rows: tuple[int, str], name: str | None = None) -> None:
    commit(store, *(lambda tx, r=r: stage(tx, job, *r, name) for r in rows))


def release(tx: Transaction, job: str, *, at: int) -> None:
    for run in tx.list_unreleased_runs(job):
        tx.release_run(run.number, at=at)


def drop(tx: Transaction, job: str, limit: int) -> int:
    for run in tx.list_unreleased_runs(job):
        tx.drop_run(run.number, at=6)
    return tx.forget_dropped(job, limit)


def released_ids(store: Store, limit: int = 10) -> list[str]:
    return [one.message.message_id for one in store.snapshot().list_released(limit)]


def purged(store: Store, before_at: int, limit: int) -> int:
    [step] = commit(store, lambda tx: tx.purge_jobs(before_at, limit))
    return step.forgotten


def move(tx: Transaction, job: str, number: int) -> None:
    """What a gateway does with a released row."""
    one = tx.find_staged(job, number)
    assert one is not None
    payloads = tx.list_staged_payloads(job, number)
    tx.add_outbound(
        one.message, ACKNOWLEDGED, payloads, digest=DIGEST, submitted_at=7, idempotency_key=None
    )
    tx.remove_staged(job, number)


def test_an_unknown_job_is_empty(store: Store) -> None:
    """Nothing is known of a job that nothing was given to."""
    snapshot = store.snapshot()
    assert snapshot.find_job("j") is None
    assert snapshot.list_jobs(0, 10) == []
    assert (snapshot.count_job("j"), snapshot.last_job_row("j")) == ({}, -1)
    assert snapshot.find_job_row("j", 0) is None
    assert snapshot.find_accepted_row("j", "m-1") is None
    assert snapshot.list_rejects("j", -1, 10) == []
    assert snapshot.find_staged("j", 0) is None
    assert list(snapshot.list_staged_payloads("j", 0)) == []
    assert snapshot.list_released(10) == []
    assert commit(store, lambda tx: drop(tx, "j", 10)) == [0]


def test_jobs_are_listed_in_the_order_in_which_they_were_opened(store: Store) -> None:
    """A page begins above a number; opening again is the same job, touched later."""
    commit(store, lambda tx: tx.open_job("b", at=5), lambda tx: tx.open_job("a", at=6))
    commit(store, lambda tx: tx.open_job("b", at=9), lambda tx: tx.open_job("b", at=8))
    first, second = store.snapshot().list_jobs(0, 10)
    assert (first.job_id, first.opened_at, first.staged_at, first.releases) == ("b", 5, 9, 0)
    assert (second.job_id, second.released_at) == ("a", None)
    assert store.snapshot().list_jobs(first.number, 10) == [second]
    assert store.snapshot().list_jobs(0, 1) == [first]


def test_what_is_staged_is_no_outbound_message(store: Store) -> None:
    """It is kept whole, counted by its job alone, and owed to nobody."""
    big = spooled(100_000, "b" * 64)
    sent = message("m-1", stored(BODY), big)

    def step(tx: Transaction) -> None:
        opened(tx, "j")
        tx.add_staged("j", row(4, "m-1"), sent, [stored(BODY), big], digest=DIGEST)

    commit(store, step)
    snapshot = store.snapshot()
    found = snapshot.find_staged("j", 4)
    assert found is not None
    assert (found.job.job_id, found.row, found.message, found.digest) == (
        "j",
        row(4, "m-1"),
        sent,
        DIGEST,
    )
    assert list(snapshot.list_staged_payloads("j", 4)) == [stored(BODY), big]
    assert snapshot.find_job_row("j", 4) == row(4, "m-1")
    assert snapshot.find_accepted_row("j", "m-1") == row(4, "m-1")
    assert snapshot.count_job("j") == {"staged": 1}
    assert snapshot.is_spooled("b" * 64)
    assert snapshot.find_outbound("m-1") is None
    assert set(snapshot.count_by_status().values()) == {0}
    assert snapshot.list_waiting_pairs() == []
    assert snapshot.list_released(10) == []


def test_staging_survives_the_process(openings: Any) -> None:
    """What was committed is there in the next life; what was not is not."""
    store = openings.open()
    staged(store, "j", (0, "m-1"))
    stage(store.begin(), "j", 1, "m-2")
    store.close()
    again = openings.open()
    assert again.snapshot().count_job("j") == {"staged": 1}
    assert again.snapshot().last_job_row("j") == 0


def test_a_release_reaches_all_rows_that_are_staged_by_then(store: Store) -> None:
    """In the order of jobs and rows, whenever they came; what is staged later waits."""
    staged(store, "other", (0, "o-1"))
    staged(store, "j", (7, "m-7"), (2, "m-2"))
    staged(store, "late", (0, "l-1"))
    commit(store, lambda tx: release(tx, "j", at=6), lambda tx: release(tx, "late", at=6))
    staged(store, "j", (1, "m-1"))
    assert released_ids(store) == ["m-2", "m-7", "l-1"]
    assert released_ids(store, 1) == ["m-2"]
    assert store.snapshot().count_job("j") == {"queued": 2, "staged": 1}
    assert store.snapshot().count_job("other") == {"staged": 1}


def test_a_release_of_nothing_changes_nothing(store: Store) -> None:
    """The second release of a job leaves its first as it was; the next rows have one of theirs."""
    staged(store, "j", (0, "m-1"))
    commit(store, lambda tx: release(tx, "j", at=6))
    commit(store, lambda tx: release(tx, "j", at=7))
    job = store.snapshot().find_job("j")
    assert job is not None
    assert (job.releases, job.released_at) == (1, 6)
    staged(store, "j", (1, "m-2"))
    commit(store, lambda tx: release(tx, "j", at=8))
    assert store.snapshot().find_job("j") == changed(job, releases=2, released_at=8)
    assert released_ids(store) == ["m-1", "m-2"]


def test_a_row_that_moved_counts_as_its_message_stands(store: Store) -> None:
    """Until a purge, and after it as it ended."""
    staged(store, "j", (0, "m-1"), (1, "m-2"))
    commit(store, lambda tx: release(tx, "j", at=6), lambda tx: move(tx, "j", 0))
    assert store.snapshot().count_job("j") == {"acknowledged": 1, "queued": 1}
    assert released_ids(store) == ["m-2"]
    assert not list(store.snapshot().list_staged_payloads("j", 0))
    commit(store, lambda tx: tx.purge_outbound("tpa-1", 100, 10))
    assert store.snapshot().find_outbound("m-1") is None
    assert store.snapshot().count_job("j") == {"acknowledged": 1, "queued": 1}


def test_rows_of_every_outcome_are_counted(store: Store) -> None:
    """Rejected rows say why, and are listed in order."""

    def step(tx: Transaction) -> None:
        stage(tx, "j", 0, "m-1")
        tx.put_job_row("j", row(1, "m-1", outcome=RowOutcome.REPLAYED))
        for number in (5, 3):
            refused = row(number, None, outcome=RowOutcome.REJECTED)
            tx.put_job_row("j", changed(refused, error_code="InvalidField", reason="empty"))

    commit(store, step)
    snapshot = store.snapshot()
    assert snapshot.count_job("j") == {"staged": 1, "replayed": 1, "rejected": 2}
    assert [one.row for one in snapshot.list_rejects("j", -1, 10)] == [3, 5]
    assert [one.row for one in snapshot.list_rejects("j", 3, 10)] == [5]
    assert [one.row for one in snapshot.list_rejects("j", -1, 1)] == [3]
    assert snapshot.list_rejects("j", 3, 1)[0].error_code == "InvalidField"
    assert snapshot.last_job_row("j") == 5
    assert snapshot.find_accepted_row("j", "m-1") == row(0, "m-1")


def test_a_row_can_be_replaced(store: Store) -> None:
    """What was rejected is staged once it can be."""
    commit(store, lambda tx: opened(tx, "j"))
    commit(store, lambda tx: tx.put_job_row("j", row(0, None, outcome=RowOutcome.REJECTED)))
    staged(store, "j", (0, "m-1"))
    assert store.snapshot().count_job("j") == {"staged": 1}


def test_a_drop_forgets_what_no_release_has_reached(store: Store) -> None:
    """In pieces; released rows stay, and the job stays with them."""
    staged(store, "j", (0, "m-1"))
    commit(store, lambda tx: release(tx, "j", at=6))
    staged(store, "j", (1, "m-2"), (2, "m-3"), (3, "m-4"))
    assert commit(store, lambda tx: drop(tx, "j", 2)) == [2]
    assert commit(store, lambda tx: drop(tx, "j", 2)) == [1]
    assert commit(store, lambda tx: drop(tx, "j", 2)) == [0]
    assert store.snapshot().count_job("j") == {"queued": 1}


def test_a_job_that_was_never_released_goes_with_its_last_row(store: Store) -> None:
    """And is another job when it comes again."""
    staged(store, "j", (0, "m-1"))
    before = store.snapshot().find_job("j")
    commit(store, lambda tx: drop(tx, "j", 10))
    assert store.snapshot().find_job("j") is None
    staged(store, "j", (0, "m-1"))
    after = store.snapshot().find_job("j")
    assert before is not None
    assert after is not None
    assert after.number > before.number


def test_what_a_released_run_hands_over_anew_is_overtaken(store: Store) -> None:
    """Rejections, and replays of other jobs' messages; nothing of nameless runs, nor what is on."""

    def hand_over(tx: Transaction, name: str | None, first: int) -> None:
        run = opened(tx, "j", name)
        kept = row(first, None, run=run, outcome=RowOutcome.REJECTED, error_code="InvalidField")
        tx.put_job_row("j", changed(kept, fingerprint=""))
        tx.put_job_row("j", row(first + 1, "known", run=run, outcome=RowOutcome.REPLAYED))

    def counts() -> tuple[dict[str, int], list[int]]:
        snapshot = store.snapshot()
        rejects = snapshot.list_rejects("j", -1, 10)
        return snapshot.count_job("j"), [one.row for one in rejects]

    commit(store, lambda tx: stage(tx, "j", 0, "m-1", "a"))
    again = row(1, "m-1", run=1, outcome=RowOutcome.REPLAYED)
    commit(store, lambda tx: tx.put_job_row("j", again), lambda tx: hand_over(tx, "a", 10))
    commit(store, lambda tx: release(tx, "j", at=7))
    assert counts() == ({"queued": 1, "replayed": 2, "rejected": 1}, [10])
    commit(store, lambda tx: hand_over(tx, "b", 20))
    assert counts() == ({"queued": 1, "replayed": 3, "rejected": 2}, [10, 20])
    latest = store.snapshot().find_latest_release("j")
    assert latest is not None
    assert latest.name == "a"
    commit(store, lambda tx: release(tx, "j", at=8))
    assert counts() == ({"queued": 1, "replayed": 2, "rejected": 1}, [20])
    commit(store, lambda tx: hand_over(tx, None, 30), lambda tx: release(tx, "j", at=9))
    commit(store, lambda tx: hand_over(tx, "c", 40), lambda tx: release(tx, "j", at=10))
    assert counts() == ({"queued": 1, "replayed": 3, "rejected": 2}, [30, 40])


def test_what_was_rejected_behind_its_release_counts_until_it_is_accepted(store: Store) -> None:
    """Whoever ran the job again meanwhile was told that it is a replay."""

    def rejections() -> int:
        snapshot = store.snapshot()
        assert snapshot.count_job("j").get("rejected", 0) == len(snapshot.list_rejects("j", -1, 10))
        return len(snapshot.list_rejects("j", -1, 10))

    commit(store, lambda tx: stage(tx, "j", 0, "m-1", "a"), lambda tx: release(tx, "j", at=7))
    commit(store, lambda tx: opened(tx, "j", "b"), lambda tx: release(tx, "j", at=8))
    refused = row(0, "m-1", outcome=RowOutcome.REJECTED, error_code="UnknownAgreement")
    commit(store, lambda tx: tx.remove_staged("j", 0), lambda tx: tx.put_job_row("j", refused))
    assert rejections() == 1
    commit(store, lambda tx: stage(tx, "j", 9, "m-1", "c"))
    assert rejections() == 0


def test_runs_are_known_by_name_and_numbered_in_order(store: Store) -> None:
    """The last of a name counts; the newest is the last that has one and is not dropped."""
    snapshot = store.snapshot
    assert snapshot().find_run("j", None) is None
    assert snapshot().find_newest_run("j") is None
    assert list(snapshot().list_unreleased_runs("j")) == []
    numbers = commit(
        store,
        *(lambda tx, name=name: tx.open_run("j", name, at=5) for name in ("a", None, "b", "a")),
    )
    first, nameless, b, last = numbers
    assert [first.number < nameless.number < b.number < last.number] == [True]
    assert (snapshot().find_run("j", "a"), snapshot().find_run("j", None)) == (last, nameless)
    assert snapshot().find_newest_run("j") == last
    assert snapshot().find_run("other", "a") is None
    commit(store, lambda tx: tx.drop_run(last.number, at=6))
    assert snapshot().find_newest_run("j") == b
    commit(store, lambda tx: tx.release_run(b.number, at=7))
    assert snapshot().get_run(b.number) == changed(b, released_at=7)
    unreleased = [run.number for run in snapshot().list_unreleased_runs("j")]
    assert unreleased == [first.number, nameless.number, last.number]
    assert [run.is_open for run in snapshot().list_unreleased_runs("j")] == [True, True, False]


def test_a_block_is_of_the_attempt_that_was_put_last(store: Store) -> None:
    """Each block of each run by itself."""
    commit(store, lambda tx: opened(tx, "j", "a"), lambda tx: opened(tx, "j", "b"))
    [a, b] = (run.number for run in store.snapshot().list_unreleased_runs("j"))
    assert store.snapshot().find_block(a, 0) is None
    commit(store, *(lambda tx, n=n: tx.put_block(a, 0, n) for n in (4, 9)))
    commit(store, lambda tx: tx.put_block(a, 1, 5))
    found = [store.snapshot().find_block(run, block) for run in (a, b) for block in (0, 1)]
    assert found == [9, 5, None, None]


def test_blocks_are_forgotten_with_their_run(store: Store) -> None:
    """With its job, or as long after as a dropped run is known."""
    staged(store, "j", (0, "m-1"), name="a")
    commit(store, lambda tx: opened(tx, "j", "b"))
    [a, b] = (run.number for run in store.snapshot().list_unreleased_runs("j"))
    commit(store, *(lambda tx, run=run: tx.put_block(run, 0, 1) for run in (a, b)))

    def found() -> list[int | None]:
        return [store.snapshot().find_block(run, 0) for run in (a, b)]

    commit(store, lambda tx: tx.drop_run(a, at=6), lambda tx: tx.forget_dropped("j", 10))
    assert found() == [1, None]
    purged(store, 7, 10)
    assert found() == [None, None]


def test_a_release_reaches_one_run(store: Store) -> None:
    """What others have staged waits for theirs; each counts what is staged in it."""
    staged(store, "j", (0, "m-1"), (1, "m-2"), name="a")
    staged(store, "j", (2, "m-3"), name="b")
    a, b = store.snapshot().list_unreleased_runs("j")
    assert (a.staged, b.staged) == (2, 1)
    commit(store, lambda tx: tx.release_run(b.number, at=6))
    assert released_ids(store) == ["m-3"]
    assert store.snapshot().count_job("j") == {"staged": 2, "queued": 1}


def test_what_is_staged_can_move_to_another_number(store: Store) -> None:
    """With its payloads, over a row that has the number; a run counts what is staged in it."""
    staged(store, "j", (0, "m-1"), (1, "m-2"), name="a")
    commit(store, lambda tx: stage(tx, "j", 2, "m-3", "b"))
    a, b = store.snapshot().list_unreleased_runs("j")
    refused = row(7, None, run=b.number, outcome=RowOutcome.REJECTED)
    commit(store, lambda tx: tx.put_job_row("j", refused))
    commit(store, lambda tx: tx.move_staged("j", 0, to=7))
    snapshot = store.snapshot()
    assert (snapshot.find_job_row("j", 0), snapshot.find_staged("j", 0)) == (None, None)
    assert snapshot.find_accepted_row("j", "m-1") == row(7, "m-1", run=a.number)
    assert list(snapshot.list_staged_payloads("j", 7)) == [stored(b"m-1")]
    assert [run.staged for run in snapshot.list_unreleased_runs("j")] == [2, 1]
    commit(store, lambda tx: tx.forget_row("j", 7))
    assert store.snapshot().find_job_row("j", 7) is None
    assert [run.staged for run in store.snapshot().list_unreleased_runs("j")] == [1, 1]
    commit(store, lambda tx: tx.release_run(b.number, at=6))
    assert released_ids(store) == ["m-3"]
    commit(store, lambda tx: tx.put_job_row("j", refused), lambda tx: tx.forget_row("j", 7))
    assert store.snapshot().find_job_row("j", 7) is None


def test_a_drop_reaches_no_row_that_another_run_has(store: Store) -> None:
    """Though it came while the drop went on in steps."""
    staged(store, "j", (0, "m-1"), (1, "m-2"), (2, "m-3"), name="a")
    [a] = store.snapshot().list_unreleased_runs("j")
    commit(store, lambda tx: tx.drop_run(a.number, at=6))
    assert commit(store, lambda tx: tx.forget_dropped("j", 1)) == [1]
    staged(store, "j", (0, "m-4"), name="b")
    assert commit(store, lambda tx: tx.forget_dropped("j", 10)) == [2]
    assert commit(store, lambda tx: tx.forget_dropped("j", 10)) == [0]
    assert store.snapshot().count_job("j") == {"staged": 1}
    assert store.snapshot().get_run(a.number).staged == 0


def test_a_dropped_run_is_known_longer_than_its_job(store: Store) -> None:
    """Until a purge of what was dropped before then; others go with their job."""
    staged(store, "j", (0, "m-1"), name="a")
    commit(store, lambda tx: tx.open_run("j", "b", at=5))
    [a, _] = store.snapshot().list_unreleased_runs("j")
    commit(store, lambda tx: tx.drop_run(a.number, at=6))
    commit(store, lambda tx: tx.forget_dropped("j", 10))
    assert store.snapshot().find_job("j") is None
    assert store.snapshot().find_run("j", "b") is None
    for before_at, is_known in ((6, True), (7, False)):
        assert purged(store, before_at, 10) == 0
        assert (store.snapshot().find_run("j", "a") is not None) == is_known


def test_a_purge_looks_at_so_many_jobs_at_a_time(store: Store) -> None:
    """And says behind which to go on, also where none of them is to be forgotten."""
    count = JOBS_PER_PURGE + 1
    names = [f"j-{n}" for n in range(count)]
    commit(store, *(lambda tx, j=j: stage(tx, j, 0, f"m-{j}") for j in names))
    standing = names[:-1]
    commit(store, *(lambda tx, j=j: release(tx, j, at=6) for j in standing))
    [first] = commit(store, lambda tx: tx.purge_jobs(100, 10))
    assert first.forgotten == 0
    assert first.after is not None
    [second] = commit(store, lambda tx: tx.purge_jobs(100, 10, first.after))
    assert second == JobPurge(2, None)


def test_a_rollback_forgets_what_was_staged(store: Store) -> None:
    """Staging is part of its transaction like everything else."""
    transaction = store.begin()
    stage(transaction, "j", 0, "m-1")
    assert transaction.write_count > 0
    store.rollback()
    assert store.snapshot().find_job("j") is None
    assert not store.snapshot().is_spooled("b" * 64)


def test_a_purge_forgets_rows_that_nobody_released(store: Store) -> None:
    """Those last staged before the instant, at most so many at a time."""
    staged(store, "j", (0, "m-1"), (1, "m-2"))
    assert purged(store, 5, 10) == 0
    assert purged(store, 6, 1) == 1
    assert store.snapshot().count_job("j") == {"staged": 1}
    assert purged(store, 6, 10) == 2
    assert store.snapshot().find_job("j") is None


def test_a_purge_keeps_a_job_as_long_as_one_of_its_messages(store: Store) -> None:
    """A released job goes after its last message, and a while after its release."""
    staged(store, "j", (0, "m-1"), (1, "m-2"))
    commit(store, lambda tx: release(tx, "j", at=6))
    assert purged(store, 100, 10) == 0
    commit(store, lambda tx: move(tx, "j", 0), lambda tx: move(tx, "j", 1))
    commit(store, lambda tx: tx.purge_outbound("tpa-1", 100, 1))
    assert purged(store, 100, 10) == 0
    commit(store, lambda tx: tx.purge_outbound("tpa-1", 100, 1))
    assert purged(store, 6, 10) == 0
    assert purged(store, 7, 1) == 1
    assert purged(store, 7, 10) == 2
    assert store.snapshot().find_job("j") is None


def test_a_row_staged_under_an_id_that_ends_elsewhere_stays_staged(store: Store) -> None:
    """A purge of the outbound message of that id says nothing about what is staged."""
    staged(store, "j", (0, "m-1"))
    submitted(store, "m-1", ACKNOWLEDGED)
    commit(store, lambda tx: tx.purge_outbound("tpa-1", 1 << 60, 10))
    assert store.snapshot().count_job("j") == {"staged": 1}


def test_the_greatest_offset_and_seq_are_known(store: Store) -> None:
    """Zero where there is none, and what was given last."""
    assert (store.snapshot().last_offset(), store.snapshot().last_seq()) == (0, 0)
    offset = handed_over(store, "m-1")
    commit(store, lambda tx: tx.append([journal_row(Event.STORED, "m-1")] * 3))
    assert (store.snapshot().last_offset(), store.snapshot().last_seq()) == (offset, 3)


def test_items_that_have_not_come_so_far_are_listed(store: Store) -> None:
    """By offset, within the range, cancelled and refused ones left out."""
    first, second, third, _ = (handed_over(store, f"m-{n}") for n in range(1, 5))
    commit(
        store,
        lambda tx: tx.put_processing(first, ProcessingState.IN_PROGRESS),
        lambda tx: tx.put_processing(second, ProcessingState.COMPLETE),
    )

    def offsets(*query: Any) -> list[int]:
        return [item.offset for item in store.snapshot().list_unfinished(*query)]

    assert offsets(0, third, ProcessingState.IN_PROGRESS, 10) == [third]
    assert offsets(0, third, ProcessingState.COMPLETE, 10) == [first, third]
    assert offsets(0, third, ProcessingState.COMPLETE, 1) == [first]
    assert offsets(first, second, ProcessingState.COMPLETE, 10) == []
    commit(store, lambda tx: tx.cancel_inbound(message("m-3").key, at=9, keep_until_at=None))
    assert offsets(0, third, ProcessingState.COMPLETE, 10) == [first]
    commit(store, lambda tx: tx.put_refused(first))
    assert offsets(0, third, ProcessingState.COMPLETE, 10) == []
