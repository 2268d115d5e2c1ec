"""Group commit for asyncio: everything that waits is made durable together.

Steps run on the event loop, in the order in which they came, inside one transaction. The commit
runs in a worker thread, where its fsync blocks nobody, while new steps queue up for the next
batch; then all waiters of the batch are released together. The slower the disk, the larger the
batches: the cost of an fsync is shared by whoever waits.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from onceonly.message.errors import LocalError, RemoteError
from onceonly.store.store import Store, StoreFailed, StoreFull, Transaction

T = TypeVar("T")

BATCH_STEPS_MAX = 1024
"""Bounds the length of a transaction, and with it the wait of whoever comes just too late."""


class GroupCommit:
    """Runs steps of one store in batches. `is_threaded=False` commits on the event loop.

    `on_failure` is told once about whatever must stop the process: `StoreFailed`, or a bug that
    made a step raise something else; nothing is committed after it.
    """

    def __init__(
        self,
        store: Store,
        *,
        on_failure: Callable[[BaseException], None],
        is_threaded: bool = True,
    ) -> None:
        self._store = store
        self._on_failure = on_failure
        self._thread = ThreadPoolExecutor(1, "onceonly-commit") if is_threaded else None
        self._waiting: list[tuple[Callable[[Transaction], Any], asyncio.Future[Any]]] = []
        self._is_running = False
        self._failure: BaseException | None = None

    async def transact(self, step: Callable[[Transaction], T]) -> T:
        """The result of `step`, once it is durable.

        Raises what the step raised as `LocalError` or `RemoteError` (it wrote nothing then),
        `StoreFull` if its whole batch was rolled back, or the failure that stopped the store.
        """
        if self._failure is not None:
            raise self._failure
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[T] = loop.create_future()
        self._waiting.append((step, waiter))
        if not self._is_running:
            self._is_running = True
            # The next iteration: whatever else becomes ready in this one joins the batch.
            loop.call_soon(self._run_batch)
        return await waiter

    def _run_batch(self) -> None:
        batch = self._waiting[:BATCH_STEPS_MAX]
        del self._waiting[:BATCH_STEPS_MAX]
        try:
            released = self._run_steps(batch)
        except BaseException as error:  # noqa: BLE001 - because every waiter has to hear of it
            self._end_batch(batch, error)
            return
        if self._thread is None:
            self._commit_here(released)
            return
        committed = asyncio.get_running_loop().run_in_executor(self._thread, self._store.commit)
        committed.add_done_callback(lambda done: self._after_commit(released, done.exception()))

    def _run_steps(
        self, batch: list[tuple[Callable[[Transaction], Any], asyncio.Future[Any]]]
    ) -> list[tuple[asyncio.Future[Any], Any]]:
        transaction = self._store.begin()
        released = []
        for step, waiter in batch:
            try:
                released.append((waiter, step(transaction)))
            except (LocalError, RemoteError) as error:
                if not waiter.done():
                    waiter.set_exception(error)
        return released

    def _commit_here(self, released: list[tuple[asyncio.Future[Any], Any]]) -> None:
        try:
            self._store.commit()
        except (StoreFull, StoreFailed) as error:
            self._after_commit(released, error)
        else:
            self._after_commit(released, None)

    def _after_commit(
        self, released: list[tuple[asyncio.Future[Any], Any]], error: BaseException | None
    ) -> None:
        if error is not None:
            self._end_batch([(None, waiter) for waiter, _ in released], error)
            return
        for waiter, result in released:
            if not waiter.done():
                waiter.set_result(result)
        self._go_on()

    def _end_batch(
        self, batch: list[tuple[Any, asyncio.Future[Any]]], error: BaseException
    ) -> None:
        """Roll back and tell every waiter; anything but a full disk ends the store's life."""
        self._store.rollback()
        is_final = not isinstance(error, StoreFull)
        if is_final:
            self._failure = error
            batch = batch + self._waiting  # type: ignore[operator]  # because both are pairs
            self._waiting = []
        for _, waiter in batch:
            if not waiter.done():
                waiter.set_exception(error)
        if is_final:
            self._on_failure(error)
        else:
            self._go_on()

    def _go_on(self) -> None:
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._run_batch)
        else:
            self._is_running = False
