"""What SQLite's planner says of a statement: which tables it would read from end to end."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from onceonly.store.sqlite.queries import SQL

WHOLE = {
    "get_store": ("SCAN store",),
    "begin_epoch": ("SCAN store",),
    "get_epoch": ("SCAN store",),
    "put_counts": ("SCAN store",),
    "get_carried": ("SCAN store",),
    "list_inbox_offsets": ("SCAN (subquery-2)",),
    "get_last_offset": ("SCAN store",),
    "count_by_status": ("SCAN store",),
    "get_journal_end": ("SCAN journal",),
    "list_in_flight": ("SCAN sending_pair", "SCAN turn"),
    "list_waiting_pairs": (
        "SCAN outbound USING COVERING INDEX outbound_queued",
        "SCAN (subquery-1)",
        "SCAN waiting",
    ),
    "list_unsettled_agreements": (
        "SCAN recovery USING COVERING INDEX recovery_at_work",
        "SCAN recovery USING COVERING INDEX recovery_awaited",
        "SCAN (subquery-1)",
    ),
    "list_spooled_digests": (
        "SCAN spooled USING COVERING INDEX spooled_by_digest",
        "SCAN staged_spooled USING COVERING INDEX staged_spooled_by_digest",
    ),
    "list_blocked_orders": ("SCAN sending_order USING INDEX sending_order_blocked",),
    "list_agreements_awaiting_order": ("SCAN outbound USING INDEX outbound_queued",),
    "list_awaiting_order": ("SCAN outbound USING INDEX outbound_queued",),
    "list_gaps": ("SCAN receiving_order USING INDEX receiving_order_gap",),
    "list_recovering": ("SCAN recovery USING COVERING INDEX recovery_at_work",),
    "list_owed_notices": ("SCAN owed_notice",),
    "list_pairs": ("SCAN sending_pair", "SCAN receiving_pair"),
    "list_idle_pairs": ("SCAN sending_pair",),
    "list_open_incidents": ("SCAN incident USING INDEX incident_unresolved",),
    "list_incidents": ("SCAN incident",),
    "gather_open_incidents": ("SCAN incident USING INDEX incident_unresolved",),
    "gather_settled": ("SCAN json_each VIRTUAL TABLE INDEX 1:",),
    "gather_ended": ("SCAN json_each VIRTUAL TABLE INDEX 1:",),
    "list_ended_agreements": ("SCAN known",),
    "list_released_runs": ("SCAN holding",),
    "list_running_bulks": ("SCAN bulk USING INDEX bulk_running",),
    "forget_blocks": ("SCAN block",),
    "list_webhooks": ("SCAN webhook",),
    "list_api_keys": ("SCAN api_key",),
    "list_last_agreement_changes": (
        "SCAN agreement_change USING COVERING INDEX agreement_change_of",
    ),
    "count_unsettled": ("SCAN (subquery-1)",),
    "list_alerts": ("SCAN alert",),
    "list_mutes": ("SCAN alert_mute",),
    "list_told": ("SCAN alert_told",),
    "measure_inbound": ("SCAN json_each VIRTUAL TABLE INDEX 1:",),
    "measure_outbound": ("SCAN json_each VIRTUAL TABLE INDEX 1:",),
    "measure_transits": ("SCAN json_each VIRTUAL TABLE INDEX 1:",),
    "get_file_space": (
        "SCAN pragma_page_count VIRTUAL TABLE INDEX 0:",
        "SCAN pragma_freelist_count VIRTUAL TABLE INDEX 0:",
        "SCAN pragma_page_size VIRTUAL TABLE INDEX 0:",
    ),
    "list_pair_times": ("SCAN pair_time",),
    "list_listed": ("SCAN (subquery-1)",),
}
"""Statements that may read something from end to end, and what.

It has one row (`store`), or ends at the first row (the journal's last
one, the first queued message); or it has a row for each pair, for each agreement, for each run with
something staged or a block of rows, for each action in bulk that works, or for whatever is owed
now: in flight, in recovery, a notice, an open incident. `list_incidents` and `list_api_keys` are
asked for all that there are. `gather_settled` and `gather_ended` read the agreements that their
caller named.
A preview measures at most 10,000 messages, whose positions it brings as one JSON array; the size of
the file is in its head.
Alerts are asked for as a whole: a rule has at most `SUBJECTS_MAX` of them.
The last change of every agreement is asked for at a start or a reload; an agreement has at most
`CHANGES_KEPT` of them. `list_listed` and `count_unsettled` look at a bounded part of an index,
which their subqueries are.
"""


def connect(path: Path) -> apsw.Connection:
    """A connection that plans as those of a store do."""
    connection = apsw.Connection(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return connection


def steps_of(connection: apsw.Connection, statement: str, bindings: Any = None) -> list[str]:
    """The planner's steps; one that says why, where there can be no plan."""
    values = (None,) * count_bindings(statement) if bindings is None else bindings
    try:
        return [step for *_, step in connection.execute("EXPLAIN QUERY PLAN " + statement, values)]
    except apsw.SQLError as error:
        return [f"SCAN nothing: {error}"]


def scans(connection: apsw.Connection, name: str) -> Iterator[str]:
    """Steps of the query of this name that read what they must not from end to end."""
    for step in steps_of(connection, SQL[name]):
        is_scan = step.startswith("SCAN") or "AUTOMATIC" in step
        if is_scan and step not in WHOLE.get(name, ()):
            yield f"{name}: {step}"


def count_bindings(statement: str) -> int:
    """How many values the statement takes."""
    numbered = [int(number) for number in re.findall(r"\?(\d+)", statement)]
    return max(numbered) if numbered else statement.count("?")
