"""Values as people read them; markup that nothing gets out of."""

from __future__ import annotations

import pytest

from onceonly.lake.page import words
from onceonly.lake.page.markup import Html, between, foreign, join, pair, tag, text
from onceonly.lake.page.signs import TEXT_MAX, plainly

GAP = "\u202f"


@pytest.mark.parametrize(
    ("length_us", "told"),
    [
        (0, "0"),
        (1, f"1{GAP}µs"),
        (999, f"999{GAP}µs"),
        (1_500, f"1.5{GAP}ms"),
        (999_900, f"1{GAP}s"),
        (59_990_000, f"1{GAP}min"),
        (90_000_000, f"1.5{GAP}min"),
        (86_400_000_000, f"1{GAP}d"),
        (400 * 86_400_000_000, f"400{GAP}d"),
        (-2_000_000, f"-2{GAP}s"),
    ],
)
def test_spans_have_three_digits_and_the_unit_that_fits(length_us: int, told: str):
    """No `1e+03 ms`, no `60 s` where a minute is meant."""
    assert words.span(length_us) == told


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (1, f"100{GAP}%"),
        (0, f"0{GAP}%"),
        (0.5, f"50{GAP}%"),
        (0.725, f"72.5{GAP}%"),
        (0.999999, f">{GAP}99.99{GAP}%"),
        (0.000001, f"<{GAP}0.01{GAP}%"),
    ],
)
def test_not_all_is_never_rounded_to_all(part: float, told: str):
    """An auditor reads 100 % as `every one`, and 0 % as `none`."""
    assert words.share(part) == told


def test_counts_sizes_and_nouns():
    """Thousands are set apart; one is one."""
    assert words.count(1_234_567) == f"1{GAP}234{GAP}567"
    assert words.counted(1, "message") == "1 message"
    assert words.counted(2, "message") == "2 messages"
    assert words.size(512) == f"512{GAP}B"
    assert words.size(3 << 29) == f"1.5{GAP}GiB"


def test_instants_are_utc_whatever_they_are():
    """No time zone of the machine, and no year that would end the report."""
    assert words.instant(0) == "1970-01-01 00:00:00"
    assert words.instant(1_760_000_000_000_000) == "2025-10-09 08:53:20"
    assert words.instant(2**62).startswith("9999-12-31")
    assert words.moment(-(2**62)).year == 1


def test_long_names_keep_both_ends():
    """The tail of a PartyId tells most, and its head which scheme it is."""
    cut = plainly("urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088:4012345000009", 20)
    assert len(cut) == 20
    assert cut.startswith("urn:oa")
    assert cut.endswith("5000009")
    assert plainly("short") == "short"


def test_text_is_escaped_once():
    """Markup stays markup, everything else is text, also in attributes."""
    assert text("<b>&") == "&lt;b&gt;&amp;"
    assert tag("p", tag("b", "<"), title='"x"') == '<p title="&quot;x&quot;"><b>&lt;</b></p>'
    assert join((Html("<i>"), "<", None)) == "<i>&lt;"
    assert between(", ", ["<", Html("<b>")]) == "&lt;, <b>"


def test_foreign_text_is_kept_apart_visible_and_bounded():
    """It neither turns the line around nor fills the page."""
    assert ">\\u202e<" in foreign("a\u202eb")
    assert ">\\u0000<" in foreign("\x00")
    assert foreign(None) == ""
    long = foreign("x" * 10_000)
    assert len(long) < 2 * TEXT_MAX
    assert 'title="xxx' in long
    assert "?" in pair(None, "b")
