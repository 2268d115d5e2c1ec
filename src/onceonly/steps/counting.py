"""Adds what journal rows say to the counters over time, in one step for some thousand rows.

Knows which counters a row is in and how long they are kept; must not read the journal, which is
done before the step, beside everything else (`store.contract.counters`).
"""

from collections.abc import Mapping
from typing import Final

from onceonly.steps.ground import Ground
from onceonly.store.contract.counters import (
    ALL,
    HOUR_US,
    MINUTE_US,
    EventCounts,
    JournalSums,
    PairTimes,
    Span,
)
from onceonly.store.contract.store import Transaction

KEPT_US: Final = {Span.MINUTE: 24 * 60 * MINUTE_US, Span.HOUR: 31 * 24 * HOUR_US}
"""How long counters are kept: minutes for a day, hours for a month; totals for ever."""

_Key = tuple[Span, int, str]


def count(txn: Transaction, ground: Ground, tally: JournalSums) -> bool:
    """Add a tally to the counters; False, and nothing is written, if another one came before it.

    Only agreements of ours have counters of their own, since strangers choose the ids in rows about
    what they sent: there are at most as many rows as agreements, times the spans that are kept.
    """
    if txn.counted_seq() != tally.after:
        return False
    for (span, begins_at, agreement_id), more in _by_span(ground, tally).items():
        known = txn.find_counts(span, begins_at, agreement_id)
        txn.put_counts(span, begins_at, agreement_id, more if known is None else known.plus(more))
    known_times = txn.list_pair_times() if tally.pairs else {}
    for pair, times in tally.pairs.items():
        txn.put_pair_times(pair, known_times.get(pair, PairTimes()).then(times))
    txn.add_listed(tally.listed)
    txn.put_counted_seq(tally.up_to)
    for span, kept_us in KEPT_US.items():
        txn.forget_counts(span, span.begin_of(ground.now.at - kept_us))
    return True


def _by_span(ground: Ground, tally: JournalSums) -> Mapping[_Key, EventCounts]:
    found: dict[_Key, EventCounts] = {}
    for (minute_at, agreement_id), counts in tally.counts.items():
        for span in Span:
            begins_at = span.begin_of(minute_at)
            if span in KEPT_US and begins_at < ground.now.at - KEPT_US[span]:
                continue
            is_ours = agreement_id and ground.house.agreements.named(agreement_id)
            for name in (ALL, agreement_id) if agreement_id and is_ours else (ALL,):
                key = span, begins_at, name
                found[key] = found[key].plus(counts) if key in found else counts
    return found
