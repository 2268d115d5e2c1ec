"""Report 7 on the page: which agreements kept their target."""

from typing import Final

from matplotlib.figure import Figure

from onceonly.lake.page import due, plots, words
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Findings, Row
from onceonly.lake.page.listing import PAIR, listing
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import sla

DEFINITION: Final = sla.DEFINITION
BARS: Final = 12
"""Bullets drawn: the worst of them."""
_BESIDE: Final = 1.02
"""Where the share stands in words: to the right of the whole."""
_LISTED: Final = (
    *("is_kept", "met_share", "target_share", "target_us", "month", PAIR, "agreement_id"),
    *("messages", "met", "missed", "pending", "mean_us", "p95_us", "worst_us"),
)


def card(found: Findings) -> Card:
    """A bullet for each pair, agreement and month, the worst first."""
    extract = found.of(DEFINITION)
    title = "Scorecard"
    worst = [row for row in extract.rows if row["met_share"] is not None][:BARS]
    body: tuple[Html, ...] = ()
    if extract.rows:
        body = (listing(DEFINITION, extract, _LISTED, caption=title),)
    if worst:
        missed = words.count(extract.number(due.MISSED))
        says = f"{missed} of {words.counted(extract.total, 'target')} missed."
        height = 0.9 + 0.42 * len(worst)
        plot = plots.Plot("sla", title, says, _bullets(worst), height, is_wide=True)
        body = (plots.picture(plot), *body)
    return Card(
        "scorecard",
        title,
        "Share of the messages that were acknowledged within the target, by pair, agreement and "
        "month. The stroke is the share to be reached. The journal knows no targets: this one was "
        "given with the report, or is its default.",
        body,
        "no message was submitted for which an acknowledgement was agreed.",
        (DEFINITION,),
        is_wide=True,
    )


def _bullets(rows: list[Row]) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        plots.rows_axis(axes, [_label(row) for row in rows])
        for line, row in enumerate(rows):
            kept = row["is_kept"]
            colour, hatch = (plots.GREEN, "") if kept else (plots.CARD, "////")
            edge = plots.GREEN if kept else plots.RED
            axes.barh(line, row["met_share"], 0.5, color=colour, edgecolor=edge, hatch=hatch)
            axes.vlines(row["target_share"], line - 0.36, line + 0.36, color=plots.INK, linewidth=2)
            # Beside the whole and not at the end of its bar, where the stroke mostly is.
            told = words.share(row["met_share"])
            axes.annotate(told, (_BESIDE, line), va="center", fontsize=8)
        axes.set_xlim(0, 1.16)
        axes.set_xticks([0, 0.5, 1])
        plots.share_axis(axes.xaxis)

    return draw


def _label(row: Row) -> str:
    ends = plots.ends(row["from_party"], row["to_party"])
    return f"{ends}\n{plots.label(row['agreement_id'], 24)}, {row['month']:%Y-%m}"
