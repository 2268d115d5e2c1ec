"""Reports that somebody wrote into the folder of reports, and what is published for them."""

from typing import Annotated, Literal

from msgspec import Meta

from onceonly.api.fields import Instant
from onceonly.message.word import Word

ReportKind = Literal["report", "evidence", "reconciliation", "advice", "file"]
"""What a report is: the page of `lake report`, the pack of `lake pack`, the JSON of `lake
reconcile` or of `lake advise`; and any other file."""

ReportPathText = Annotated[
    str,
    Meta(
        description="a path below `reports`, with / between its names",
        min_length=1,
        max_length=1_000,
    ),
]


class ReportQuery(Word, kw_only=True):
    """The file that a call is about: the `path` of one, as the list has it."""

    path: ReportPathText


class ReportSummary(Word, kw_only=True):
    """What a report says in numbers, as far as it says it; nothing of it is computed here.

    `differences` are messages in a class that somebody has to look at, and `broken` lines of the
    once-and-only-once sheet that do not hold.
    """

    as_of: Instant | None
    about: tuple[str, ...]
    """PartyIds."""
    messages: int | None
    verdicts: dict[str, int]
    differences: int | None
    broken: int | None


class ReportFile(Word, kw_only=True):
    """One file."""

    path: str
    size_bytes: int


class Report(Word, kw_only=True):
    """One report: a file, or an evidence pack, which has several."""

    path: str
    kind: ReportKind
    written_at: Instant
    size_bytes: int
    summary: ReportSummary | None
    files: tuple[ReportFile, ...]


class PublishedSegment(Word, kw_only=True):
    """One segment of the journal in the lake."""

    first_seq: int
    last_seq: int
    size_bytes: int
    written_at: Instant


class PublishedJournal(Word, kw_only=True):
    """What of the journal is in the lake.

    `segments`, `size_bytes` and `latest` are null for a lake that is no folder of this machine.
    `published_seq` is null if nothing is published or the lake cannot be read.
    """

    lake: str
    last_seq: int
    published_seq: int | None
    segments: int | None
    size_bytes: int | None
    latest: tuple[PublishedSegment, ...] | None
    """The latest 20, the last one first."""


class ReportList(Word, kw_only=True):
    """The latest 200 reports, the last one first.

    With `trouble` the folder cannot be read, and the text says why; with `is_cut` there are more,
    or more files than are looked at.
    """

    folder: str
    trouble: str | None
    reports: tuple[Report, ...]
    is_cut: bool
    journal: PublishedJournal
