"""Files of rejected rows, without Spark or a gateway: their names, and what is in them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cached_listings import CachedListings

from onceonly.api.jobs import RowAnswer
from onceonly.api.refusals import Refusal
from onceonly.message.errors import LocalError
from pyspark_onceonly import rejects

BATCH = pa.RecordBatch.from_pydict({"order_id": ["a", "b"], "n": [1, 2]})


def refusal(row: int) -> RowAnswer:
    error = Refusal(name="UnknownPartner", text="nobody")
    return RowAnswer(row=row, message_id=f"m-{row}", outcome="rejected", error=error)


def kept(
    path: str, partition: int, batch: pa.RecordBatch = BATCH, row: int = 7, job: str = "j"
) -> str:
    """The second row of the batch, rejected by a task; the name of the task's file."""
    file = rejects.RejectsFile(path, job, partition)
    file.add(batch, [(1, refusal(row))])
    file.close()
    assert file.temporary is not None
    return file.temporary


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in (folder / "onceonly_job=j").iterdir())


def test_the_files_of_the_winners_get_their_names_and_others_go(tmp_path: Path) -> None:
    """As often as it is done."""
    kept(str(tmp_path), 0)
    files = {0: kept(str(tmp_path), 0), 1: None, 2: kept(str(tmp_path), 2)}
    for _ in range(2):
        rejects.keep(str(tmp_path), "j", files)
        assert names(tmp_path) == ["part-00000.parquet", "part-00002.parquet"]


def test_a_file_that_a_winner_wrote_and_nobody_finds_is_an_error(tmp_path: Path) -> None:
    """It lies on the disk of an executor. Everything else stays as it is."""
    elsewhere = kept(str(tmp_path / "elsewhere"), 0)
    with pytest.raises(LocalError, match="that driver and executors share") as refused:
        rejects.keep(str(tmp_path), "j", {0: elsewhere})
    assert refused.value.name == "RejectsMissing"
    loser, found = kept(str(tmp_path), 1), kept(str(tmp_path), 1)
    with pytest.raises(LocalError, match=elsewhere):
        rejects.keep(str(tmp_path), "j", {0: elsewhere, 1: found})
    assert names(tmp_path) == sorted([loser, found])
    rejects.keep(str(tmp_path), "j", {})
    assert names(tmp_path) == []


def test_jobs_have_folders_of_their_own_whatever_they_are_called(tmp_path: Path) -> None:
    """Two colons mean something in a URL, and nothing in a name."""
    for job in ("orders::20", "orders::21"):
        rejects.keep(str(tmp_path), job, {0: kept(str(tmp_path), 0, job=job)})
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet"))
    assert found == [f"onceonly_job=orders::{day}/part-00000.parquet" for day in (20, 21)]


def test_what_tasks_wrote_is_found_whatever_was_listed_before(tmp_path: Path) -> None:
    """On an object store, whose driver remembers the listing of the job's last run."""
    url = f"cached://{tmp_path}"
    rejects.keep(url, "j", {0: kept(str(tmp_path), 0)})
    CachedListings().ls(f"{url}/onceonly_job=j")
    rejects.keep(url, "j", {1: kept(str(tmp_path), 1)})
    assert names(tmp_path) == ["part-00001.parquet"]


def test_rejects_that_are_rejected_again_have_the_new_reasons(tmp_path: Path) -> None:
    """Mended and written again they bring the old ones, which the new ones replace."""
    first = tmp_path / "onceonly_job=j" / kept(str(tmp_path), 0)
    [mended] = pq.read_table(first, partitioning=None).to_batches()
    again = pa.RecordBatch.from_arrays(
        [pa.concat_arrays([column, column]) for column in mended.columns], schema=mended.schema
    )
    second = tmp_path / "onceonly_job=j" / kept(str(tmp_path), 1, again, row=9)
    found = pq.read_table(second, partitioning=None)
    assert found.column_names == mended.schema.names
    [row] = mended.to_pylist()
    assert found.to_pylist() == [{**row, "onceonly_row": 9, "onceonly_message_id": "m-9"}]
