"""What to act on: one list, the gravest first, each line with its reason and what to do.

Knows what each finding asks of people; it must not know how the rest of the page shows it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from onceonly.lake.page import words
from onceonly.lake.page.cards.verdicts import pairs_of
from onceonly.lake.page.commands import Command
from onceonly.lake.page.findings import (
    CHAIN,
    CONTENT_UNPROVEN,
    HEADER_UNPROVEN,
    Findings,
    InvariantResult,
    Row,
)
from onceonly.lake.page.markup import PROSE, Html, between, foreign, join, link, pair, tag
from onceonly.lake.page.signs import skeleton
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
from onceonly.lake.verdicts import (
    CLASSES,
    Differs,
    Standing,
    Verdict,
    VerdictClass,
)
from onceonly.protocol.events import Settlement

ALARM: Final = "alarm"
DOUBT: Final = "doubt"
LOOK: Final = "look"
GRAVITIES: Final = (ALARM, DOUBT, LOOK)
"""The gravest first."""
NAMED: Final = 3
"""Messages, partners or pairs that one line names; the section that it links to has all."""


class ToDo(NamedTuple):
    """One thing to do: everything that has the same cause."""

    gravity: str
    what: Any
    do: str
    anchor: str
    command: str
    """What is typed for the first of them."""
    messages: Sequence[str] = ()
    """MessageIds of the first of them, where they are messages."""


class WayOut(NamedTuple):
    """What a cause asks of people."""

    do: str
    command: Command


_ADVICE: Final = {
    Verdict.DELIVERED_TWICE: WayOut(
        "Tell the receiving application which ones; at the receiver, find out what let it happen "
        "before more is sent.",
        Command.TRACE,
    ),
    Verdict.CONTENT_MISMATCH: WayOut(
        "At both parties, compare payloads and header with what the applications have; suspend "
        "the pair until it is known who altered it.",
        Command.HEADER,
    ),
    Verdict.COLLISION: WayOut(
        "Ask the sender which of the two contents it meant; ids must not be used again. The "
        "receiver has the list.",
        Command.COLLISIONS,
    ),
    Verdict.RECEIVED_NOT_SENT: WayOut(
        "Ask the sender for the missing part of its journal, and ingest it; if there is none, "
        "somebody else sent it.",
        Command.INGEST_THEIRS,
    ),
    Verdict.ACKED_NOT_STORED: WayOut(
        "See first that the receiver's journal does not end early: ingest its rest. Then tell the "
        "sender, which believes that it arrived; to send it again is for both parties to decide.",
        Command.INGEST_THEIRS,
    ),
    Verdict.NOT_DELIVERED_TO_APP: WayOut(
        "At the receiver, whose store has it: this hands it over.", Command.RESUME
    ),
    Verdict.ORPHAN_ACK: WayOut(
        "Ask the peer what it acknowledged; it may answer for somebody else.", Command.TRACE
    ),
    Verdict.SETTLED_WRONGLY: WayOut(
        "Tell both applications what was said and what is so. What was called not delivered is "
        "there: see whether it was sent again.",
        Command.TRACE,
    ),
    Verdict.ACKED_WITHOUT_EVIDENCE: WayOut(
        "At the sender: see what it keeps. Where it keeps nothing, ask the partner for a signed "
        "statement of receipt, and find out why the sender believed an acknowledgement that is no "
        "evidence.",
        Command.EVIDENCE,
    ),
    Verdict.FAILED_BUT_DELIVERED: WayOut(
        "Tell the sending application that it is there after all. At the sender, see what it was "
        "told.",
        Command.NOTICES,
    ),
    Verdict.ACK_LOST: WayOut(
        "At the sender: ask the receiver; to send the same message again is safe, too.", Command.ASK
    ),
    Verdict.SENT_NOT_RECEIVED: WayOut(
        "At the sender: send the same again. Where a broker had it (method Transport), look into "
        "its queues first.",
        Command.RESEND,
    ),
}
"""What each class asks of people."""
_OF_SETTLED: Final = {
    Settlement.DELIVERED.value: WayOut(
        "Tell both applications what was said and what is so. What was called delivered is not "
        "there: at the sender, send it again as a new message.",
        Command.RESEND_ANYWAY,
    )
}
"""Where an operator's word was wrong, by that word."""
_OF_CONTENT: Final = {
    Differs.PAYLOADS.value: WayOut(_ADVICE[Verdict.CONTENT_MISMATCH].do, Command.PAYLOAD)
}
"""Where the content differs, by what of it."""
_UNPROVEN: Final = {
    CONTENT_UNPROVEN: (
        "Content unproven",
        WayOut(
            "They are matched, and one journal does not say what their contents were, so that "
            "nobody can tell whether both have the same. Ask its party for a gateway that writes "
            "digests; until then compare the payloads.",
            Command.PAYLOAD,
        ),
    ),
    HEADER_UNPROVEN: (
        "Header unproven",
        WayOut(
            "One journal does not say what their headers were (Service, Action, agreement), as "
            "those of older versions do not. Ask its party to update; until then compare headers.",
            Command.HEADER,
        ),
    ),
}
"""What both have, and cannot be told to be the same."""
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
    """Everything that somebody has to do something about by its cause, the gravest first."""
    sources = (_classes, _unproven, _invariants, _evidence, _notices, _channels, _partners)
    every = [action for source in (*sources, _terms, _jobs) for action in source(found)]
    return sorted(every, key=lambda action: GRAVITIES.index(action.gravity))


def _classes(found: Findings) -> Iterator[ToDo]:
    for row in CLASSES:
        if row.standing in (Standing.ALARM, Standing.DOUBT):
            gravity = ALARM if row.standing is Standing.ALARM else DOUBT
            for cause in _of(found, row.verdict):
                yield _of_class(row, cause, gravity)
    # Those of a class above are said there.
    doubts = [row for row in found.of(in_doubt.DEFINITION).rows if row["verdict"] not in _ADVICE]
    if doubts:
        oldest = max(row["age_us"] for row in doubts)
        least = "at least " if found.of(in_doubt.DEFINITION).is_cut else ""
        told = f"{least}{words.counted(len(doubts), 'message')} in doubt, in no class above"
        told += f", for up to {words.span(oldest)}"
        do = "The register says for each what to do next."
        ids = [row["message_id"] for row in doubts]
        yield ToDo(DOUBT, told, do, "in-doubt", Command.DOUBTS.of(), ids)


def _of(found: Findings, cause: str) -> list[Row]:
    return [row for row in found.causes if row["cause"] == cause]


def _of_class(row: VerdictClass, cause: Row, gravity: str) -> ToDo:
    word = tag("span", row.verdict, kind=f"word {row.standing}")
    lines = between(", ", (tag("b", name) for name in _SAME_CAUSE.get(row.verdict, ())))
    which = join((" (", lines, ")")) if lines else Html("")
    more: list[Html] = []
    if cause["differs"]:
        more.append(join((", differs: ", foreign(cause["differs"], PROSE))))
    if cause["settled_as"]:
        more.append(join((", settled as ", foreign(cause["settled_as"], PROSE))))
    what = join((words.counted(cause["messages"], "message"), " ", word, which, *more))
    advice = _ADVICE[row.verdict]
    if row.verdict is Verdict.SETTLED_WRONGLY:
        advice = _OF_SETTLED.get(cause["settled_as"], advice)
    elif row.verdict is Verdict.CONTENT_MISMATCH:
        advice = _OF_CONTENT.get(cause["differs"], advice)
    ids = cause["examples"]
    return ToDo(gravity, what, advice.do, "differences", advice.command.of(message_id=ids), ids)


def _unproven(found: Findings) -> Iterator[ToDo]:
    for cause, (title, advice) in _UNPROVEN.items():
        for row in _of(found, cause):
            ids = row["examples"]
            what = f"{title}: {words.counted(row['messages'], 'message')}"
            command = advice.command.of(message_id=ids)
            yield ToDo(LOOK, what, advice.do, "verdicts", command, ids)


def _invariants(found: Findings) -> Iterator[ToDo]:
    counts = found.judged.verdicts
    for line in found.judged.invariants:
        said = sum(counts[verdict] for verdict, names in _SAME_CAUSE.items() if line.name in names)
        if line.breaches > said:
            told = _broken(line, said)
            if line.name == CHAIN:
                # Its examples are rows of journals, and no messages.
                do = "Have the party that it names publish its journal again, and ingest it."
                yield ToDo(ALARM, told, do, "sheet", Command.INGEST.of())
                continue
            ids = line.examples
            command = Command.TRACE.of(message_id=ids)
            do = "At both parties: see what happened to each of them."
            yield ToDo(ALARM, told, do, "sheet", command, ids)


def _broken(line: InvariantResult, said: int) -> Html:
    """`said`: by messages of classes that say so themselves."""
    times = words.counted(line.breaches - said, "more time" if said else "time")
    beside = ", by messages that are in another class" if said else ""
    return join((tag("b", line.name), f" is broken {times}{beside}: ", line.claim))


def _evidence(found: Findings) -> Iterator[ToDo]:
    if found.quarantined:
        told = f"{words.counted(len(found.quarantined), 'segment')} of evidence in quarantine"
        todo = "Ask their party to publish them again, and ingest them; until then their rows are "
        yield ToDo(ALARM, told, f"{todo}missing.", "quarantine", Command.INGEST.of())
    quality = found.of(journal_quality.DEFINITION).rows
    for alike in _alike(found):
        what = join((_names(alike), ": names that are taken for one another"))
        todo = "They differ by blanks, capitals or look-alikes only, and are different parties to "
        todo += "everybody; see whether one of them is a slip."
        yield ToDo(LOOK, what, todo, "verdicts", Command.PARTNERS.of())
    silent = [row for row in quality if not row["has_journal"]]
    if silent:
        what = join((_names(foreign(row["party"]) for row in silent), ": no journal in the lake"))
        todo = "Ask for it: half of the evidence is missing."
        yield ToDo(LOOK, what, todo, "journals", Command.INGEST_THEIRS.of())
    early = [row for row in quality if row["behind_end"]]
    if early:
        lacks = words.counted(sum(row["behind_end"] for row in early), "message")
        ends = "the journal ends" if len(early) == 1 else "the journals end"
        names = _names(foreign(row["party"]) for row in early)
        what = join((names, f": {ends} before {lacks} that it lacks"))
        todo = "Others tell of them after its last row, so their absence proves nothing yet: "
        todo += "ingest the rest, and judge again."
        yield ToDo(DOUBT, what, todo, "journals", Command.INGEST_THEIRS.of())
    jumped = [row for row in quality if row["clock_jumps"]]
    if jumped:
        what = join((_names(foreign(row["party"]) for row in jumped), ": the clock was set"))
        todo = "Times around it are not to be trusted; orders are. See whether it is right now."
        yield ToDo(LOOK, what, todo, "journals", Command.CLOCK.of())
    yield from _clocks(found)


def _alike(found: Findings) -> list[list[Html]]:
    """Parties that people take for one another."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    parties = {party for ends in pairs_of(found.judged) for party in ends if party}
    for party in parties | {row["party"] for row in found.judged.journals}:
        groups[skeleton(party)].add(party)
    return [[foreign(one) for one in sorted(some)] for some in groups.values() if len(some) > 1]


def _clocks(found: Findings) -> Iterator[ToDo]:
    outside = [row for row in found.of(clock_skew.DEFINITION).rows if not row["is_within_accuracy"]]
    if outside:
        worst = max(abs(row["skew_us"]) for row in outside)
        named = _names({_ends(row): pair(*_ends(row)) for row in outside}.values())
        what = join((named, f": clocks {words.span(worst)} apart, more than agreed"))
        todo = "Set the clocks; ages and expiries are judged wrongly. At either party:"
        yield ToDo(LOOK, what, todo, "clocks", Command.CLOCK.of())


def _notices(found: Findings) -> Iterator[ToDo]:
    rows = found.of(failure_notices.DEFINITION).rows
    missing = sum(row["missing"] for row in rows)
    if missing:
        told = f"{words.counted(missing, 'failure')} that no application was told of"
        todo = "Tell it; the promise is a verdict for each. At the sender, see what was told:"
        yield ToDo(ALARM, told, todo, "notices", Command.NOTICES_OF_FAILURE.of())
    late = [row for row in found.of(late_acks.DEFINITION).rows if row["was_corrected"] is False]
    if late:
        told = f"{words.counted(len(late), 'late acknowledgement')} not told to the application"
        todo = "Tell it that the message is there after all."
        ids = [row["message_id"] for row in late]
        yield ToDo(ALARM, told, todo, "late", Command.LATE_ACKS.of(), ids)


def _channels(found: Findings) -> Iterator[ToDo]:
    rows = found.of(channel_intervals.DEFINITION).rows
    closed = [row for row in rows if row["until_at"] is None and row["state"] != "open"]
    for state, todo, command in (
        ("quarantined", "Restore what the store forgot, then resume.", Command.INCIDENTS),
        ("suspended", "Settle what is in doubt, then resume the pair.", Command.RESUME_PAIR),
    ):
        of_state = [row for row in closed if row["state"] == state]
        if of_state:
            ends = {_ends(row): pair(*_ends(row)) for row in of_state}
            what = join((_names(ends.values()), f": {state}"))
            parties = [row["to_party"] for row in of_state]
            yield ToDo(DOUBT, what, todo, "suspensions", command.of(party=parties))


def _partners(found: Findings) -> Iterator[ToDo]:
    down = [row for row in found.of(availability.DEFINITION).rows if row["is_down"]]
    if down:
        peers = {row["peer"]: foreign(row["peer"] or "?") for row in down}
        what = join((_names(peers.values()), ": the last transmission was not accepted"))
        todo = "See whether the partner can be reached."
        yield ToDo(LOOK, what, todo, "availability", Command.PING.of(party=list(peers)))


def _terms(found: Findings) -> Iterator[ToDo]:
    missed = _number(found, sla.DEFINITION, "is_kept", value=False)
    if missed:
        told = f"{words.counted(missed, 'target')} missed"
        todo = "The scorecard has the worst first; better times may help."
        yield ToDo(LOOK, told, todo, "scorecard", Command.ADVISE.of())
    at_risk = _number(found, budgets.DEFINITION, "is_at_risk", value=True)
    if at_risk:
        told = f"{words.counted(at_risk, 'agreement')} whose retries outlive their messages"
        todo = "Fewer retries, shorter intervals, or a longer TimeToLive."
        yield ToDo(LOOK, told, todo, "budgets", Command.ADVISE.of())


def _jobs(found: Findings) -> Iterator[ToDo]:
    rows = found.of(bulk_jobs.DEFINITION).rows
    refused = [row for row in rows if row["rejected"]]
    if refused:
        rejected = sum(row["rejected"] for row in refused)
        told = f"{words.counted(rejected, 'row')} of bulk jobs refused"
        todo = "The reasons are listed; mend the rows and run the job again."
        command = Command.JOB_REJECTS.of(job=[row["job"] for row in refused])
        yield ToDo(LOOK, told, todo, "job-rejects", command)
    unequal = [row["job"] for row in rows if row["adds_up"] is False]
    if unequal:
        told = f"{words.counted(len(unequal), 'bulk job')} whose rows do not add up"
        todo = "Compare with the job's own report."
        yield ToDo(LOOK, told, todo, "bulk-jobs", Command.JOB.of(job=unequal))


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
    capitals = "Words in capitals are to be replaced. Where a line says nothing else, it is typed "
    note = tag("p", capitals, "at the gateway that it is about, or where the lake is.", kind="note")
    return join((note, tag("ol", *[_line(action) for action in every], kind="actions")))


_WORDS: Final = {ALARM: "alarm", DOUBT: "settle", LOOK: "look"}


def _line(action: ToDo) -> Html:
    word = tag("span", _WORDS[action.gravity], kind=f"gravity {action.gravity}")
    reason = tag("p", action.what, kind="what")
    first = between(", ", [foreign(one) for one in action.messages[:NAMED]])
    which = tag("p", "The first: " if len(action.messages) > 1 else "", first, kind="which")
    todo = tag("p", action.do, " ", link(action.anchor, "See"), kind="do")
    command = tag("p", tag("code", action.command), kind="command")
    parts = (reason, *([which] if action.messages else []), todo, command)
    return tag("li", word, tag("div", *parts))
