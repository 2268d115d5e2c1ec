"""Evidence made of journals made to measure, as the tables take it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from journals import MUCH_LATER, PLANTS, Exchange, Ledger, Passage, plant, two_parties
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import hash_chain, model
from onceonly.lake.catalogue import TABLES, Evidence
from onceonly.lake.verdicts import Policy, verdict
from onceonly.message.terms import DeliveryTerms

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from onceonly.journal.record import Record

BETWEEN = "urn:duns:333333333"
TERMS = DeliveryTerms(
    timeout_s=30, retries=3, retry_interval_s=60, persist_duration_s=86_400, time_to_live_s=3_600
)
_MAKERS = {table.name: table.make for table in TABLES}


def evidence(
    journal: DataFrame, as_of: int = MUCH_LATER, policy: Policy | None = None, **more: Any
) -> Evidence:
    """The rows, folded and judged at `as_of`."""
    allowed = policy or Policy()
    coverage = model.coverage(journal)
    lives = model.with_terms(model.partial(journal), model.terms(journal))
    judged = verdict(lives, coverage, as_of=as_of, policy=allowed)
    whole = (
        hash_chain.by_party(journal)
        .withColumnRenamed("edited", "quarantined")
        .join(journal.groupBy("party").agg(*_tail()), "party")
    )
    return Evidence(journal, coverage, whole, judged, as_of, allowed, **more)


def _tail() -> list[Column]:
    by_number = F.max(F.struct("seq", "chain_hash"))
    return [by_number["seq"].alias("last_seq"), by_number["chain_hash"].alias("last_hash")]


def kept(case: Evidence) -> Evidence:
    """The evidence, computed once for many tables."""
    return case._replace(journal=case.journal.persist(), judged=case.judged.persist())


def made(name: str, case: Evidence) -> list[dict[str, Any]]:
    """The rows of the table, as dictionaries; instants in UTC wherever the test runs."""
    return [
        {column: _in_utc(value) for column, value in row.asDict(recursive=True).items()}
        for row in _MAKERS[name](case).collect()
    ]


def _in_utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def part(row: dict[str, Any], *names: str) -> tuple[Any, ...]:
    """Some columns of a row."""
    return tuple(row[name] for name in names)


def records(*exchanges: Exchange) -> list[Record]:
    """The rows of all ledgers of the exchanges, each once."""
    ledgers = {
        id(one): one for exchange in exchanges for one in (exchange.sender, exchange.receiver)
    }
    return [row for ledger in ledgers.values() for row in ledger.records]


def planted_records() -> list[Record]:
    """A message of every fate, also on the way through an intermediary."""
    there, _ = two_parties()
    plant(there, PLANTS)
    passage = Passage(there, Ledger(BETWEEN))
    passage.relayed("relayed@example")
    passage.delivered("in-care@example")
    passage.undeliverable("undeliverable@example")
    return records(there) + passage.between.records
