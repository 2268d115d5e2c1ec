"""Reports in the folder `reports`: which there are, what they say in numbers, and their files.

The lake's programs and people write them, under other accounts and on other machines; the gateway
only reads, and believes nothing: a summary that is not as ours are is none. Knows what files of
the lake's programs look like from outside; must not know Spark.
"""

import html
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from onceonly.api.decoding import decoded
from onceonly.api.reports import (
    PublishedJournal,
    PublishedSegment,
    Report,
    ReportFile,
    ReportKind,
    ReportSummary,
)
from onceonly.gateway.report_files import FoundFile, Look, look, opened
from onceonly.gateway.shapes import text_of
from onceonly.journal.segment import segment_name
from onceonly.message.errors import LocalError
from onceonly.message.word import Word, field

REPORTS_MAX: Final = 200
FILES_MAX: Final = 50
"""Most files of one pack that are told; Spark writes a few for each table."""
SEGMENTS_SHOWN: Final = 20
SUMMARY_BYTES_MAX: Final = 1 << 18
"""Longest JSON that is read for its numbers, and as much of a page as is read for them."""
FILE_BYTES_MAX: Final = 1 << 30
"""Longest file that is sent; a larger one is taken from the folder itself."""

_SUMMARY: Final = "summary.json"
_DIGESTS: Final = "SHA256SUMS"
_META: Final = re.compile(rb'<meta name="onceonly-report" content="([^"<>]{1,20000})">')
_SEGMENT: Final = re.compile(r"segment-(\d{20})-(\d{20})\.parquet")


_Number = Annotated[int, Meta(ge=0, le=1 << 53)]
"""As every reader of JSON has it exactly."""


class _Told(Word, kw_only=True):
    """What summaries of the lake's programs have, each of them some of it."""

    verdicts: dict[str, _Number]
    as_of: _Number | None = None
    between: tuple[str, ...] = ()
    parties: tuple[str, ...] = ()
    messages: _Number | None = None
    differences: _Number | None = None
    breaches: dict[str, _Number] = field(default_factory=dict)
    invariants: dict[str, _Number] = field(default_factory=dict)


class _Advice(Word, kw_only=True):
    """What each entry of an advice has."""

    agreement_id: str
    from_party: str
    proposed: dict[str, Any] | None


class OpenReport(Word, kw_only=True):
    """One file: its name and length, and its bytes."""

    name: str
    size_bytes: int
    pieces: Iterator[bytes]


class Reports:
    """The folder of reports, and of a local lake the segments that the gateway published."""

    def __init__(self, folder: Path, *, lake: str, party: str) -> None:
        self.folder = folder
        self._lake = lake
        self._party = party

    def find(self) -> tuple[Sequence[Report], bool]:
        """The latest reports, the last one first, and whether there are more.

        Raises `OSError` if the folder cannot be read.
        """
        found = look(self.folder)
        latest = sorted(_groups(found), key=_written_ns, reverse=True)
        reports = [self._report(one) for one in latest[:REPORTS_MAX]]
        return reports, found.is_cut or len(latest) > REPORTS_MAX

    def _report(self, files: Sequence[FoundFile]) -> Report:
        first, size_bytes = files[0], sum(one.size_bytes for one in files)
        is_pack = first.names[-1] == _SUMMARY and len(files) > 1
        kind, summary = self._told(first)
        return Report(
            path="/".join(first.names[:-1]) if is_pack else first.path,
            kind="evidence" if is_pack else kind,
            written_at=text_of(_written_ns(files) // 1_000),
            size_bytes=size_bytes,
            summary=summary,
            files=tuple(
                ReportFile(path=one.path, size_bytes=one.size_bytes) for one in files[:FILES_MAX]
            ),
        )

    def _told(self, file: FoundFile) -> tuple[ReportKind, ReportSummary | None]:
        """What a file is, as far as its name and its first bytes say so."""
        suffix = file.path.rpartition(".")[2].lower()
        if suffix not in ("html", "json"):
            return "file", None
        try:
            with opened(self.folder, file.path) as place:
                data = os.read(place, SUMMARY_BYTES_MAX)
        except OSError:
            return "file", None
        if suffix == "html":
            meta = _META.search(data)
            told = None if meta is None else _decoded(_unescaped(meta[1]), _Told)
            return ("file", None) if told is None else ("report", _summary(told))
        if _decoded(data, tuple[_Advice, ...]):
            return "advice", None
        told = _decoded(data, _Told)
        return ("file", None) if told is None else ("reconciliation", _summary(told))

    def open(self, path: str) -> OpenReport:
        """One file. Raises `LocalError` (NotFound, ReportTooLarge)."""
        try:
            with opened(self.folder, path) as place:
                size_bytes = os.fstat(place).st_size
                kept = os.dup(place)
        except OSError as error:
            text = f"there is no file {path!r} below {self.folder}"
            raise LocalError("NotFound", text) from error
        if size_bytes > FILE_BYTES_MAX:
            os.close(kept)
            text = f"{path} has {size_bytes} bytes, and at most {FILE_BYTES_MAX} are sent"
            raise LocalError("ReportTooLarge", text)
        file = os.fdopen(kept, "rb")
        name = path.rpartition("/")[2]
        return OpenReport(name=name, size_bytes=size_bytes, pieces=_pieces(file, size_bytes))

    def journal(self, *, last_seq: int, published_seq: int | None) -> PublishedJournal:
        """What of the journal is in the lake; of a lake on this machine, its segments too."""
        segments = self._segments()
        return PublishedJournal(
            lake=self._lake,
            last_seq=last_seq,
            published_seq=published_seq,
            segments=None if segments is None else len(segments),
            size_bytes=None if segments is None else sum(one.size_bytes for one in segments),
            latest=None if segments is None else tuple(segments[:SEGMENTS_SHOWN]),
        )

    def _segments(self) -> list[PublishedSegment] | None:
        """The last one first; None for a lake elsewhere."""
        if "://" in self._lake:
            return None
        folder = Path(self._lake, segment_name(self._party, 1, 1)).parent
        try:
            with os.scandir(folder) as entries:
                found = [_segment(entry) for entry in entries]
        except OSError:
            return []
        known = [one for one in found if one is not None]
        return sorted(known, key=lambda one: one.last_seq, reverse=True)


def _segment(entry: os.DirEntry[str]) -> PublishedSegment | None:
    name = _SEGMENT.fullmatch(entry.name)
    if name is None:
        return None
    found = entry.stat(follow_symlinks=False)
    return PublishedSegment(
        first_seq=int(name[1]),
        last_seq=int(name[2]),
        size_bytes=found.st_size,
        written_at=text_of(found.st_mtime_ns // 1_000),
    )


def _groups(found: Look) -> Iterator[Sequence[FoundFile]]:
    """The files of each report: those of a pack together, its summary first.

    A file is of every pack that it lies in, however deep.
    """
    by_folder: dict[tuple[str, ...], set[str]] = {}
    for one in found.files:
        by_folder.setdefault(one.names[:-1], set()).add(one.names[-1])
    packs: dict[tuple[str, ...], list[FoundFile]] = {
        names: [] for names, files in by_folder.items() if names and {_SUMMARY, _DIGESTS} <= files
    }
    for one in found.files:
        above = [
            packs[folder] for n in range(1, len(one.names)) if (folder := one.names[:n]) in packs
        ]
        for pack in above:
            pack.append(one)
        if not above:
            yield [one]
    for names, files in packs.items():
        summary = (*names, _SUMMARY)
        yield sorted(files, key=lambda one: one.names != summary)


def _written_ns(files: Sequence[FoundFile]) -> int:
    return max(one.written_ns for one in files)


def _unescaped(text: bytes) -> bytes:
    return html.unescape(text.decode("utf-8", "replace")).encode("utf-8", "replace")


def _decoded(data: bytes, kind: Any) -> Any:
    """The value of a JSON, or None where it is none of this kind."""
    try:
        return decoded(data, kind)
    except (msgspec.DecodeError, RecursionError):
        return None


def _summary(told: _Told) -> ReportSummary:
    as_of, sheet = told.as_of, told.breaches or told.invariants
    return ReportSummary(
        as_of=None if as_of is None else text_of(as_of),
        about=(told.between or told.parties)[:10],
        messages=sum(told.verdicts.values()) if told.messages is None else told.messages,
        verdicts={name: count for name, count in list(told.verdicts.items())[:50] if count},
        differences=told.differences,
        broken=sum(map(bool, sheet.values())) if sheet else None,
    )


def _pieces(file: Any, size_bytes: int) -> Iterator[bytes]:
    """As many bytes as were announced, of a file that may grow meanwhile.

    Fewer of one that becomes shorter, or that cannot be read to its end.
    """
    with file, suppress(OSError):
        while size_bytes and (piece := file.read(min(size_bytes, 1 << 16))):
            size_bytes -= len(piece)
            yield piece
