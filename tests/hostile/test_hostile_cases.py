"""The numbered attacks of `spec/security.md` against a whole gateway's real listeners.

The tables are beside this file, one for each family. What each row demands, `ground.judge` says.
"""

import re
from pathlib import Path

import pytest
from ground import Case, judge, laid
from http_cases import CASES as HTTP
from mime_cases import CASES as MIME
from smtp_cases import CASES as SMTP
from tls_cases import CASES as TLS
from xml_cases import CASES as XML

CASES = [*HTTP, *TLS, *SMTP, *MIME, *XML]
COUNTS = {"H": 30, "M": 12, "P": 13, "X": 17}
NUMBERED = {
    f"{family}{number}" for family, count in COUNTS.items() for number in range(1, count + 1)
}
SPECIFICATION = Path(__file__).parents[3] / "shared" / "spec" / "security.md"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "case", [one for one in CASES if one.attack], ids=lambda case: f"{case.id} {case.what}"
)
async def test_an_attack_changes_nothing_but_one_row(tmp_path, case: Case):
    """The named answer; nothing stored, acknowledged or delivered; others do not suffer."""
    if case.needs is not None:
        pytest.skip(case.needs)
    async with laid(tmp_path, **dict(case.gateway)) as ground:
        await judge(case, ground)


def test_every_numbered_attack_has_a_row():
    """H1 to H30, M1 to M12, P1 to P13 and X1 to X17; one that cannot apply says why."""
    missing = [name for name in NUMBERED if not any(case.id == name for case in CASES)]
    assert missing == []
    assert all(case.attack or case.why for case in CASES)
    assert all(case.id in NUMBERED for case in CASES)


def test_a_row_that_differs_from_the_rule_says_why():
    """No row about a refusal, or a delivery that is not the point of the case, has its reason."""
    rows = [case for case in CASES if case.attack and case.names is None]
    assert rows
    assert all(case.why for case in rows), [case.what for case in rows if not case.why]


def test_the_tables_have_the_numbers_of_the_specification():
    """What `spec/security.md` counts is what is counted here."""
    if not SPECIFICATION.exists():
        pytest.skip("the specification is not beside this checkout")
    text = SPECIFICATION.read_text("utf-8")
    named = set(re.findall(r"(?:^|· |\n)([HMPX]\d+) ", text))
    assert named == NUMBERED
