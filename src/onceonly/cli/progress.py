"""How far long work is: one line on a terminal, nothing elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from onceonly.cli.output import printable, talk


@contextmanager
def counted(what: str, wanted: int) -> Iterator[Callable[[int], None]]:
    """A bar; yields who is told how many are done."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with _shown(*columns) as progress:
        task = progress.add_task(what, total=wanted)
        yield lambda done: progress.update(task, completed=done)


@contextmanager
def of_spark(verb: str, ask: Callable[[], Any]) -> Iterator[None]:
    """What a job of the lake is at; `ask` gives it (`lake.progress.now`), whenever it is drawn."""
    columns = (SpinnerColumn(), TextColumn(verb), _Steps(ask), TimeElapsedColumn())
    with _shown(*columns, refresh_per_second=2, transient=True) as progress:
        progress.add_task(verb, total=None)
        yield


class _Steps(ProgressColumn):
    """Names of what is under way, and how many of Spark's tasks for it are done."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        super().__init__()
        self._ask = ask

    def render(self, task: Task) -> Text:  # noqa: ARG002 - because every column is asked so
        """The column, as it is now."""
        now = self._ask()
        steps = printable(", ".join(now.steps))
        return Text(f"{steps} {now.done}/{now.tasks} tasks" if now.tasks else steps)


def _shown(*columns: ProgressColumn, **how: Any) -> Progress:
    # What is said meanwhile comes by the same console, which draws around it.
    return Progress(
        *columns,
        console=talk(),
        disable=not talk().is_terminal,
        redirect_stdout=False,
        redirect_stderr=False,
        **how,
    )
