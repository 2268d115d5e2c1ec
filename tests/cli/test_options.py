"""What holds of every command's options and refusals, so that the next one has it too."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from generator.command_pages import INTRODUCTION

from onceonly import cli
from onceonly.cli.main import cli as root
from onceonly.cli.number import NUMBER_MAX, FiniteNumber

MODULES = sorted(Path(cli.__file__).parent.rglob("*.py"))


def parameters(
    command: click.Command = root, path: str = "onceonly", parent: click.Context | None = None
) -> Iterator[tuple[str, click.Parameter]]:
    """Each parameter of each command, with what one types before it."""
    context = click.Context(command, info_name=path, parent=parent)
    for parameter in command.params:
        yield f"{path} {parameter.name}", parameter
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None, f"{name} is listed"
            yield from parameters(child, f"{path} {name}", context)


def is_of_fractions(kind: click.ParamType) -> bool:
    """Click takes it from the default, too, where the option names none."""
    return isinstance(kind, click.types.FloatParamType)


def test_every_number_with_a_fraction_is_one_that_can_be_counted_with():
    """`nan` is in each range of click's; `inf` ends in a traceback, or the wait for it never."""
    found = {where: one.type for where, one in parameters() if is_of_fractions(one.type)}
    assert len(found) > 20
    assert not {where for where, kind in found.items() if not isinstance(kind, FiniteNumber)}
    calls = [
        f"{module.name}:{node.lineno}"
        for module in MODULES
        if module.name != "number.py"
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "float"
    ]
    assert not calls, "a text becomes a number in number.py alone"


@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "-inf", "infinity", "1e308", "soon"])
def test_what_is_no_number_is_refused_by_every_option(text):
    """So that it ends with exit code 2, before anything is begun."""
    for _, one in parameters():
        if is_of_fractions(one.type):
            with pytest.raises(click.BadParameter):
                one.type.convert(text, one, None)


def test_a_number_of_the_range_is_taken():
    """The greatest one, too."""
    assert FiniteNumber(min=0).convert("0.5", None, None) == 0.5
    assert FiniteNumber(min=0).convert(str(NUMBER_MAX), None, None) == NUMBER_MAX
    with pytest.raises(click.BadParameter):
        FiniteNumber(0, 1).convert("1.5", None, None)


def test_the_reference_says_of_every_command_only_what_all_of_them_have():
    """The formats that its head names for all are those of each `-o`."""
    clauses = re.split(r"[.;](?:\s|$)", INTRODUCTION)
    named = {
        form
        for clause in clauses
        if not clause.lstrip().startswith("Where")
        for form in re.findall(r"`-o (\w+)`", clause)
    }
    outputs = {where: one.type for where, one in parameters() if one.name == "output"}
    assert "json" in named
    assert not {
        where: named - {*kind.choices}
        for where, kind in outputs.items()
        if not named <= {*kind.choices}
    }


def test_a_refusal_has_its_code_in_every_command():
    """Whoever catches one and ends the command for it leaves the exit code to the table."""
    caught = [(module.name, node) for module in MODULES for node in handlers(module)]
    assert len(caught) > 8
    own = [f"{name}:{node.lineno}" for name, node in caught if not asks_the_table(node)]
    assert not own


def handlers(module: Path) -> Iterator[ast.ExceptHandler]:
    """Those that a refusal may come into, and that end the command."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            names = {one.id for one in ast.walk(node.type) if isinstance(one, ast.Name)}
            if names & {"LocalError", "OnceonlyError", "Exception"} and ends(node):
                yield node


def ends(node: ast.ExceptHandler) -> bool:
    return any(called in ("Failure", "failure_of", "exit_of_refusal") for called in calls_in(node))


def asks_the_table(node: ast.ExceptHandler) -> bool:
    return not {"failure_of", "exit_of_refusal"}.isdisjoint(calls_in(node))


def calls_in(node: ast.AST) -> list[str]:
    return [ast.unparse(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)]
