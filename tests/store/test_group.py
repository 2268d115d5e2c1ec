"""Group commit: who is told what, and when."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest
import uvloop
from store_samples import message, submit

from onceonly.journal.record import Record, chain
from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.event import Event
from onceonly.store.contract.conditions import StoreFailed, StoreFull, StoreMisusedBefore
from onceonly.store.contract.store import Store, Transaction
from onceonly.store.group import STEPS_MAX, STEPS_ON_LOOP_MAX, WAITING_MAX, GroupCommit
from onceonly.store.memory.store import MemoryStore

pytestmark = pytest.mark.parametrize("thread", [True, False], ids=["thread", "inline"])


class Rig:
    """A group over a store, with the failures that it reported."""

    def __init__(self, store: Store, *, thread: bool) -> None:
        self.store = store
        self.failures: list[StoreFailed] = []
        self.group = GroupCommit(store, on_failure=self.failures.append, thread=thread)

    def submit(self, message_id: str) -> Coroutine[Any, Any, str]:
        """Ask for a step that stores a submission."""

        def step(transaction: Transaction) -> str:
            submit(transaction, message(message_id))
            return message_id

        return self.group.transact(step)

    def is_stored(self, message_id: str) -> bool:
        return self.store.snapshot().find_outbound(message_id) is not None


def memory() -> MemoryStore:
    return MemoryStore(party="urn:duns:111111111", clock_at=lambda: 0)


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `main`; an exception that a callback leaves to the loop fails nothing here."""

    async def quietly() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        await main()

    asyncio.run(quietly())


def refuse(transaction: Transaction) -> None:
    raise LocalError("NotCancellable", "too late")


@pytest.mark.statement("S0-02", "S0-09", ruling="R-02")
def test_a_waiter_is_released_after_the_commit(store: Store, *, thread: bool) -> None:
    """When `transact` returns, a snapshot sees what the step wrote (I14)."""

    async def main() -> None:
        rig = Rig(store, thread=thread)
        assert await rig.submit("m-1") == "m-1"
        assert rig.is_stored("m-1")
        await rig.group.drain()

    run(main)


def test_everything_that_waits_shares_a_commit_in_order(store: Store, *, thread: bool) -> None:
    """Steps run in the order in which they were asked for, each seeing those before it."""

    async def main() -> None:
        rig = Rig(store, thread=thread)
        ran: list[int] = []
        seen = await asyncio.gather(
            *(rig.group.transact(lambda tx, n=n: (ran.append(n), id(tx))[1]) for n in range(100))
        )
        assert ran == list(range(100))
        assert len(set(seen)) == 1
        await rig.group.drain()

    run(main)


def test_a_transaction_has_a_bounded_number_of_steps(*, thread: bool) -> None:
    """More than `STEPS_MAX` waiting steps take more than one transaction; all are served."""

    async def main() -> None:
        rig = Rig(memory(), thread=thread)
        transactions: list[Transaction] = []
        await asyncio.gather(
            *(rig.group.transact(transactions.append) for _ in range(2 * STEPS_MAX + 1))
        )
        distinct = list({id(transaction): transaction for transaction in transactions})
        assert len(distinct) == 3
        assert len(transactions) == 2 * STEPS_MAX + 1

    run(main)


@pytest.mark.parametrize("error", [LocalError("X", "x"), RemoteError(ErrorCode.UNKNOWN, "x")])
def test_a_refusing_step_fails_only_its_own_waiter(
    store: Store, error: Exception, *, thread: bool
) -> None:
    """A LocalError or RemoteError reaches the asker; the rest of the batch is committed."""

    def refusing(transaction: Transaction) -> None:
        raise error

    async def main() -> None:
        rig = Rig(store, thread=thread)
        results = await asyncio.gather(
            rig.submit("m-1"),
            rig.group.transact(refusing),
            rig.submit("m-2"),
            return_exceptions=True,
        )
        assert results == ["m-1", error, "m-2"]
        assert rig.is_stored("m-1")
        assert rig.is_stored("m-2")
        assert rig.failures == []
        await rig.group.drain()

    run(main)


@pytest.mark.statement("S3-26", ruling="R-28")
def test_a_full_disk_fails_the_batch_and_not_the_next_one(*, thread: bool) -> None:
    """StoreFull: everyone of the batch is told, nothing is stored, and work goes on (R-28)."""

    async def main() -> None:
        store = memory()
        rig = Rig(store, thread=thread)
        store.is_full = True
        results = await asyncio.gather(
            rig.submit("m-1"), rig.group.transact(refuse), return_exceptions=True
        )
        assert [type(result) for result in results] == [StoreFull, StoreFull]
        assert not rig.is_stored("m-1")
        store.is_full = False
        await rig.submit("m-1")
        assert rig.is_stored("m-1")
        assert rig.failures == []

    run(main)


def test_a_step_that_meets_a_full_disk_fails_the_batch(store: Store, *, thread: bool) -> None:
    """StoreFull out of a step rolls back what others of the batch wrote before it."""

    def full(transaction: Transaction) -> None:
        raise StoreFull("no space")

    async def main() -> None:
        rig = Rig(store, thread=thread)
        results = await asyncio.gather(
            rig.submit("m-1"), rig.group.transact(full), rig.submit("m-2"), return_exceptions=True
        )
        assert [type(result) for result in results] == [StoreFull] * 3
        assert not rig.is_stored("m-1")
        await rig.submit("m-1")
        await rig.group.drain()

    run(main)


def test_a_broken_disk_fails_everyone_and_stops(*, thread: bool) -> None:
    """StoreFailed: reported once, and no later step is accepted (R-22)."""

    async def main() -> None:
        store = memory()
        rig = Rig(store, thread=thread)
        store.is_broken = True
        results = await asyncio.gather(rig.submit("m-1"), rig.submit("m-2"), return_exceptions=True)
        assert [type(result) for result in results] == [StoreFailed, StoreFailed]
        assert len(rig.failures) == 1
        store.is_broken = False
        with pytest.raises(StoreFailed):
            await rig.submit("m-3")
        await rig.group.drain()

    run(main)


def test_a_disk_that_breaks_while_a_batch_is_taken_back_fails_everyone_and_stops(
    *, thread: bool
) -> None:
    """A rollback that fails is no refusal: the store cannot be trusted any more (R-22)."""

    async def main() -> None:
        store = memory()
        rig = Rig(store, thread=thread)

        def break_while_full(transaction: Transaction) -> None:
            store.is_broken = True
            raise StoreFull("no space")

        results = await asyncio.gather(
            rig.submit("m-1"), rig.group.transact(break_while_full), return_exceptions=True
        )
        assert [type(result) for result in results] == [StoreFailed, StoreFailed]
        assert len(rig.failures) == 1
        with pytest.raises(StoreFailed):
            await rig.submit("m-2")

    run(main)


def test_a_store_that_failed_lets_the_next_process_in(*, thread: bool) -> None:
    """Fail-stop ends the process, and with it the lock; nothing of the batch is stored."""

    async def main() -> None:
        store = memory()
        rig = Rig(store, thread=thread)
        store.is_broken = True
        with pytest.raises(StoreFailed):
            await rig.submit("m-1")
        store.close()
        assert store.reopen().snapshot().find_outbound("m-1") is None

    run(main)


def raise_key_error(transaction: Transaction) -> None:
    raise KeyError("a bug")


def refuse_too_late(transaction: Transaction) -> None:
    submit(transaction, message("m-2"))
    raise LocalError("TooLate", "after a write")


@pytest.mark.parametrize(
    ("bug", "raised"), [(raise_key_error, KeyError), (refuse_too_late, AssertionError)]
)
@pytest.mark.statement(ruling="R-43")
def test_a_step_with_a_bug_fails_alone(
    store: Store, bug: Callable[[Transaction], None], raised: type[Exception], *, thread: bool
) -> None:
    """Any other error, or a refusal after a write, is our bug: the rest of its batch is stored."""

    async def main() -> None:
        rig = Rig(store, thread=thread)
        results = await asyncio.gather(
            rig.submit("m-1"),
            rig.group.transact(bug),
            rig.submit("m-3"),
            return_exceptions=True,
        )
        assert results[0] == "m-1"
        assert type(results[1]) is raised
        assert results[2] == "m-3"
        assert rig.failures == []
        assert [rig.is_stored(f"m-{n}") for n in (1, 2, 3)] == [True, False, True]
        await rig.submit("m-4")
        await rig.group.drain()

    run(main)


@pytest.mark.statement(ruling="R-43")
def test_what_a_step_with_a_bug_wrote_is_no_row_of_the_journal(
    store: Store, *, thread: bool
) -> None:
    """The numbers and hashes of the others' rows are as if it had never run."""

    def note(event: Event) -> Callable[[Transaction], None]:
        row = Record(party="urn:duns:111111111", event=event, at=1, monotonic_ns=1)
        return lambda transaction: transaction.append((row,))

    def note_and_fail(transaction: Transaction) -> None:
        note(Event.DRILL)(transaction)
        raise KeyError("a bug")

    async def main() -> None:
        rig = Rig(store, thread=thread)
        await asyncio.gather(
            rig.group.transact(note(Event.STARTED)),
            rig.group.transact(note_and_fail),
            rig.group.transact(note(Event.STOPPED)),
            return_exceptions=True,
        )
        rows = store.snapshot().list_journal(0, 10)
        assert [(row.seq, row.event) for row in rows] == [(1, "Started"), (2, "Stopped")]
        assert rows[1].chain_hash == chain(rows[0].chain_hash, rows[1])
        await rig.group.drain()

    run(main)


def test_many_bugs_cost_every_other_step_one_run_more(*, thread: bool) -> None:
    """A stranger who knows of one must not make a batch run once for each time that he sends it."""

    async def main() -> None:
        rig = Rig(memory(), thread=thread)
        runs: Counter[int] = Counter()

        def step(number: int, transaction: Transaction) -> int:
            runs[number] += 1
            if number % 2:
                raise KeyError(number)
            return number

        results = await asyncio.gather(
            *(rig.group.transact(partial(step, number)) for number in range(STEPS_MAX)),
            return_exceptions=True,
        )
        assert [result for result in results if not isinstance(result, KeyError)] == list(
            range(0, STEPS_MAX, 2)
        )
        assert max(runs.values()) <= 2
        await rig.group.drain()

    run(main)


def test_a_cancelled_waiter_takes_its_step_back_before_it_ran(*, thread: bool) -> None:
    """Cancelling before the batch begins means that the step never runs."""

    async def main() -> None:
        rig = Rig(memory(), thread=thread)
        cancelled = asyncio.ensure_future(rig.submit("m-1"))
        other = asyncio.ensure_future(rig.submit("m-2"))
        cancelled.cancel()  # both have asked, and their batch has not begun
        await asyncio.wait([cancelled, other])
        assert cancelled.cancelled()
        assert rig.is_stored("m-2")

    run(main)


def test_too_many_waiters_are_refused(*, thread: bool) -> None:
    """Back-pressure refuses before anything is accepted (R-27)."""

    async def main() -> None:
        rig = Rig(memory(), thread=thread)
        asked = [
            asyncio.ensure_future(rig.group.transact(lambda tx: None))
            for _ in range(WAITING_MAX + 5)
        ]
        results = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(isinstance(result, StoreFull) for result in results) == 5

    run(main)


def test_draining_waits_for_everything_asked_for(store: Store, *, thread: bool) -> None:
    """After `drain` returned nothing is under way, so the store may be closed."""

    async def main() -> None:
        rig = Rig(store, thread=thread)
        asked = [asyncio.ensure_future(rig.submit(f"m-{number}")) for number in range(10)]
        await rig.group.transact(lambda tx: None)
        await rig.group.drain()
        assert all(rig.is_stored(f"m-{number}") for number in range(10))
        assert await asyncio.gather(*asked) == [f"m-{number}" for number in range(10)]

    run(main)


def test_a_patient_step_joins_the_next_batch(store: Store, *, thread: bool) -> None:
    """Company comes: one transaction for both, in the order in which they were asked for."""

    async def main() -> None:
        group = Rig(store, thread=thread).group
        patient = asyncio.ensure_future(group.transact(id, patience_s=3600))
        await asyncio.wait((patient,), timeout=0)
        assert await group.transact(id) == await patient
        await group.drain()

    run(main)


def test_a_patient_step_without_company_begins_a_batch_itself(
    store: Store, *, thread: bool
) -> None:
    """It never waits longer than it said."""

    async def main() -> None:
        group = Rig(store, thread=thread).group
        assert await group.transact(lambda _: "alone", patience_s=0.001) == "alone"
        await group.drain()

    run(main)


def test_an_eager_step_that_meets_the_end_of_patience_begins_one_batch(
    store: Store, *, thread: bool
) -> None:
    """Both fall due in one round of uvloop, timers first; two batches are two transactions."""

    async def main() -> None:
        rig = Rig(store, thread=thread)
        for _ in range(20):
            patient = asyncio.ensure_future(rig.group.transact(id, patience_s=0.002))
            await asyncio.wait((patient,), timeout=0)
            until = time.monotonic() + 0.004
            while time.monotonic() < until:
                pass  # The timer is due now, and has not fired.
            await rig.group.transact(id)
            await patient
        assert rig.failures == []
        await rig.group.drain()

    uvloop.run(main())


def test_draining_does_not_wait_for_patience(store: Store, *, thread: bool) -> None:
    """A gateway that stops writes at once what would have waited for company."""

    async def main() -> None:
        group = Rig(store, thread=thread).group
        patient = asyncio.ensure_future(group.transact(lambda _: "done", patience_s=3600))
        await asyncio.wait((patient,), timeout=0)
        await group.drain()
        assert patient.result() == "done"

    run(main)


class Watched(MemoryStore):
    """Notes in which thread each commit ran; as quick as the test says."""

    def __init__(self) -> None:
        super().__init__(party="urn:duns:111111111", clock_at=lambda: 0)
        self.has_quick_disk = True
        self.is_on_loop: list[bool] = []

    @property
    def is_quick(self) -> bool:
        return self.has_quick_disk

    def commit(self) -> None:
        self.is_on_loop.append(threading.current_thread() is threading.main_thread())
        super().commit()


def test_few_steps_on_a_quick_disk_commit_on_the_loop(*, thread: bool) -> None:
    """Many of them, or any on a disk that is not quick, let the loop go on meanwhile."""

    async def main() -> None:
        store = Watched()
        rig = Rig(store, thread=thread)

        async def ask(count: int) -> None:
            await asyncio.gather(*(rig.group.transact(lambda tx: None) for _ in range(count)))

        await ask(1)
        await ask(STEPS_ON_LOOP_MAX)
        await ask(STEPS_ON_LOOP_MAX + 1)
        store.has_quick_disk = False
        await ask(1)
        assert store.is_on_loop == [True, True, not thread, not thread]
        await rig.group.drain()

    run(main)


def test_a_quick_disk_that_breaks_stops_as_any_other(*, thread: bool) -> None:
    """Nobody is released by a commit on the loop that failed (R-22, I14)."""

    async def main() -> None:
        store = Watched()
        rig = Rig(store, thread=thread)
        store.is_broken = True
        with pytest.raises(StoreFailed):
            await rig.submit("m-1")
        assert store.is_on_loop == [True]
        assert len(rig.failures) == 1
        assert not rig.is_stored("m-1")

    run(main)


def test_what_goes_aside_never_runs_inside_a_transaction(store: Store, *, thread: bool) -> None:
    """Between two batches, one at a time; steps go on meanwhile, and its error is its caller's."""

    async def main() -> None:
        rig = Rig(store, thread=thread)
        order: list[str] = []

        def look(number: int) -> int:
            store.rollback()  # harmless only where nothing is open
            order.append(f"aside {number}")
            return number

        def fail() -> None:
            raise KeyError(1)

        steps = [rig.submit(f"m-{number}") for number in range(5)]
        asides = [rig.group.aside(partial(look, number)) for number in range(3)]
        failing = rig.group.aside(fail)
        assert await asyncio.gather(*asides) == [0, 1, 2]
        assert await asyncio.gather(*steps) == [f"m-{number}" for number in range(5)]
        with pytest.raises(KeyError):
            await failing
        assert all(rig.is_stored(f"m-{number}") for number in range(5))
        assert order == ["aside 0", "aside 1", "aside 2"]
        assert await rig.group.aside(lambda: "alone") == "alone"
        await rig.group.drain()
        assert rig.group.is_at_rest

    run(main)


class Picky:
    """The memory store, which finds only at the end of a batch that a step wrote what it must not.

    So does the SQLite store, whose rows are put off until then.
    """

    def __init__(self, bad: str) -> None:
        self._store = memory()
        self._bad = bad
        self._open: Transaction | None = None
        self.is_broken = False
        """A rollback meets an error of the disk."""
        self.is_quick = True

    def begin(self) -> Transaction:
        self._open = self._store.begin()
        return self._open

    def seal(self) -> None:
        assert self._open is not None
        if self._open.find_outbound(self._bad) is not None:
            raise StoreMisusedBefore("a row that no table takes")

    def commit(self) -> None:
        self.seal()
        self._store.commit()

    def rollback(self) -> None:
        self._store.rollback()
        if self.is_broken:
            raise StoreFailed("the disk broke")


def test_a_row_that_shows_late_lets_each_other_step_run_ten_times_at_most(*, thread: bool) -> None:
    """However many steps wait after the batch of the one with the bug."""

    async def main() -> None:
        bad = f"m-{STEPS_MAX - 1}"
        rig = Rig(Picky(bad), thread=thread)  # type: ignore[arg-type]  # because it has what a group asks for
        runs: Counter[str] = Counter()

        def step(name: str, transaction: Transaction) -> str:
            runs[name] += 1
            submit(transaction, message(name))
            return name

        names = [f"m-{number}" for number in range(4 * STEPS_MAX)]
        asked = [rig.group.transact(partial(step, name)) for name in names]
        results = await asyncio.gather(*asked, return_exceptions=True)
        assert [one for one in results if isinstance(one, str)] == [n for n in names if n != bad]
        assert max(runs.values()) <= 10
        await rig.group.drain()

    run(main)


def test_a_rollback_that_fails_while_a_bug_is_looked_for_stops_everything(*, thread: bool) -> None:
    """Fail-stop (R-22): every caller hears of it, and nobody waits for ever."""

    async def main() -> None:
        store = Picky("m-1")
        store.is_broken = True
        rig = Rig(store, thread=thread)  # type: ignore[arg-type]  # because it has what a group asks for
        asked = [rig.submit(f"m-{number}") for number in range(3)]
        results = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(one, StoreFailed) for one in results)
        assert len(rig.failures) == 1

    run(main)
