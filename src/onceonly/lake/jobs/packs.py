"""`pack` and `verify`: evidence about two parties, made by one of them, verified by either."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from onceonly.journal.segment import party_folder
from onceonly.lake import activity, invariants, model, runner, schemas
from onceonly.lake.jobs import prerequisites
from onceonly.lake.jobs.case import ROWS_MAX, JudgedCase, open_case
from onceonly.lake.jobs.session import APP_NAME, Lakes, directories, start
from onceonly.lake.packs import agreement, bounds, contents, seal, summary
from onceonly.lake.packs.contents import PackScope
from onceonly.lake.packs.summary import Counts, PackSummary
from onceonly.lake.verdicts import Policy, Verdict, verdict, witnesses
from onceonly.message.errors import LocalError

JOURNAL: Final = "journal"
LIFECYCLE: Final = "lifecycle"
VERDICTS: Final = "verdicts"
EXAMPLES_MAX: Final = 20
"""Most rows or messages that are named for one reason."""

FAULTS_MAX: Final = 1_000
"""Most files that are named."""

_DOCUMENTS: Final = {summary.FILE: 1 << 20, seal.DIGESTS: 1 << 22, seal.SIGNATURE: 1 << 16}
"""Files without rows, and how long each may be: some 10,000 names, and one signature."""

_JOURNAL_SCHEMA: Final = StructType(
    [
        *schemas.JOURNAL.fields,
        StructField(contents.PREVIOUS, StringType()),
        StructField(contents.IS_CHAINED, BooleanType()),
    ]
)
_VERDICT_SCHEMA: Final = StructType(
    [
        StructField(name, BooleanType() if name == "is_two_sided" else StringType())
        for name in contents.VERDICT
    ]
)
_SCHEMAS: Final = {
    JOURNAL: _JOURNAL_SCHEMA,
    LIFECYCLE: runner.LIFECYCLE,
    VERDICTS: _VERDICT_SCHEMA,
}
"""In the order of `_Held`."""


class Disagreement(NamedTuple):
    """One thing in a pack that is not as it should be."""

    place: str
    what: str


class Signing(NamedTuple):
    """Who signs a pack, and with which key."""

    by: str | None = None
    comment: str | None = None
    """Of whoever signs off: without `by` there is none."""
    key: Path | None = None
    """A private key in PEM."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification found."""

    summary: PackSummary | None
    """What the pack says of itself; None where it cannot be read."""
    disagreements: Sequence[Disagreement]
    """Everything that does not agree, bounded per reason."""
    signed: bool | None
    """Whether the signature is by the owner of the key; None where no key was given."""
    unchained: int
    """Rows whose hashes cannot be computed from the pack, as the pack says: of another version of
    the journal, or after a row that is missing."""

    @property
    def holds(self) -> bool:
        """Whether everything agrees."""
        return not self.disagreements

    @property
    def other_maker(self) -> str | None:
        """The version that made the pack, where it is another one, with rules that may be others.

        What follows from rows by rules (lives, verdicts, counts) may differ without anybody's
        fault then; digests, hashes and links may not.
        """
        made_by = summary.MAKER if self.summary is None else self.summary.made_by
        return None if made_by == summary.MAKER else made_by


def pack(  # noqa: PLR0913 - because each is one choice of its caller's
    lake: Lakes,
    pair: PackScope,
    *,
    out: Path,
    as_of: int | None = None,
    policy: Policy = Policy(),  # noqa: B008 - because a Policy is frozen
    signing: Signing = Signing(),  # noqa: B008 - because a Signing is frozen
    master: str | None = None,
) -> PackSummary:
    """Write what the lakes know of the messages between two parties, and of nobody else.

    `as_of` and `policy` are the instant and the rules of judgement as for `reconcile`. On a cluster
    `out` must be a folder that the driver and the executors share.
    Raises `LocalError`: NoLake, NothingIngested, NotEmpty, NotMicroseconds, BadKey, NoCryptography,
    `OSError` for an `out` that cannot be written and `ValueError` for a comment of nobody, before
    Spark starts; NoJava, NoEvidence.
    """
    if signing.comment is not None and signing.by is None:
        raise ValueError("a comment is of whoever signs off: say by whom, too")
    signer = None if signing.key is None else seal.signer(signing.key)
    if out.exists() and any(out.iterdir()):
        raise LocalError("NotEmpty", f"{out} is not empty")
    prerequisites.require_instant(as_of)
    prerequisites.require_places([str(out)])
    lakes = directories(lake)
    prerequisites.require_ingested(lakes)
    spark = start(lakes, master)
    case = open_case(spark, lakes, as_of, policy)
    journals = _journals(case, pair)
    holders = [party for party in (pair.one, pair.other) if party in journals]
    if not holders:
        text = f"no journal of {pair.one} or {pair.other} is in the lakes"
        raise LocalError("NoEvidence", text)
    with activity.step(spark, "rows of the pair"):
        _write_rows(spark, lakes, case, pair, out)
    held = _opened(spark, out)
    judged = _judged(spark, held.lives, holders, case.as_of, case.policy)
    breaches = {one.folder: one.breaches for one in case.wholeness}
    with activity.step(spark, "counts"):
        counts = _count(held.rows, judged, case.as_of, case.policy)
    found = PackSummary(
        pair,
        case.as_of,
        case.policy,
        holders,
        counts,
        {party: breaches[party_folder(party)] for party in sorted(set(journals.values()))},
        summary.signed_off(signing.by, signing.comment, datetime.now(UTC)),
    )
    summary.write(out, found)
    seal.tidy(out)
    seal.close(out, sign=signer)
    case.judged.unpersist()
    return found


def _journals(case: JudgedCase, pair: PackScope) -> dict[str, str]:
    """The journal in which each of the two parties is: a gateway may have several PartyIds.

    If one journal has both parties, it is the witness of the party after which it is named.
    """
    ours = witnesses(case.coverage).where(F.col("holder").isin(pair.one, pair.other))
    found = {row["holder"]: row["journal"] for row in runner.rows(ours, ROWS_MAX)}
    of_whom = {journal: holder for holder, journal in found.items()}
    of_whom |= {journal: journal for journal in found.values() if journal in found}
    return {holder: journal for journal, holder in of_whom.items()}


def _write_rows(
    spark: SparkSession, lakes: Sequence[str], case: JudgedCase, pair: PackScope, out: Path
) -> None:
    lives = contents.lives(case.judged, pair).persist()
    chosen = contents.rows(case.journal, lives, pair)
    looks = runner.read(spark, lakes, "segments").where(~F.col("is_plain"))
    odd = looks.select(
        F.col("party").alias("odd_party"),
        F.col("first_seq").alias("odd_first"),
        F.col("last_seq").alias("odd_last"),
    )
    out.mkdir(parents=True, exist_ok=True)
    runner.write(contents.with_links(chosen, case.journal, odd), str(out / JOURNAL))
    runner.write(lives.select(*runner.LIFECYCLE.names), str(out / LIFECYCLE))
    runner.write(lives.select(*contents.VERDICT), str(out / VERDICTS))
    lives.unpersist()


class _Held(NamedTuple):
    """A pack's rows."""

    rows: DataFrame
    lives: DataFrame
    verdicts: DataFrame


def _opened(spark: SparkSession, where: Path) -> _Held:
    return _Held(
        *(runner.folder(spark, str(where / name), schema) for name, schema in _SCHEMAS.items())
    )


def _judged(
    spark: SparkSession, lives: DataFrame, holders: Sequence[str], as_of: int, policy: Policy
) -> DataFrame:
    whose = [(party, party, 0) for party in holders]
    there = spark.createDataFrame(whose, "party string, holder string, deeds bigint")
    return verdict(lives, there, as_of=as_of, policy=policy)


def _count(rows: DataFrame, judged: DataFrame, as_of: int, policy: Policy) -> Counts:
    by_journal = rows.groupBy("party").count()
    by_verdict = judged.groupBy("verdict").count()
    tried = invariants.breaches(judged, as_of=as_of, policy=policy)
    sheet = invariants.sheet(invariants.tallies(tried))
    broken = {row["name"]: row["breaches"] for row in runner.rows(sheet, ROWS_MAX)}
    verdicts = {verdict.value: 0 for verdict in Verdict}
    return Counts(
        {row["party"]: row["count"] for row in runner.rows(by_journal.orderBy("party"), ROWS_MAX)},
        verdicts | {row["verdict"]: row["count"] for row in runner.rows(by_verdict, ROWS_MAX)},
        {line.name: broken.get(line.name, 0) for line in invariants.INVARIANTS},
    )


def verify(
    where: Path,
    *,
    key: Path | None = None,
    allow_unchained: bool = False,
    master: str | None = None,
) -> Verification:
    """Compute a pack again and name everything that does not agree.

    `key` is the public key or certificate, in PEM, of whoever is to have signed it. With
    `allow_unchained` rows whose hashes cannot be computed from the pack are counted and no
    disagreement: their content is the word of the pack's maker.
    Raises `LocalError`: NoPack, BadKey, NoJava.
    """
    if not where.is_dir():
        raise LocalError("NoPack", f"there is no pack {where}")
    misshapen = _as_disagreements(bounds.misshapen(where, _DOCUMENTS))
    if misshapen:
        return Verification(None, misshapen, None, 0)
    signed = None if key is None else seal.is_signed_by(where, key)
    found = [Disagreement("files", what) for what in seal.broken(where)]
    if signed is False:
        what = "is not by the owner of this key" if seal.is_signed(where) else "is missing"
        found.append(Disagreement(seal.SIGNATURE, what))
    try:
        claimed = summary.read(where)
    except LocalError as error:
        return Verification(None, [*found, Disagreement(summary.FILE, str(error))], signed, 0)
    found += [Disagreement(summary.FILE, what) for what in summary.differing(where, claimed)]
    strange = _strange(where) or _unreadable(where)
    if strange:
        return Verification(claimed, [*found, *strange], signed, 0)
    spark = runner.session(master, APP_NAME, journal_bytes=None)
    try:
        with activity.step(spark, "rows, lives and verdicts again"):
            differing, unchained = _compare(spark, where, claimed, allow_unchained=allow_unchained)
    except (PySparkException, Py4JError) as error:
        what = f"cannot be read: {' '.join(str(error).split())[:200]}"
        return Verification(claimed, [*found, Disagreement("rows", what)], signed, 0)
    return Verification(claimed, [*found, *differing], signed, unchained)


def _strange(where: Path) -> list[Disagreement]:
    """Entries of the pack that would not be verified.

    Spark passes over hidden files, and takes a column from the name of a folder rather than from
    the files in it.
    """
    found = []
    for path in sorted(where.rglob("*")):
        name, folder = path.relative_to(where).as_posix(), path.parent.relative_to(where).as_posix()
        is_of_rows = folder in _SCHEMAS and bounds.ROW_FILE.fullmatch(path.name) is not None
        if path.is_dir():
            if name not in _SCHEMAS:
                found.append(Disagreement(name, "is no folder of a pack"))
        elif not is_of_rows and name not in (summary.FILE, seal.DIGESTS, seal.SIGNATURE):
            found.append(Disagreement(name, "is no file of a pack: nothing in it is verified"))
    return found[:FAULTS_MAX]


def _unreadable(where: Path) -> list[Disagreement]:
    """Files that must not be read as rows: other columns, sizes or numbers than rows have."""
    files = [
        (file, schema.names)
        for name, schema in _SCHEMAS.items()
        for file in sorted((where / name).iterdir() if (where / name).is_dir() else ())
    ]
    return _as_disagreements(bounds.unreadable(files))


def _as_disagreements(faults: Iterable[bounds.PackFault]) -> list[Disagreement]:
    return [Disagreement(*one) for one in faults][:FAULTS_MAX]


def _compare(
    spark: SparkSession, where: Path, claimed: PackSummary, *, allow_unchained: bool
) -> tuple[list[Disagreement], int]:
    held = _opened(spark, where)
    rows, pair = held.rows.persist(), claimed.pair
    lives = contents.lives(model.partial(rows), pair).persist()
    judged = _judged(spark, lives, claimed.holders, claimed.as_of, claimed.policy).persist()
    differing = [
        agreement.strangers(rows, pair),
        agreement.repeats(rows),
        agreement.edits(rows),
        *([] if allow_unchained else [agreement.unchained(rows)]),
        agreement.breaks(rows),
        agreement.outsiders(rows, list(claimed.holders), pair),
        agreement.lives(rows, held.lives, pair),
        agreement.doubles(held.lives, "life"),
        agreement.verdicts(judged.select(*contents.VERDICT), held.verdicts),
        agreement.doubles(held.verdicts, "verdict"),
    ]
    found = [Disagreement(**row) for frame in differing for row in runner.rows(frame, EXAMPLES_MAX)]
    counted = _count(rows, judged, claimed.as_of, claimed.policy)
    for name, one, other in zip(Counts._fields, counted, claimed.counts, strict=True):
        found += [
            Disagreement(summary.FILE, f"{name} of {key}: {other.get(key, 0)}, and not {value}")
            for key, value in sorted({**dict.fromkeys(other, 0), **one}.items())
            if other.get(key, 0) != value
        ]
    unchained = rows.where(contents.is_unchained()).count()
    for frame in (rows, lives, judged):
        frame.unpersist()
    return found, unchained
