"""Names that differ are seen to differ, and no string of a journal gets onto the page around that.

What is shown is a function of the name alone (`signs`), and each part of the page uses it: the
page of a lake in which every string is odd has no odd sign that is not marked.
"""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceonly.lake.catalogue import TABLES
from onceonly.lake.page import actions
from onceonly.lake.page.cards import verdicts
from onceonly.lake.page.chapters import render
from onceonly.lake.page.findings import Extract, Findings
from onceonly.lake.page.markup import Html, foreign, tag
from onceonly.lake.page.signs import TEXT_MAX, plainly, skeleton
from onceonly.lake.verdicts import Verdict
from pages import findings

ODD = " a\u00a0b\u0430c  \u200bd\u202ee "
"""No-break and double blanks, one at each end, a Cyrillic letter, one of no width, a turn."""
RAW = re.compile("[\u00a0\u0430\u200b\u202e]|c  | a\\\\u")
OURS = {"verdict", "standing", "age_bucket", "state", "stage", "suggested_action", "kind"}
"""Columns whose words are our own, whatever a journal says."""
TWINS = (
    "urn:duns:222222222",
    "urn:duns:222222222 ",
    " urn:duns:222222222",
    "urn:duns: 222222222",
    "urn:duns:\u00a0222222222",
    "urn:duns:\u2007222222222",
    "urn:duns:222\u200b222222",
    "urn:duns:\u200e222222222",
    "urn:duns:2222222\u202e22",
    "urn:duns:\u2800222222222",
    "urn:duns\uff1a222222222",
    "urn\ua789duns:222222222",
    "urn:d\u03c5ns:222222222",
    "urn:du\u0578s:222222222",
    "urn:dun\u0455:222222222",
    "urn:duns\u0301:222222222",
    "urn:dun\ufe0fs:222222222",
    "urn:duns:22222222\uff12",
    "urn:duns:\\u0032",
)
WHOLE_WORDS = ("\u0420\u041e\u0421\u0410", "POCA", "\u03a1\u039f\u0421\u0410")


def odd_rows(extract: Extract) -> Extract:
    """The rows, with each string of a journal an odd one."""
    rows = [{name: _odd(name, value) for name, value in row.items()} for row in extract.rows]
    return Extract(rows, extract.total)


def _odd(name: str, value: Any) -> Any:
    if name in OURS:
        return value
    if isinstance(value, str):
        return ODD
    return [ODD for _ in value] if isinstance(value, list) and isinstance(value[0], str) else value


def odd_lake() -> Findings:
    """Every string that comes from a journal is odd: in reports, in evidence, on the sheet."""
    counts = {Verdict.MATCHED: 4, Verdict.CONTENT_MISMATCH: 1}
    made = findings(3, counts=counts, broken=["I1"], faults=["x"], unproven=2)
    judged = replace(
        made.judged,
        matrix=[{**row, "from_party": ODD, "to_party": ODD} for row in made.judged.matrix],
        journals=[{**row, "party": ODD} for row in made.judged.journals],
        invariants=tuple(
            replace(line, examples=tuple(ODD for _ in line.examples))
            for line in made.judged.invariants
        ),
    )
    fault = [{"party": ODD, "fault": ODD}]
    return replace(
        made,
        judged=judged,
        per_pair={name: odd_rows(one) for name, one in made.per_pair.items()},
        overall={name: odd_rows(one) for name, one in made.overall.items()},
        evidence=odd_rows(Extract(made.evidence)).rows,
        quarantined=fault,
        set_aside=fault,
    )


def unmarked(page: str) -> list[str]:
    """Where a string of a journal stands as it is, or in plain text without its marks."""
    without_numbers = re.sub(r'<meta name="onceonly-report"[^>]*>', "", page)
    around = [one.group() for one in RAW.finditer(unescape(without_numbers))]
    body = re.sub(r"<svg.*?</svg>|<style.*?</style>", "", without_numbers, flags=re.DOTALL)
    # In attributes nothing can be marked; captions are read aloud, and seen by nobody.
    body = re.sub(r"<mark.*?</mark>|<caption.*?</caption>", "", body, flags=re.DOTALL)
    words = re.sub(r"<[^>]*>", "", body)
    return around + re.findall(r".{0,20}\\u[0-9a-f]{4}", words)


def test_no_string_of_a_journal_gets_around_the_marks():
    """On the whole page, in pictures, tables, captions and notes: odd signs are escapes."""
    page = render(odd_lake())
    assert page.count("<mark") > 100
    assert unmarked(page) == []


@pytest.mark.parametrize("shown", [Html(ODD), ODD, plainly(ODD)], ids=["raw", "text", "escaped"])
def test_a_card_that_goes_around_them_is_found(shown: str):
    """Whether it places the string as markup, as our own text, or escaped and not marked."""
    assert unmarked(tag("p", shown))
    assert not unmarked(tag("p", foreign(ODD)))


def test_strings_of_each_table_are_tried():
    """No report is left out of the check because it was made without a string."""
    made = odd_lake()
    for table in TABLES:
        strings = [one.name for one in table.definition.columns if one.type == "string"]
        if set(strings) - OURS:
            assert ODD in made.of(table.definition).rows[0].values(), table.name


@pytest.mark.parametrize(("one", "other"), list(combinations(TWINS, 2)))
def test_two_parties_that_differ_in_what_is_not_seen_are_told_apart(one: str, other: str):
    """In tables and in pictures: by what stands there, not by what a pointer finds."""
    shown = [re.sub("<[^>]*>", "", foreign(name)) for name in (one, other)]
    assert shown[0] != shown[1]
    assert plainly(one) != plainly(other)
    assert all(name.isascii() for name in shown)


def test_a_word_of_nothing_but_look_alikes_is_marked():
    """Letters of one script beside each other are a word, unless each is taken for a Latin one."""
    assert len({plainly(word) for word in WHOLE_WORDS}) == 3
    assert all(plainly(word).isascii() for word in WHOLE_WORDS)


@pytest.mark.parametrize(
    "name", ["Иванов и Сын", "Αθήνα", "Müller Größe", "株式会社A社", "हिन्दी", "عربي \u0665", "한국"]
)
def test_words_of_any_script_are_read_as_they_are(name: str):
    """Most of the world does not write in Latin; what is not taken for it is not marked."""
    assert plainly(name) == name or name.startswith("Иванов")
    assert "Иванов" not in name or plainly(name).startswith("Иванов ")


@given(st.text(max_size=TEXT_MAX))
def test_what_is_shown_says_which_name_it_is(name: str):
    """Read back sign by sign it is the name again, so no two names look the same."""
    escapes = re.compile(r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})")
    read = escapes.sub(lambda found: chr(int(found[1] or found[2], 16)), plainly(name))
    assert read == name


def test_a_mark_tells_its_code_points():
    """Where it is pointed at, by number and by Unicode's name."""
    assert 'title="U+0430 CYRILLIC SMALL LETTER A">\\u0430<' in foreign("p\u0430y")
    assert 'title="U+0020 SPACE"' in foreign("a b")
    assert "mark" not in foreign("a b", "prose")


def test_what_is_left_out_of_a_long_name_is_told():
    """A name is cut in its middle, and nothing is hidden by putting it there."""
    long = "m" * 100 + "\u200b" + "m" * 100
    assert "Left out: U+200B ZERO WIDTH SPACE" in foreign(long)
    assert "mark" not in foreign("m" * 201)
    assert "U+200B" in foreign("m" * 2 * TEXT_MAX + "\u200b")


def test_parties_that_are_taken_for_one_another_are_one_action():
    """Each of the twins, beside the first."""
    for twin in [one for one in TWINS[1:-1] if "\u0301" not in one]:
        assert skeleton(twin) == TWINS[0], twin
        found = findings(0, parties=[TWINS[0], twin], counts={Verdict.MATCHED: 1})
        [action] = actions.actions(found)
        assert "taken for one another" in action.what
    [_, matrix, *_] = verdicts.matrix(found).body
    assert matrix.count("<mark") >= 2
