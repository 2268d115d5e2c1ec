"""The numbered attacks of `spec/security.md` against a whole gateway's real listeners."""

import pytest
from ground import Case, judge, laid
from http_cases import CASES as HTTP
from smtp_cases import CASES as SMTP

pytestmark = pytest.mark.anyio

CASES = [*HTTP, *SMTP]


@pytest.mark.parametrize(
    "case", [one for one in CASES if one.attack], ids=lambda case: f"{case.id} {case.what}"
)
async def test_an_attack_changes_nothing_but_one_row(tmp_path, case: Case):
    """The named answer; nothing stored, acknowledged or delivered; others do not suffer."""
    async with laid(tmp_path, **dict(case.gateway)) as ground:
        await judge(case, ground)
