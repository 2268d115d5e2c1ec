"""The table of the statements itself: whole, and in step with the texts and the tests."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

from generator.conformance import (
    ROOT,
    find_staleness,
    page,
    read_marks,
    read_statements,
    results_in,
)

SPECIFICATION = ROOT.parent / "shared" / "spec"
LIST = SPECIFICATION / "conformance.md"
STANDARD = SPECIFICATION / "ebms2.md"


def test_every_statement_of_the_list_is_in_the_table_with_its_level():
    """The same 221 ids in the same order, each as binding as the text says."""
    if not LIST.is_file():
        pytest.skip("the list of statements is not beside this checkout")
    rows = re.findall(
        r"^\| (S\d-\d+) \|.*\| (MUST\*?|SHOULD|MAY) \|", LIST.read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) == 221
    table = [one for one in read_statements().values() if one.id.startswith("S")]
    assert [(one.id, one.level) for one in table] == rows


def test_every_statement_of_the_standard_is_in_the_table():
    """124 in their order; a table of the specification has those that its list does not."""
    table = [one.id for one in read_statements().values() if not one.id.startswith("S")]
    assert table == [f"E2-{number:02}" for number in range(1, 125)]
    if STANDARD.is_file():
        listed = re.findall(r"^- (E2-\d+) ", STANDARD.read_text("utf-8"), re.MULTILINE)
        assert set(table) - set(listed) == {f"E2-{number}" for number in range(93, 104)}


def test_every_statement_says_something_of_its_own():
    """No two wordings are the same, and rulings have the form of rulings."""
    statements = read_statements().values()
    assert len({statement.says for statement in statements}) == 221 + 124
    for statement in statements:
        assert re.fullmatch(r"(R-\d\d(, R-\d\d)*)?", statement.ruling), statement.id


def test_every_marker_names_a_statement():
    """No test claims to show what is not in the list, nor under a ruling that does not exist."""
    statements = read_statements()
    for mark in read_marks():
        assert mark.id in statements, mark
        assert re.fullmatch(r"(R-(0[1-9]|1\d|2\d|3[0-6]))?", mark.ruling), mark


def test_what_is_not_built_has_no_test():
    """A reason for having no test stands only where there is none."""
    marked = {mark.id for mark in read_marks()}
    assert not [one.id for one in read_statements().values() if one.not_built and one.id in marked]


def test_the_page_says_what_it_was_made_of():
    """Results can be read back from the page, statement by statement."""
    results = dict.fromkeys(read_statements(), "passed") | {"S0-71": "not built"}
    text = page(results, read_marks())
    assert results_in(text) == results
    assert f"**{len(results) - 1}** passed, **1** not built." in text


def test_a_page_out_of_step_is_found_without_a_run():
    """Missing, short of a statement, of other words or tests, or one that states a failure."""
    results = dict.fromkeys(read_statements(), "passed")
    marks = read_marks()
    good = page(results, marks)
    assert find_staleness(good) is None
    first = f"`{marks[0].test}`"
    for text, word in (
        (None, "not there"),
        ("\n".join(line for line in good.splitlines() if ">S4-32 " not in line), "S4-32"),
        (good.replace(first, "`tests/test_gone.py::test_gone`", 1), "tests"),
        (page({**results, "S0-12": "failed"}, marks), "S0-12"),
        (page({**results, "S0-12": "untested"}, marks), "S0-12"),
    ):
        assert word in (find_staleness(text) or "")
