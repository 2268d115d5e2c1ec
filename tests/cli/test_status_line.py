"""Whoever waits at a terminal sees what for; nobody else is told."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import BinaryIO

import pytest

from onceonly.cli.output import say
from onceonly.cli.status_line import of_spark
from onceonly.lake.activity import Activity

CLEAR = "\x1b[2K"
QUARANTINED = "quarantined journal/party=one/segment-1.parquet: edited"


def at_work() -> Activity:
    return Activity(("delivery_ledger", "party=\x1b[2J"), 3, 8)


def all_of(screen: BinaryIO) -> str:
    """What was written until the terminal was closed, which is an error at this end."""
    shown = b""
    with suppress(OSError):
        while part := screen.read(65_536):
            shown += part
    return shown.decode()


def test_a_terminal_shows_what_a_job_is_at_and_keeps_what_is_said(monkeypatch: pytest.MonkeyPatch):
    """The line of progress is drawn around whole lines, and a stranger's name steers nothing."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        with os.fdopen(theirs, "w") as stderr:
            monkeypatch.setattr(sys, "stderr", stderr)
            with of_spark("reconcile", at_work):
                say("what comes first")
                say(QUARANTINED)
        shown = all_of(screen)
    drawn = "reconcile: delivery_ledger, party=\\x1b[2J, 3/8 tasks"
    before, said, after = shown.partition(f"\r{CLEAR}{QUARANTINED}\r\n")
    assert drawn in before
    assert said
    assert drawn in after
    assert after.endswith(CLEAR), "the line is taken away at the end"


def test_a_file_or_a_pipe_is_told_nothing(monkeypatch: pytest.MonkeyPatch):
    """What is logged has no spinners."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with of_spark("reconcile", at_work):
        say(QUARANTINED)
    assert sys.stderr.getvalue() == QUARANTINED + "\n"
