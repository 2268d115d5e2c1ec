"""One look at one segment: whether it is what its name says, and whole (invariant E3).

A segment comes from another machine, perhaps from another company: it may be cut short, damaged,
edited, or not a segment at all. Whatever is wrong with it is said in `Look.fault`, in words for
people; nothing is ever raised for it. Needs nothing of this package but `storage` and constants,
so that Spark's workers can be given it by value.

A look may also be *disturbed*, by a storage that does not answer or by whoever kills the reader.
That says nothing of the segment, and must not be remembered of it.

The chain is computed over the columns that the segment itself has, in their order, up to the hash;
of a row of an older schema version over those that its version had (`journal.record.chain`). So a
segment with columns that this version does not know is verified like any other, and one in which
the journal changed its version on both sides of the change. Only its first row cannot be: the row
before it lies in another segment (`seams`).
"""

import faulthandler
import json
import os
import re
import resource
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from onceonly.journal.record import CHAIN_START, SCHEMA_VERSION, chained_columns
from onceonly.journal.segment import SEGMENT_SCHEMA
from onceonly.lake import storage

NAME: Final = re.compile(r"segment-(\d{20})-(\d{20})\.parquet")
ROWS_AT_ONCE: Final = 16_384
"""Rows of one step through a segment: some ten megabytes, however large the file is."""
FIELD_BYTES_MAX: Final = 1 << 20
"""Longest text of a row. Names, addresses and reasons are far shorter; more is an attack."""
FAULT_CHARS_MAX: Final = 200
"""Longest fault: a line."""
CPU_S_MAX: Final = 600
"""Longest work of one process that looks; whole segments take a second or less each."""
BYTES_AT_ONCE: Final = 256 << 20
"""Most text of one step; a gateway's rows take some ten megabytes."""
SEGMENT_BYTES_MAX: Final = 1 << 30
"""Most bytes of uncompressed pages; a gateway closes its segments at some twenty megabytes."""

OF_THE_BYTES: Final = frozenset(
    {
        *(signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE),
        *(signal.SIGTRAP, signal.SIGSYS, signal.SIGXCPU),
    }
)
"""Signals that a reading process gets because of what it reads. Every other signal comes from
outside: from a system without memory, an operator, a machine that goes down."""

SEQ_MAX: Final = 1 << 53
"""Greatest row number: every reader of JSON has it exactly, and what is added to it still fits
into 64 bits. A gateway that writes a million rows a second comes there after 285 years."""
AT_MAX: Final = 7_258_118_400_000_000
"""Latest instant of a row, in microseconds UTC: the year 2200. Spans between two such instants, and
sums of many, fit into 64 bits; one row of a stranger with more would end everybody's report."""
BOUNDS: Final = {
    "at": (0, AT_MAX),
    "monotonic_ns": (0, (1 << 63) - 1),
    "size_bytes": (0, 1 << 40),
    "seq": (1, SEQ_MAX),
}
"""Least and greatest of a column: no arithmetic on what is between them overflows."""
BOUNDS_OF_OTHERS: Final = (-(1 << 53), 1 << 53)
"""Of every other number that this version knows."""

_DISTURBED: Final = "disturbed: "
_UNREADY: Final = 3
"""Exit code of a process that checked no segment at all."""
_HASH: Final = "chain_hash"
_KNOWN: Final = {field.name: field.type for field in SEGMENT_SCHEMA}
_ALWAYS: Final = [field.name for field in SEGMENT_SCHEMA if not field.nullable]
_OWN: Final = {
    version: frozenset(chained_columns(version)) for version in range(1, SCHEMA_VERSION + 1)
}
"""The columns under the hash of a row, by its schema version."""
_CHAINABLE: Final = (pa.int64(), pa.utf8())
"""Types whose text is the same for every program."""
_CODECS: Final = frozenset({"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4", "LZ4_RAW"})
"""What Spark reads without further jars."""
_HEXADECIMAL: Final = re.compile(r"[0-9a-f]{64}")


class Look(NamedTuple):
    """What one look at a segment found."""

    segment: str
    """Relative to the lake, or a URL or path where it lies outside."""
    length: int = 0
    modified_at: int = 0
    """Milliseconds UTC; with `length`, what the file was like."""
    first_seq: int = 0
    last_seq: int = 0
    """The first row number, from the name."""
    party: str | None = None
    """Whose journal it is of."""
    schema_version: int | None = None
    """The greatest schema version of its rows."""
    unknown_columns: str = ""
    """Columns that this version does not know, with commas between; they are left out."""
    is_plain: bool = True
    """Whether it has the columns of its rows' version and no others, all of them known here, so
    that its rows as they stand in the lake give their hashes."""
    head: str | None = None
    """The first row as the text under its hash, without what comes before it."""
    head_hash: str | None = None
    tail_hash: str | None = None
    bad_seq: int | None = None
    """The first row that cannot be right."""
    fault: str | None = None
    """Why none of its rows count; None where all may."""

    @property
    def rows(self) -> int:
        """How many rows are in a whole segment."""
        return self.last_seq - self.first_seq + 1

    @property
    def content(self) -> tuple[int, int, str | None, str | None]:
        """Equal for two whole segments with the same rows: each hash covers every row before it.

        The hash of the first row covers a row that is not there, so it is included itself.
        """
        return self.first_seq, self.last_seq, self.head, self.tail_hash

    @property
    def mark(self) -> str:
        """The content as one hash."""
        return sha256(repr(self.content).encode()).hexdigest()

    @property
    def is_disturbed(self) -> bool:
        """Whether nothing was found: the storage or the machine ended the look, not the bytes."""
        return (self.fault or "").startswith(_DISTURBED)

    def is_followed_by(self, other: "Look") -> bool:
        """Whether the first row of `other` is the one after the last row of this segment."""
        return chained(self.tail_hash or "", other.head or "") == other.head_hash


_ARROW_TYPES: Final = {"bigint": pa.int64(), "boolean": pa.bool_(), "string": pa.utf8()}
_NUMBERS: Final = frozenset(
    {"length", "modified_at", "first_seq", "last_seq", "schema_version", "bad_seq"}
)
_FLAGS: Final = frozenset({"is_plain"})
TYPES: Final = {
    name: "bigint" if name in _NUMBERS else "boolean" if name in _FLAGS else "string"
    for name in Look._fields
}
"""Spark's types of a `Look`."""
ROW: Final = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
"""`Look` as Spark declares it."""
SCHEMA: Final = pa.schema([pa.field(name, _ARROW_TYPES[kind]) for name, kind in TYPES.items()])
"""`Look` in Arrow's types."""


class FaultError(Exception):
    """Why no row of the segment counts."""

    def __init__(self, text: str, bad_seq: int | None = None) -> None:
        super().__init__(_line(text))
        self.bad_seq = bad_seq


def to_table(looks: list[Look]) -> pa.Table:
    """The looks as columns."""
    return pa.Table.from_pylist([one._asdict() for one in looks], schema=SCHEMA)


def look_at_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """From `url` and an empty `Look` to what was found; Spark's workers run this."""
    for batch in batches:
        asked = [(row.pop("url"), Look(**row)) for row in batch.to_pylist()]
        yield from to_table(look_apart(asked)).to_batches()


def look_apart(asked: list[tuple[str, Look]]) -> list[Look]:
    """Look at segments in a process of their own.

    Arrow ends its process on some damaged files. Whoever sent one would stop the ingest for good,
    batch after batch; so the process that ends is not the worker, and the file is named.
    """
    found: list[Look] = []
    while len(found) < len(asked):
        some, fault = apart(lambda one: look(*one), asked[len(found) :])
        found += [Look(*one) for one in some]
        if len(found) < len(asked):
            found.append(asked[len(found)][1]._replace(fault=fault))
    return found


def apart(ask: Callable[[Any], Any], asked: Sequence[Any]) -> tuple[list[Any], str]:
    """The answers of `ask` in a child process, as many as it gave, and what ended it.

    What is said is JSON. The child has as much time as whole files take.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _be_the_child(ask, asked, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as source:
        said = source.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    lines = said.split(b"\n")[:-1]
    fault = "unreadable: it ends the process that reads it"
    if code == _UNREADY:
        fault = f"{_DISTURBED}no process could be made ready to read it"
    elif code < 0 and -code not in OF_THE_BYTES:
        fault = f"{_DISTURBED}{signal.strsignal(-code)} of the process that reads it"
    return [json.loads(line) for line in lines], fault


def _be_the_child(ask: Callable[[Any], Any], asked: Sequence[Any], writer: int) -> None:
    code = _UNREADY
    try:
        _limit_its_time()
        # What it says of its end is of no use to anybody.
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        code = 0
        with os.fdopen(writer, "wb") as sink:
            for one in asked:
                sink.write(json.dumps(ask(one)).encode() + b"\n")
                sink.flush()
    finally:
        # Not a thing of the worker's may be ended twice.
        os._exit(code)


def _limit_its_time() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    # At the hard limit it would be killed as if from outside, and beyond it none may be set.
    most = CPU_S_MAX if hard == resource.RLIM_INFINITY else min(CPU_S_MAX, max(1, hard - 1))
    resource.setrlimit(resource.RLIMIT_CPU, (most, hard))


def look(url: str, asked: Look) -> Look:
    """Read the whole segment once; `asked` has its name."""
    found, source = asked, None
    try:
        first, last = _numbers(url)
        found = found._replace(first_seq=first, last_seq=last)
        with closing(_Source(url)) as source:
            return _read(pa.PythonFile(source, mode="r"), found)
    except FaultError as fault:
        return found._replace(fault=str(fault), bad_seq=fault.bad_seq)
    except (OSError, ImportError, ValueError, pa.ArrowException) as error:
        if source is None or source.has_failed:
            return found._replace(fault=f"{_DISTURBED}{_line(error)}")
        return found._replace(fault=f"unreadable: {_line(error)}", bad_seq=found.first_seq or None)


class _Source:
    """A segment's bytes. Arrow's word for a bad disk and for bad bytes is the same: `OSError`."""

    closed = False

    def __init__(self, url: str) -> None:
        files, path = storage.opened(url)
        self._file = files.open_input_file(path)
        self.has_failed = False

    def read(self, size: int) -> Any:
        try:
            return self._file.read(size)
        except OSError:
            self.has_failed = True
            raise

    def seek(self, offset: int, whence: int = 0) -> Any:
        return self._file.seek(offset, whence)

    def tell(self) -> Any:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()


def _line(error: Exception | str) -> str:
    """The text in one line, since names of columns and parties come from strangers."""
    return "".join(c if c.isprintable() else "?" for c in str(error))[:FAULT_CHARS_MAX]


def _numbers(url: str) -> tuple[int, int]:
    name = url.rpartition("/")[2]
    found = NAME.fullmatch(name)
    if found is None:
        raise FaultError("misnamed: it is not called as a segment is")
    first, last = int(found[1]), int(found[2])
    if not 0 < first <= last <= SEQ_MAX:
        raise FaultError(f"misnamed: no journal rows are numbered {first} to {last}")
    return first, last


def _read(source: Any, found: Look) -> Look:
    parquet = pq.ParquetFile(source, pre_buffer=False)
    names = parquet.schema_arrow.names
    _check_columns(parquet.schema_arrow)
    check_size(parquet)
    texts = [field.name for field in parquet.schema_arrow if field.type != pa.int64()]
    # In this thread and no other: a worker ends while other threads still hold the file.
    parquet = pq.ParquetFile(source, pre_buffer=False, read_dictionary=texts)
    found = found._replace(unknown_columns=",".join(name for name in names if name not in _KNOWN))
    expected_seq, version = found.first_seq, 0
    for batch in parquet.iter_batches(ROWS_AT_ONCE, use_threads=False):
        check_lengths(batch, expected_seq)
        found = found._replace(party=_check_rows(batch, expected_seq, found.party))
        version = max(version, pc.max(batch.column("schema_version")).as_py() or 0)
        found = _check_chain(batch, expected_seq, found)
        expected_seq += batch.num_rows
    if expected_seq <= found.last_seq:
        raise FaultError(f"cut short: its rows end at {expected_seq - 1}", expected_seq)
    if expected_seq > found.last_seq + 1:
        after = found.last_seq + 1
        raise FaultError(f"misnumbered: row {after} stands after the last of its name", after)
    return found._replace(
        schema_version=version or SCHEMA_VERSION,
        is_plain=not found.unknown_columns
        and _OWN.get(version, _OWN[SCHEMA_VERSION]).issubset(names),
    )


def _check_columns(schema: pa.Schema) -> None:
    missing = [name for name in _ALWAYS if name not in schema.names]
    if missing:
        raise FaultError(f"no journal: it lacks {', '.join(missing)}")
    known = [name for name in schema.names if name in _KNOWN]
    unknown = [name for name in schema.names if name not in _KNOWN]
    # The chain is over what is in the columns, not over their names: no name may be exchanged.
    if known != [name for name in _KNOWN if name in known]:
        raise FaultError("no journal: its columns are not in their order")
    if unknown and len(known) < len(_KNOWN):
        gone = next(name for name in _KNOWN if name not in known)
        raise FaultError(f"no journal: it has {unknown[0]} and lacks {gone}")
    # Spark does not tell capitals apart in the names of columns.
    folded = [name.lower() for name in schema.names]
    if len(set(folded)) != len(folded):
        raise FaultError("no journal: two of its columns have one name")
    for field in schema:
        of = pa.utf8() if field.type == pa.large_utf8() else field.type
        if field.name.lower() in _KNOWN and of != _KNOWN.get(field.name):
            raise FaultError(
                f"no journal: {field.name} is {field.type} and not {_KNOWN[field.name.lower()]}"
            )
        if of not in _CHAINABLE:
            # What a stranger called his column must not begin a fault: it might say "disturbed".
            raise FaultError(
                f"no journal: {field.name} is {field.type}, which no chain of this version covers"
            )


def check_size(parquet: pq.ParquetFile) -> None:
    """Raises `FaultError` where the pages of a file are no segment's."""
    metadata = parquet.metadata
    size = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            size += column.total_uncompressed_size
            if column.compression not in _CODECS:
                raise FaultError(f"compressed by {column.compression}, which Spark cannot read")
    if size > SEGMENT_BYTES_MAX:
        raise FaultError(f"no journal: {size} bytes of pages are no segment of a gateway")


def check_lengths(batch: pa.RecordBatch, first_seq: int) -> None:
    """A dictionary says much with few bytes: it is measured before its texts are written out.

    Raises `FaultError`.
    """
    size = 0
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if not pa.types.is_dictionary(column.type):
            continue
        lengths = pc.binary_length(column.dictionary).take(column.indices)
        if (pc.max(lengths).as_py() or 0) > FIELD_BYTES_MAX:
            at = pc.index(pc.greater(lengths, FIELD_BYTES_MAX), value=True).as_py()
            raise FaultError(
                f"no journal: {name} is longer than {FIELD_BYTES_MAX} bytes", first_seq + at
            )
        size += pc.sum(lengths).as_py() or 0
    if size > BYTES_AT_ONCE:
        raise FaultError("no journal: its rows are far larger than any row", first_seq)


def _check_rows(batch: pa.RecordBatch, first_seq: int, party: str | None) -> str | None:
    for name in _ALWAYS:
        if batch.column(name).null_count:
            at = pc.index(batch.column(name).is_null(), value=True).as_py()
            raise FaultError(f"no journal: a row lacks its {name}", first_seq + at)
    expected = pa.array(range(first_seq, first_seq + batch.num_rows), pa.int64())
    wrong = pc.index(pc.equal(batch.column("seq"), expected), value=False).as_py()
    if wrong >= 0:
        seq, right = batch.column("seq")[wrong].as_py(), first_seq + wrong
        raise FaultError(f"misnumbered: row {seq} stands where {right} belongs", right)
    check_bounds(batch, first_seq)
    holders = batch.column("party").dictionary_decode()
    party = holders[0].as_py() if party is None else party
    other = pc.index(pc.equal(holders, party), value=False).as_py()
    if other >= 0:
        raise FaultError(f"mixed: a row is of another party than {party}", first_seq + other)
    return party


def check_bounds(batch: pa.RecordBatch, first_seq: int) -> None:
    """Raises `FaultError` for a number that no row has."""
    for field in batch.schema:
        if field.type != pa.int64() or field.name not in _KNOWN:
            continue
        low, high = BOUNDS.get(field.name, BOUNDS_OF_OTHERS)
        values = batch.column(field.name)
        is_outside = pc.or_(pc.less(values, low), pc.greater(values, high))
        at = pc.index(is_outside, value=True).as_py()
        if at >= 0:
            raise FaultError(
                f"no journal: {field.name} is {values[at].as_py()}, and no row has that",
                first_seq + at,
            )


def _check_chain(batch: pa.RecordBatch, first_seq: int, found: Look) -> Look:
    previous = found.tail_hash or (CHAIN_START if first_seq == 1 else None)
    hashes = batch.column(_HASH).to_pylist()
    rows = texts(batch)
    for seq, (text, claimed) in enumerate(zip(rows, hashes, strict=True), first_seq):
        if previous is None:
            is_right = _HEXADECIMAL.fullmatch(claimed) is not None
        else:
            is_right = chained(previous, text) == claimed
        if not is_right:
            raise FaultError(f"edited: row {seq} does not give its hash", seq)
        previous = claimed
    if found.head is None and rows:
        found = found._replace(head=rows[0], head_hash=hashes[0])
    return found._replace(tail_hash=previous)


def texts(batch: pa.RecordBatch) -> list[str]:
    """Every row as the text under its hash, without the hash before it."""
    if not batch.num_rows:
        return []
    names = [name for name in batch.schema.names if name != _HASH]
    columns = {name: _chainable(batch.column(name)) for name in names}
    found = pc.binary_join_element_wise(*columns.values(), "|")
    versions = batch.column("schema_version")
    for version, own in _OWN.items():
        younger = [name for name in names if name not in own]
        is_of_it = pc.equal(versions, version)
        if younger and pc.any(is_of_it).as_py():
            # What stands in a column that its version does not have is under no hash of its own.
            for name in younger:
                is_of_it = pc.and_(is_of_it, batch.column(name).is_null())
            parts = [columns[name] for name in names if name in own]
            found = pc.if_else(is_of_it, pc.binary_join_element_wise(*parts, "|"), found)
    rows: list[str] = found.to_pylist()
    return rows


def _chainable(column: pa.Array) -> pa.Array:
    if column.null_count == len(column):
        return pa.scalar("~")
    if pa.types.is_dictionary(column.type):
        parts = _prefixed(column.dictionary.cast(pa.utf8())).take(column.indices)
    else:
        parts = _prefixed(column.cast(pa.utf8()))
    return pc.fill_null(parts, "~") if parts.null_count else parts


def _prefixed(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(pc.utf8_length(texts).cast(pa.utf8()), texts, ":")


def chained(previous: str, text: str) -> str:
    """The hash of a row by its text, after the hash of the row before."""
    return sha256(f"{previous}|{text}".encode()).hexdigest()
