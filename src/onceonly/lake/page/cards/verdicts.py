"""Report 3 on the page: every class by pair, and the days on which something differs."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onceonly.lake.page import plots, words
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import (
    Extract,
    Findings,
    Judged,
    Row,
    Rows,
)
from onceonly.lake.page.listing import PAIR, behind
from onceonly.lake.page.markup import Html, cell, folded, head, link, pair, table, tag
from onceonly.lake.reports import reconciliation_days
from onceonly.lake.verdicts import CLASSES, Standing, VerdictClass

DEFINITION: Final = reconciliation_days.DEFINITION
PAIRS_TOLD: Final = 40
"""Pairs with a line of their own; the table has all."""
PAIRS_ABREAST: Final = 3
"""Columns of the matrix: of more pairs those with most differences, and all others in one."""
LINES_DRAWN: Final = 12
"""Pairs in the picture of days."""
COLUMNS_DRAWN: Final = 42
"""Columns in it; of more days, several share one."""
_BEHIND: Final = ("day", PAIR, "verdict", "standing", "messages", "one_sided", "payload_bytes")

ORDER: Final = (
    Standing.ALARM,
    Standing.DOUBT,
    Standing.OPEN,
    Standing.AGREED,
    Standing.OUTSIDE,
)
"""The gravest first."""
_GRAVE: Final = (Standing.ALARM, Standing.DOUBT)
Ends = tuple[str | None, str | None]
"""Sender and receiver; None where nobody knows."""


def pairs_of(judged: Judged) -> list[Ends]:
    """The pairs, those with most differences first, then the busiest."""
    weights: dict[Ends, tuple[int, int]] = {}
    for row in judged.matrix:
        ends = _ends(row)
        differs = row["messages"] if row["standing"] in _GRAVE else 0
        so_far = weights.get(ends, (0, 0))
        weights[ends] = (so_far[0] + differs, so_far[1] + row["messages"])
    return sorted(weights, key=lambda ends: (*(-weight for weight in weights[ends]), _named(ends)))


def _ends(row: Row) -> Ends:
    return row["from_party"], row["to_party"]


def _named(ends: Ends) -> tuple[str, str]:
    return ends[0] or "", ends[1] or ""


def unproven_of(judged: Judged) -> str:
    """Of how many messages a journal does not say what they were; empty where it is none."""
    counts = (("content", judged.unproven), ("header", judged.header_unproven))
    return ", ".join(f"{what} unproven: {words.count(number)}" for what, number in counts if number)


def _proven(judged: Judged) -> Html:
    told = unproven_of(judged)
    if not told:
        told = "Both journals have digests of content and header for every message that both have."
        return tag("p", told, kind="note")
    say = f"{told[0].upper()}{told[1:]}. Both have these messages, and one journal has no digest, "
    say += "so that nobody can tell whether both have the same: "
    return tag("p", say, link("act", "what to do"), ".", kind="note")


def matrix(found: Findings) -> Card:
    """Messages per class and pair."""
    judged = found.judged
    pairs = pairs_of(judged)
    counts = {(*_ends(row), row["verdict"]): row["messages"] for row in judged.matrix}
    classes = sorted(CLASSES, key=lambda row: ORDER.index(row.standing))
    with_messages = [row for row in classes if judged.verdicts[row.verdict]]
    without = [row for row in classes if not judged.verdicts[row.verdict]]
    whole = _matrix(with_messages, pairs, counts, judged)
    body: tuple[Html, ...] = (_proven(judged), whole)
    if len(pairs) > PAIRS_ABREAST:
        every = [_pair_line(ends, with_messages, counts) for ends in pairs[:PAIRS_TOLD]]
        heads = [head("from → to"), *[head(row.verdict, "n") for row in with_messages]]
        cut = ", those with the most differences first" if len(pairs) > PAIRS_TOLD else ""
        title = f"The classes of {words.counted(len(every), 'pair')}{cut}"
        body += (folded(title, table(heads, every, caption=title), kind="behind"),)
    unused = tag("ul", *[_meaning(row) for row in without])
    body += (folded(f"Classes that no message fell into: {len(without)}", unused),)
    return Card(
        "verdicts",
        "Verdicts",
        "Both journals laid together, message by message. Every message is in exactly one class; "
        f"absence counts only after a grace of {words.span(judged.policy.grace_us)}.",
        body if judged.messages else (),
        "no journal tells of a message.",
        (DEFINITION,),
        is_wide=True,
        is_long=True,
    )


def _matrix(
    classes: Sequence[VerdictClass], pairs: Sequence[Ends], counts: Mapping[Any, int], of: Judged
) -> Html:
    abreast, others = pairs[:PAIRS_ABREAST], len(pairs) > PAIRS_ABREAST
    heads = [head("class"), head("what it means"), *[head(pair(*ends), "n") for ends in abreast]]
    heads += [head("other pairs", "n")] if others else []
    heads += [head("all pairs", "n")]
    rows = []
    for row in classes:
        numbers = [counts.get((*ends, row.verdict), 0) for ends in abreast]
        whole = of.verdicts[row.verdict]
        numbers += [whole - sum(numbers)] if others else []
        word = cell(tag("span", row.verdict, kind=f"word {row.standing}"))
        shown = [_number(value) for value in (*numbers, whole)]
        rows.append(tag("tr", word, cell(row.meaning, "small"), *shown))
    return table(heads, rows, caption="Verdicts by pair")


def _number(value: int) -> Html:
    return cell(words.count(value), "n" if value else "n zero")


def _pair_line(ends: Ends, classes: Sequence[VerdictClass], counts: Mapping[Any, int]) -> Html:
    numbers = [_number(counts.get((*ends, row.verdict), 0)) for row in classes]
    return tag("tr", cell(pair(*ends)), *numbers)


def _meaning(row: VerdictClass) -> Html:
    return tag("li", tag("span", row.verdict, kind=f"word {row.standing}"), " ", row.meaning)


def days(found: Findings) -> Card:
    """Pair by day: the gravest class that a message of it fell into."""
    extract = found.of(DEFINITION)
    dated = [row for row in extract.rows if row["day"] is not None]
    title = "Day by day"
    body: tuple[Html, ...] = ()
    if dated:
        lines = [
            ends for ends in pairs_of(found.judged) if any(_ends(row) == ends for row in dated)
        ]
        lines = lines[:LINES_DRAWN]
        columns = _columns(dated)
        drawer = _calendar(lines, columns, dated)
        height = 0.9 + 0.3 * len(lines)
        others = len(pairs_of(found.judged)) - LINES_DRAWN
        told = _says(dated, is_cut=extract.is_cut, others=others)
        plot = plots.Plot("days", title, told, drawer, height, is_wide=True)
        bounded = Extract(dated, max(extract.total, len(dated)))
        body = (plots.picture(plot), behind(DEFINITION, bounded, _BEHIND, caption=title))
    return Card(
        "days",
        title,
        "By the day of the submission, UTC. A number counts the messages that differ; ✓ days "
        "agree, · days are open or promised nothing, blank days have no message.",
        body,
        "no message has a day.",
        (DEFINITION,),
        is_wide=True,
    )


def _says(rows: Rows, *, is_cut: bool, others: int) -> str:
    """`others`: pairs beyond those that are drawn."""
    bad = [row for row in rows if row["standing"] in _GRAVE]
    least = "at least " if is_cut else ""
    told = f"{least}{words.counted(len({row['day'] for row in rows}), 'day')}"
    drawn = f", of the {LINES_DRAWN} pairs that are drawn" if others > 0 else ""
    # Rows that differ come first: where the rest was cut, they are mostly all there.
    if not bad:
        return f"{told[0].upper()}{told[1:]}, none with a difference{drawn}."
    differing = words.counted(sum(row["messages"] for row in bad), "message")
    days_of_them = len({row["day"] for row in bad})
    return f"Differing: {least}{differing}, on {days_of_them} of {told}{drawn}."


def _columns(rows: Rows) -> list[tuple[date, date]]:
    """First and last day of each column: as many days in each as it takes."""
    ordinals = [row["day"].toordinal() for row in rows]
    first, last = min(ordinals), max(ordinals)
    step = -(-(last - first + 1) // COLUMNS_DRAWN)
    starts = range(first, last + 1, step)
    return [(date.fromordinal(at), date.fromordinal(min(at + step - 1, last))) for at in starts]


def _calendar(
    lines: Sequence[Ends], columns: Sequence[tuple[date, date]], rows: Rows
) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        plots.rows_axis(axes, [plots.ends(*ends) for ends in lines])
        axes.grid(visible=False)
        is_narrow = plots.is_narrow(figure)
        step = -(-len(columns) // (4 if is_narrow else 12))
        named = list(range(0, len(columns), step))
        axes.set_xticks(named, labels=[f"{columns[at][0]:%d %b}" for at in named], fontsize=8)
        axes.set_xlim(-0.6, max(len(columns), 7 if is_narrow else 14) - 0.4)
        for line, ends in enumerate(lines):
            for place, (first, last) in enumerate(columns):
                here = [row for row in rows if _ends(row) == ends and first <= row["day"] <= last]
                if here:
                    _square(axes, place, line, here)
        years = dict.fromkeys((f"{columns[0][0]:%Y}", f"{columns[-1][1]:%Y}"))
        axes.set_xlabel(f"{' to '.join(years)}, UTC", fontsize=8)

    return draw


_COLOUR_OF: Final = {
    Standing.ALARM: plots.RED,
    Standing.DOUBT: plots.ORANGE,
    Standing.OPEN: plots.SKY,
    Standing.AGREED: plots.GREEN,
    Standing.OUTSIDE: plots.GRID,
}


def _square(axes: Axes, place: int, line: int, rows: Rows) -> None:
    standing = min((Standing(row["standing"]) for row in rows), key=ORDER.index)
    bad = sum(row["messages"] for row in rows if row["standing"] in _GRAVE)
    is_grave = standing in _GRAVE
    colour = _COLOUR_OF[standing]
    depth = 0.85 if is_grave else 0.3
    axes.barh(line, 0.86, 0.8, left=place - 0.43, color=colour, alpha=depth)
    quiet = "✓" if standing is Standing.AGREED else "·"
    told = _brief(bad) if is_grave else quiet
    ink = plots.CARD if is_grave else plots.MUTED
    axes.annotate(told, (place, line), ha="center", va="center", fontsize=7.5, color=ink)


def _brief(value: int) -> str:
    return str(value) if value < 1_000 else f"{value // 1_000}k"
