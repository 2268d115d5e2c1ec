"""What a disk or a mount does not do is a line, and no traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from onceonly.cli.exits import Exit, Failure
from onceonly.cli.lake import with_spark
from onceonly.lake.manifest import Manifest, Shelf, publish

if TYPE_CHECKING:
    from pathlib import Path


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    """The lake's folder is a file: a typo in --into."""
    (tmp_path / "ingested").write_text("no folder")
    shelf = Shelf(str(tmp_path), "party=one")
    with pytest.raises(Failure, match="ingested") as failed:
        with_spark(lambda _: publish(shelf, Manifest()))
    assert failed.value.exit_code == Exit.UNEXPECTED
