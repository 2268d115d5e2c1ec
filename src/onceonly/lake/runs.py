"""Sets of tables: what one run of `reconcile` wrote, published all at once by one small file.

A run writes each table under a folder of its own, then its manifest `runs/<id>.json`, and at last
replaces `runs/current.json`, which names the run. Readers find the set of before or the new one,
each of them whole, whoever is killed when. The manifest also holds the mark of the evidence: how
far each journal went. Knows names and numbers, and no Spark.
"""

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from onceonly.lake import manifest, storage
from onceonly.lake.formats import TableFormat
from onceonly.lake.manifest import Manifest, Range
from onceonly.lake.wholeness import Tail, Wholeness
from onceonly.message.errors import LocalError

RUNS_FOLDER: Final = "runs"
"""Folder of a lake directory with the manifests of runs."""
TABLES_FOLDER: Final = "tables"
"""Folder of a lake directory with the tables of all runs: `tables/<name>/<folder of a run>`."""
PARTIALS_FOLDER: Final = "partials"
"""Folder of a lake directory with what some tables are summed up from, laid out as `tables`."""
DELTA_FOLDER: Final = "delta"
"""Folder of a lake directory with the tables that are kept as Delta: `delta/<name>`."""
VERSION: Final = 1
KEEP_S: Final = 86_400.0
"""How long the tables of a set stay after another one took its place: longer than any job may
read them."""
KEEP_RUNS: Final = 100
"""This many manifests stay when their tables are gone, since they say how far the evidence went."""

_CURRENT: Final = "current"
_ID: Final = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}")
_OF_A_TABLE: Final = frozenset({"_SUCCESS", "._SUCCESS.crc", "_temporary"})
_PARTS: Final = ("part-", ".part-")
_FOLDER: Final = re.compile(r"[0-9a-f]{16}")


class Mark(NamedTuple):
    """How far one lake's copy of a party's journal went when a run read it."""

    lake: str
    """As the run was given it: a path or URL."""
    folder: str
    """`party=<quoted>`."""
    batches: int
    """The number of the last batch that was in."""
    rows: int
    ranges: tuple[Range, ...]
    """Row numbers that were in: in order, and apart."""
    forks: int
    """Rows with a number that another row has too."""
    first_fork: int | None
    tail: Tail | None
    """Number and chain hash of the last row; None where no segment counted."""


def mark(lake: str, folder: str, known: Manifest, tail: Tail | None) -> Mark:
    """The mark of what a party's manifest says, whose last row is `tail`."""
    return Mark(
        lake,
        folder,
        known.batches,
        known.rows,
        known.ranges,
        known.forks,
        known.first_fork,
        tail,
    )


class Written(NamedTuple):
    """One table of a run, where it is and as what."""

    name: str
    table_format: TableFormat
    columns: tuple[tuple[str, str], ...]
    """Name and Spark's type of each, in their order."""
    folders: tuple[str, ...] = ()
    """For plain: the folders whose Parquet files are the table, relative to the lake. A later run
    may name folders that an earlier one wrote."""
    place: str = ""
    """For Delta: its folder, relative to the lake. For Iceberg: its name in the catalog."""
    version: int | None = None
    """For Delta: the version; for Iceberg: the snapshot. It holds the rows of this run."""
    days: Mapping[str, str] = MappingProxyType({})
    """By day, where its files are of one day each and begin with it: what they were made of. Of a
    partial also by stretches, as in `0-4 urn:duns:111111111`."""


@dataclass(frozen=True, slots=True)
class LakeRun:
    """One run of `reconcile`: what it judged by, and the tables that it wrote."""

    lake: str
    """The first of the lakes: its tables are there."""
    id: str
    as_of: int
    """The instant of judgement, in microseconds UTC."""
    policy: Mapping[str, int | None]
    """The fields of `verdicts.Policy`; durations in microseconds."""
    lakes: tuple[str, ...]
    """All whose journals were judged."""
    marks: tuple[Mark, ...]
    """How far their journals went: one of each party in each lake."""
    until: int | None = None
    """Rows that are later than this did not count, microseconds UTC; None: every row did."""
    wholeness: tuple[Wholeness, ...] = ()
    """Whether the journals were whole: one for each party."""
    verdicts: Mapping[str, int] = field(default_factory=dict)
    """Messages per class."""
    differences: int = 0
    """Messages in a class that somebody has to look at."""
    broken: tuple[str, ...] = ()
    """Lines of the once-and-only-once sheet that did not hold."""
    tables: Mapping[str, Written] = field(default_factory=dict)
    partials: Mapping[str, Written] = field(default_factory=dict)
    """What some of the tables are summed up from; nobody's but the next run's and a page's."""
    made_by: str = ""
    """Mark of the code that made the tables; empty in runs of versions that did not note it."""
    published_at: int = 0
    """Microseconds UTC."""

    def table(self, name: str) -> Written:
        """The table of that name. Raises `LocalError` (NoTable) where the run did not write it."""
        found = self.tables.get(name)
        if found is not None:
            return found
        others = [one.id for one in listed(self.lake) if name in one.tables]
        has = f"the last run that wrote it is {others[0]}" if others else "no run that is kept did"
        raise LocalError("NoTable", f"run {self.id} of {self.lake} did not write {name}; {has}")

    def place(self, name: str) -> str:
        """Where a table is: a folder with what is of it, or its name in a catalog."""
        found = self.table(name)
        if found.table_format is TableFormat.ICEBERG:
            return found.place
        if found.table_format is TableFormat.PLAIN and len(found.folders) == 1:
            return f"{self.lake}/{found.folders[0]}"
        return f"{self.lake}/{found.place or f'{TABLES_FOLDER}/{name}'}"

    def paths(self, name: str) -> list[str]:
        """The folders of a plain table, each a path or URL, for whatever reads Parquet.

        Raises `LocalError`: NoTable where the run did not write it or its folders were removed
        since; BadTarget where it is no plain table.
        """
        found = self.table(name)
        if found.table_format is not TableFormat.PLAIN:
            text = f"{name} of run {self.id} is a {found.table_format} table, and no plain folder"
            raise LocalError("BadTarget", text)
        paths = [f"{self.lake}/{folder}" for folder in found.folders]
        if not all(map(storage.is_folder, paths)):
            text = f"the folders of {name} of run {self.id} were removed after a newer run"
            raise LocalError("NoTable", f"{text}: judge again as of {self.as_of}, or keep a copy")
        return paths


def fresh_id() -> str:
    """A name for a run, that sorts by the time of its start."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{manifest.fresh_name()[:8]}"


def fresh_folder(name: str, under: str = TABLES_FOLDER) -> str:
    """A folder for a table or partial, relative to the lake, that never was there before."""
    return f"{under}/{name}/{manifest.fresh_name()}"


def delta_folder(name: str) -> str:
    """Where a table is kept as Delta, relative to the lake; each run is a version of it."""
    return f"{DELTA_FOLDER}/{name}"


def is_of_a_run(name: str) -> bool:
    """Whether a folder in `tables/<name>` is called as those of runs are."""
    return _FOLDER.fullmatch(name) is not None


def is_of_a_table(name: str) -> bool:
    """Whether Spark leaves a file or folder of that name in a table that is plain Parquet.

    Versions before runs had such a table in `tables/<name>` itself.
    """
    return name in _OF_A_TABLE or name.startswith(_PARTS)


def current(lake: str) -> LakeRun:
    """The run whose tables count now.

    Raises `LocalError`: NoRun where none was published; NoLake, NewerLake, BadManifest.
    """
    lake = storage.lake_url(lake)
    found = current_id(lake)
    if found is None:
        manifest.require_lake(lake)
        text = f"no run of reconcile has published tables in {lake}"
        raise LocalError("NoRun", f"{text}: onceonly lake reconcile {lake}")
    return load(lake, found)


def load(lake: str, run_id: str) -> LakeRun:
    """The run of that id, current or not.

    Raises `LocalError`: NoRun where there is none; NoLake, NewerLake, BadManifest.
    """
    lake = storage.lake_url(lake)
    name = _file(lake, run_id)
    content = storage.read_bytes(name) if _ID.fullmatch(run_id) else None
    if content is None:
        manifest.require_lake(lake)
        raise LocalError("NoRun", f"{lake} has no run {run_id}: see onceonly lake runs {lake}")
    return _of_json(lake, content, name)


def find(lake: str, run_id: str | None) -> LakeRun:
    """The run of that id, or the current one. Raises as `load` and `current`."""
    return current(lake) if run_id is None else load(lake, run_id)


def listed(lake: str) -> list[LakeRun]:
    """Every run that the lake still knows, the latest first.

    Raises `LocalError`: NoLake, NewerLake, BadManifest.
    """
    lake = storage.lake_url(lake)
    manifest.require_lake(lake)
    found = _read(lake, _ids(lake))
    return sorted(found, key=lambda one: (one.published_at, one.id), reverse=True)


def standing(lake: str) -> list[LakeRun]:
    """The runs whose tables may still be there, the latest first: others are not even read."""
    lake = storage.lake_url(lake)
    found: list[LakeRun] = []
    until = time.time_ns() // 1_000 - int(KEEP_S * 1_000_000)
    for run in _read(lake, sorted(_ids(lake), reverse=True)):
        found.append(run)
        if run.published_at < until:
            # The tables that this one replaced may be gone.
            break
    return found


def require_known(lake: str) -> None:
    """Raises `LocalError` (NewerLake, BadManifest) where runs of the lake cannot be read.

    Whoever writes the next one removes what the others no longer need, and so has to know them.
    """
    lake = storage.lake_url(lake)
    current_id(lake)
    listed(lake)


def current_id(lake: str) -> str | None:
    """The id of the run whose tables count now; None where none was published.

    Raises `LocalError` (NewerLake, BadManifest).
    """
    lake = storage.lake_url(lake)
    name = _file(lake, _CURRENT)
    content = storage.read_bytes(name)
    if content is None:
        return None
    try:
        read = json.loads(content)
        _require_version(read, name)
        return str(read["run"])
    except (ValueError, KeyError, TypeError) as error:
        raise LocalError("BadManifest", f"{name} names no run: {error!r}") from error


def publish(run: LakeRun) -> None:
    """Let the run's tables count from now on; everything that they name must be on the disk."""
    _put(run)
    storage.keep_names(run.lake)
    named = json.dumps({"version": VERSION, "run": run.id}).encode()
    storage.replace_bytes(_file(run.lake, _CURRENT), named)


def _put(run: LakeRun) -> None:
    content = json.dumps(_as_json(run), indent=1).encode()
    storage.replace_bytes(_file(run.lake, run.id), content)


def sweep(lake: str, *, keep_s: float = KEEP_S) -> None:
    """Remove table folders that no run names, and those of sets that `keep_s` ago were replaced.

    The caller holds `lease.tabling`. The current set stays, and the latest `KEEP_RUNS` manifests.
    """
    lake = storage.lake_url(lake)
    known = listed(lake)
    now_id = current_id(lake)
    until = time.time_ns() // 1_000 - int(keep_s * 1_000_000)
    in_use: set[str] = set()
    replaced_at = time.time_ns() // 1_000
    for number, run in enumerate(known):
        if run.id == now_id or replaced_at >= until:
            written = (*run.tables.values(), *run.partials.values())
            in_use |= {folder for one in written for folder in one.folders}
        elif number >= KEEP_RUNS:
            storage.remove(_file(lake, run.id))
        else:
            _forget_days(run)
        replaced_at = run.published_at
    replaced = {name for run in known if run.id == now_id for name in run.tables}
    places = (TABLES_FOLDER, PARTIALS_FOLDER)
    for place in (f"{one}/{name}" for one in places for name in storage.folders(f"{lake}/{one}")):
        table = place.rpartition("/")[2]
        for entry in storage.entries(f"{lake}/{place}"):
            folder = f"{place}/{entry.name}"
            if is_of_a_table(entry.name) and table in replaced:
                # Of a version before runs: whoever reads it there must not get old rows.
                storage.remove(f"{lake}/{folder}")
            elif not is_of_a_run(entry.name) or folder in in_use:
                continue
            elif storage.is_local(lake) or _is_older(f"{lake}/{folder}", entry.modified_at, until):
                storage.remove(f"{lake}/{folder}")


def _forget_days(run: LakeRun) -> None:
    """Before its folders go, so that of a half of one that is left nobody takes over a row.

    What the days of many years were made of is also most of a manifest.
    """
    left = replace(run, tables=_without_days(run.tables), partials=_without_days(run.partials))
    if left != run:
        _put(left)


def _without_days(every: Mapping[str, Written]) -> dict[str, Written]:
    return {name: one._replace(days=MappingProxyType({})) for name, one in every.items()}


def _is_older(folder: str, modified_at: int, until: int) -> bool:
    """Whether nothing in a folder is so young that a run may still be at work there.

    Only a lease on this machine keeps other runs away. The folders of an object store have no age,
    what is in them has.
    """
    written_at = modified_at or storage.newest(folder)
    return 0 < written_at * 1_000 < until


def _file(lake: str, name: str) -> str:
    return f"{lake}/{RUNS_FOLDER}/{name}.json"


def _read(lake: str, ids: Iterable[str]) -> Iterator[LakeRun]:
    for run_id in ids:
        name = _file(lake, run_id)
        content = storage.read_bytes(name)
        # One that is gone was swept while we read.
        if content is not None:
            yield _of_json(lake, content, name)


def _ids(lake: str) -> list[str]:
    files = [one.name.removesuffix(".json") for one in storage.listed(f"{lake}/{RUNS_FOLDER}")]
    return [name for name in files if _ID.fullmatch(name)]


def _require_version(read: Mapping[str, Any], name: str) -> None:
    if read["version"] > VERSION:
        raise LocalError("NewerLake", f"{name} has version {read['version']}, which is not ours")


def _as_json(run: LakeRun) -> dict[str, Any]:
    return {
        "version": VERSION,
        "run": run.id,
        "published_at": run.published_at,
        "as_of": run.as_of,
        "policy": dict(run.policy),
        "lakes": run.lakes,
        "evidence": [one._asdict() for one in run.marks],
        "until": run.until,
        "wholeness": [one._asdict() for one in run.wholeness],
        "verdicts": dict(run.verdicts),
        "differences": run.differences,
        "broken": run.broken,
        "tables": _all_as_json(run.tables),
        "partials": _all_as_json(run.partials),
        "made_by": run.made_by,
    }


def _all_as_json(written: Mapping[str, Written]) -> list[dict[str, Any]]:
    return [{**one._asdict(), "days": dict(one.days)} for one in written.values()]


def _of_json(lake: str, content: bytes, name: str) -> LakeRun:
    try:
        read = json.loads(content)
        _require_version(read, name)
        return LakeRun(
            lake=lake,
            id=read["run"],
            as_of=read["as_of"],
            policy=read["policy"],
            lakes=tuple(read["lakes"]),
            marks=tuple(map(_mark, read["evidence"])),
            until=read.get("until"),
            wholeness=tuple(map(_whole, read.get("wholeness", ()))),
            verdicts=read["verdicts"],
            differences=read["differences"],
            broken=tuple(read["broken"]),
            tables={one["name"]: _table(one) for one in read["tables"]},
            partials={one["name"]: _table(one) for one in read.get("partials", ())},
            made_by=str(read.get("made_by", "")),
            published_at=read["published_at"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise LocalError("BadManifest", f"{name} is no manifest of a run: {error!r}") from error


def _mark(read: Mapping[str, Any]) -> Mark:
    ranges: Sequence[Sequence[int]] = read["ranges"]
    tail = read["tail"]
    return Mark(
        lake=read["lake"],
        folder=read["folder"],
        batches=read["batches"],
        rows=read["rows"],
        ranges=tuple((low, high) for low, high in ranges),
        forks=read["forks"],
        first_fork=read["first_fork"],
        tail=None if tail is None else (tail[0], tail[1]),
    )


def _whole(read: Mapping[str, Any]) -> Wholeness:
    tail = read["tail"]
    return Wholeness(
        **{
            **read,
            "tail": None if tail is None else (tail[0], tail[1]),
            "faults": tuple(read["faults"]),
            "set_aside": tuple(read["set_aside"]),
        }
    )


def _table(read: Mapping[str, Any]) -> Written:
    return Written(
        name=read["name"],
        table_format=TableFormat(read["table_format"]),
        columns=tuple((column, kind) for column, kind in read["columns"]),
        folders=tuple(read["folders"]),
        place=read["place"],
        version=read["version"],
        days=read.get("days", {}),
    )
