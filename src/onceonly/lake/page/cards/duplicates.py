"""Report 9 on the page: copies that came again, and why."""

from typing import Final

from matplotlib.figure import Figure

from onceonly.lake.page import plots, words
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Findings, Rows
from onceonly.lake.page.listing import PAIR, behind
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import duplicate_causes

DEFINITION: Final = duplicate_causes.DEFINITION
CAUSES: Final = {
    "doubled": "doubled on the way",
    "by_resend": "sent again by somebody",
    "after_lost_ack": "acknowledgement lost",
    "after_slow_ack": "acknowledgement slow",
    "unexplained": "not known: one journal",
}
_LISTED: Final = (PAIR, "day", "stored", "repeats", "per_thousand", *CAUSES, "first_p50_us")


def card(found: Findings) -> Card:
    """Causes, the most frequent first."""
    extract = found.of(DEFINITION)
    totals = _totals(found.whole(DEFINITION).rows)
    title = "Copies eliminated, by cause"
    body: tuple[Html, ...] = ()
    if totals:
        labels, values = zip(*totals, strict=True)
        says = "; ".join(f"{label}: {words.count(value)}" for label, value in totals) + "."

        def draw(figure: Figure) -> None:
            plots.pareto(figure.subplots(), labels, values, "copies")

        plot = plots.Plot("duplicates", title, says, draw, 2.2)
        table = behind(DEFINITION, extract, _LISTED, caption="Copies per pair and day")
        body = (plots.picture(plot), table)
    return Card(
        "duplicates",
        title,
        "Copies that arrived again and were answered, not delivered. The cause is what both "
        "journals make most likely.",
        body,
        "no copy came twice.",
        (DEFINITION,),
    )


def _totals(rows: Rows) -> list[tuple[str, int]]:
    sums = dict.fromkeys(CAUSES.values(), 0)
    for row in rows:
        for name, label in CAUSES.items():
            sums[label] += row[name]
    return sorted(((k, v) for k, v in sums.items() if v), key=lambda one: -one[1])
