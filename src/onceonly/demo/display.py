"""How far the demonstration is: a display on a terminal, plain lines elsewhere.

All of it goes to stderr; results go to stdout (`proof`). It must not know how anything is done.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from onceonly.message.printable import printable

LINE_EVERY_S = 3.0
"""Plain lines are for logs: often enough to see life, seldom enough to read."""


class Tally(NamedTuple):
    """Figures of a moment; all of them counts since the start."""

    total: int
    handed_over: int
    settled: int
    kills: int
    faults: int

    def __str__(self) -> str:
        return (
            f"{self.handed_over}/{self.total} handed over, {self.settled} settled, "
            f"{self.faults} faults, {self.kills} kills"
        )


class Display:
    """Tells people what happens, on `console`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = monotonic()
        self._last_line = self._started
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def tell(self, text: str) -> None:
        """One line about what happens now."""
        if self._console.is_terminal:
            elapsed = monotonic() - self._started
            self._console.print(
                f"[dim]{elapsed:6.1f} s[/]  {escape(printable(text))}", highlight=False
            )
        else:
            self._line(text)

    @contextmanager
    def exchange(self, total: int) -> Iterator[None]:
        """While it lasts, `show` draws a bar of `total` messages on a terminal."""
        if not self._console.is_terminal:
            yield
            return
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f} settled"),
            TextColumn("[yellow]{task.fields[faults]} faults[/]"),
            TextColumn("[red]{task.fields[kills]} kills[/]"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        with self._progress:
            self._task = self._progress.add_task("exchange", total=total, faults=0, kills=0)
            yield
        self._progress = None

    def show(self, tally: Tally) -> None:
        """The state of the exchange; call it as often as you like."""
        if self._progress is not None and self._task is not None:
            self._progress.update(
                self._task, completed=tally.settled, faults=tally.faults, kills=tally.kills
            )
        elif monotonic() - self._last_line >= LINE_EVERY_S:
            self._line(str(tally))

    def _line(self, text: str) -> None:
        self._last_line = monotonic()
        elapsed = self._last_line - self._started
        self._console.print(
            f"{elapsed:6.1f} s  {printable(text)}", highlight=False, markup=False, soft_wrap=True
        )
