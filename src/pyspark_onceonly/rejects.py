"""Rows that the gateway refused, kept beside the job with the reason: one file per task.

A task writes its file under a temporary name; the commit of the job gives the files of the winning
attempts their names. So a retried task, or a job that is run again, leaves one copy.
"""

import uuid
from collections.abc import Sequence
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from onceonly.api.jobs import RowAnswer
from onceonly.api.refusals import Refusal
from onceonly.message.errors import LocalError

_REASONS = (
    ("onceonly_job", pa.utf8()),
    ("onceonly_row", pa.int64()),
    ("onceonly_message_id", pa.utf8()),
    ("onceonly_error", pa.utf8()),
    ("onceonly_reason", pa.utf8()),
)
"""Columns after those of the DataFrame."""


class RejectsFile:
    """The rejected rows of one task; no file where there are none."""

    def __init__(self, path: str | None, job: str, partition: int) -> None:
        self._path = path
        self._job = job
        self._partition = partition
        self._attempt = uuid.uuid4().hex
        self._writer: Any = None

    @property
    def temporary(self) -> str | None:
        """Name under which the file lies, where there is one."""
        return None if self._writer is None else self._name

    @property
    def _name(self) -> str:
        return f"_task-{self._partition:05d}-{self._attempt}.parquet"

    def add(self, batch: pa.RecordBatch, answers: Sequence[tuple[int, RowAnswer]]) -> None:
        """Keep the rejected ones among the rows of the batch; `answers` say which, and why."""
        if self._path is None or not answers:
            return
        rejected = batch.take(pa.array([index for index, _ in answers]))
        found = [answer for _, answer in answers]
        errors = [answer.error for answer in found if isinstance(answer.error, Refusal)]
        reasons = (
            [self._job] * len(found),
            [answer.row for answer in found],
            [answer.message_id for answer in found],
            [error.name for error in errors],
            [error.text for error in errors],
        )
        table = pa.Table.from_batches([rejected])
        # Those of an earlier run, where what was rejected then is written again.
        earlier = {name for name, _ in _REASONS} & set(table.column_names)
        table = table.drop_columns(sorted(earlier))
        for (name, kind), values in zip(_REASONS, reasons, strict=True):
            table = table.append_column(name, pa.array(values, type=kind))
        if self._writer is None:
            self._open(table.schema)
        self._writer.write_table(table)

    def _open(self, schema: pa.Schema) -> None:
        filesystem, root = _folder(str(self._path), self._job)
        filesystem.makedirs(root, exist_ok=True)
        self._file = filesystem.open(f"{root}/{self._name}", "wb")
        self._writer = pq.ParquetWriter(self._file, schema, compression="zstd")

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()
            self._file.close()


def keep(path: str, job: str, files: dict[int, str | None]) -> None:
    """Give the files of the winning attempts, by partition, their names; forget all others.

    Done again, it changes nothing. Raises `LocalError` (RejectsMissing), with every file left as it
    is, where one of them is there under neither of its names.
    """
    filesystem, root = _folder(path, job)
    filesystem.invalidate_cache()  # Of an object store: the tasks wrote elsewhere.
    named = {name: f"part-{number:05d}.parquet" for number, name in files.items() if name}
    found = _names(filesystem, root)
    for temporary, final in named.items():
        if not {temporary, final} & found:
            text = (
                f"a task of job {job!r} wrote {temporary}, which is not in {root}; run the job "
                "again with a path that driver and executors share"
            )
            raise LocalError("RejectsMissing", text)
    for temporary, final in named.items():
        if temporary in found:
            filesystem.mv(f"{root}/{temporary}", f"{root}/{final}")
    for name in found - named.keys() - set(named.values()):
        filesystem.rm(f"{root}/{name}")


def _folder(path: str, job: str) -> tuple[Any, str]:
    """Of the job alone: its name may have what means something in a URL, such as `::`."""
    filesystem, root = fsspec.core.url_to_fs(path)
    # Spark makes a column of its name: with `job` it would hide the DataFrame's own.
    return filesystem, f"{root}/onceonly_job={job}"


def _names(filesystem: Any, folder: str) -> set[str]:
    if not filesystem.exists(folder):
        return set()
    return {str(path).rpartition("/")[2] for path in filesystem.ls(folder, detail=False)}


def write_report(path: str, job: str, report: bytes) -> None:
    """Put the report of the job next to those of other jobs, as a whole or not at all."""
    filesystem, root = fsspec.core.url_to_fs(path)
    filesystem.makedirs(root, exist_ok=True)
    temporary = f"{root}/_job={job}-{uuid.uuid4().hex}.json"
    with filesystem.open(temporary, "wb") as file:
        file.write(report)
    filesystem.mv(temporary, f"{root}/job={job}.json")
