"""What asks somebody to act, by report: declared once, for the jobs and for the page.

A page has so many rows of a report and no more. So the jobs put first what is due, and count it in
the whole report where they cut; the page tells these numbers, and names the first. Knows columns
and their values; it must not know what is to be done about them.
"""

from typing import Final

from onceonly.lake.page.findings import Due
from onceonly.lake.reports import (
    availability,
    budgets,
    bulk_jobs,
    clock_skew,
    failure_notices,
    in_doubt,
    journal_quality,
    late_acks,
    reconciliation_days,
    sla,
)
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables import channel_intervals
from onceonly.lake.verdicts import DIFFERENCES, Standing, Verdict

_DOUBTS: Final = in_doubt.DEFINITION.name
_QUALITY: Final = journal_quality.DEFINITION.name
_CLOCKS: Final = clock_skew.DEFINITION.name
_NOTICES: Final = failure_notices.DEFINITION.name
_LATE: Final = late_acks.DEFINITION.name
_CHANNELS: Final = channel_intervals.DEFINITION.name
_PARTNERS: Final = availability.DEFINITION.name
_JOBS: Final = bulk_jobs.DEFINITION.name

_IN_NO_DIFFERENCE: Final = tuple(one.value for one in Verdict if one not in DIFFERENCES)
_GRAVE: Final = (Standing.ALARM.value, Standing.DOUBT.value)
_OUTSIDE: Final = (("is_within_accuracy", (False,)),)
_DOWN: Final = (("is_down", (True,)),)
_BEHIND: Final = (("behind_end", ()),)


def _closed(state: str) -> Due:
    return Due(_CHANNELS, (("state", (state,)), ("until_at", (None,))), each=PAIR)


DOUBTED: Final = Due(_DOUBTS, (("verdict", _IN_NO_DIFFERENCE),))
"""Messages in doubt that no class of differences tells of."""
NOT_WHOLE: Final = Due(_QUALITY, (("status", (journal_quality.NOT_WHOLE,)),))
ENDS_EARLY: Final = Due(_QUALITY, _BEHIND)
LACKED: Final = Due(_QUALITY, _BEHIND, adds="behind_end")
"""Messages that journals which end early lack."""
JUMPED: Final = Due(_QUALITY, (("clock_jumps", ()),))
SILENT: Final = Due(_QUALITY, (("has_journal", (False,)),))
APART: Final = Due(_CLOCKS, _OUTSIDE, each=PAIR)
BINS_APART: Final = Due(_CLOCKS, _OUTSIDE)
UNTOLD: Final = Due(_NOTICES, (("missing", ()),), adds="missing")
UNCORRECTED: Final = Due(_LATE, (("was_corrected", (False,)),))
QUARANTINED: Final = _closed("quarantined")
SUSPENDED: Final = _closed("suspended")
"""Both are pairs that are closed now, and none that were."""
DOWN: Final = Due(_PARTNERS, _DOWN, each=("peer",))
LINES_DOWN: Final = Due(_PARTNERS, _DOWN)
MISSED: Final = Due(sla.DEFINITION.name, (("is_kept", (False,)),))
AT_RISK: Final = Due(budgets.DEFINITION.name, (("is_at_risk", (True,)),))
UNEQUAL: Final = Due(_JOBS, (("adds_up", (False,)),))
REFUSED: Final = Due(_JOBS, (("rejected", ()),), adds="rejected")
DIFFERING: Final = Due(reconciliation_days.DEFINITION.name, (("standing", _GRAVE),))

EVERY: Final = (
    *(DOUBTED, NOT_WHOLE, ENDS_EARLY, LACKED, JUMPED, SILENT, APART, BINS_APART, UNTOLD),
    *(UNCORRECTED, QUARANTINED, SUSPENDED, DOWN, LINES_DOWN, MISSED, AT_RISK, UNEQUAL, REFUSED),
    DIFFERING,
)
"""Of each report the gravest first."""


def of(report: str) -> tuple[Due, ...]:
    """What is due in the report of that name, the gravest first."""
    return tuple(one for one in EVERY if one.report == report)
