"""Every name of an error can be looked up, and is found with what to do."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import onceonly
from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.explain.error_names import Place, all_names, find_names
from onceonly.message.errors import ErrorCode

SOURCE = Path(onceonly.__file__).parents[1]


def test_every_name_that_the_code_raises_or_answers_is_known():
    """Found in the source, so that a new one cannot be forgotten."""
    known = {one.name for one in all_names()}
    raised = set(_raised())
    assert len(raised) > 90
    assert raised - known == set()


def test_no_entry_is_about_a_name_that_nothing_raises():
    """What stands here and is raised nowhere would be a riddle at night."""
    raised = set(_raised()) | {code.value for code in ErrorCode}
    places = {Place.COMMAND, Place.MAIL, Place.MSH}
    assert {one.name for one in all_names() if one.place in places} - raised == set()


def _raised() -> Iterator[str]:
    for package in ("onceonly", "pyspark_onceonly"):
        for file in (SOURCE / package).rglob("*.py"):
            if "simulation" not in file.parts:
                for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                    yield from _named_in(node)


def _named_in(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(
            func=ast.Name(id="LocalError" | "refusal"), args=[ast.Constant(value=str(name)), *_]
        ):
            yield name
        case ast.Call(
            func=ast.Name(id="Answer" | "TransportAnswer" | "_refused"),
            args=[_, ast.Constant(value=str(name)), *_],
        ):
            yield name


def test_one_name_at_several_places_is_explained_for_each():
    """NotFound is said by the API and by an MSH."""
    assert {one.place for one in find_names("notfound")} == {Place.API, Place.MSH}


@pytest.mark.parametrize("code", ErrorCode)
def test_every_code_of_the_wire_says_what_to_do(code):
    """Somebody reads it at night."""
    (of_wire,) = (one for one in find_names(code.value) if one.place is Place.ERROR_LIST)
    assert of_wire.to_do


def look(*words):
    return CliRunner().invoke(cli, ["errors", *words])


def test_the_command_says_meaning_and_move():
    """Whatever the case of the name."""
    result = look("lookup", "invalidsequencenumber")
    assert result.exit_code == Exit.OK
    assert "InvalidSequenceNumber  (Error message of ebXML)" in result.stdout
    assert "what to do: both: the pair is closed" in result.stdout


def test_a_name_that_does_not_exist_is_told_what_is_close():
    """A typing error costs one more call, and no search."""
    result = look("lookup", "NotCancelable")
    assert result.exit_code == Exit.NOT_FOUND
    assert "close to it: NotCancellable" in result.stderr
    assert "`onceonly errors list` has all" in look("lookup", "zzzzzz").stderr


def test_the_list_has_every_name():
    """In a pipe, one row per line."""
    lines = look("list").stdout.splitlines()
    assert len(lines) == len(all_names())
