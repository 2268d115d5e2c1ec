"""Journals for measuring: two parties and a relay, as many events as wanted, made by Spark.

Rows are of the product's own schema, in journal (`seq`) order, cut into segments of the product's
size. The hash chain is real: it runs through every row of a journal in turn, so it is computed
after Spark is done, over a text that Spark has prepared for each row.

A lake is kept under a digest of what it was made from, and found again by it.
"""

import ast
import json
import shutil
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import reduce
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from bench.lake import fates, segments
from onceonly.journal.record import COLUMNS, SCHEMA_VERSION
from onceonly.lake import schemas

DAWN_US: Final = 1_760_000_000_000_000
DAY_US: Final = 86_400_000_000
ROWS_PER_CHUNK: Final = 150_000
EVENTS_PER_MESSAGE: Final = 8.65
"""Measured on what these fates give; only the number of messages is exact."""
PARTIES: Final = ("urn:duns:111111111", "urn:duns:222222222", "urn:duns:333333333")
"""Buyer, seller, and the relay that half of the agreements go by."""


@dataclass(frozen=True)
class Plan:
    """What a generated lake is made from."""

    events: int
    seed: int = 7
    days: int = 10
    extra_days: int = 1
    """Days after these, published apart: what a next run takes in."""

    @property
    def messages(self) -> int:
        """Messages of `days` and `extra_days`."""
        return round(self.per_day * (self.days + self.extra_days))

    @property
    def per_day(self) -> float:
        """Messages a day."""
        return self.events / EVENTS_PER_MESSAGE / self.days

    @property
    def gap_us(self) -> int:
        """From one message to the next."""
        return int(DAY_US / self.per_day)

    def digest(self) -> str:
        """The same for the same journals: parameters, generator (its code) and columns."""
        parts = [json.dumps(asdict(self)), ",".join(COLUMNS), str(SCHEMA_VERSION)]
        sources = [
            ast.dump(ast.parse(Path(name).read_text()))
            for name in (__file__, fates.__file__, segments.__file__)
        ]
        return sha256("|".join([*parts, *sources]).encode()).hexdigest()


@dataclass(frozen=True)
class Lake:
    """A generated lake directory, and the days that come after it."""

    folder: Path
    events: int
    next_events: int

    @property
    def path(self) -> str:
        """The lake of the first days."""
        return str(self.folder / "lake")

    @property
    def next_path(self) -> str:
        """Segments of the extra days, laid out as in the lake."""
        return str(self.folder / "next")


def ready(spark: SparkSession, root: Path, plan: Plan) -> Lake:
    """The lake of the plan, made unless it is there."""
    folder = root / f"{plan.events}-{plan.digest()[:16]}"
    facts = folder / "facts.json"
    if not facts.exists():
        shutil.rmtree(folder, ignore_errors=True)
        counts = _make(spark, folder, plan)
        facts.write_text(json.dumps(counts))
    return Lake(folder, **json.loads(facts.read_text()))


def _make(spark: SparkSession, folder: Path, plan: Plan) -> dict[str, int]:
    raw = folder / "raw"
    chunk_us = int(plan.gap_us * ROWS_PER_CHUNK / EVENTS_PER_MESSAGE * 2)
    rows = events(spark, plan)
    chunk = ((F.col("true_at") - F.lit(DAWN_US)) / F.lit(chunk_us)).cast("int")
    (
        rows.withColumn("chunk", chunk)
        .repartition(64, "side", "chunk")
        .sortWithinPartitions("side", "chunk", "true_at", "n", "position")
        .drop("n", "position")
        .write.partitionBy("side", "chunk")
        .option("compression", "snappy")
        .parquet(str(raw))
    )
    cut = DAWN_US + plan.days * DAY_US
    targets = (folder / "lake", folder / "next")
    raws = [raw / f"side={side}" for side in range(len(PARTIES))]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        counts = list(pool.map(segments.publish, PARTIES, raws, [cut] * 3, [targets] * 3))
    shutil.rmtree(raw)
    return {"events": sum(n for n, _ in counts), "next_events": sum(n for _, n in counts)}


def events(spark: SparkSession, plan: Plan) -> DataFrame:
    """Every row but `seq` and `chain_hash`, with `side`, `true_at`, `n` and `position`."""

    def sql(text: str) -> Column:
        return F.expr(text.replace("{seed}", str(plan.seed)))

    messages = spark.range(plan.messages).withColumnRenamed("id", "n")
    for name, text in _message(plan).items():
        messages = messages.withColumn(name, sql(text))
    for name, text in fates.flags().items():
        messages = messages.withColumn(name, sql(text))
    tries = messages.where("sends").select(
        "*", F.explode(F.expr("sequence(1, tries)")).alias("try")
    )
    ended = "element_at(array(end1, end2, end3, end4), try)"
    told = [
        (tries.withColumn("ended", sql(ended)), fates.attempts(), "10 * try"),
        (messages, fates.others(), "0"),
    ]
    return reduce(DataFrame.unionByName, [_told(*one, sql) for one in told])


def _told(
    messages: DataFrame, possible: list[fates.Row], before: str, sql: Callable[[str], Column]
) -> DataFrame:
    """Those of the possible rows that are there, behind `before` others."""
    candidates = F.array(*[sql(row.sql()) for row in possible])
    return (
        messages.select("*", sql(before).alias("before"), F.posexplode(candidates))
        .withColumnsRenamed({"pos": "position", "col": "row"})
        .where("row IS NOT NULL")
        .withColumn("position", sql("before + position"))
        .select("n", "position", *[sql(text).alias(name) for name, text in _row().items()])
    )


def _message(plan: Plan) -> dict[str, str]:
    c = fates.chance
    normal = f"sqrt(-2 * ln({c('r')} + 1e-12)) * cos(6.283185307179586 * {c('angle')})"
    return {
        "way": "CAST(pmod(n, 2) AS INT)",
        "relayed": "pmod(xxhash64(n, 'route'), 4L) = 0",
        "loss": "IF(relayed, 0.02D, 0.006D)",
        "born_at": f"{DAWN_US}L + n * {plan.gap_us}L + CAST({c('birth')} * 20000000 AS BIGINT)",
        "there_us": f"CAST(IF(relayed, 180000, 45000) * exp(0.6 * {normal}) AS BIGINT)",
        "back_us": f"CAST(IF(relayed, 150000, 40000) * (0.5 + {c('back')}) AS BIGINT)",
        "work_us": f"CAST(2000 + 9000 * {c('work')} AS BIGINT)",
        "queued_us": f"CAST(500 + 60000 * {c('queue')} AS BIGINT)",
        "name": "concat(lower(hex(xxhash64({seed}L, n))), '-', n, "
        "IF(way = 0, '@buyer.example', '@seller.example'))",
        "content": "sha2(concat({seed}, 'content', n), 256)",
        "size": f"CAST(exp(7.5 + 1.2 * {normal}) AS BIGINT)",
    }


_HEADED = "event IN ('Submitted', 'Stored', 'DuplicateEliminated', 'CollisionDetected', "
_HEADED += "'ArrivedInTransit')"


def _row() -> dict[str, str]:
    """The columns of a record, over a message and one of its rows."""
    buyer, seller, relay = (f"'{party}'" for party in PARTIES)
    event = "row.event"
    head = _HEADED.replace("event", event)
    bound = "row.side = 0 OR (row.side = 2 AND row.event IN ('Forwarded', 'AckReceived'))"
    sent = f"{event} IN ('Transmitting', 'Transmitted', 'AckSent', 'Forwarded', 'AckRelayed')"
    named = f"{event} <> 'OrphanAckReceived'"
    owner = f"CASE row.side WHEN 2 THEN {relay} WHEN 0 THEN IF(way = 0, {buyer}, {seller}) "
    owner += f"ELSE IF(way = 0, {seller}, {buyer}) END"
    agreement = "concat('tpa-', IF(relayed, 'far-', 'near-'), IF(way = 0, 'orders', 'answers'))"
    # Two clocks: the seller's runs before; and now and then a clock is set back for a moment.
    skew = f"CASE WHEN {owner} = {seller} THEN 120000L WHEN row.side = 2 THEN -40000L ELSE 0L END"
    step = "IF(pmod(xxhash64({seed}L, n, position), 2000) = 0, -1500000L, 0L)"
    digest = f"{event} IN ('Submitted', 'Stored', 'HandedOver', 'AckSent', 'DuplicateEliminated', "
    digest += "'CollisionDetected', 'ArrivedInTransit')"
    content = "IF(row.altered, sha2(concat('altered', n), 256), content)"
    semantics = "IF(best_effort, 'BestEffort', 'OnceAndOnlyOnce')"
    true_at = "born_at + row.after_us"
    return {
        "side": f"CAST(CASE WHEN {owner} = {relay} THEN 2 WHEN {owner} = {seller} THEN 1 ELSE 0 END"
        " AS INT)",
        "true_at": true_at,
        "party": owner,
        "event": event,
        "at": f"{true_at} + {skew} + {step}",
        "monotonic_ns": f"({true_at} - {DAWN_US}L) * 1000L",
        "direction": f"IF({bound}, 'out', 'in')",
        "from_party": f"IF({named}, IF(way = 0, {buyer}, {seller}), NULL)",
        "to_party": f"IF({named}, IF(way = 0, {seller}, {buyer}), NULL)",
        "message_id": "name",
        "ref_to_message_id": "CAST(NULL AS STRING)",
        "conversation_id": f"IF({head}, concat('conversation-', n div 3, '@buyer.example'), NULL)",
        "agreement_id": agreement,
        "profile": "'rm-2001'",
        "semantics": f"IF({head}, {semantics}, NULL)",
        "service": f"IF({head}, 'urn:services:ordering', NULL)",
        "action": f"IF({head}, IF(way = 0, 'NewOrder', 'OrderResponse'), NULL)",
        "sequence_number": "CAST(NULL AS BIGINT)",
        "attempt": "row.attempt",
        "transport": f"IF({sent}, 'http', NULL)",
        "endpoint": f"IF({sent}, IF(row.side = 0, 'https://partner.example/msh', "
        "'https://hub.example/msh'), NULL)",
        "outcome": "row.outcome",
        "status_code": "IF(row.outcome = 'accepted', 204L, NULL)",
        "error_code": "row.error_code",
        "severity": "row.severity",
        "size_bytes": f"IF({head}, size, NULL)",
        "digest": f"IF({digest}, {content}, NULL)",
        "hop": "IF(row.side = 2, 2L, NULL)",
        "actor": "CAST(NULL AS STRING)",
        "reason": "row.reason",
        "schema_version": f"{SCHEMA_VERSION}L",
    }


def frame(spark: SparkSession, lake: str) -> DataFrame:
    """The journal rows of a generated lake, straight from its segments."""
    return spark.read.schema(schemas.JOURNAL).parquet(
        *sorted(map(str, Path(lake).glob("journal/*")))
    )
