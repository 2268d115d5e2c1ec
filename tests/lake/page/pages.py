"""Findings made to measure: rows of every report by its declared columns, without Spark."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from journals import BUYER, DAWN, SECOND, SELLER

from onceonly.lake.catalogue import TABLES
from onceonly.lake.page.findings import (
    CONTENT_UNPROVEN,
    HEADER_UNPROVEN,
    Extract,
    Findings,
    InvariantResult,
    Judged,
)
from onceonly.lake.page.selection import ALL_PAIRS
from onceonly.lake.reports import hop_waterfall, turnaround
from onceonly.lake.reports.columns import AGES
from onceonly.lake.verdicts import CLASSES, DIFFERENCES, STANDING_OF, Policy, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onceonly.lake.tables.definition import Column, Definition

HOSTILE = "<script>alert('$x$')</script>&amp;\"_\u202e\x00漢"
HOUR = 3_600 * SECOND
PARTIES = (BUYER, SELLER)
AS_OF = DAWN + 40 * HOUR

_FIRST_DAY = date(2025, 10, 9)
_WORDS: dict[str, Sequence[str]] = {
    "verdict": [row.verdict.value for row in CLASSES],
    "age_bucket": AGES,
    "state": ["up", "down"],
    "phase": ["transmit", "verdict", "arrival"],
    "code": ["HTTP 503", "refused", "DeliveryFailure"],
    "kind": ["late", "orphan"],
    "stage": ["queue", "turnaround", "hold", "ack hold", "receive", "hand over", "wire"],
    "suggested_action": ["send the same message again"],
}
_ONE_MORE_EACH = {"step", "transmission", "seq"}


def rows_of(
    definition: Definition,
    number: int,
    *,
    parties: Sequence[str] = PARTIES,
    foreign: str | None = None,
    width_us: int = HOUR,
) -> list[dict[str, Any]]:
    """So many rows; every text is `foreign` where one is given, but for the words of a report."""
    chance = random.Random(definition.name)
    lines = []
    for place in range(number):
        ends = _ends(place, parties)
        line = {
            column.name: _value(column, place, chance, foreign, width_us)
            for column in definition.columns
        }
        line |= {name: value for name, value in ends.items() if name in line}
        if "standing" in line:
            line["standing"] = STANDING_OF[Verdict(line["verdict"])].value
        lines.append(_consistent(definition, line, place))
    return lines


def _ends(place: int, parties: Sequence[str]) -> dict[str, str]:
    sender, receiver = place % len(parties), (place + 1) % len(parties)
    ends = {"from_party": parties[sender], "to_party": parties[receiver]}
    return {**ends, "party": parties[sender], "peer": parties[receiver], "place": parties[sender]}


def _value(
    column: Column, place: int, chance: random.Random, foreign: str | None, width_us: int
) -> Any:
    if column.name in _WORDS:
        words = _WORDS[column.name]
        return words[place % len(words)]
    if column.name in _ONE_MORE_EACH:
        return place + 1
    if column.name in ("weekday", "hour"):
        return place % 7 + 1 if column.name == "weekday" else place % 24
    if column.type == "timestamp":
        return DAWN + place * width_us
    made: dict[str, Any] = {
        "string": foreign or f"{column.name}-{place}",
        "boolean": place % 2 == 0,
        "double": chance.random(),
        "date": _FIRST_DAY + timedelta(days=place % 9),
        "array<string>": [foreign or "example"],
        "array<bigint>": [10_000 * step * step for step in range(101)],
    }
    if column.type != "bigint":
        return made[column.type]
    return chance.randrange(1, 1_000_000_000 if column.unit == "µs" else 1_000)


def _consistent(definition: Definition, line: dict[str, Any], place: int) -> dict[str, Any]:
    """What a report never contradicts itself about."""
    if "sent" in line and "settled" in line:
        line |= {"acknowledged": line["sent"] * 8 // 10, "settled": line["sent"] // 20}
    if "reached" in line:
        line["reached"] = max(1_000 >> place, 1)
        line |= {"acknowledged": line["reached"] * 6 // 10, "needless": line["reached"] // 10}
    if "lower_us" in line:
        line |= {"skew_us": place % 5, "lower_us": -20_000, "upper_us": 30_000}
    if "p50_us" in line:
        order = sorted(line[name] for name in line if name.startswith("p") and name[1:3].isdigit())
        names = [name for name in definition.names if name.startswith("p") and name[1:3].isdigit()]
        line |= dict(zip(names, order, strict=True))
    return line


def extract_of(definition: Definition, number: int, **more: Any) -> Extract:
    """The rows, as the page gets them."""
    rows = rows_of(definition, number, **more)
    return Extract(rows, len(rows))


_NAMED = {table.name: table.definition for table in TABLES}
OVERALL = (
    *("promise", "turnaround_bins", "turnaround_heat", "retries", "duplicate_causes"),
    *("in_doubt_ages", "backlog", "volume", "error_pareto"),
)


def findings(
    number: int = 5,
    *,
    parties: Sequence[str] = PARTIES,
    foreign: str | None = None,
    counts: dict[Verdict, int] | None = None,
    broken: Sequence[str] = (),
    drills: int = 0,
    unproven: int = 0,
    faults: Sequence[str] = (),
) -> Findings:
    """A whole lake; `number` rows of every report, `counts` messages of each class per pair."""
    made: dict[str, Any] = {"parties": parties, "foreign": foreign}
    per_pair = {name: extract_of(of, number, **made) for name, of in _NAMED.items()}
    one = {"parties": [ALL_PAIRS]}
    overall = {name: extract_of(_NAMED[name], number, **one) for name in OVERALL}
    overall["turnaround"] = extract_of(turnaround.DEFINITION, min(number, 1), **one)
    per_pair["hop_waterfall"] = extract_of(
        hop_waterfall.DEFINITION, 7 * min(number, 1), parties=parties[:2], foreign=foreign
    )
    classes = {Verdict.MATCHED: 3} if counts is None else counts
    judged = judged_of(parties, classes, broken, drills=drills, unproven=unproven)
    return Findings(
        judged=judged,
        widths={"": HOUR},
        per_pair=per_pair,
        overall=overall,
        evidence=_evidence(per_pair["differences"].rows, foreign),
        quarantined=[{"party": parties[0], "fault": foreign or fault} for fault in faults],
        causes=_causes(judged, foreign),
    )


def _causes(judged: Judged, foreign: str | None) -> list[dict[str, Any]]:
    """One cause for each class that differs, and for what is not proven."""
    counts = {verdict.value: judged.verdicts[verdict] for verdict in DIFFERENCES}
    counts |= {CONTENT_UNPROVEN: judged.unproven, HEADER_UNPROVEN: judged.header_unproven}
    return [
        {
            "cause": cause,
            "differs": None,
            "settled_as": None,
            "messages": messages,
            "examples": [foreign or f"m-{number}@example" for number in range(min(messages, 3))],
        }
        for cause, messages in counts.items()
        if messages
    ]


def judged_of(
    parties: Sequence[str],
    counts: dict[Verdict, int],
    broken: Sequence[str] = (),
    *,
    drills: int = 0,
    unproven: int = 0,
) -> Judged:
    """The verdicts, `counts` of each class for each pair of neighbours."""
    pairs = [_ends(place, parties) for place in range(len(parties))]
    matrix = [
        {
            "from_party": ends["from_party"],
            "to_party": ends["to_party"],
            "verdict": verdict.value,
            "standing": STANDING_OF[verdict].value,
            "messages": messages,
        }
        for ends in pairs
        for verdict, messages in counts.items()
    ]
    lines = [
        InvariantResult(
            name, f"{name} holds.", tried, int(name in broken), ("m-1",) if name in broken else ()
        )
        for name, tried in (("I1", 3), ("I18", 0), ("E3", 9))
    ]
    journals = [_journal(party, drills) for party in parties]
    return Judged(
        as_of=AS_OF,
        policy=Policy(),
        totals={verdict.value: count * len(pairs) for verdict, count in counts.items()},
        matrix=matrix,
        invariants=tuple(lines),
        unproven=unproven,
        journals=journals,
    )


def _journal(party: str, drills: int) -> dict[str, Any]:
    counts = ("suspensions", "quarantines", "security_events", "missing", "quarantined", "forks")
    return {
        "party": party,
        "rows": 9,
        "first_at": DAWN,
        "last_at": DAWN + 90 * SECOND,
        "epochs": 2,
        "drills": drills,
        "first_bad_seq": None,
        "last_seq": 9,
        "last_hash": "ab" * 32,
        **dict.fromkeys(counts, 0),
    }


def _evidence(differences: Sequence[Any], foreign: str | None) -> list[dict[str, Any]]:
    return [
        {
            **{name: row[name] for name in ("from_party", "to_party", "message_id")},
            "party": row["from_party"],
            "seq": 3,
            "at": DAWN,
            "event": "HandedOver",
            "attempt": None,
            "outcome": None,
            "error_code": None,
            "digest": "ab" * 32,
            "header_digest": "cd" * 32,
            "reason": foreign,
        }
        for row in differences
    ]
