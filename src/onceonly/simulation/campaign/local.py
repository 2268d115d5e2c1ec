"""A campaign on this machine: a range of seeds, cut into chunks, in as many processes as wanted.

Knows processes and no worlds. The result does not depend on the number of processes, except the
time that it took.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread
from time import perf_counter

from onceonly.simulation.campaign.ledger import pieces
from onceonly.simulation.campaign.report import Summary
from onceonly.simulation.campaign.worlds import run_range

CHUNK = 100
"""Seeds that a process runs between two reports: some seconds of work."""

_AHEAD = 2
"""Chunks given to each process before it has finished the first."""

Progress = Callable[[Summary], None]


def run(lo: int, hi: int, *, jobs: int = 1, progress: Progress | None = None) -> Summary:
    """Run the seeds from `lo` up to and without `hi`; `progress` hears the total now and then."""
    total = Summary()
    began_s = perf_counter()
    chunks = pieces([(lo, hi)], CHUNK)
    parts = map(_summary, chunks) if jobs == 1 else _in_processes(chunks, jobs)
    for part in parts:
        total.merge(part)
        total.seconds, total.timed = perf_counter() - began_s, total.seeds
        if progress is not None:
            progress(total)
    return total


def _summary(chunk: tuple[int, int]) -> Summary:
    summary = Summary()
    began_s = perf_counter()
    for result in run_range(*chunk):
        summary.add(result)
    summary.core_seconds = perf_counter() - began_s
    return summary


def pool(processes: int) -> ProcessPoolExecutor:
    """So many processes that end with this one, however it ends."""
    # Spawned, not forked: the caller may have threads (a progress bar), which a fork would cut.
    return ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_follow)


def _follow() -> None:
    """Ends this worker when its parent is gone, since nobody would give it work any more."""
    parent = parent_process()
    assert parent is not None, "only workers follow"

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _in_processes(chunks: Iterator[tuple[int, int]], jobs: int) -> Iterator[Summary]:
    with pool(jobs) as workers:
        running: set[Future[Summary]] = {
            workers.submit(_summary, chunk) for chunk in islice(chunks, jobs * _AHEAD)
        }
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {workers.submit(_summary, chunk) for chunk in islice(chunks, len(done))}
                yield from (future.result() for future in done)
        finally:
            workers.shutdown(cancel_futures=True)
