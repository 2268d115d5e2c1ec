"""What is printed is inert, whoever wrote it."""

import io
import sys

import pytest

from onceonly.cli.output import print_fields, print_rows, say

NASTY = "\x9b2J\x1b[31m two\nlines [/bold] [red]x"
INERT = "\\x9b2J\\x1b[31m two\\nlines [/bold] [red]x"


class Terminal(io.StringIO):
    """A stdout that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stdout", [io.StringIO, Terminal])
def test_a_cell_steers_no_terminal_and_is_no_markup(monkeypatch, stdout):
    """X16: control characters are shown as escapes, brackets as brackets."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stdout", stdout())
    print_rows([{"reason": NASTY}], ("reason",), "table")
    assert INERT in sys.stdout.getvalue()


def test_a_field_is_one_line(capsys):
    """As above, for one noun."""
    print_fields({"reason": NASTY, "absent": None, "nested": {}}, "table")
    assert capsys.readouterr().out == f"reason           {INERT}\n"


def test_talk_is_one_line_that_steers_no_terminal(capsys):
    """A MessageId among examples, the comment of a pack: no line of its own, nothing hidden."""
    say(f"signed off by {NASTY}")
    assert capsys.readouterr().err == f"signed off by {INERT}\n"
