"""The kept record of exchanges is about this code, or the exchanges are made now."""

import ast
from pathlib import Path

from interop_record import code_digest, partner, read_record
from strict_process import why_not_built

HERE = Path(__file__).parent


def exchanging_tests() -> set[str]:
    """`file::test` of every test with an `exchange` marker."""
    found = set()
    for file in HERE.glob("test_*.py"):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.AsyncFunctionDef):
                marks = "\n".join(map(ast.unparse, node.decorator_list))
                if "pytest.mark.exchange(" in marks:
                    found.add(f"{file.name}::{node.name}")
    return found


def test_where_the_run_is_not_made_the_record_is_of_this_code():
    """Where it is made, the run itself is the answer, however old the record."""
    reason = why_not_built()
    if not reason:
        return
    record = read_record()
    assert record["code"] == code_digest(), (
        "what reads, writes or answers was changed after the exchanges that"
        f" docs/proof/interop.json tells of, and none can be made here ({reason}); run"
        " `make interop` where there are a JDK and Maven, and commit the record"
    )
    assert {one["test"] for one in record["exchanges"]} == exchanging_tests()


def test_the_record_tells_of_exchanges_that_there_are():
    """All of them passed, and with the partner as it is now."""
    record = read_record()
    assert {one["test"] for one in record["exchanges"]} <= exchanging_tests()
    assert {one["result"] for one in record["exchanges"]} == {"passed"}
    assert record["partner"] == partner()
