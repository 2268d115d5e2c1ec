"""`python -m bench.lake.growth`: what an ingest costs whose lake has seen very many before.

Four trials, each by name: `ingests` takes a message at a time, in one session, and sets the last
ingests beside the early ones; `segments` takes very many small segments at once and judges them;
`register` and `manifest` grow both to millions of entries without any rows. Costs are processor
time of Python, Java and its workers. Writes `build/bench-lake-growth-<trial>.json`.
"""

import argparse
import json
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from bench.lake.small_segments import PARTIES, SmallSegments
from onceonly.journal.segment import party_folder, segment_name
from onceonly.lake import jobs, manifest, schemas, storage, tiers
from onceonly.lake.ingest import neighbours, register
from onceonly.lake.ingest.change import decide
from onceonly.lake.ingest.register import KnownSegments, RegisterEntry
from onceonly.lake.ingest.segments import Look, chained, look
from onceonly.lake.manifest import Manifest, Shelf

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_AT_ONCE: Final = 8
"""So many ingests in a row are one figure: one of them merges small folders."""
_LOOKS_AT_ONCE: Final = 5_000


def ingests(work: Path, count: int) -> dict[str, Any]:
    """The first ingests of one message each, and the last ones of so many, side by side.

    Those between are written by Arrow and not by Spark, which would take an hour: the same files,
    registers and manifests, merged as an ingest merges them.
    """
    lake, made, costs, files = work / "lake", SmallSegments(), [], []
    first, last = 2 * _AT_ONCE, count - _AT_ONCE
    for number in range(1, count + 1):
        made.publish(lake, 1)
        if first < number <= last:
            _ingest_without_spark(lake)
            continue
        before, there = _processor_s(), _files(lake)
        jobs.ingest(str(lake), master="local[2]")
        costs.append(_processor_s() - before)
        files.append(_files(lake) - there)
        if number % _AT_ONCE == 0:
            _tell(f"{number}: {mean(costs[-_AT_ONCE:]):.3f} s an ingest")
    early, late = costs[_AT_ONCE:first], costs[-_AT_ONCE:]
    return {
        "ingests": count,
        "of_them_by_spark": len(costs),
        "early_s": round(mean(early), 3),
        "late_s": round(mean(late), 3),
        "late_to_early": round(mean(late) / mean(early), 3),
        "most_files_of_an_ingest": max(files),
        "folders": _folders(lake),
    }


def _folders(lake: Path) -> dict[str, dict[str, int]]:
    return {
        shelf.folder: {name: len(names) for name, names in manifest.load(shelf).products.items()}
        for shelf in manifest.shelves([str(lake)])
    }


def _ingest_without_spark(lake: Path) -> None:
    for shelf in manifest.shelves([str(lake)]):
        held = register.known(shelf)
        listed = storage.each_listed(shelf.journal)
        prefix = f"{shelf.journal.removeprefix(str(lake) + '/')}/"
        fresh = register.unseen(held, prefix, listed)
        looks = [
            look(f"{shelf.journal}/{one.name}", Look(prefix + one.name, *one[1:])) for one in fresh
        ]
        change = decide(neighbours.around(held, looks), looks)
        entry = register.write(held, change.looks)
        name = manifest.batch_name(held.manifest.batches + 1)
        rows = pa.concat_tables(
            pq.ParquetFile(f"{lake}/{one.segment}").read() for one in change.rows_of
        )
        batch = pa.array([held.manifest.batches + 1] * rows.num_rows, pa.int64())
        _put(shelf, f"journal/{name}", rows.append_column(schemas.BATCH, batch))
        [coverage, *_] = Path(shelf.root, "coverage").glob("*/*.parquet")
        _put(shelf, f"coverage/{name}", pq.ParquetFile(coverage).read())
        manifest.change(shelf, _with_batch(entry, name, rows.num_rows, time.time_ns() // 1_000))
        for product in ("journal", "coverage"):
            _merge(shelf, product)


def _merge(shelf: Shelf, product: str) -> None:
    names = tiers.due(
        manifest.load(shelf).products[product], lambda name: storage.size(f"{shelf.root}/{name}")
    )
    if names:
        files = [one for name in names for one in Path(shelf.root, name).glob("*.parquet")]
        parts = [pq.ParquetFile(file).read() for file in files]
        ranges = [found for one in names if (found := manifest.batches_in(one)) is not None]
        low, high = min(one for one, _ in ranges), max(one for _, one in ranges)
        target = f"{product}/{manifest.batch_name(low, high)}"
        _put(shelf, target, pa.concat_tables(parts, promote_options="permissive"))
        now = time.time_ns() // 1_000
        manifest.change(shelf, lambda found: found.with_folders(product, names, target, now))


def _put(shelf: Shelf, folder: str, rows: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    place = f"{shelf.root}/{folder}"
    storage.replace_bytes(f"{place}/part-00000.zstd.parquet", sink.getvalue().to_pybytes())


def _with_batch(
    entry: RegisterEntry, name: str, rows: int, now: int
) -> Callable[[Manifest], Manifest]:
    def one_more(found: Manifest) -> Manifest:
        found = found.with_folders(register.PRODUCT, entry.instead_of, entry.file, now)
        for product in ("journal", "coverage"):
            found = found.with_folders(product, (), f"{product}/{name}", now)
        ranges = manifest.joined((*found.ranges, (found.last_seq + 1, found.last_seq + rows)))
        return replace(found, batches=found.batches + 1, rows=found.rows + rows, ranges=ranges)

    return one_more


def segments(work: Path, count: int) -> dict[str, Any]:
    """So many small segments of two parties taken in at once, and judged; with what it needs."""
    lake = work / "lake"
    made_s = _timed(lambda: SmallSegments().publish(lake, count // 2))
    found: dict[str, Any] = {"segments": count, "made_s": round(made_s, 1)}
    found["segment_bytes"] = storage.size(f"{lake}/journal")
    found["ingest_s"] = round(_timed(lambda: jobs.ingest(str(lake), master="local[2]")), 1)
    found["lake_bytes"] = storage.size(f"{lake}/ingested")
    found["nothing_new_s"] = round(_timed(lambda: jobs.ingest(str(lake))), 1)
    told: list[Any] = []
    found["verdicts_s"] = round(_timed(lambda: told.append(jobs.reconcile(str(lake)))), 1)
    found["verdicts"] = {name: n for name, n in told[0].verdicts.items() if n}
    found["folders"] = _folders(lake)
    return {**found, **_memory()}


def register_of(work: Path, count: int) -> dict[str, Any]:
    """A register with looks at so many segments, and the last 10,000 as ingests of 500 add them."""
    shelf = Shelf(str(work), party_folder(PARTIES[0]))
    began = time.perf_counter()
    for start in range(0, count - 10_000, _LOOKS_AT_ONCE):
        looks = [_look(number) for number in range(start, start + _LOOKS_AT_ONCE)]
        _register(KnownSegments(shelf, manifest.load(shelf), {}), looks)
        if start % (100 * _LOOKS_AT_ONCE) == 0:
            _tell(f"{start}")
    last = []
    for start in range(count - 10_000, count, 500):
        looks = [_look(number) for number in range(start, start + 500)]
        last.append(_timed(lambda looks=looks: _publish(shelf, looks)))
    grown_s, memory = time.perf_counter() - began, _memory()
    found: list[Any] = []
    open_s = _timed(lambda: found.append(register.known(shelf)))
    [held] = found
    next_one, amidst = [_look(count)], [_look(count // 2)]
    decide_s = _timed(lambda: decide(neighbours.around(held, next_one), next_one))
    again_s = _timed(lambda: decide(neighbours.around(held, amidst), amidst))
    tail_s = _timed(lambda: neighbours.tail(held))
    memory_before_list = _memory()
    listed = (
        storage.Listed(one.segment.rpartition("/")[2], one.length, one.modified_at)
        for one in map(_look, range(count))
    )
    prefix = _look(0).segment.rpartition("/")[0] + "/"
    unseen_s = _timed(lambda: found.append(register.unseen(held, prefix, listed)))
    assert found[1] == []
    return {
        "segments": count,
        "grown_s": round(grown_s, 1),
        "append_of_500_s": round(mean(last), 4),
        "memory_after_growing": memory,
        "files": len(held.manifest.products[register.PRODUCT]),
        "bytes": storage.size(shelf.root),
        "open_s": round(open_s, 4),
        "next_segment_s": round(decide_s, 4),
        "segment_amidst_s": round(again_s, 4),
        "tail_s": round(tail_s, 4),
        "memory_before_list": memory_before_list,
        "compared_with_list_s": round(unseen_s, 2),
        **_memory(),
    }


def manifest_of(work: Path, count: int) -> dict[str, Any]:
    """A manifest after so many changes, each of one batch, with its folders merged as they come."""
    shelf = Shelf(str(work), party_folder(PARTIES[0]))
    skipped = max(0, count - 20_000)
    # A log of millions takes hours of syncs: the state before the last changes is set at once.
    manifest.publish(shelf, Manifest(batches=skipped, rows=skipped, ranges=((1, max(1, skipped)),)))
    last: list[float] = []
    for number in range(skipped, count):
        last = [*last[-999:], _timed(lambda number=number: manifest.change(shelf, _grown(number)))]
    open_s = _timed(lambda: manifest.load(shelf))
    names = [f"{number}" for number in range(count)]
    wide = replace(manifest.load(shelf), products={"journal": tuple(names)})
    wide_publish_s = _timed(lambda: manifest.publish(shelf, wide))
    wide_append_s = _timed(lambda: manifest.change(shelf, _grown(count)))
    wide_open_s = _timed(lambda: manifest.load(shelf))
    return {
        "changes": count,
        "of_them_one_by_one": count - skipped,
        "append_s": round(mean(last), 5),
        "open_s": round(open_s, 5),
        "folders_if_none_was_merged": count,
        "publish_such_s": round(wide_publish_s, 2),
        "append_to_such_s": round(wide_append_s, 2),
        "open_such_s": round(wide_open_s, 2),
        **_memory(),
    }


def _grown(number: int) -> Callable[[Manifest], Manifest]:
    def one_more(found: Manifest) -> Manifest:
        there = found.products.get("journal", ())
        gone = there[-8:] if number % 8 == 7 and len(there) < 1_000 else ()
        found = found.with_folders("journal", gone, f"journal/batch-{number}", number)
        found = found.without_retired(number - 1_000)
        rows = found.rows + 1
        return replace(found, batches=found.batches + 1, rows=rows, ranges=((1, rows),))

    return one_more


def _publish(shelf: Shelf, looks: list[Look]) -> None:
    held = KnownSegments(shelf, manifest.load(shelf), {})
    _register(held, decide(neighbours.around(held, looks), looks).looks)


def _register(held: KnownSegments, looks: Sequence[Look]) -> None:
    entry = register.write(held, looks)
    manifest.change(
        held.shelf,
        # As if a day had gone by, so that what was merged is not named any more.
        lambda known: known.with_folders(
            register.PRODUCT, entry.instead_of, entry.file, 0
        ).without_retired(1),
    )
    for name in entry.instead_of:
        storage.remove(f"{held.shelf.root}/{name}")


def _look(number: int) -> Look:
    first, last = number * 4 + 1, number * 4 + 4
    name, head = segment_name(PARTIES[0], first, last), f"1:{number}|" + "x" * 300
    return Look(
        str(name),
        length=9_000 + number % 100,
        modified_at=1_760_000_000_000 + number,
        first_seq=first,
        last_seq=last,
        party=PARTIES[0],
        schema_version=1,
        head=head,
        head_hash=chained(f"{number:064x}", head),
        tail_hash=f"{number + 1:064x}",
    )


def _files(lake: Path) -> int:
    """Most files of any party's share of a lake."""
    roots = list((lake / "ingested").glob("party=*"))
    return max((sum(len(names) for _, _, names in os.walk(root)) for root in roots), default=0)


def _processor_s() -> float:
    """Of this process and everything that it has started."""
    parents, times = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                told = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(told[1])
            times[int(folder.name)] = sum(map(int, told[11:15])) / _TICKS
    ours = {os.getpid()}
    while more := {one for one, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(times.get(one, 0.0) for one in ours)


def _memory() -> dict[str, int]:
    """Megabytes: the most that Python had, and what Java's heap holds after a collection."""
    found = {"python_most_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}
    spark = sys.modules.get("pyspark.sql") and _session()
    if spark is not None:
        java: Any = spark.sparkContext._jvm.java.lang  # noqa: SLF001 - because Spark has no public way to ask
        java.System.gc()
        runtime = java.Runtime.getRuntime()
        found["java_heap_mb"] = (runtime.totalMemory() - runtime.freeMemory()) >> 20
        found["java_heap_most_mb"] = runtime.totalMemory() >> 20
    return found


def _session() -> Any:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - because two of the trials need no Spark

    return SparkSession.getActiveSession()


def _timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _tell(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


TRIALS: Final[dict[str, tuple[Callable[[Path, int], dict[str, Any]], int]]] = {
    "ingests": (ingests, 1_000),
    "segments": (segments, 100_000),
    "register": (register_of, 5_000_000),
    "manifest": (manifest_of, 5_000_000),
}


def main() -> None:
    """One trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trial", choices=list(TRIALS))
    parser.add_argument("--count", type=int, help="by default the trial's own")
    parser.add_argument("--work", type=Path, default=Path("build/lake-growth"))
    given = parser.parse_args()
    trial, count = TRIALS[given.trial]
    work = given.work / given.trial
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        found = trial(work.absolute(), given.count or count)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    Path("build").mkdir(exist_ok=True)
    Path(f"build/bench-lake-growth-{given.trial}.json").write_text(json.dumps(found, indent=1))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
