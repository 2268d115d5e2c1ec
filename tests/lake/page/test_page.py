"""The page shows what was found, escapes what came from outside, and needs no network."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from journals import DAWN

from onceonly import __version__
from onceonly.gateway.reports import Reports
from onceonly.lake.catalogue import TABLES
from onceonly.lake.page.cards import verdicts
from onceonly.lake.page.chapters import render
from onceonly.lake.page.findings import Extract
from onceonly.lake.reports import reconciliation_days
from onceonly.lake.verdicts import Verdict
from pages import HOSTILE, PARTIES, findings, judged_of

VOID = {"meta", "wbr", "br"}


class Reader(HTMLParser):
    """Reads the page as a browser would, and keeps what it finds."""

    def __init__(self, shown: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(shown)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def ids(self) -> list[str]:
        return [one["id"] for _, one in self.elements if one.get("id")]


@pytest.fixture(scope="module")
def full() -> str:
    """Every section has something to show."""
    return render(
        findings(
            counts={Verdict.MATCHED: 4, Verdict.DELIVERED_TWICE: 1, Verdict.ACK_LOST: 2},
            broken=["I1"],
            drills=1,
            faults=["segment 7: row 12 is not what its hash says"],
        )
    )


@pytest.fixture(scope="module")
def hostile() -> str:
    """Every text of every report comes from somebody who means harm."""
    names = [HOSTILE, "_under\nscore", "urn:" + "very-long:" * 200]
    counts = {Verdict.MATCHED: 4, Verdict.CONTENT_MISMATCH: 1}
    return render(findings(parties=names, foreign=HOSTILE, counts=counts, faults=["x"]))


@pytest.fixture(scope="module")
def empty() -> str:
    """A lake in which nothing is."""
    return render(findings(0, parties=[], counts={}))


def test_the_gateway_reads_the_numbers_of_a_page(tmp_path: Path, hostile: str):
    """The console lists reports with them, whoever chose the names in them."""
    for name, text in (("a.html", hostile), ("b.html", render(findings(0, parties=[], counts={})))):
        (tmp_path / name).write_text(text, encoding="utf-8")
    found, _ = Reports(tmp_path, lake="lake", party="p").find()
    told = {one.path: one.summary for one in found}
    assert all(one.kind == "report" for one in found)
    assert told["a.html"] is not None
    assert told["a.html"].verdicts == {"MATCHED": 12, "CONTENT_MISMATCH": 3}
    assert (told["a.html"].messages, told["a.html"].differences) == (15, 3)
    assert HOSTILE in told["a.html"].about
    assert told["b.html"] is not None
    assert (told["b.html"].messages, told["b.html"].verdicts) == (0, {})


def test_what_came_from_outside_is_text(hostile: str):
    """A PartyId, a Service or a reason cannot become markup, in tables or in pictures."""
    read = Reader(hostile)
    assert read.all("script") == []
    assert "&lt;script&gt;alert" in hostile
    assert {name for name, _ in read.elements if name not in ELEMENTS} == set()


ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "footer", "nav"),
    *("section", "div", "p", "span", "b", "i", "mark", "a", "ol", "ul", "li", "bdi", "wbr", "code"),
    *("h1", "h2", "h3", "table", "caption", "thead", "tbody", "tr", "th", "td", "details"),
    *("summary", "figure", "svg", "desc", "g", "defs", "path", "text", "tspan", "use"),
    *("clippath", "pattern", "rect"),
}


def test_what_cannot_be_seen_is_written_out(hostile: str):
    """Signs that turn the direction of writing, or that are none, are shown as escapes."""
    assert "\u202e" not in hostile
    assert "\x00" not in hostile
    assert "\\u202e" in hostile


def test_no_attribute_runs_or_loads_anything(hostile: str):
    """No handler, no address but jumps within the page, no style that fetches."""
    for name, attributes in Reader(hostile).elements:
        for key, value in attributes.items():
            assert not key.startswith("on"), (name, key)
            assert key != "src", name
            if key.endswith("href"):
                assert (value or "").startswith("#"), (name, value)


def test_the_page_needs_no_network(full: str):
    """Nothing is imported or fetched, and the page forbids it to itself."""
    assert re.findall(r"@import|url\((?!#)", full) == []
    assert "default-src 'none'" in full


def test_the_same_findings_give_the_same_page():
    """A report can be compared byte for byte."""
    assert render(findings(2)) == render(findings(2))


def test_every_id_is_there_once_and_every_jump_arrives(full: str):
    """Keyboards and screen readers find their way; two pictures share no id."""
    read = Reader(full)
    ids = read.ids()
    assert len(ids) == len(set(ids))
    wanted = [(one.get("href") or one.get("xlink:href") or "#") for one in read.all("a")]
    assert {href[1:] for href in wanted} <= set(ids)


def test_every_picture_says_in_words_what_it_shows(full: str):
    """Each has a title and a description, by which it is announced."""
    read = Reader(full)
    ids = set(read.ids())
    pictures = read.all("svg")
    assert len(pictures) > 15
    for attributes in pictures:
        assert attributes["role"] == "img"
        assert set((attributes["aria-labelledby"] or "").split()) <= ids
    assert re.findall(r"<desc[^>]*></desc>|<title[^>]*></title>", full) == []


def test_every_picture_has_its_figures_beside_it(full: str):
    """Whoever cannot see it reads the table: behind it, or in the open."""
    for section in re.findall(r"<section.*?</section>", full, flags=re.DOTALL):
        if "<svg" in section:
            assert "<table" in section, section[:120]


def test_no_two_columns_of_a_table_are_called_the_same(full: str):
    """A reader has nothing else to tell them apart by."""
    for head in re.findall(r"<thead>(.*?)</thead>", full):
        titles = [re.sub("<[^>]*>", "", one) for one in re.findall(r"<th.*?</th>", head)]
        assert len(set(titles)) == len(titles), titles


def test_paper_is_tied_to_the_evidence(full: str):
    """Version, each journal's last row and hash; on every sheet its number and what it is of."""
    found = findings()
    mark = found.judged.mark
    assert f"Made by onceonly {__version__}" in full
    assert f"<code>{mark}</code>" in full
    assert f'evidence {mark[:16]}"; }}' in full
    assert "counter(page)" in full
    one, *others = found.judged.journals
    other = replace(found.judged, journals=[{**one, "last_hash": "cd" * 32}, *others])
    assert other.mark != mark


def test_every_table_is_named_and_can_be_scrolled_by_keys(full: str):
    """A wide table scrolls by itself, has a caption, and its heads say what they head."""
    read = Reader(full)
    assert len(read.all("caption")) == len(read.all("table"))
    scrolling = [one for one in read.all("div") if one.get("class") == "scroll"]
    assert len(scrolling) == len(read.all("table"))
    assert all(one["tabindex"] == "0" and one["aria-label"] for one in scrolling)
    assert all(one.get("scope") == "col" for one in read.all("th"))


def test_every_report_that_is_shown_is_defined(full: str):
    """What a section is made of is declared once, and printed from the declaration."""
    read = Reader(full)
    shown = {one["href"] for one in read.all("a") if (one["href"] or "").startswith("#definition-")}
    assert len(shown) > 25
    for table in TABLES:
        if f"#definition-{table.name}" in shown:
            assert all(column.name in full for column in table.definition.columns), table.name


def test_an_empty_lake_has_a_page(empty: str):
    """Nothing is drawn of nothing; each section says what its being empty means."""
    Reader(empty)
    assert "There is nothing to judge." in empty
    assert "<svg" not in empty
    assert "no message is in doubt." in empty


def test_one_message_is_enough():
    """One bin, one bar, one dot: every picture can be drawn of one row."""
    shown = render(findings(1, counts={Verdict.MATCHED: 1}))
    assert "1 of 1 message agreed" not in shown
    assert "2 of 2 messages agreed" in shown


def test_forty_parties_fit():
    """Of many pairs the page has the worst, and says how many there are."""
    parties = [f"urn:party:{number}" for number in range(40)]
    shown = render(findings(2, parties=parties, counts={Verdict.MATCHED: 25_000}))
    assert "40 parties, 40 pairs" in shown
    assert "The classes of 40 pairs" in shown


def test_the_columns_of_the_matrix_add_up_to_its_last_one():
    """What has no column of its own stands in one with all others."""
    parties = [f"urn:party:{number}" for number in range(5)]
    found = replace(findings(0), judged=judged_of(parties, {Verdict.MATCHED: 7}))
    lines = re.findall(r"<tr>.*?</tr>", verdicts.matrix(found).body[1])
    assert "other pairs" in lines[0]
    assert re.findall(r'class="n[^>]*>(\d+)<', lines[1]) == ["7", "7", "7", "14", "35"]


def test_of_more_pairs_than_are_told_apart_the_heading_claims_no_number():
    """Two hundred pairs are told apart, however many there are."""
    judged = judged_of([f"urn:party:{number}" for number in range(200)], {Verdict.MATCHED: 1})
    shown = render(replace(findings(0), judged=judged))
    assert "At least 200 parties, 200 pairs" in shown


def test_days_of_two_years_name_both():
    """New year's days stand behind the last ones of the year before."""
    made = findings(1)
    [row] = made.of(reconciliation_days.DEFINITION).rows
    rows = [{**row, "day": day} for day in (date(2026, 1, 1), date(2025, 12, 30))]
    per_pair = {**made.per_pair, reconciliation_days.DEFINITION.name: Extract(rows, 2)}
    [picture, _] = verdicts.days(replace(made, per_pair=per_pair)).body
    assert "2025 to 2026, UTC" in picture


def test_a_drill_is_said_aloud(full: str, empty: str):
    """Times of a drill must not be taken for real ones."""
    assert "A drill:" in full
    assert "A drill:" not in empty


def test_all_times_are_utc(full: str):
    """Every column of instants says so, and every axis of time."""
    named = re.findall(r"<th[^>]*>([^<]*)</th>", full)
    assert [name for name in named if re.search(r"\b(at|since|until|from)$", name)] == []
    assert named.count("at (UTC)") > 1
    assert "All times are UTC." in full
    assert full.count(">UTC<") > 10


def test_evidence_stands_beside_each_difference(full: str):
    """Which rows both journals have on a message, with the beginning of both digests."""
    assert "digest <bdi>abababababababab</bdi>…, header digest <bdi>cdcdcdcdcdcdcdcd</bdi>…" in full
    assert PARTIES[0] in full
    assert str(DAWN) not in full


def test_narrow_screens_have_pictures_of_their_own(full: str):
    """A wide picture is drawn twice; its small form is not the large one made unreadable."""
    assert full.count('class="broad"') == full.count('class="narrow"') > 5


def test_print_shows_what_is_folded(full: str):
    """Definitions and evidence are printed; the figures behind pictures are not."""
    style = re.findall(r"@media print \{.*", full, flags=re.DOTALL)[0]
    assert "details::details-content" in style
    assert ".behind { display: none; }" in style


def test_every_colour_is_the_pages_own(full: str):
    """No picture brings a colour that dark mode does not know."""
    for svg in re.findall(r"<svg.*?</svg>", full, flags=re.DOTALL):
        colours: list[Any] = re.findall(r"#[0-9a-f]{6}\b", svg)
        assert colours == [], svg[:80]
