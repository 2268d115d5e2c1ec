"""What a checkpoint says about an inbox, from files as Spark writes them."""

import json
from pathlib import Path

from pyspark_onceonly.progress import Progress, read_progress


def checkpoint(folder: Path, offsets: dict[int, object], commits: list[int]) -> str:
    for name in ("offsets", "commits"):
        (folder / name).mkdir()
    for number, offset in offsets.items():
        lines = ["v1", json.dumps({"batchWatermarkMs": 0}), json.dumps(offset)]
        (folder / "offsets" / str(number)).write_text("\n".join(lines))
        (folder / "offsets" / f".{number}.crc").write_bytes(b"crc")
    for number in commits:
        (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return str(folder)


def at(offset: int) -> dict[str, int]:
    return {"offset": offset, "from": 10}


def test_a_committed_batch_is_complete_and_a_planned_one_in_progress(tmp_path: Path) -> None:
    """By number, not by the order of names."""
    found = checkpoint(tmp_path, {8: at(80), 9: at(90), 10: at(100)}, [8, 9])
    assert read_progress(found) == Progress(10, 90, 100)


def test_after_the_last_commit_nothing_is_in_progress(tmp_path: Path) -> None:
    """Everything that was planned is in the sink."""
    assert read_progress(checkpoint(tmp_path, {0: at(20)}, [0])) == Progress(10, 20, 20)


def test_before_the_first_commit_nothing_is_complete(tmp_path: Path) -> None:
    """What was there before the query began is not its work."""
    assert read_progress(checkpoint(tmp_path, {0: at(20)}, [])) == Progress(10, 10, 20)


def test_a_checkpoint_without_a_batch_says_nothing(tmp_path: Path) -> None:
    """Nor does a place where there is none, or a query without an inbox."""
    assert read_progress(str(tmp_path / "nowhere")) is None
    assert read_progress(checkpoint(tmp_path, {}, [])) is None
    (tmp_path / "offsets" / "0").write_text('v1\n{}\n-\n{"logOffset": 3}\n17')
    assert read_progress(str(tmp_path)) is None
