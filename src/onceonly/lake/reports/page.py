"""The HTML report: one file, no network, light and dark, made to be printed.

Knows findings and how they are shown; no Spark. Everything that came from a message or a
configuration is text (`markup`), never markup.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from itertools import groupby
from typing import Any, Final

from onceonly.lake.reports import plots
from onceonly.lake.reports.duplicate_causes import CAUSES
from onceonly.lake.reports.findings import Findings, InvariantResult, Judged
from onceonly.lake.reports.markup import (
    Html,
    cell,
    duration,
    instant,
    join,
    number,
    section,
    table,
    tag,
    text,
)
from onceonly.lake.verdicts import CLASSES, STANDING_OF, Standing, Verdict, VerdictClass

PAIRS_ABREAST: Final = 4
"""Columns of the verdict matrix; with more pairs it shows the busiest, and the total of all."""

_NUM: Final = "n"
Row = Mapping[str, Any]


def render(found: Findings) -> str:
    """The whole page."""
    parts = (
        _header(found),
        _seal(found.judged),
        _drill(found.judged),
        _figures(found),
        _verdicts(found.judged),
        _differences(found),
        _promise(found),
        tag("div", _turnaround(found), _retries(found), kind="halves"),
        tag("div", _outcomes(found), _duplicates(found), kind="halves"),
        _sheet(found.judged),
        _volume(found),
        _journals(found.judged),
        _footer(found.judged),
    )
    style = files("onceonly.lake.reports").joinpath("style.css").read_text(encoding="utf-8")
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>onceonly reconciliation</title><style>{style}</style></head><body>"
    )
    return f"{head}{tag('main', *parts)}</body></html>\n"


def _pairs(judged: Judged) -> list[tuple[str, str]]:
    counts: dict[tuple[str, str], int] = {}
    for row in judged.matrix:
        pair = (row["from_party"] or "?", row["to_party"] or "?")
        counts[pair] = counts.get(pair, 0) + row["messages"]
    return sorted(counts, key=lambda pair: (-counts[pair], pair))


def _parties(judged: Judged) -> list[str]:
    return sorted({party for pair in _pairs(judged) for party in pair})


def _header(found: Findings) -> Html:
    judged = found.judged
    firsts = [row["first_at"] for row in judged.journals]
    lasts = [row["last_at"] for row in judged.journals]
    period = f"{instant(min(firsts))} to {instant(max(lasts))} UTC" if firsts else "no journals"
    return tag(
        "header",
        tag("p", "onceonly · two-party reconciliation", kind="brand"),
        tag("h1", " and ".join(_parties(judged)[:3]) or "An empty lake"),
        tag("p", f"{period}. Judged at {instant(judged.as_of)} UTC.", kind="lead"),
    )


def _seal(judged: Judged) -> Html:
    broken = sum(not line.holds for line in judged.invariants)
    if judged.holds:
        word = (
            "The promise held." if judged.verdicts[Verdict.IN_FLIGHT] == 0 else "It holds so far."
        )
        story = (
            f"{judged.messages:,} messages, no difference between the journals, "
            f"{len(judged.invariants)} invariants without a counter-example."
        )
        return _sealed("held", "✓", word, story)
    story = (
        f"{judged.differences:,} of {judged.messages:,} messages differ between the journals; "
        f"{broken} of {len(judged.invariants)} invariants are broken."
    )
    return _sealed("broken", "✗", "There are differences.", story)


def _sealed(kind: str, mark: str, word: str, story: str) -> Html:
    body = tag("div", tag("b", word), tag("span", story))
    return tag("div", tag("div", mark, kind="mark"), body, kind=f"seal {kind}")


def _drill(judged: Judged) -> Html:
    if not any(row["drills"] for row in judged.journals):
        return Html("")
    words = "A drill: at least one gateway ran with a clock or faults of its own making."
    return tag("p", words, kind="drill")


def _figures(found: Findings) -> Html:
    verdicts = found.judged.verdicts
    tried = sum(row["messages"] for row in found.retries)
    first_try = sum(row["acknowledged"] for row in found.retries if row["transmissions"] == 1)
    transmissions = sum(row["transmissions"] or 0 for row in found.outcomes)
    eliminated = sum(row["repeats"] or 0 for row in found.outcomes)
    restarts = sum(max(row["epochs"] - 1, 0) for row in found.judged.journals)
    share = f"{100 * first_try / tried:.0f} %" if tried else "none"
    shown: Sequence[tuple[Any, str]] = (
        (found.judged.messages, "messages known to either side"),
        (verdicts[Verdict.MATCHED] + verdicts[Verdict.MATCHED_LATE], "delivered once, and agreed"),
        (transmissions, "transmissions"),
        (share, "acknowledged at the first try"),
        (eliminated, "copies eliminated"),
        (restarts, "times a gateway started again"),
    )
    cards = [
        tag(
            "div",
            tag("b", value if isinstance(value, str) else f"{value:,}".replace(",", "\u202f")),
            tag("span", label),
            kind="figure",
        )
        for value, label in shown
    ]
    return tag("div", *cards, kind="figures")


def _verdicts(judged: Judged) -> Html:
    pairs = _pairs(judged)[:PAIRS_ABREAST]
    counts = {
        (row["from_party"] or "?", row["to_party"] or "?", row["verdict"]): row["messages"]
        for row in judged.matrix
    }
    order = sorted(CLASSES, key=lambda row: list(_STANDINGS_SHOWN).index(row.standing))
    rows = [_class_row(row, pairs, counts, judged.verdicts[row.verdict]) for row in order]
    heads = [("class", ""), ("what it means", "")]
    heads += [(f"{sender} → {receiver}", _NUM) for sender, receiver in pairs]
    if len(pairs) > 1:
        heads.append(("all", _NUM))
    note = (
        "Both journals laid together, message by message. Every message is in exactly one class; "
        "absence counts only after a grace of "
        f"{judged.policy.grace_us / 60e6:g} minutes."
    )
    return section("Verdicts", note, _wrapping_heads(table(heads, rows)))


_STANDINGS_SHOWN: Final = (
    Standing.AGREED,
    Standing.OPEN,
    Standing.DOUBT,
    Standing.ALARM,
    Standing.OUTSIDE,
)


def _class_row(
    row: VerdictClass,
    pairs: Sequence[tuple[str, str]],
    counts: Mapping[tuple[str, str, str], int],
    total: int,
) -> Html:
    numbers = [number(counts.get((*pair, row.verdict), 0)) for pair in pairs]
    if len(pairs) > 1:
        numbers.append(number(total))
    word = cell(tag("span", row.verdict, kind=f"word {row.standing}"))
    return tag("tr", word, cell(row.meaning, "small"), *numbers, kind="" if total else "quiet")


def _wrapping_heads(whole: Html) -> Html:
    # Long PartyIds may break after the arrow and after colons, nowhere else.
    return Html(whole.replace(" → ", " →<br>"))


def _differences(found: Findings) -> Html:
    if not found.differences:
        return Html("")
    total = found.judged.differences
    shown = len(found.differences)
    note = "The gravest first, each with the rows that both journals have on it."
    if shown < total:
        note += f" Shown are {shown} of {total}; the delivery ledger has all."
    rows_of = {key: list(rows) for key, rows in groupby(found.evidence, key=_key)}
    items = [_difference(row, rows_of.get(_key(row), [])) for row in found.differences]
    return section("Differences", note, *items, kind="long")


def _key(row: Row) -> tuple[str, str, str]:
    return row["from_party"], row["to_party"], row["message_id"]


def _difference(row: Row, evidence: Sequence[Row]) -> Html:
    kind = f"word {STANDING_OF[Verdict(row['verdict'])]}"
    title = tag(
        "summary",
        tag("span", row["verdict"], kind=kind),
        " ",
        tag("span", row["message_id"], kind="id"),
        " ",
        tag("span", f"{row['from_party']} → {row['to_party']}", kind="small"),
    )
    heads = [("at (UTC)", ""), ("journal of", ""), ("row", _NUM), ("event", ""), ("detail", "")]
    return tag("details", title, table(heads, [_evidence_row(line) for line in evidence]))


def _evidence_row(row: Row) -> Html:
    named = ("attempt", "outcome", "error_code", "reason")
    detail = [f"{name} {row[name]}" for name in named if row[name] is not None]
    if row["digest"]:
        detail.append(f"digest {row['digest'][:16]}…")
    return tag(
        "tr",
        cell(instant(row["at"]), "small"),
        cell(row["party"], "small"),
        number(row["seq"]),
        cell(row["event"]),
        cell(", ".join(detail), "small"),
    )


def _promise(found: Findings) -> Html:
    note = (
        "Messages by the time of their first transmission. Where the line stands above the area, "
        "messages were sent and are not acknowledged."
    )
    return section("Sent and acknowledged", note, _chart(plots.promise, found))


def _turnaround(found: Findings) -> Html:
    heads = [("pair", ""), *[(word, _NUM) for word in ("n", "p50", "p95", "p99", "worst")]]
    rows = [
        tag(
            "tr",
            cell(f"{row['from_party']} → {row['to_party']}", "small"),
            number(row["messages"]),
            *[duration(row[name]) for name in ("p50_s", "p95_s", "p99_s", "worst_s")],
        )
        for row in found.turnaround
    ]
    note = "From the first transmission to the acknowledgement, retries included."
    chart = _chart(plots.turnaround, found)
    return section("Time to acknowledgement", note, chart, table(heads, rows))


def _retries(found: Findings) -> Html:
    note = "How many transmissions messages took; above each bar, the chance that this one did it."
    return section("Retries", note, _chart(plots.retries, found))


def _outcomes(found: Findings) -> Html:
    note = "What the transport knew when a transmission ended. Unknown is not failure."
    return section("Transmissions", note, _chart(plots.outcomes, found))


def _duplicates(found: Findings) -> Html:
    columns = list(CAUSES.items())
    heads = [("pair", ""), *[(cause, _NUM) for cause, _ in columns]]
    rows = [
        tag(
            "tr",
            cell(f"{row['from_party']} → {row['to_party']}", "small"),
            *[number(row[name]) for _, name in columns],
        )
        for row in found.duplicate_causes
    ]
    note = "Copies that arrived again and were answered, not delivered; why they came."
    if not rows:
        return section("Copies eliminated", note, tag("p", "None."))
    chart = _chart(plots.duplicates, found)
    return section("Copies eliminated", note, chart, table(heads, rows))


def _chart(draw: Callable[[Findings], str], found: Findings) -> Html:
    drawn = draw(found)
    # matplotlib escapes the text that it places, and the rest of the drawing is its own.
    return Html(drawn) if drawn else tag("p", "Nothing to draw.", kind="small")


def _sheet(judged: Judged) -> Html:
    heads = [("", ""), ("invariant", ""), ("claim", ""), ("tried on", _NUM), ("breaches", _NUM)]
    rows = [_sheet_row(line) for line in judged.invariants]
    note = (
        "Each line must be 0. Order inside a journal is judged by row numbers, which no wall clock "
        "can move."
    )
    return section("Once and only once", note, table(heads, rows), kind="long")


def _sheet_row(line: InvariantResult) -> Html:
    claim = text(line.claim)
    if line.examples:
        seen = ", ".join(line.examples)
        claim = join((claim, Html("<br>"), tag("span", f"for example {seen}", kind="id fail")))
    return tag(
        "tr",
        _mark(line),
        cell(line.name, "word"),
        cell(claim),
        number(line.messages),
        number(line.breaches),
    )


def _mark(line: InvariantResult) -> Html:
    if not line.holds:
        return cell("✗ broken", "fail")
    return cell("✓ holds", "pass") if line.messages else cell("not tried", "untried")


def _volume(found: Findings) -> Html:
    sums = ("messages", "bytes", "median_bytes", "largest_bytes")
    heads = [("pair", ""), ("Service", ""), ("Action", "")]
    heads += [(word, _NUM) for word in ("messages", "bytes", "median", "largest")]
    rows = [
        tag(
            "tr",
            cell(f"{row['from_party']} → {row['to_party']}", "small"),
            cell(row["service"]),
            cell(row["action"]),
            *[number(row[name]) for name in sums],
        )
        for row in found.volume
    ]
    return section("Volume", "As submitted; sizes in bytes of payload.", table(heads, rows))


def _journals(judged: Judged) -> Html:
    counts = ("rows", "epochs", "suspensions", "quarantines", "security_events")
    heads = [("journal of", ""), ("from", ""), ("to", "")]
    heads += [
        (word, _NUM)
        for word in ("rows", "openings", "suspensions", "quarantines", "security events")
    ]
    heads.append(("hash chain", ""))
    rows = [
        tag(
            "tr",
            cell(row["party"]),
            cell(instant(row["first_at"]), "small"),
            cell(instant(row["last_at"]), "small"),
            *[number(row[name]) for name in counts],
            _chain_cell(row),
        )
        for row in judged.journals
    ]
    note = "The evidence. Every row carries the hash of the row before it."
    return section("Journals", note, table(heads, rows))


def _chain_cell(row: Row) -> Html:
    if row["first_bad_seq"] is None:
        return cell("✓ whole", "pass")
    words = f"✗ from row {row['first_bad_seq']}: {row['missing']} missing, "
    return cell(words + f"{row['edited']} edited, {row['forks']} forked", "fail")


def _footer(judged: Judged) -> Html:
    words = (
        "Made from both parties' journals, which hold no payloads. The same journals and the same "
        f"instant of judgement ({judged.as_of} µs) give the same report."
    )
    return tag("footer", words)
