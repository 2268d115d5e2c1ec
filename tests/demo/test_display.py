"""Progress is a bar on a terminal and plain lines elsewhere."""

from io import StringIO

import pytest
from rich.console import Console

from onceonly.demo import display
from onceonly.demo.display import Display, Tally

TALLY = Tally(total=10, handed_over=4, settled=3, kills=1, faults=7)


def shown(*, is_terminal: bool) -> str:
    file = StringIO()
    screen = Display(Console(file=file, force_terminal=is_terminal, width=120))
    screen.tell("seed 7")
    with screen.exchange(10):
        screen.show(TALLY)
        screen.show(TALLY)
    return file.getvalue()


def test_elsewhere_there_are_plain_lines_only(monkeypatch):
    """A log gets text without control characters, one line for each thing told."""
    monkeypatch.setattr(display, "LINE_EVERY_S", 0.0)
    lines = shown(is_terminal=False).splitlines()
    assert "\x1b" not in "".join(lines)
    assert lines[0].endswith("seed 7")
    assert lines[1].endswith("4/10 handed over, 3 settled, 7 faults, 1 kills")


def test_lines_come_no_faster_than_they_can_be_read():
    """`show` may be called as often as one likes."""
    assert len(shown(is_terminal=False).splitlines()) == 1


@pytest.mark.parametrize("part", ["3/10 settled", "7 faults", "1 kills", "seed 7"])
def test_on_a_terminal_there_is_a_bar(part):
    """With the counts that matter beside it."""
    assert part in shown(is_terminal=True)
