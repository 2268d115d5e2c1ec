"""What to act on: one list, the gravest first, each line with its reason and what to do.

Knows what each finding asks of people; it must not know how the rest of the page shows it.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from onceonly.lake.page import words
from onceonly.lake.page.cards.verdicts import pairs_of
from onceonly.lake.page.findings import Findings, InvariantResult
from onceonly.lake.page.markup import Html, between, foreign, join, link, pair, tag
from onceonly.lake.reports import (
    availability,
    budgets,
    bulk_jobs,
    clock_skew,
    failure_notices,
    in_doubt,
    journal_quality,
    late_acks,
    sla,
)
from onceonly.lake.tables import channel_intervals
from onceonly.lake.tables.definition import Definition
from onceonly.lake.verdicts import CLASSES, Standing, Verdict

ALARM: Final = "alarm"
DOUBT: Final = "doubt"
LOOK: Final = "look"
GRAVITIES: Final = (ALARM, DOUBT, LOOK)
"""The gravest first."""
NAMED: Final = 3
"""Partners or pairs that one line names; the section that it links to has all."""


class ToDo(NamedTuple):
    """One thing to do."""

    gravity: str
    what: Any
    do: str
    anchor: str


_ADVICE: Final = {
    Verdict.DELIVERED_TWICE: "Tell the receiving application which ones; find out what let it "
    "happen before more is sent.",
    Verdict.CONTENT_MISMATCH: "Compare payloads and header with both applications, as the "
    "difference says; stop the pair until it "
    "is known who altered it.",
    Verdict.COLLISION: "Ask the sender which of the two contents it meant; ids must not be used "
    "again.",
    Verdict.RECEIVED_NOT_SENT: "Ask the sender for the missing part of its journal; if there is "
    "none, somebody else sent it.",
    Verdict.ACKED_NOT_STORED: "See first that the receiver's journal does not end early. Then tell "
    "the sender, which believes that it arrived; to send it again is for both parties to decide.",
    Verdict.NOT_DELIVERED_TO_APP: "At the receiver, whose store has it: onceonly message resume "
    "MESSAGE_ID --reason … hands it over.",
    Verdict.ORPHAN_ACK: "Ask the peer what it acknowledged; it may answer for somebody else.",
    Verdict.SETTLED_WRONGLY: "Tell both applications what was said and what is so. What was called "
    "delivered and is not there: onceonly message resend MESSAGE_ID --anyway --reason …. What was "
    "called not delivered and is there: see whether it was sent again.",
    Verdict.ACKED_WITHOUT_EVIDENCE: "At the sender: onceonly message evidence MESSAGE_ID says what "
    "it keeps. Where it keeps nothing, ask the partner for a signed statement of receipt, and find "
    "out why the sender believed an acknowledgement that is no evidence.",
    Verdict.FAILED_BUT_DELIVERED: "Tell the sending application that it is there after all.",
    Verdict.ACK_LOST: "At the sender: onceonly message status MESSAGE_ID --remote asks the "
    "receiver, onceonly message resend MESSAGE_ID sends the same again.",
    Verdict.SENT_NOT_RECEIVED: "At the sender: onceonly message resend MESSAGE_ID sends the same "
    "again. Where a broker had it (method Transport), look into its queues first.",
}
"""What each class asks of people."""
_SAME_CAUSE: Final = {
    Verdict.DELIVERED_TWICE: ("I1",),
    Verdict.CONTENT_MISMATCH: ("I2",),
    Verdict.RECEIVED_NOT_SENT: ("I2",),
    Verdict.COLLISION: ("I8",),
    Verdict.ACKED_NOT_STORED: ("I13",),
    Verdict.NOT_DELIVERED_TO_APP: ("L2",),
}
"""Lines of the sheet that every message of a class breaks by being in it: said with the class."""


def actions(found: Findings) -> list[ToDo]:
    """Everything that somebody has to do something about, the gravest first."""
    sources = (_classes, _invariants, _evidence, _notices, _channels, _partners, _terms, _jobs)
    every = [action for source in sources for action in source(found)]
    return sorted(every, key=lambda action: GRAVITIES.index(action.gravity))


def _classes(found: Findings) -> Iterator[ToDo]:
    counts = found.judged.verdicts
    for row in CLASSES:
        if row.standing in (Standing.ALARM, Standing.DOUBT) and counts[row.verdict]:
            gravity = ALARM if row.standing is Standing.ALARM else DOUBT
            word = tag("span", row.verdict, kind=f"word {row.standing}")
            lines = between(", ", (tag("b", name) for name in _SAME_CAUSE.get(row.verdict, ())))
            which = join((" (", lines, ")")) if lines else Html("")
            what = join((words.counted(counts[row.verdict], "message"), " ", word, which))
            yield ToDo(gravity, what, _ADVICE[row.verdict], "differences")
    # Those of a class above are said there.
    doubts = [row for row in found.of(in_doubt.DEFINITION).rows if row["verdict"] not in _ADVICE]
    if doubts:
        oldest = max(row["age_us"] for row in doubts)
        least = "at least " if found.of(in_doubt.DEFINITION).is_cut else ""
        told = f"{least}{words.counted(len(doubts), 'message')} in doubt, in no class above"
        told += f", for up to {words.span(oldest)}"
        yield ToDo(DOUBT, told, "The register says for each what to do next.", "in-doubt")


def _invariants(found: Findings) -> Iterator[ToDo]:
    counts = found.judged.verdicts
    for line in found.judged.invariants:
        said = sum(counts[verdict] for verdict, names in _SAME_CAUSE.items() if line.name in names)
        if line.breaches > said:
            told = _broken(line, said)
            yield ToDo(ALARM, told, "The sheet names counter-examples.", "sheet")


def _broken(line: InvariantResult, said: int) -> Html:
    """`said`: by messages of classes that say so themselves."""
    times = words.counted(line.breaches - said, "more time" if said else "time")
    beside = ", by messages that are in another class" if said else ""
    return join((tag("b", line.name), f" is broken {times}{beside}: ", line.claim))


def _evidence(found: Findings) -> Iterator[ToDo]:
    if found.quarantined:
        told = f"{words.counted(len(found.quarantined), 'segment')} of evidence in quarantine"
        todo = "Ask their party to publish them again; until then their rows are missing."
        yield ToDo(ALARM, told, todo, "quarantine")
    quality = found.of(journal_quality.DEFINITION).rows
    if found.judged.unproven:
        what = f"Content unproven: {words.count(found.judged.unproven)} matched messages"
        todo = "One journal does not say what their contents were: ask its party why."
        yield ToDo(LOOK, what, todo, "verdicts")
    for alike in _alike(found):
        what = join((_names(alike), ": names that differ by blanks or capitals only"))
        todo = "They are different parties to everybody; see whether one of them is a slip."
        yield ToDo(LOOK, what, todo, "verdicts")
    silent = [row for row in quality if not row["has_journal"]]
    if silent:
        what = join((_names(foreign(row["party"]) for row in silent), ": no journal in the lake"))
        yield ToDo(LOOK, what, "Ask for it: half of the evidence is missing.", "journals")
    for row in quality:
        if row["behind_end"]:
            lacks = words.counted(row["behind_end"], "message")
            what = join((foreign(row["party"]), f": the journal ends before {lacks} that it lacks"))
            todo = "Others tell of them after its last row, so their absence proves nothing yet: "
            yield ToDo(DOUBT, what, f"{todo}ingest the rest, and judge again.", "journals")
    jumped = [row for row in quality if row["clock_jumps"]]
    if jumped:
        what = join((_names(foreign(row["party"]) for row in jumped), ": the clock was set"))
        yield ToDo(LOOK, what, "Times around it are not to be trusted; orders are.", "journals")
    yield from _clocks(found)


def _alike(found: Findings) -> list[list[Html]]:
    """Parties that people take for one another."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    parties = {party for ends in pairs_of(found.judged) for party in ends if party}
    for party in parties | {row["party"] for row in found.judged.journals}:
        groups["".join(party.casefold().split())].add(party)
    return [[foreign(one) for one in sorted(some)] for some in groups.values() if len(some) > 1]


def _clocks(found: Findings) -> Iterator[ToDo]:
    outside = [row for row in found.of(clock_skew.DEFINITION).rows if not row["is_within_accuracy"]]
    if outside:
        worst = max(abs(row["skew_us"]) for row in outside)
        named = _names({_ends(row): pair(*_ends(row)) for row in outside}.values())
        what = join((named, f": clocks {words.span(worst)} apart, more than agreed"))
        yield ToDo(LOOK, what, "Set the clocks; ages and expiries are judged wrongly.", "clocks")


def _notices(found: Findings) -> Iterator[ToDo]:
    rows = found.of(failure_notices.DEFINITION).rows
    missing = sum(row["missing"] for row in rows)
    if missing:
        told = f"{words.counted(missing, 'failure')} that no application was told of"
        yield ToDo(ALARM, told, "Tell it; the promise is a verdict for each.", "notices")
    late = [row for row in found.of(late_acks.DEFINITION).rows if row["was_corrected"] is False]
    if late:
        told = f"{words.counted(len(late), 'late acknowledgement')} not told to the application"
        yield ToDo(ALARM, told, "Tell it that the message is there after all.", "late")


def _channels(found: Findings) -> Iterator[ToDo]:
    rows = found.of(channel_intervals.DEFINITION).rows
    closed = [row for row in rows if row["until_at"] is None and row["state"] != "open"]
    for state, todo in (
        ("quarantined", "Restore what the store forgot, then resume."),
        ("suspended", "Settle what is in doubt, then resume the pair."),
    ):
        ends = {_ends(row): pair(*_ends(row)) for row in closed if row["state"] == state}
        if ends:
            yield ToDo(DOUBT, join((_names(ends.values()), f": {state}")), todo, "suspensions")


def _partners(found: Findings) -> Iterator[ToDo]:
    down = [row for row in found.of(availability.DEFINITION).rows if row["is_down"]]
    if down:
        peers = {row["peer"]: foreign(row["peer"] or "?") for row in down}
        what = join((_names(peers.values()), ": the last transmission was not accepted"))
        yield ToDo(LOOK, what, "See whether the partner can be reached.", "availability")


def _terms(found: Findings) -> Iterator[ToDo]:
    missed = _number(found, sla.DEFINITION, "is_kept", value=False)
    if missed:
        told = f"{words.counted(missed, 'target')} missed"
        yield ToDo(LOOK, told, "The scorecard has the worst first.", "scorecard")
    at_risk = _number(found, budgets.DEFINITION, "is_at_risk", value=True)
    if at_risk:
        told = f"{words.counted(at_risk, 'agreement')} whose retries outlive their messages"
        todo = "Fewer retries, shorter intervals, or a longer TimeToLive."
        yield ToDo(LOOK, told, todo, "budgets")


def _jobs(found: Findings) -> Iterator[ToDo]:
    rejected = sum(row["rejected"] for row in found.of(bulk_jobs.DEFINITION).rows)
    if rejected:
        told = f"{words.counted(rejected, 'row')} of bulk jobs refused"
        todo = "The reasons are listed; mend the rows and run the job again."
        yield ToDo(LOOK, told, todo, "job-rejects")
    unequal = _number(found, bulk_jobs.DEFINITION, "adds_up", value=False)
    if unequal:
        told = f"{words.counted(unequal, 'bulk job')} whose rows do not add up"
        yield ToDo(LOOK, told, "Compare with the job's own report.", "bulk-jobs")


def _number(found: Findings, of: Definition, name: str, *, value: bool) -> int:
    return sum(row[name] is value for row in found.of(of).rows)


def _ends(row: Any) -> tuple[str, str]:
    return row["from_party"], row["to_party"]


def _names(shown: Any) -> Html:
    every = list(shown)
    some = between(", ", every[:NAMED])
    return some if len(every) <= NAMED else join((some, f" and {len(every) - NAMED} more"))


def listed(found: Findings) -> Html:
    """The list as it stands on the page."""
    every = actions(found)
    if not every:
        return tag("p", "Nothing: no finding asks anything of anybody.", kind="calm")
    return tag("ol", *[_line(action) for action in every], kind="actions")


_WORDS: Final = {ALARM: "alarm", DOUBT: "settle", LOOK: "look"}


def _line(action: ToDo) -> Html:
    word = tag("span", _WORDS[action.gravity], kind=f"gravity {action.gravity}")
    reason = tag("p", action.what, kind="what")
    todo = tag("p", action.do, " ", link(action.anchor, "See"), kind="do")
    return tag("li", word, tag("div", reason, todo))
