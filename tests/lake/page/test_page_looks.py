"""The page in headless Chromium, on a phone and on paper: nothing cut off, nothing dark, legible.

Measured where the browser has laid it out: widths, colours, sizes of letters, and where paper may
be broken. Skips with the reason where there is no Chromium.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from onceonly.lake.page.chapters import render
from onceonly.lake.verdicts import CLASSES, Verdict
from pages import HOSTILE, findings

PHONE: Final = {"width": 390, "height": 844}
DESK: Final = {"width": 1280, "height": 860}
SHEET: Final = {"width": 695, "height": 1024}
"""What is between the margins of A4, in the pixels of which a browser has 96 in an inch."""
LETTERS_LEAST_PX: Final = 6.0
"""Four and a half points: the least that is read on paper."""

BEYOND: Final = """(width) => [...document.querySelectorAll('body *')]
  .filter((one) => !one.closest('svg') && !one.closest('.unseen') && !one.closest('.skip'))
  .filter((one) => one.getClientRects().length && one.getBoundingClientRect().right > width + 1)
  .filter((one) => !(INSIDE && one.closest('.scroll') && one !== one.closest('.scroll')))
  .map((one) => `${one.tagName}.${one.className}: ${one.textContent.slice(0, 60)}`)"""
"""Elements that reach over the right edge; where tables scroll, not what is inside them."""
DARK: Final = """() => [...document.querySelectorAll('html, body, body *')]
  .filter((one) => !one.closest('svg') && !one.matches('.part, .dot, .bar'))
  .filter((one) => one.getClientRects().length)
  .map((one) => [one, getComputedStyle(one).backgroundColor.match(/[\\d.]+/g).map(Number)])
  .filter(([, [r, g, b, a = 1]]) => a > 0 && 0.3 * r + 0.6 * g + 0.1 * b < 200)
  .map(([one]) => `${one.tagName}.${one.className}`)"""
SMALL: Final = """() => [...document.querySelectorAll('svg text')]
  .filter((one) => one.closest('svg').getBoundingClientRect().width > 0)
  .map((one) => [parseFloat(getComputedStyle(one).fontSize), one.getScreenCTM()])
  .map(([size, turned]) => size * Math.hypot(turned.a, turned.b))
  .reduce((least, one) => Math.min(least, one), 99)"""
BROKEN: Final = """() => [...document.querySelectorAll('tr, figure, .seal, .actions li, summary')]
  .filter((one) => getComputedStyle(one).breakInside !== 'avoid')
  .map((one) => `${one.tagName}.${one.className}`)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as started:
        # Tests in containers are root, for whom Chromium has no sandbox.
        opened = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


def _full() -> str:
    counts = {row.verdict: 2 for row in CLASSES}
    return render(findings(14, counts=counts, broken=["I1"], drills=1, faults=["x"], unproven=3))


def _hostile() -> str:
    names = [HOSTILE, "_under\nscore", "urn:" + "very-long:" * 200]
    counts = {Verdict.MATCHED: 4, Verdict.CONTENT_MISMATCH: 1}
    return render(findings(4, parties=names, foreign=HOSTILE, counts=counts, faults=["x" * 500]))


@pytest.fixture(scope="module", params=[_full, _hostile], ids=["full", "hostile"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the page is: of a lake with something of everything, and of one that means harm."""
    path: Path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(request.param(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def tab(browser: Any, page: str) -> Iterator[Any]:
    """The page, opened."""
    opened = browser.new_page(viewport=DESK)
    opened.goto(page)
    yield opened
    opened.close()


def _beyond(tab: Any, width: int, *, is_scrolling: bool) -> list[str]:
    script = BEYOND.replace("INSIDE", "true" if is_scrolling else "false")
    found: list[str] = tab.evaluate(script, width)
    return found


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("is_open", [False, True], ids=["folded", "open"])
def test_nothing_is_wider_than_the_screen(tab: Any, size: Any, is_open: bool):
    """Tables scroll by themselves; the page does not, whatever is unfolded on it."""
    tab.set_viewport_size(size)
    if is_open:
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert tab.evaluate(wide) == 0
    assert _beyond(tab, size["width"], is_scrolling=True) == []


def test_nothing_is_cut_off_on_paper(tab: Any):
    """Nothing scrolls there: every table is as wide as the sheet, or less."""
    tab.emulate_media(media="print")
    tab.set_viewport_size(SHEET)
    assert _beyond(tab, SHEET["width"], is_scrolling=False) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_is_white(tab: Any, scheme: str):
    """Whatever the screen looked like: no ground costs ink or hides words."""
    tab.emulate_media(media="print", color_scheme=scheme)
    tab.set_viewport_size(SHEET)
    assert tab.evaluate(DARK) == []
    assert tab.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"


@pytest.mark.parametrize(("media", "size"), [("print", SHEET), ("screen", PHONE)])
def test_letters_in_pictures_are_legible(tab: Any, media: str, size: Any):
    """A picture is scaled with its letters; none of them gets too small to be read."""
    tab.emulate_media(media=media)
    tab.set_viewport_size(size)
    assert tab.evaluate(SMALL) >= LETTERS_LEAST_PX


def test_no_row_is_broken_over_two_sheets(tab: Any):
    """Nor a picture, nor a thing to do; and a sheet of paper can be made of it at all."""
    tab.emulate_media(media="print")
    assert tab.evaluate(BROKEN) == []
    assert tab.pdf(prefer_css_page_size=True).startswith(b"%PDF")
