"""Journals for measuring: two parties and a relay, as many events as wanted.

Rows are of the product's own schema, in journal (`seq`) order, cut into segments of the product's
size. DuckDB makes them, slice by slice of messages: what is measured here is reading them, and the
long run has to be made in minutes. The hash chain is real.

A lake is kept under a digest of what it was made from, and found again by it.
"""

import ast
import json
import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import duckdb
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from bench.lake import fates, segments
from onceonly.journal.record import COLUMNS, SCHEMA_VERSION
from onceonly.lake import schemas

DAWN_US: Final = 1_760_000_000_000_000
DAY_US: Final = 86_400_000_000
MESSAGES_PER_SLICE: Final = 40_000
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


def ready(root: Path, plan: Plan) -> Lake:
    """The lake of the plan, made unless it is there."""
    folder = root / f"{plan.events}-{plan.digest()[:16]}"
    facts = folder / "facts.json"
    if not facts.exists():
        shutil.rmtree(folder, ignore_errors=True)
        counts = _make(folder, plan)
        facts.write_text(json.dumps(counts))
    return Lake(folder, **json.loads(facts.read_text()))


def _make(folder: Path, plan: Plan) -> dict[str, int]:
    raw = folder / "raw"
    cut = DAWN_US + plan.days * DAY_US
    targets = (folder / "lake", folder / "next")
    starts = range(0, plan.messages, MESSAGES_PER_SLICE)
    # Nothing of a later slice happens before its first message may be born.
    births = [DAWN_US + start * plan.gap_us for start in starts]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        list(pool.map(_tell, repeat(plan), starts, repeat(raw)))
        journals = [
            segments.Journal(party, raw / str(side), births, cut)
            for side, party in enumerate(PARTIES)
        ]
        counts = list(pool.map(segments.publish, journals, repeat(targets)))
    shutil.rmtree(raw)
    return {"events": sum(n for n, _ in counts), "next_events": sum(n for _, n in counts)}


def _tell(plan: Plan, start: int, raw: Path) -> None:
    """Every row of a slice of messages but `seq` and `chain_hash`, a file for each party."""
    with duckdb.connect(config={"threads": 1}) as database:
        rows = database.sql(_told(plan, start)).to_arrow_table()
    for side in range(len(PARTIES)):
        (raw / str(side)).mkdir(parents=True, exist_ok=True)
        pq.write_table(
            rows.filter(pc.field("side") == side).drop_columns("side"),
            raw / str(side) / f"{start:012}.parquet",
            compression="zstd",
        )


def _told(plan: Plan, start: int) -> str:
    end = min(start + MESSAGES_PER_SLICE, plan.messages)
    messages = f"SELECT range AS n, hash({plan.seed}, range) AS luck FROM range({start}, {end})"
    # A name may be made of the names before it, so each group of them is a step of its own.
    for step in (*_message(plan), *fates.flags()):
        named = ", ".join(f"{text} AS {name}" for name, text in step.items())
        messages = f"SELECT *, {named} FROM ({messages})"
    return f"""
    WITH messages AS MATERIALIZED ({messages}),
    tries AS MATERIALIZED (
      SELECT *, [end1, end2, end3, end4][try] AS ended, {fates.BEGUN} AS begun
      FROM (SELECT *, unnest(range(1, tries + 1)) AS try FROM messages WHERE sends)
    ),
    told AS (
      {fates.union(fates.others(), "messages", "0")}
      UNION ALL
      {fates.union(fates.attempts(), "tries", "100 * try")}
    )
    SELECT n, position, {", ".join(f"{text} AS {name}" for name, text in _row().items())}
    FROM told
    """


def _message(plan: Plan) -> list[dict[str, str]]:
    c = fates.chance
    normal = f"sqrt(-2 * ln({c('r')} + 1e-12)) * cos(6.283185307179586 * {c('angle')})"
    return [
        {
            "way": "n % 2",
            "relayed": "hash(xor(luck, 1)) % 4 = 0",
            "normal": normal,
        },
        {
            "loss": "if(relayed, 0.02, 0.006)",
            "born_at": f"{DAWN_US} + n * {plan.gap_us} + ({c('birth')} * 20000000)::BIGINT",
            "there_us": "(if(relayed, 180000, 45000) * exp(0.6 * normal))::BIGINT",
            "back_us": f"(if(relayed, 150000, 40000) * (0.5 + {c('back')}))::BIGINT",
            "work_us": f"(2000 + 9000 * {c('work')})::BIGINT",
            "queued_us": f"(500 + 60000 * {c('queue')})::BIGINT",
            "name": "concat(lower(to_hex(luck)), '-', n, "
            "if(way = 0, '@buyer.example', '@seller.example'))",
            "content": "sha256(concat('content', luck))",
            "size": "exp(7.5 + 1.2 * normal)::BIGINT",
        },
    ]


def _row() -> dict[str, str]:
    """The columns of a record, over a message and what was told of it."""
    buyer, seller, relay = (f"'{party}'" for party in PARTIES)
    head = "event IN ('Submitted', 'Stored', 'DuplicateEliminated', 'CollisionDetected', "
    head += "'ArrivedInTransit')"
    with_digest = "event IN ('Submitted', 'Stored', 'HandedOver', 'AckSent', "
    with_digest += "'DuplicateEliminated', 'CollisionDetected', 'ArrivedInTransit')"
    bound = f"role = {fates.SENDER} OR (role = {fates.RELAY} AND event IN ('Forwarded', "
    bound += "'AckReceived'))"
    sent = "event IN ('Transmitting', 'Transmitted', 'AckSent', 'Forwarded', 'AckRelayed')"
    named = "event <> 'OrphanAckReceived'"
    # Of two parties: 0 is the buyer, 1 is the seller.
    side = f"if(role = {fates.RELAY}, 2, if(role = {fates.SENDER}, way, 1 - way))"
    agreement = "concat('tpa-', if(relayed, 'far-', 'near-'), if(way = 0, 'orders', 'answers'))"
    # Two clocks: the seller's runs before; and now and then a clock is set back for a moment.
    skew = f"[0, 120000, -40000][{side} + 1]"
    step = "if(hash(xor(luck, position)) % 2000 = 0, -1500000, 0)"
    content = "if(altered, sha256(concat('altered', luck)), content)"
    semantics = "if(best_effort, 'BestEffort', 'OnceAndOnlyOnce')"
    true_at = "(born_at + after_us)"
    return {
        "side": side,
        "true_at": true_at,
        "party": f"[{buyer}, {seller}, {relay}][{side} + 1]",
        "event": "event",
        "at": f"{true_at} + {skew} + {step}",
        "monotonic_ns": f"({true_at} - {DAWN_US}) * 1000",
        "direction": f"if({bound}, 'out', 'in')",
        "from_party": f"if({named}, if(way = 0, {buyer}, {seller}), NULL)",
        "to_party": f"if({named}, if(way = 0, {seller}, {buyer}), NULL)",
        "message_id": "name",
        "ref_to_message_id": "NULL::VARCHAR",
        "conversation_id": f"if({head}, concat('conversation-', n // 3, '@buyer.example'), NULL)",
        "agreement_id": agreement,
        "profile": "'rm-2001'",
        "semantics": f"if({head}, {semantics}, NULL)",
        "service": f"if({head}, 'urn:services:ordering', NULL)",
        "action": f"if({head}, if(way = 0, 'NewOrder', 'OrderResponse'), NULL)",
        "sequence_number": "NULL::BIGINT",
        "attempt": "attempt",
        "transport": f"if({sent}, 'http', NULL)",
        "endpoint": f"if({sent}, if(role = {fates.SENDER}, 'https://partner.example/msh', "
        "'https://hub.example/msh'), NULL)",
        "outcome": "outcome",
        "status_code": "if(outcome = 'accepted', 204, NULL)",
        "error_code": "error_code",
        "severity": "severity",
        "size_bytes": f"if({head}, size, NULL)",
        "digest": f"if({with_digest}, {content}, NULL)",
        "hop": f"if(role = {fates.RELAY}, 2, NULL)",
        "actor": "NULL::VARCHAR",
        "reason": "reason",
        "header_digest": f"if({with_digest}, sha256(concat('header', luck)), NULL)",
        "message_timestamp_at": f"if({head}, born_at, NULL)",
        "time_to_live_at": "NULL::BIGINT",
        "ack_requested": f"if({head}, 'Unsigned', NULL)",
        "receipt_requested": "NULL::VARCHAR",
        "order_number": "NULL::BIGINT",
        "signer": "NULL::VARCHAR",
        "schema_version": str(SCHEMA_VERSION),
    }


def frame(spark: SparkSession, lake: str) -> DataFrame:
    """The journal rows of a generated lake, straight from its segments."""
    return spark.read.schema(schemas.JOURNAL).parquet(
        *sorted(map(str, Path(lake).glob("journal/*")))
    )
