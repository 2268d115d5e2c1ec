from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's top."""
    return ROOT


@pytest.fixture(scope="session")
def sources() -> list[Path]:
    """Every Python file of ours."""
    folders = ("src", "tests", "bench", "fuzz", "docs")
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


@pytest.fixture(scope="session")
def pages() -> dict[str, str]:
    """Every page that people write, by its path from the top."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in files}
