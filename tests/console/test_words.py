"""The console's tables: each equal to the list of the API, and each command one that exists."""

import re
import shlex
from pathlib import Path
from typing import Any, get_args

import click
import pytest

from onceonly.api import words as api_words
from onceonly.api.backups import BackupState
from onceonly.cli.main import cli
from onceonly.console import words
from onceonly.console.deeds import DEEDS
from onceonly.message.event import Event

ROOT = Path(__file__).parents[2]
TABLES = [
    (words.MESSAGE_STATES, api_words.MessageState),
    (words.PAIR_STATES, api_words.PairState),
    (words.PROCESSING_STATES, api_words.ProcessingState),
    (words.JOB_STATES, api_words.JobState),
    (words.BACKUP_STATES, BackupState),
    (words.BULK_ACTIONS, api_words.BulkAction),
    (words.BULK_STATES, api_words.BulkState),
    (words.ITEM_OUTCOMES, api_words.ItemOutcome),
    (words.NOTICE_KINDS, api_words.NoticeKind),
    (words.OUTCOMES, api_words.TransmissionOutcome),
]


@pytest.mark.parametrize(("table", "declared"), TABLES)
def test_every_word_of_the_api_has_its_meaning(table, declared):
    """And no other."""
    assert set(table) == set(get_args(declared))


def test_every_event_has_its_meaning():
    """In a lane that exists."""
    assert set(words.EVENTS) == set(Event)
    assert {told.lane for told in words.EVENTS.values()} <= set(range(len(words.LANES)))


def palette(path: str) -> list[str]:
    text = (ROOT / path).read_text("utf-8")
    return re.findall(r"--[a-z]+: #[0-9a-f]{6}", text)


def test_the_console_has_the_colours_of_the_report() -> None:
    """In light, and in dark, which the console has twice."""
    report = palette("src/onceonly/lake/page/style.css")
    console = palette("src/onceonly/console/static/console.css")
    half = len(console) // 3
    light, dark = report[:half], report[half : 2 * half]
    assert console == [*light, *dark, *dark]


@pytest.mark.parametrize("deed", DEEDS.values(), ids=DEEDS)
def test_the_command_of_a_deed_exists(deed: Any) -> None:
    """With its arguments and options, as the command line reads them."""
    on = "1" if deed.subject == "item" else "urn:duns:111111111"
    program, *arguments = shlex.split(deed.command.format(on=on, reason="why"))
    if program == "curl":
        return
    assert program == "onceonly"
    group: click.Command = cli
    while isinstance(group, click.Group):
        found = group.get_command(click.Context(group), arguments[0])
        assert found is not None, arguments
        group, arguments = found, arguments[1:]
    parser = group.make_parser(click.Context(group))
    values, rest, _ = parser.parse_args(arguments)
    assert rest == []
    assert deed.reason == "no" or "why" in values.values() or deed.reason == "welcome"


def test_a_grave_deed_says_its_risk():
    """Before it is done."""
    assert all(deed.risk for deed in DEEDS.values() if deed.is_grave)
