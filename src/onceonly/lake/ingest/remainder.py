"""Finds, in the lake's own rows, those of segments that counted before and still count.

A lake takes a segment's rows from its file once. If the file is edited, cut or removed later, this
changes nothing: where all rows are written again, those that stay come from the lake's own journal.
They are found by their numbers. If a segment that goes has the same numbers, the chain is followed
back from the last hash of the segment that stays. This is not possible for a segment with other
columns than ours: then all rows with its numbers stay, and two rows with one number are reported as
a fork.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import hash_chain, manifest
from onceonly.lake.expressions import never
from onceonly.lake.ingest import segments
from onceonly.lake.ingest.segments import Look

_TRACED: Final = "seq bigint, chain_hash string, content_hash string"


def rows(journal: DataFrame, kept: Sequence[Look], dropped: Sequence[Look]) -> DataFrame:
    """The rows of `kept` in the journal of one party in a lake, and none only of `dropped`."""
    found = journal.where(_within(kept))
    shared = [one for one in kept if any(_overlap(one, other) for other in dropped)]
    plain = [one for one in shared if one.is_plain]
    if not plain:
        return found
    is_doubtful = _within(dropped) & ~_within(one for one in shared if not one.is_plain)
    traced = [row for one in plain for row in _traced(journal, one)]
    right = journal.sparkSession.createDataFrame(traced, _TRACED)
    told = hash_chain.with_content(found.where(is_doubtful)).join(right, right.columns, "left_semi")
    return found.where(~is_doubtful).unionByName(told.select(*journal.columns))


def _overlap(one: Look, other: Look) -> bool:
    return one.first_seq <= other.last_seq and other.first_seq <= one.last_seq


def _within(looks: Iterable[Look]) -> Column:
    ranges = manifest.joined((one.first_seq, one.last_seq) for one in looks)
    found = [F.col("seq").between(low, high) for low, high in ranges]
    return reduce(Column.__or__, found, never())


def _traced(journal: DataFrame, one: Look) -> list[tuple[int, str, str]]:
    """Number, hash and content of the segment's rows, back from its last hash."""
    there = _by_number(journal.where(_within([one])))
    found, wanted = [], one.tail_hash or ""
    for seq in range(one.last_seq, one.first_seq, -1):
        text, before = next(
            (text, before)
            for claimed, text in there[seq]
            for before, _ in there[seq - 1]
            if claimed == wanted == segments.chained(before, text)
        )
        found.append((seq, wanted, segments.chained("", text)))
        wanted = before
    return [*found, (one.first_seq, wanted, segments.chained("", one.head or ""))]


def _by_number(rows: DataFrame) -> dict[int, list[tuple[str, str]]]:
    """Hash and text of the rows of each number."""
    found = defaultdict(list)
    for batch in rows.toArrow().to_batches():
        seqs, hashes = (batch.column(name).to_pylist() for name in ("seq", "chain_hash"))
        for seq, claimed, text in zip(seqs, hashes, segments.texts(batch), strict=True):
            found[seq].append((claimed, text))
    return found
