"""The conformance page: every statement of the texts, the tests that show it, and what they said.

`make conformance` runs those tests and writes the page; this module makes its text, and refuses to
build documentation with a page that is not in step. It knows `statements.toml` and finds the
markers by reading the test sources, so that the look costs no test run; it runs nothing.
"""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from generator.words import cell

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "conformance.md"
STATEMENTS = (
    ROOT / "tests" / "conformance" / "statements.toml",
    ROOT / "tests" / "conformance" / "statements_ebms2.toml",
)

SEEDS = {
    "S0": "Seed 000: the ebXML Reliable Messaging Specification, working draft v0-080",
    "S1": "Seed 001: its rewrite of 2001",
    "S3": "Seed 003: what a delivery is",
    "S4": "Seed 004: the levels of recovery",
    "E2": "ebXML Message Service 2.0: the standard, and what its users add",
}

INTRODUCTION = """# Conformance

The four seeds and the standard ebXML Message Service 2.0 come down to {count} statements that can
be tested. Each has a row: how binding the text is about it (MUST* is a plain fact without a key
word), in which profile or under which policy it is shown, the project's ruling where texts
contradict each other or leave a hole, the tests, and what they said when this page was written.
What is not built says what it waits for: packages of the standard are read and written, and no
gateway offers it yet. `make conformance` runs all tests and writes this page; the documentation
cannot be built with a page that is older than the tests.

{sums}
"""

HEADS = ("Id", "Statement", "Section", "Level", "Profile or policy", "Ruling", "Result", "Tests")


class Statement(NamedTuple):
    """One statement of a text, in our words."""

    id: str
    says: str
    section: str
    level: str
    profile: str
    ruling: str = ""
    not_built: str = ""
    """Why there is no test, where there is none on purpose."""


class Mark(NamedTuple):
    """A test says that it shows a statement."""

    id: str
    test: str
    """Path and name; parameters of a test are one test."""
    ruling: str


def read_statements() -> dict[str, Statement]:
    """Every statement by id, in the order of the texts."""
    texts = (tomllib.loads(path.read_text("utf-8")) for path in STATEMENTS)
    return {id_: Statement(id_, **entry) for text in texts for id_, entry in text.items()}


def read_marks() -> list[Mark]:
    """Every `statement` marker in the test sources, at a test or at its module."""
    marks: list[Mark] = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        name = file.relative_to(ROOT).as_posix()
        of_all = [mark for node in tree.body if _is_pytestmark(node) for mark in _calls(node)]
        for test, nodes in _tests(tree.body, name):
            found = [*of_all, *(mark for node in nodes for mark in _calls(node))]
            marks.extend(Mark(id_, test, ruling) for id_, ruling in found)
    return sorted(set(marks))


def _tests(body: Sequence[ast.stmt], path: str) -> Iterator[tuple[str, list[ast.expr]]]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name.startswith("test"):
                yield f"{path}::{node.name}", node.decorator_list
            case ast.ClassDef() if node.name.startswith("Test"):
                for test, nodes in _tests(node.body, f"{path}::{node.name}"):
                    yield test, [*node.decorator_list, *nodes]


def _is_pytestmark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
    )


def _calls(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Id and ruling of every `….mark.statement("ID", …, ruling="R-…")` under the node."""
    for call in ast.walk(node):
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="statement"),
                args=ids,
            ):
                named = (one.value for one in call.keywords if one.arg == "ruling")
                rulings = [one.value for one in named if isinstance(one, ast.Constant)]
                for id_ in ids:
                    yield ast.literal_eval(id_), str(rulings[0]) if rulings else ""


def rulings_of(statement: Statement, marks: Sequence[Mark]) -> str:
    """The rulings that decide the statement: the table's, and those that its tests cite."""
    named = [statement.ruling, *(mark.ruling for mark in marks if mark.id == statement.id)]
    return ", ".join(sorted({ruling for one in named for ruling in re.findall(r"R-\d\d", one)}))


def page(results: Mapping[str, str], marks: Sequence[Mark]) -> str:
    """The whole page, of these results by statement."""
    statements = read_statements()
    by_result = {"passed": 0, "failed": 0, "skipped": 0, "untested": 0, "not built": 0}
    sections: list[str] = []
    for seed, title in SEEDS.items():
        rows = [HEADS, tuple("---" for _ in HEADS)]
        for statement in statements.values():
            if statement.id.startswith(seed):
                result = results[statement.id]
                by_result[result] += 1
                rows.append(_row(statement, result, marks))
        lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        sections.append(f"## {title}\n\n{lines}\n")
    sums = ", ".join(f"**{count}** {result}" for result, count in by_result.items() if count)
    introduction = INTRODUCTION.format(count=len(statements), sums=f"{sums}.".capitalize())
    return "\n".join([introduction, *sections])


def _row(statement: Statement, result: str, marks: Sequence[Mark]) -> tuple[str, ...]:
    tests = sorted({mark.test for mark in marks if mark.id == statement.id})
    shown = "<br>".join(f"`{test}`" for test in tests)
    return (
        f'<a id="{statement.id.lower()}"></a>{statement.id}',
        cell(statement.says),
        statement.section,
        statement.level.replace("*", "\\*"),
        statement.profile,
        rulings_of(statement, marks) or "–",  # noqa: RUF001 - because an empty cell is a dash
        result,
        shown or cell(statement.not_built) or "–",  # noqa: RUF001 - because an empty cell is a dash
    )


def results_in(text: str) -> dict[str, str]:
    """The results that a page states, by statement."""
    row = re.compile(
        r'^\| <a id="[^"]+"></a>([SE]\d-\d+) \|(?:[^|]*\|){5} ([a-z ]+) \|', re.MULTILINE
    )
    return dict(row.findall(text))


def find_staleness(text: str | None) -> str | None:
    """Why a page of this text is not what the statements and the markers make it, or None."""
    if text is None:
        return "it is not there"
    results = results_in(text)
    statements = read_statements()
    if set(results) != set(statements):
        return f"other statements: {sorted(set(results) ^ set(statements))}"
    bad = sorted(id_ for id_, result in results.items() if result in ("failed", "untested"))
    if bad:
        return f"these are not shown: {', '.join(bad)}"
    if text != page(results, read_marks()):
        return "other wordings, rulings or tests than those in the repository"
    return None
