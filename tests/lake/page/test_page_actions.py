"""Every action has a command that exists, for the messages that it is about, by their cause."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from onceonly.cli.main import cli
from onceonly.lake.page import actions
from onceonly.lake.page.commands import PLACES, Command
from onceonly.lake.page.findings import CONTENT_UNPROVEN, HEADER_UNPROVEN
from onceonly.lake.verdicts import CLASSES, DIFFERENCES, Verdict
from pages import findings

if TYPE_CHECKING:
    from onceonly.lake.page.findings import Findings

CAUSE = {"differs": None, "settled_as": None, "messages": 4, "examples": ["m-1@a", "m-2@a"]}


def type_in(line: str) -> click.Context:
    """The line, as the command line itself understands it; nothing is run."""
    program, *words = shlex.split(line)
    assert program == "onceonly"
    context = click.Context(cli, info_name=program)
    command: click.Command = cli
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        assert name is not None
        command = found
        context = click.Context(command, parent=context, info_name=name)
    command.parse_args(context, words)
    return context


@pytest.fixture(autouse=True)
def _configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of the machine is looked for."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", Command)
def test_every_command_is_one_of_ours(command: Command):
    """It exists, has these options, and takes what its places stand for."""
    assert type_in(command.value).command.callback is not None


def test_a_command_that_is_not_there_is_found():
    """So is an option of which nobody knows, and a place without its argument."""
    for line in (
        "onceonly message heal M",
        "onceonly message resend M --twice",
        "onceonly lake pack",
    ):
        with pytest.raises(click.UsageError):
            type_in(f"onceonly {line}")


def everything() -> Findings:
    """A lake in which each class, each report and each line of the sheet asks for something."""
    counts = {row.verdict: 2 for row in CLASSES}
    made = findings(30, counts=counts, broken=["I18", "E3"], faults=["x"], unproven=3)
    judged = replace(made.judged, header_unproven=7)
    told = [
        {**CAUSE, "cause": CONTENT_UNPROVEN},
        {**CAUSE, "cause": HEADER_UNPROVEN},
        {**CAUSE, "cause": "CONTENT_MISMATCH", "differs": "payloads"},
        {**CAUSE, "cause": "SETTLED_WRONGLY", "settled_as": "delivered"},
    ]
    return replace(made, judged=judged, causes=[*made.causes, *told])


def test_every_action_has_a_command_that_can_be_typed():
    """Whatever is asked for, and also where names are filled in."""
    every = actions.actions(everything())
    assert {action.gravity for action in every} == set(actions.GRAVITIES)
    for action in every:
        typed = type_in(action.command)
        assert typed.command.callback is not None
        assert action.command in actions.listed(everything()).replace("&quot;", '"')
    used = {action.command.split()[1:3].__str__() for action in every}
    assert len(used) > 10


def test_every_class_that_differs_has_a_command():
    """Each cause by itself: no class is left out because another one is there."""
    assert {Verdict(name) for name in actions._ADVICE} == set(DIFFERENCES)


def test_causes_are_told_apart_with_their_numbers_and_first_messages():
    """Two ways of one class to go wrong are two actions; three messages of each are named."""
    found = findings(0, counts={Verdict.CONTENT_MISMATCH: 20})
    ids = [f"m-{number}@a" for number in range(9)]
    causes = [
        {
            **CAUSE,
            "cause": "CONTENT_MISMATCH",
            "differs": what,
            "messages": messages,
            "examples": of,
        }
        for what, messages, of in (("header", 9, ids), ("payloads", 11, ["p-1@a"]))
    ]
    header, payloads = actions.actions(replace(found, causes=causes))
    assert header.command == "onceonly message header m-0@a"
    assert payloads.command == "onceonly message payload p-1@a --to payload.0"
    shown = actions.listed(replace(found, causes=causes))
    words = re.sub("<[^>]*>", "", shown)
    assert "9 messages CONTENT_MISMATCH (I2), differs: header" in words
    assert "11 messages CONTENT_MISMATCH (I2), differs: payloads" in words
    assert "The first: m-0@a, m-1@a, m-2@a" in words
    assert "m-3@a" not in words


@pytest.mark.parametrize("name", ["m 1", "$(reboot)", "-rf", "a;b", "m\u0430", "'", "`id`"])
def test_a_name_that_a_shell_would_obey_is_not_typed(name: str):
    """Its place stands there instead; the name itself is shown beside it, with its marks."""
    assert Command.TRACE.of(message_id=[name]) == "onceonly message trace MESSAGE_ID"
    assert Command.TRACE.of(message_id=[name, "m-2@a"]) == "onceonly message trace m-2@a"


def test_places_are_named_in_capitals():
    """Whatever stands in capitals is one of the places, or a reason to be given."""
    for command in Command:
        assert set(re.findall(r"\b[A-Z_]{3,}\b", command.value)) <= {*PLACES, "WHY"}


def test_one_cause_is_one_line_whoever_it_is_about():
    """Thirty journals that end early ask for one thing."""
    made = findings(30, counts={Verdict.MATCHED: 1})
    told = [one for one in actions.actions(made) if "before" in one.what]
    assert len(told) == 1
    assert "the journals end before" in told[0].what
