"""What to act on: one list, the gravest first, each line with its reason and what to do.

Knows what each finding asks of people; it must not know how the rest of the page shows it. Its
numbers are those of whole reports (`Extract.number`), its names those in the rows of the page.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from onceonly.lake.page import due, words
from onceonly.lake.page.cards.verdicts import pairs_of
from onceonly.lake.page.commands import Command
from onceonly.lake.page.findings import (
    CHAIN,
    CONTENT_UNPROVEN,
    HEADER_UNPROVEN,
    Due,
    Extract,
    Findings,
    InvariantResult,
    Row,
)
from onceonly.lake.page.markup import PROSE, Html, between, foreign, join, link, pair, tag
from onceonly.lake.page.signs import skeleton
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
    register = found.about(due.DOUBTED)
    # Those of a class above are said there.
    doubted = register.number(due.DOUBTED)
    if doubted:
        doubts = due.DOUBTED.of(register.rows)
        oldest = max(row["age_us"] for row in doubts)
        told = f"{words.counted(doubted, 'message')} in doubt, in no class above"
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
    for alike in _alike(found):
        what = join((_names(alike, len(alike), "party"), ": names that are taken for one another"))
        todo = "They differ by blanks, capitals or look-alikes only, and are different parties to "
        todo += "everybody; see whether one of them is a slip."
        yield ToDo(LOOK, what, todo, "verdicts", Command.PARTNERS.of())
    yield from _journals(found.about(due.SILENT))
    yield from _clocks(found.about(due.APART))


def _journals(quality: Extract) -> Iterator[ToDo]:
    if quality.number(due.SILENT):
        what = join((_parties(quality, due.SILENT), ": no journal in the lake"))
        todo = "Ask for it: half of the evidence is missing."
        yield ToDo(LOOK, what, todo, "journals", Command.INGEST_THEIRS.of())
    early = quality.number(due.ENDS_EARLY)
    if early:
        lacks = words.counted(quality.number(due.LACKED), "message")
        ends = "the journal ends" if early == 1 else "the journals end"
        what = join((_parties(quality, due.ENDS_EARLY), f": {ends} before {lacks} that it lacks"))
        todo = "Others tell of them after its last row, so their absence proves nothing yet: "
        todo += "ingest the rest, and judge again."
        yield ToDo(DOUBT, what, todo, "journals", Command.INGEST_THEIRS.of())
    if quality.number(due.JUMPED):
        what = join((_parties(quality, due.JUMPED), ": the clock was set"))
        todo = "Times around it are not to be trusted; orders are. See whether it is right now."
        yield ToDo(LOOK, what, todo, "journals", Command.CLOCK.of())


def _parties(quality: Extract, of: Due) -> Html:
    named = (foreign(row["party"]) for row in of.of(quality.rows))
    return _names(named, quality.number(of), "journal")


def _alike(found: Findings) -> list[list[Html]]:
    """Parties that people take for one another."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    parties = {party for ends in pairs_of(found.judged) for party in ends if party}
    parties |= {row["party"] for row in found.judged.journals}
    # A slip of the pen has no journal, and mostly few messages: it is no pair that matters most.
    parties |= {row["party"] for row in found.about(due.SILENT).rows}
    for party in parties:
        groups[skeleton(party)].add(party)
    return [[foreign(one) for one in sorted(some)] for some in groups.values() if len(some) > 1]


def _clocks(clocks: Extract) -> Iterator[ToDo]:
    apart = clocks.number(due.APART)
    if apart:
        worst = max(abs(row["skew_us"]) for row in due.APART.of(clocks.rows))
        least = "at least " if clocks.is_cut else ""
        named = _pairs(clocks, due.APART)
        what = join((named, f": clocks {least}{words.span(worst)} apart, more than agreed"))
        todo = "Set the clocks; ages and expiries are judged wrongly. At either party:"
        yield ToDo(LOOK, what, todo, "clocks", Command.CLOCK.of())


def _notices(found: Findings) -> Iterator[ToDo]:
    missing = found.about(due.UNTOLD).number(due.UNTOLD)
    if missing:
        told = f"{words.counted(missing, 'failure')} that no application was told of"
        todo = "Tell it; the promise is a verdict for each. At the sender, see what was told:"
        yield ToDo(ALARM, told, todo, "notices", Command.NOTICES_OF_FAILURE.of())
    acks = found.about(due.UNCORRECTED)
    late = acks.number(due.UNCORRECTED)
    if late:
        told = f"{words.counted(late, 'late acknowledgement')} not told to the application"
        todo = "Tell it that the message is there after all."
        ids = [row["message_id"] for row in due.UNCORRECTED.of(acks.rows)]
        yield ToDo(ALARM, told, todo, "late", Command.LATE_ACKS.of(), ids)


def _channels(found: Findings) -> Iterator[ToDo]:
    channels = found.about(due.SUSPENDED)
    forgot = "Restore what the store forgot, then resume."
    waits = "Settle what is in doubt, then resume the pair."
    for closed, state, todo, command in (
        (due.QUARANTINED, "quarantined", forgot, Command.INCIDENTS),
        (due.SUSPENDED, "suspended", waits, Command.RESUME_PAIR),
    ):
        if channels.number(closed):
            what = join((_pairs(channels, closed), f": {state}"))
            parties = [row["to_party"] for row in closed.of(channels.rows)]
            yield ToDo(DOUBT, what, todo, "suspensions", command.of(party=parties))


def _partners(found: Findings) -> Iterator[ToDo]:
    partners = found.about(due.DOWN)
    down = partners.number(due.DOWN)
    if down:
        rows = due.DOWN.of(partners.rows)
        peers = {row["peer"]: foreign(row["peer"] or "?") for row in rows}
        named = _names(peers.values(), down, "partner")
        what = join((named, ": the last transmission was not accepted"))
        todo = "See whether the partner can be reached."
        yield ToDo(LOOK, what, todo, "availability", Command.PING.of(party=list(peers)))


def _terms(found: Findings) -> Iterator[ToDo]:
    missed = found.about(due.MISSED).number(due.MISSED)
    if missed:
        told = f"{words.counted(missed, 'target')} missed"
        todo = "The scorecard has the worst first; better times may help."
        yield ToDo(LOOK, told, todo, "scorecard", Command.ADVISE.of())
    at_risk = found.about(due.AT_RISK).number(due.AT_RISK)
    if at_risk:
        told = f"{words.counted(at_risk, 'agreement')} whose retries outlive their messages"
        todo = "Fewer retries, shorter intervals, or a longer TimeToLive."
        yield ToDo(LOOK, told, todo, "budgets", Command.ADVISE.of())


def _jobs(found: Findings) -> Iterator[ToDo]:
    jobs = found.about(due.REFUSED)
    rejected = jobs.number(due.REFUSED)
    if rejected:
        told = f"{words.counted(rejected, 'row')} of bulk jobs refused"
        todo = "The reasons are listed; mend the rows and run the job again."
        command = Command.JOB_REJECTS.of(job=_jobs_of(jobs, due.REFUSED))
        yield ToDo(LOOK, told, todo, "job-rejects", command)
    unequal = jobs.number(due.UNEQUAL)
    if unequal:
        told = f"{words.counted(unequal, 'bulk job')} whose rows do not add up"
        todo = "Compare with the job's own report."
        command = Command.JOB.of(job=_jobs_of(jobs, due.UNEQUAL))
        yield ToDo(LOOK, told, todo, "bulk-jobs", command)


def _jobs_of(jobs: Extract, of: Due) -> list[str]:
    return [row["job"] for row in of.of(jobs.rows)]


def _pairs(extract: Extract, of: Due) -> Html:
    named = {_ends(row): pair(*_ends(row)) for row in of.of(extract.rows)}
    return _names(named.values(), extract.number(of), "pair")


def _ends(row: Any) -> tuple[str, str]:
    return row["from_party"], row["to_party"]


def _names(shown: Iterable[Html], number: int, noun: str) -> Html:
    """The first of so many, and how many more there are: of some no name may be on the page."""
    some = list(shown)[:NAMED]
    if not some:
        return Html(words.counted(number, noun))
    more = number - len(some)
    named = between(", ", some)
    return join((named, f" and {words.count(more)} more")) if more else named


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
