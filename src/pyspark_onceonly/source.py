"""The data source as Spark knows it: which reader or writer the options ask for."""

import uuid
from collections.abc import MutableMapping

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from onceonly.lake.schemas import JOURNAL
from onceonly.message.identity import JOB_NAME, is_job_name
from pyspark_onceonly.inbox import FilteredInboxReader, InboxReader, InboxRows, InboxStream
from pyspark_onceonly.journal import JournalReader, JournalRows
from pyspark_onceonly.offsets import Numbered, NumberedStream
from pyspark_onceonly.options import (
    OF_TLS,
    ROWS_PER_BATCH,
    ROWS_PER_PARTITION,
    ROWS_PER_REQUEST,
    ROWS_PER_REQUEST_MAX,
    Options,
)
from pyspark_onceonly.row_shape import HEADER_FIELDS, shape_of
from pyspark_onceonly.selection import CRITERIA, check_reports, chosen_columns, selection_of
from pyspark_onceonly.sink import BatchWriter, SinkJob, StreamWriter

_ALWAYS = frozenset({"api", "token", "patience_s", "case_sensitive", *OF_TLS})
_READING = _ALWAYS.union({"read", "payload", "columns", "after", "rows_per_partition"}, CRITERIA)
_OF_STREAMS = frozenset({"bytes_per_batch", "processing", "failOnDataLoss"})
"""Those of streams of an inbox."""

_WRITING = _ALWAYS.union(
    HEADER_FIELDS,
    {"message_id_column", "payload_column", "payload"},
    {"rejects", "report", "max_rejects", "rows_per_request", "application"},
)

USES = {
    "batch reads": _READING | {"up_to", "push_filters"},
    "stream reads": _READING | _OF_STREAMS | {"rows_per_batch"},
    "batch writes": _WRITING | {"job"},
    "stream writes": _WRITING,  # Each batch is a job, which the stream names.
}
"""The options that each use knows."""

_OF_THE_INBOX = ("payload", "columns", "push_filters", *sorted(_OF_STREAMS), *CRITERIA)
"""Those of reading that mean nothing to a journal."""


class DefaultSource(DataSource):
    """`format("onceonly")`: `option("read", "inbox" | "journal")`, or rows to send."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = Options(options)

    @classmethod
    def name(cls) -> str:
        """The word in `format(…)`."""
        return "onceonly"

    @property
    def _is_journal(self) -> bool:
        return self._options.word("read", "inbox", "journal") == "journal"

    def schema(self) -> StructType:
        """The columns of what is read, where no schema is given by hand."""
        return JOURNAL if self._is_journal else chosen_columns(self._options)

    def _journal(self) -> JournalRows:
        for name in _OF_THE_INBOX:
            if self._options.find(name) is not None:
                raise ValueError(f"option {name} is for the inbox, not for the journal")
        return JournalRows(self._options.gateway())

    def _inbox(self, schema: StructType) -> InboxRows:
        return InboxRows(self._options.gateway(), selection_of(self._options, schema))

    def reader(self, schema: StructType) -> DataSourceReader:
        """What is there now, above `after` and up to `up_to`."""
        options = self._options
        options.check("batch reads", USES)
        after = options.whole("after", 0)
        up_to = None if options.find("up_to") is None else options.whole("up_to", 0)
        per_partition = options.whole("rows_per_partition", ROWS_PER_PARTITION, 1)
        if self._is_journal:
            return JournalReader(self._journal(), after, up_to, per_partition)
        # Spark refuses a reader that takes filters, unless its session is set to hand them on.
        takes = options.word("push_filters", "false", "true") == "true"
        reader = FilteredInboxReader if takes else InboxReader
        return reader(self._inbox(schema), after, up_to, per_partition)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - because Spark calls it so
        """What is there and what comes, from `after` on."""
        options = self._options
        options.check("stream reads", USES)
        is_latest = options.find("after") == "latest"
        numbered = Numbered(
            None if is_latest else options.whole("after", 0),
            options.whole("rows_per_batch", ROWS_PER_BATCH, 1),
            options.whole("rows_per_partition", ROWS_PER_PARTITION, 1),
        )
        if self._is_journal:
            return NumberedStream("journal", self._journal(), numbered)
        reports = options.word("processing", "report", "none") == "report"
        rows = self._inbox(schema)
        if reports:
            check_reports(rows.selection.criteria)
        bounded = options.find("bytes_per_batch") is not None
        bytes_max = options.whole("bytes_per_batch", 0, 1) if bounded else None
        # What others purge is no loss to a stream that reads a part.
        is_whole = not rows.selection.criteria
        fails = options.word("failOnDataLoss", "true", "false") == "true" and is_whole
        return InboxStream(
            rows, numbered, reports=reports, bytes_max=bytes_max, fails_on_loss=fails
        )

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001 - because Spark passes it so
        """Rows as messages of the job of the option `job`, or of one of its own."""
        _check_appends(overwrite=overwrite)
        self._options.check("batch writes", USES)
        job = self._options.get("job", f"{self._prefix()}{uuid.uuid4().hex}")
        if not is_job_name(job):
            raise ValueError(f"option job is {job!r}; legal: {JOB_NAME}")
        return BatchWriter(self._sink(schema, job))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802, FBT001 - because Spark calls it so
        """Rows as messages; each batch is a job, named by query and batch."""
        _check_appends(overwrite=overwrite)
        self._options.check("stream writes", USES)
        return StreamWriter(self._sink(schema, self._prefix()))

    def _prefix(self) -> str:
        """How the names of our jobs begin: those of an application begin with its own."""
        application = self._options.find("application")
        if application is None:
            return ""
        if not is_job_name(application):
            raise ValueError(f"option application is {application!r}; legal: {JOB_NAME}")
        return f"{application}."

    def _sink(self, schema: StructType, job: str) -> SinkJob:
        options = self._options
        per_request = options.whole("rows_per_request", ROWS_PER_REQUEST, 1, ROWS_PER_REQUEST_MAX)
        return SinkJob(
            options.gateway(),
            uuid.uuid4().hex,
            shape_of(options, schema, job),
            per_request,
            options.find("rejects"),
            options.find("report"),
            None if options.find("max_rejects") is None else options.whole("max_rejects", 0),
        )


def _check_appends(*, overwrite: bool) -> None:
    if overwrite:
        raise ValueError("messages that were sent cannot be overwritten: use mode append")
