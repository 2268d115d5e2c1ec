"""Reports 10 and 12 on the page: what applications were told, and what came too late."""

from typing import Final

from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Findings
from onceonly.lake.page.listing import PAIR, listing
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import failure_notices, late_acks

_TOLD: Final = (
    *("day", PAIR, "failures", "told", "missing", "notices_error", "notices_warning"),
    *("notices_late", "p50_us", "worst_us"),
)
_LATE: Final = (
    *("kind", PAIR, "message_id", "party", "at", "notified_at", "after_us", "was_corrected"),
    "reason",
)


def told(found: Findings) -> Card:
    """Failures and notices per pair and day."""
    definition = failure_notices.DEFINITION
    extract = found.of(definition)
    body: tuple[Html, ...] = ()
    if extract.rows:
        body = (listing(definition, extract, _TOLD, caption="Failures and notices"),)
    return Card(
        "notices",
        "Failures and notices",
        "Whether every failure was told to its application. Missing must be 0. Error says that "
        "nothing was delivered, warning that it may have been.",
        body,
        "nothing failed, and no application had to be told of anything.",
        (definition,),
        is_wide=True,
    )


def late(found: Findings) -> Card:
    """Acknowledgements after a notice, and those that nobody had asked for."""
    definition = late_acks.DEFINITION
    extract = found.of(definition)
    body: tuple[Html, ...] = ()
    if extract.rows:
        body = (listing(definition, extract, _LATE, caption="Late and orphan acknowledgements"),)
    return Card(
        "late",
        "Late and orphan acknowledgements",
        "Late: the application had been told of a failure before. Corrected: it was told of the "
        "acknowledgement too. Orphan: it fits no message that was sent.",
        body,
        "no acknowledgement came after its notice, and none that nobody had asked for.",
        (definition,),
        is_wide=True,
    )
