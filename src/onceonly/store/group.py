"""Group commit for asyncio: everything that waits is made durable by one fsync.

Knows when a batch begins and ends and who waits for it; must not know what the steps do. Steps run
on the event loop, in the order of the calls, one batch in one transaction. The COMMIT of many
steps, or of any on a disk that is not quick, runs in a thread, which frees the loop during the
fsync, while new steps queue up for the next batch: the slower the disk, the larger the batches,
with nothing to tune. A few steps on a quick disk commit on the loop: to hand them to a thread and
back would take as long as the fsync.

`transact` returns only after the commit, so nothing that a step wants to send can leave before it
is durable (ruling R-02, invariants I3 and I14).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from onceonly.message.errors import LocalError, RemoteError
from onceonly.message.word import Word
from onceonly.store.contract.conditions import StoreFailed, StoreFull, StoreMisusedBefore
from onceonly.store.contract.store import Store, Transaction

T = TypeVar("T")

STEPS_MAX = 512
"""Steps per transaction. At some 100 µs a step the event loop is never blocked for longer than 50
ms, and an fsync shared by 512 steps costs each of them next to nothing."""

STEPS_ON_LOOP_MAX = 4
"""Most steps of a batch that commits on the loop: those of one or two messages. With more steps
there are many messages under way, and the loop must not wait."""

WAITING_MAX = 16_384
"""Steps that may wait for the disk. More of them would wait longer than any peer does, so they are
refused at once (ruling R-27)."""


class _Waiter(Word):
    step: Callable[[Transaction], Any]
    future: "asyncio.Future[Any]"


class _Outcome(Word):
    """What the caller of a step gets: after the commit, or at once if the step has a bug."""

    result: Any
    error: Exception | None
    is_bug: bool = False


class GroupCommit:
    """Runs steps in shared transactions of `store`; all use is on one event loop.

    `on_failure` is called once, on the loop, when the store cannot be trusted any more. All waiting
    steps have failed by then, and every later one fails (R-22). With `thread=False` every COMMIT
    runs on the loop.

    A step with a bug fails alone (R-43): its batch is rolled back and runs again without it. So a
    step may run again, and what it does outside the transaction must allow that. A savepoint around
    every step would save the second run, but cost time in every step without a bug.
    """

    def __init__(
        self, store: Store, *, on_failure: Callable[[StoreFailed], None], thread: bool = True
    ) -> None:
        self._store = store
        self._on_failure = on_failure
        self._thread = ThreadPoolExecutor(1, "commit") if thread else None
        self._waiting: deque[_Waiter] = deque()
        self._aside: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._is_busy = False
        self._parts: deque[int] = deque()
        """How many steps the next batches take, where one batch has to be run again in parts."""
        self._patience: asyncio.TimerHandle | None = None
        self._rest: asyncio.Future[None] | None = None
        self._committed: asyncio.Future[None] | None = None
        self._failure: StoreFailed | None = None

    def transact(
        self, step: Callable[[Transaction], T], *, patience_s: float = 0.0
    ) -> "asyncio.Future[T]":
        """The result of `step`, once everything that it wrote is durable.

        A step that is not urgent may have patience: it joins the next batch, or begins one after
        `patience_s`, which often saves an fsync.

        Raises what the step raised (a `LocalError`, a `RemoteError`, or any error that a bug in it
        causes) with nothing of it stored; `StoreFull` if there is no space or too many steps wait,
        with nothing stored; `StoreFailed` if it is unknown what is stored and the process must
        stop. If the caller is cancelled before its step ran, the step does not run; after that it
        counts.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._failure is not None:
            _fail_futures((future,), self._failure)
            return future
        if len(self._waiting) >= WAITING_MAX:
            future.set_exception(StoreFull("too many steps wait for the disk"))
            return future
        self._waiting.append(_Waiter(step, future))
        if not self._is_busy:
            self._begin_within(patience_s)
        return future

    def aside(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """The result of `work`, which runs between two transactions, on the loop.

        For what needs the store's own connection and is no step, such as a copy. One of them runs
        between two batches at most, so steps wait no longer than one takes. Raises what `work`
        raises, and `StoreFailed`.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._failure is not None:
            _fail_futures((future,), self._failure)
            return future
        self._aside.append((work, future))
        if not self._is_busy:
            self._begin_within(0)
        return future

    def watch(self) -> "asyncio.Future[None]":
        """A future that the next commit resolves; many may share it, so none of them cancels it."""
        if self._committed is None:
            self._committed = asyncio.get_running_loop().create_future()
        return self._committed

    def _run_aside(self) -> None:
        work, future = self._aside.popleft()
        if future.done():
            return
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 - because it is the caller's, whatever it is
            future.set_exception(error)

    def _begin_within(self, patience_s: float) -> None:
        loop = asyncio.get_running_loop()
        if patience_s > 0:
            self._patience = self._patience or loop.call_later(patience_s, self._lose_patience)
            return
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self._is_busy = True
        loop.call_soon(self._run_next)

    def _lose_patience(self) -> None:
        self._patience = None
        # Both timers may fire in one round of the loop; the batch that is about to begin takes all.
        if not self._is_busy:
            self._is_busy = True
            self._run_next()

    @property
    def failure(self) -> StoreFailed | None:
        """Why the store cannot be trusted any more; None while it can."""
        return self._failure

    @property
    def is_at_rest(self) -> bool:
        """Whether no step waits or is being committed."""
        return not self._is_busy and not self._waiting and not self._aside

    async def drain(self) -> None:
        """Return when no step waits any more, and end the thread. The store stays open."""
        if (self._waiting or self._aside) and not self._is_busy:
            self._begin_within(0)
        if not self.is_at_rest:
            self._rest = self._rest or asyncio.get_running_loop().create_future()
            await self._rest
        if self._thread is not None:
            self._thread.shutdown()

    def _run_next(self) -> None:
        """What goes aside, one of them at most, and then a batch of the steps that wait."""
        if self._aside:
            self._run_aside()
        if self._waiting:
            self._run_batch()
        else:
            self._go_on()

    def _run_batch(self) -> None:
        count = self._parts.popleft() if self._parts else min(len(self._waiting), STEPS_MAX)
        taken = [self._waiting.popleft() for _ in range(count)]
        batch = [waiter for waiter in taken if not waiter.future.done()]
        outcomes: list[_Outcome] = []
        try:
            transaction = self._store.begin()
            for waiter in batch:
                outcome = _run(waiter.step, transaction)
                if outcome.is_bug:
                    self._take_out(batch, len(outcomes), outcome.error)
                    return
                outcomes.append(outcome)
            thread = None if self._may_commit_here(len(batch)) else self._thread
            if thread is None:
                self._store.commit()
            else:
                self._store.seal()
        except StoreMisusedBefore as bug:
            self._find_bug(batch, bug)
        except StoreFull as full:
            self._refuse(batch, full)
        except StoreFailed as failure:
            self._stop(batch, failure)
        except BaseException as bug:
            self._stop(batch, _broken(bug))
            raise
        else:
            self._finish_here_or_in_thread(batch, outcomes, thread)

    def _may_commit_here(self, steps: int) -> bool:
        return steps <= STEPS_ON_LOOP_MAX and self._store.is_quick

    def _take_out(self, batch: list[_Waiter], place: int, bug: Exception | None) -> None:
        """Run the steps before the one at `place` again, then those after it, in two batches.

        The steps before it have no bug, so each step runs at most once more, however many bugs
        there are.
        """
        if self._roll_back(batch):
            _fail([batch[place]], bug)
            self._run_again([*batch[:place], *batch[place + 1 :]], place)

    def _find_bug(self, batch: list[_Waiter], bug: StoreMisusedBefore) -> None:
        """Run the steps again in two halves, since one wrote what no table takes (R-43).

        Which one it was shows when it is alone in its batch, after at most nine halvings. Steps
        that came meanwhile wait until then, so no step runs more often.
        """
        if len(batch) == 1:
            self._take_out(batch, 0, bug)
        elif self._roll_back(batch):
            self._run_again(batch, len(batch) // 2)

    def _run_again(self, steps: list[_Waiter], first: int) -> None:
        """In two batches, of which the first has `first` steps."""
        self._waiting.extendleft(reversed(steps))
        self._parts.extendleft(size for size in (len(steps) - first, first) if size)
        self._go_on()

    def _roll_back(self, batch: list[_Waiter]) -> bool:
        """Nothing of the batch is stored; False where that failed, and everything stops (R-22)."""
        try:
            self._store.rollback()
        except StoreFailed as failure:
            self._stop(batch, failure)
            return False
        return True

    def _finish_here_or_in_thread(
        self, batch: list[_Waiter], outcomes: list[_Outcome], thread: ThreadPoolExecutor | None
    ) -> None:
        if thread is None:
            self._release(batch, outcomes)
            return
        committed = asyncio.get_running_loop().run_in_executor(thread, self._store.commit)
        committed.add_done_callback(partial(self._note_commit, batch, outcomes))

    def _note_commit(
        self, batch: list[_Waiter], outcomes: list[_Outcome], committed: "asyncio.Future[None]"
    ) -> None:
        error = committed.exception()
        if error is None:
            self._release(batch, outcomes)
        elif isinstance(error, StoreFull):
            self._refuse(batch, error)
        else:
            self._stop(batch, error if isinstance(error, StoreFailed) else _broken(error))

    def _release(self, batch: list[_Waiter], outcomes: list[_Outcome]) -> None:
        for waiter, outcome in zip(batch, outcomes, strict=True):
            future = waiter.future
            if future.done():
                continue
            if outcome.error is None:
                future.set_result(outcome.result)
            else:
                future.set_exception(outcome.error)
        if self._committed is not None:
            self._committed.set_result(None)
            self._committed = None
        self._go_on()

    def _refuse(self, batch: list[_Waiter], full: StoreFull) -> None:
        """Ruling R-28: nothing of the batch is stored, and its callers may try again."""
        if self._roll_back(batch):
            _fail(batch, full)
            self._go_on()

    def _go_on(self) -> None:
        if self._waiting or self._aside:
            # After the callbacks of the callers just released, so that their next steps join the
            # batch.
            asyncio.get_running_loop().call_soon(self._run_next)
        else:
            self._come_to_rest()

    def _come_to_rest(self) -> None:
        self._is_busy = False
        if self._rest is not None:
            self._rest.set_result(None)
            self._rest = None

    def _stop(self, batch: list[_Waiter], failure: StoreFailed) -> None:
        """Ruling R-22: fail-stop. The next start finds out whether the batch is stored."""
        self._failure = failure
        with suppress(StoreFailed):  # the first failure is the one that says why
            self._store.rollback()
        _fail([*batch, *self._waiting], failure)
        _fail_futures((future for _, future in self._aside), failure)
        self._waiting.clear()
        self._aside.clear()
        self._come_to_rest()
        self._on_failure(failure)


def _run(step: Callable[[Transaction], Any], transaction: Transaction) -> _Outcome:
    """The outcome of one step. A refusal after its first write counts as a bug."""
    written_before = transaction.write_count
    try:
        return _Outcome(step(transaction), None)
    except (LocalError, RemoteError) as error:
        is_half_done = transaction.write_count != written_before
        return _Outcome(None, _too_late(error) if is_half_done else error, is_bug=is_half_done)
    except (StoreFull, StoreFailed, StoreMisusedBefore):
        raise
    except Exception as bug:  # noqa: BLE001 - because a step is where a peer's value may meet a bug
        return _Outcome(None, bug, is_bug=True)


def _fail(waiters: Iterable[_Waiter], reason: Exception | None) -> None:
    _fail_futures((waiter.future for waiter in waiters), reason)


def _fail_futures(futures: "Iterable[asyncio.Future[Any]]", reason: Exception | None) -> None:
    assert reason is not None, "nobody fails for nothing"
    for future in futures:
        if not future.done():
            # A copy for each: an exception that several callers raise would collect all their
            # tracebacks.
            is_shared = isinstance(reason, StoreFull | StoreFailed)
            future.set_exception(type(reason)(*reason.args) if is_shared else reason)


def _too_late(refusal: Exception) -> AssertionError:
    bug = AssertionError(f"a step refused after it had written: {refusal}")
    bug.__cause__ = refusal
    return bug


def _broken(bug: BaseException) -> StoreFailed:
    failure = StoreFailed(f"the store broke its contract: {type(bug).__name__}: {bug}")
    failure.__cause__ = bug
    return failure
