"""The built documentation: whole, without a warning, and without the network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

LOADED = re.compile(
    r"<(?:script|img|iframe)\b[^>]*\bsrc=\"?(https?:)?//|"
    r"<link\b(?![^>]*\brel=\"?(?:canonical|edit|alternate))[^>]*\bhref=\"?(https?:)?//",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)],
        cwd=root,
        check=True,
        capture_output=True,
    )
    return folder


def test_no_page_loads_anything_from_the_network(site: Path) -> None:
    """Scripts, styles, fonts and pictures are all in the site itself."""
    built = list(site.rglob("*.html"))
    assert len(built) > 15
    assert not [page for page in built if LOADED.search(page.read_text("utf-8"))]
    styles = [*site.rglob("*.css")]
    assert not [
        style for style in styles if re.search(r"url\(['\"]?https?:", style.read_text("utf-8"))
    ]


def test_sequences_and_states_are_drawn(site: Path) -> None:
    """Figures are in the pages as SVG."""
    assert (site / "explanation" / "journey.html").read_text("utf-8").count("<svg") > 5
    drawn = (site / "reference" / "states.html").read_text("utf-8")
    assert re.search(r'aria-label="States: [^"]*\bqueued\b', drawn)


def test_every_fence_became_what_it_stands_for(site: Path) -> None:
    """A block that Markdown does not take for one is shown as it was written."""
    pages = (page for page in site.rglob("*.html") if "```" in page.read_text("utf-8"))
    assert not list(pages)


def test_the_figures_that_are_kept_are_shown(site: Path, root: Path) -> None:
    """Each file of a campaign has its table on the page about the proof."""
    tables = (root / "docs" / "explanation" / "proof.md").read_text("utf-8").count("```proof")
    proofs = (root / "docs" / "proof").glob("*.json")
    kept = [file for file in proofs if file.stem != "interop"]  # It has a page of its own.
    shown = (site / "explanation" / "proof.html").read_text("utf-8")
    assert shown.count("No run is kept yet") == tables - len(kept)
