"""What holds of every command's options and refusals, so that the next one has it too."""

import ast
from collections.abc import Iterator
from pathlib import Path

from onceonly import cli

MODULES = sorted(Path(cli.__file__).parent.rglob("*.py"))


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
