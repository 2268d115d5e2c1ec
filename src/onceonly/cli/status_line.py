"""How far long work is: one line on a terminal, nothing elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from rich.console import RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.spinner import Spinner

from onceonly.cli.output import inert, talk


@contextmanager
def counted(what: str, wanted: int) -> Iterator[Callable[[int], None]]:
    """A bar; yields who is told how many are done."""
    columns = (
        TextColumn(inert(what).plain, markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=talk(), disable=not talk().is_terminal) as progress:
        task = progress.add_task(what, total=wanted)
        yield lambda done: progress.update(task, completed=done)


@contextmanager
def copied() -> Iterator[Callable[[int, int], None]]:
    """A bar of a copy whose size is known only after its beginning; yields who is told of both."""
    columns = (TextColumn("copying", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=talk(), disable=not talk().is_terminal) as progress:
        task = progress.add_task("copying", total=None)
        yield lambda done, wanted: progress.update(task, completed=done, total=wanted or None)


@contextmanager
def of_spark(verb: str, ask: Callable[[], Any]) -> Iterator[None]:
    """What a job of the lake is at; `ask` gives it (`lake.activity.now`), whenever it is drawn."""
    if not talk().is_terminal:
        yield
        return
    began, spinner = time.monotonic(), Spinner("dots")

    def draw() -> RenderableType:
        now = ask()
        if not now.steps:
            # While Spark starts, its Java says things of its own.
            return ""
        tasks = f" {now.done}/{now.tasks} tasks," if now.tasks else ""
        elapsed = timedelta(seconds=round(time.monotonic() - began))
        spinner.update(text=inert(f"{verb}: {', '.join(now.steps)},{tasks} {elapsed}"))
        return spinner

    # What is said meanwhile comes by the same console, which draws around it.
    with Live(
        get_renderable=draw,
        console=talk(),
        refresh_per_second=2,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield
