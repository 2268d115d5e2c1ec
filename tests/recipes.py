"""Settings of other programs that a page shows, as files: what a page says is what a test runs.

A block of a page is a file if its first line is a comment with the path of that file.
"""

import re
from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"

_FILE = re.compile(r"^```\w+\n# (?P<path>/\S+)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def files_of(page: str, there: str) -> dict[str, str]:
    """Name and text of every file that the page shows in the folder `there`, in its order."""
    found = _FILE.finditer((DOCS / page).read_text("utf-8"))
    files = {
        block["path"].removeprefix(f"{there}/"): block["text"]
        for block in found
        if block["path"].startswith(f"{there}/")
    }
    assert files, f"{page} shows no file in {there}"
    return files


def put(text: str, changes: Mapping[str, str]) -> str:
    """The text with what is other here: addresses, ports and places. Each must stand in it."""
    for there in changes:
        assert there in text, f"{there!r} is not in the page any more"
    return replaced(text, changes)


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """The text with what is other here, as far as it stands in it."""
    for there, here in changes.items():
        text = text.replace(there, here)
    return text


def configurations_of(page: str) -> list[str]:
    """Every whole configuration of a gateway that the page shows, in its order."""
    return [block for block in examples_of(page, "toml") if "[gateway]" in block]


def examples_of(page: str, *languages: str) -> list[str]:
    """Every block of these languages that the page shows, in its order."""
    blocks = _BLOCK.findall((DOCS / page).read_text("utf-8"))
    return [block for language, block in blocks if language in languages]
