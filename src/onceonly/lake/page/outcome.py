"""The first screen: did the promise hold? One sentence, six answers, and how sure they are."""

from collections import Counter, defaultdict
from enum import StrEnum
from typing import Final, NamedTuple

from onceonly.lake.page import due, words
from onceonly.lake.page.cards.verdicts import ORDER, pairs_of, unproven_of
from onceonly.lake.page.findings import PAIRS_LISTED, Findings, Judged
from onceonly.lake.page.markup import Html, between, foreign, join, link, tag
from onceonly.lake.reports import profiles
from onceonly.lake.verdicts import CLASSES, Standing, Verdict

PARTIES_NAMED: Final = 3
"""Parties in the heading; of more it tells how many they are."""


class Conclusion(StrEnum):
    """What can be said of the promise as a whole."""

    BROKEN = "broken"
    DOUBT = "doubt"
    UNPROVED = "unproved"
    HELD = "held"


PROFILES_NAMED: Final = 3
"""Profiles in the heading: as many as there are, unless a journal has words of its own."""

HEADING_MAX: Final = 48
"""Characters of a PartyId in the heading."""


class Sentence(NamedTuple):
    """The answer to the one question, and what it rests on."""

    outcome: Conclusion
    mark: str
    words: str
    why: str


def sentence(found: Findings) -> Sentence:
    """The answer.

    What breaks the promise is said before what is in doubt, and that before what nobody can know.
    """
    judged = found.judged
    if not judged.holds and (_of_standing(judged, Standing.ALARM) or judged.broken):
        return _broken_sentence(found)
    if not judged.messages:
        why = "No journal in the lake tells of a message."
        return Sentence(Conclusion.UNPROVED, words.UNKNOWN, "There is nothing to judge.", why)
    return _unbroken_sentence(judged)


def _broken_sentence(found: Findings) -> Sentence:
    judged = found.judged
    alarms = _of_standing(judged, Standing.ALARM)
    hole = "Rows of the journals are missing or edited; what they told is not in this judgement."
    if not alarms and not judged.is_whole and len(judged.broken) == 1:
        return Sentence(Conclusion.BROKEN, "✗", "The evidence is not whole.", hole)
    why = (
        f"{words.counted(alarms, 'message')} of {words.count(judged.messages)} in a class that "
        f"must not be, {words.count(_of_standing(judged, Standing.DOUBT))} in doubt; "
        f"{len(judged.broken)} of {len(judged.invariants)} invariants broken."
    )
    if unproven := unproven_of(judged):
        why += f" {unproven[0].upper()}{unproven[1:]}."
    if not judged.is_whole:
        why += f" {hole} Mend that first: what differs may follow from it."
    behind = found.about(due.LACKED).number(due.LACKED)
    if behind:
        why += f" {words.count(behind)} are after the end of a journal: ingest its rest first."
    return Sentence(Conclusion.BROKEN, "✗", "There are differences.", why)


def _unbroken_sentence(judged: Judged) -> Sentence:
    counts = judged.verdicts
    agreed = words.count(_of_standing(judged, Standing.AGREED))
    told = f"{agreed} of {words.counted(judged.messages, 'message')} agreed"
    if unproven := unproven_of(judged):
        told += f" ({unproven})"
    if doubts := _of_standing(judged, Standing.DOUBT):
        why = f"{told}; {words.count(doubts)} wait for somebody to settle them."
        return Sentence(Conclusion.DOUBT, "?", "Nothing is broken; some is in doubt.", why)
    if one_sided := counts[Verdict.ONE_SIDED]:
        why = f"{told}; of {words.count(one_sided)} only one side has told."
        return Sentence(Conclusion.UNPROVED, "?", "Nothing speaks against it, from one side.", why)
    if flying := counts[Verdict.IN_FLIGHT]:
        why = f"{told}; {words.count(flying)} still under way."
        return Sentence(Conclusion.HELD, "✓", "It holds so far.", why)
    why = f"{told} between both journals; no invariant has a counter-example."
    return Sentence(Conclusion.HELD, "✓", "The promise held.", why)


def _of_standing(judged: Judged, standing: Standing) -> int:
    counts = judged.verdicts
    return sum(counts[row.verdict] for row in CLASSES if row.standing is standing)


def first_screen(found: Findings) -> Html:
    """Who, when, the sentence, the answers, and all messages in one bar."""
    judged = found.judged
    return join((_header(found), _sealed(sentence(found)), _drill(judged), _answers(found)))


def _header(found: Findings) -> Html:
    judged = found.judged
    firsts = [row["first_at"] for row in judged.journals]
    lasts = [row["last_at"] for row in judged.journals]
    period = "No journal in the lake."
    if firsts:
        period = f"{words.instant(min(firsts))} to {words.instant(max(lasts))} UTC."
    return tag(
        "header",
        tag("p", "onceonly · did the promise hold?", kind="brand"),
        tag("h1", _parties(judged)),
        tag("p", f"{period} Judged at {words.instant(judged.as_of)} UTC.", kind="lead"),
        _profiles(found),
    )


def _profiles(found: Findings) -> Html:
    """In which profiles messages went, and of how many somebody can prove that they arrived."""
    extract = found.of(profiles.DEFINITION)
    if not extract.rows:
        return Html("")
    totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in extract.rows:
        totals[row["profile"] or words.UNKNOWN].update({name: row[name] for name in _ADDED_UP})
    busiest = sorted(totals, key=lambda name: (-totals[name]["messages"], name))
    told = [_of_profile(name, totals[name]) for name in busiest[:PROFILES_NAMED]]
    if len(busiest) > PROFILES_NAMED:
        told.append(Html(f"{len(busiest) - PROFILES_NAMED} more profiles"))
    least = "At least: " if extract.is_cut else ""
    see = link("profiles", "Profiles and evidence")
    return tag("p", least, between("; ", told), ". ", see, kind="lead")


_ADDED_UP: Final = ("messages", "evidence_asked", "evidence_kept")


def _of_profile(name: str, total: Counter[str]) -> Html:
    told = words.counted(total["messages"], "message")
    if total["evidence_asked"]:
        told += (
            f", with evidence of receipt {words.count(total['evidence_kept'])} of the "
            f"{words.count(total['evidence_asked'])} that asked for it"
        )
    return join((tag("b", foreign(name)), f": {told}"))


def _parties(judged: Judged) -> Html:
    parties = list(dict.fromkeys(party for ends in pairs_of(judged) for party in ends if party))
    if not parties:
        return Html("An empty lake")
    if len(parties) > PARTIES_NAMED:
        # The findings tell so many pairs apart and no more.
        pairs = len(pairs_of(judged))
        least = "At least " if pairs == PAIRS_LISTED else ""
        return Html(f"{least}{len(parties)} parties, {words.counted(pairs, 'pair')}")
    named = [foreign(party, most=HEADING_MAX) for party in sorted(parties)]
    return between(" and ", named)


def _sealed(said: Sentence) -> Html:
    body = tag("div", tag("b", said.words), tag("span", said.why))
    mark = tag("div", said.mark, kind="mark", aria_hidden="true")
    return tag("div", mark, body, kind=f"seal {said.outcome}", role="status")


def _drill(judged: Judged) -> Html:
    if not any(row["drills"] for row in judged.journals):
        return Html("")
    told = "A drill: at least one gateway ran with a clock or faults of its own making."
    return tag("p", told, kind="drill")


class AuditQuestion(NamedTuple):
    """One of the questions that an auditor has."""

    question: str
    anchor: str
    verdicts: tuple[Verdict, ...]
    lines: tuple[str, ...]
    """Of the sheet: they count what is in the class of another defect, too."""
    needs_both: bool
    """Whether it takes both journals to know."""


QUESTIONS: Final = (
    AuditQuestion(
        "delivered twice", "verdicts", (Verdict.DELIVERED_TWICE,), ("I1",), needs_both=False
    ),
    AuditQuestion(
        "acknowledged and not delivered",
        "verdicts",
        (Verdict.ACKED_NOT_STORED, Verdict.NOT_DELIVERED_TO_APP),
        ("I13", "L2"),
        needs_both=True,
    ),
    AuditQuestion(
        "altered, or another content under one id",
        "verdicts",
        (Verdict.CONTENT_MISMATCH, Verdict.COLLISION),
        ("I8",),
        needs_both=True,
    ),
    AuditQuestion(
        "there or acknowledged, and never sent",
        "verdicts",
        (Verdict.RECEIVED_NOT_SENT, Verdict.ORPHAN_ACK),
        (),
        needs_both=True,
    ),
    AuditQuestion(
        "acknowledged without the evidence that was asked for",
        "verdicts",
        (Verdict.ACKED_WITHOUT_EVIDENCE,),
        (),
        needs_both=False,
    ),
    AuditQuestion(
        "with an end that somebody must settle",
        "in-doubt",
        (
            *(Verdict.SENT_NOT_RECEIVED, Verdict.ACK_LOST, Verdict.FAILED_BUT_DELIVERED),
            Verdict.SETTLED_WRONGLY,
        ),
        (),
        needs_both=True,
    ),
)


def _answers(found: Findings) -> Html:
    judged = found.judged
    two_sided = judged.messages > judged.verdicts[Verdict.ONE_SIDED]
    tiles = [_tile(answer, judged, two_sided=two_sided) for answer in QUESTIONS]
    grid = tag("nav", *tiles, _evidence(found), kind="answers", aria_label="Answers")
    return join((grid, _standings(judged)))


def _tile(answer: AuditQuestion, judged: Judged, *, two_sided: bool) -> Html:
    in_classes = sum(judged.verdicts[verdict] for verdict in answer.verdicts)
    on_lines = sum(one.breaches for one in judged.invariants if one.name in answer.lines)
    value = max(in_classes, on_lines)
    if not value and (not judged.messages or (answer.needs_both and not two_sided)):
        return _answer(words.UNKNOWN, f"{answer.question}: not known", answer.anchor, "unknown")
    is_doubt = answer.anchor == "in-doubt"
    kind = ("doubt" if is_doubt else "bad") if value else "good"
    return _answer(words.count(value), answer.question, answer.anchor, kind)


def _evidence(found: Findings) -> Html:
    judged = found.judged
    if not judged.is_whole:
        return _answer("no", "evidence whole: rows are missing or edited", "journals", "bad")
    if not judged.journals:
        return _answer(words.UNKNOWN, "evidence whole: there is none", "journals", "unknown")
    one_sided = judged.verdicts[Verdict.ONE_SIDED]
    if one_sided:
        return _answer(words.count(one_sided), "told by one side only", "journals", "doubt")
    rows = sum(row["rows"] for row in judged.journals)
    return _answer("whole", f"evidence: {words.count(rows)} chained rows", "journals", "good")


_MARKS: Final = {"good": "✓", "bad": "✗", "doubt": "?", "unknown": ""}


def _answer(value: str, question: str, anchor: str, kind: str) -> Html:
    mark = tag("i", _MARKS[kind], aria_hidden="true")
    return tag(
        "a",
        tag("b", value, " ", mark),
        tag("span", question),
        kind=f"answer {kind}",
        href=f"#{anchor}",
    )


_TELLS: Final = {
    Standing.ALARM: "must not be",
    Standing.DOUBT: "in doubt",
    Standing.OPEN: "not decided yet",
    Standing.AGREED: "agreed by both",
    Standing.OUTSIDE: "nothing promised",
}


def _standings(judged: Judged) -> Html:
    counts = [(standing, _of_standing(judged, standing)) for standing in ORDER]
    some = [(standing, value) for standing, value in counts if value]
    parts = [
        tag("span", kind=f"part {standing}", style=f"flex-grow:{value / judged.messages:.6f}")
        for standing, value in some
    ]
    told = [
        tag("li", tag("span", kind=f"dot {standing}"), f"{words.count(value)} {_TELLS[standing]}")
        for standing, value in some
    ]
    return join((tag("div", *parts, kind="bar", aria_hidden="true"), tag("ul", *told, kind="key")))
