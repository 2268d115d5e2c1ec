"""The first screen tells the truth, the gravest first; the list of actions misses nothing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from onceonly.lake.catalogue import find
from onceonly.lake.page import actions, outcome
from onceonly.lake.page.cards import journals, verdicts
from onceonly.lake.page.findings import Extract, Findings
from onceonly.lake.page.outcome import Conclusion
from onceonly.lake.verdicts import CLASSES, Standing, Verdict
from pages import PARTIES, extract_of, findings

MATCHED = {Verdict.MATCHED: 3}
QUALITY = {"has_journal": True, "status": "whole", "clock_jumps": 0, "behind_end": 0}


def sentence(counts: dict[Verdict, int], *broken: str) -> outcome.Sentence:
    return outcome.sentence(findings(0, counts=counts, broken=broken))


def test_a_clean_exchange_is_sealed():
    """All agreed, nothing broken: that and nothing else is `held`."""
    said = sentence(MATCHED)
    assert said.outcome is Conclusion.HELD
    assert said.words == "The promise held."
    assert said.why.startswith("6 of 6 messages agreed")


@pytest.mark.parametrize("verdict", [v.verdict for v in CLASSES if v.standing is Standing.ALARM])
def test_one_alarm_breaks_the_seal(verdict: Verdict):
    """Whatever else is fine, a class that must not be is said first."""
    said = sentence({**MATCHED, verdict: 1})
    assert said.outcome is Conclusion.BROKEN
    assert "2 messages of 8 in a class that must not be" in said.why


@pytest.mark.parametrize("verdict", [v.verdict for v in CLASSES if v.standing is Standing.DOUBT])
def test_a_doubt_is_no_breach_and_no_success(verdict: Verdict):
    """What the two-army problem allows is neither sealed nor called broken."""
    assert sentence({**MATCHED, verdict: 1}).outcome is Conclusion.DOUBT


def test_a_broken_invariant_breaks_the_seal():
    """Also where every message is in a good class."""
    assert sentence(MATCHED, "I1").outcome is Conclusion.BROKEN


def test_damaged_evidence_is_not_called_a_broken_promise():
    """Where only the chain is broken, the evidence is at fault, not the exchange."""
    assert sentence(MATCHED, "E3").words == "The evidence is not whole."


def test_damaged_evidence_beside_differences_is_said_with_them():
    """What is missing from a journal counts as absent, and may be all that differs."""
    counts = {**MATCHED, Verdict.ACKED_NOT_STORED: 1}
    judged = findings(0, counts=counts, broken=["I1", "E3"]).judged
    assert [line.name for line in judged.broken] == ["E3", "I1"]
    said = sentence(counts, "I1", "E3")
    assert said.words == "There are differences."
    assert said.why.endswith("Mend that first: what differs may follow from it.")


def test_what_one_side_tells_proves_nothing():
    """Half of the evidence cannot seal anything, nor break it."""
    assert sentence({Verdict.ONE_SIDED: 5}).outcome is Conclusion.UNPROVED
    assert sentence({**MATCHED, Verdict.ONE_SIDED: 5}).outcome is Conclusion.UNPROVED


def test_what_is_under_way_is_said():
    """It holds so far; nobody promises the rest."""
    assert sentence({**MATCHED, Verdict.IN_FLIGHT: 1}).words == "It holds so far."


def test_an_empty_lake_proves_nothing():
    """No message, no promise that held."""
    assert sentence({}).outcome is Conclusion.UNPROVED


def test_what_one_side_cannot_know_is_not_shown_as_nought():
    """Without the other journal a 0 would be a claim."""
    shown = outcome.first_screen(findings(0, counts={Verdict.ONE_SIDED: 5}))
    assert "altered, or another content under one id: not known" in shown
    assert "delivered twice: not known" not in shown


def test_every_grave_class_is_answered():
    """No alarm or doubt is left out of the answers of the first screen."""
    answered = [verdict for answer in outcome.QUESTIONS for verdict in answer.verdicts]
    grave = [row.verdict for row in CLASSES if row.standing in (Standing.ALARM, Standing.DOUBT)]
    assert sorted(answered) == sorted(grave)


def with_report(name: str, *changes: dict[str, object], found: Findings | None = None) -> Findings:
    """A clean lake, but for these rows of one report."""
    clean = found or findings(0, counts=MATCHED)
    definition = find(name).definition
    rows = extract_of(definition, len(changes)).rows
    changed = [{**row, **change} for row, change in zip(rows, changes, strict=True)]
    return replace(clean, per_pair={**clean.per_pair, name: Extract(changed, len(changed))})


def test_a_clean_lake_asks_nothing_of_anybody():
    """An empty list says so."""
    assert actions.actions(findings(0, counts=MATCHED)) == []
    assert "Nothing" in actions.listed(findings(0, counts=MATCHED))


@pytest.mark.parametrize(
    "row", [v for v in CLASSES if v.standing in (Standing.ALARM, Standing.DOUBT)], ids=str
)
def test_every_grave_class_has_something_to_do(row: object):
    """Each is listed once, with what to do, and leads to the evidence."""
    verdict, standing = row.verdict, row.standing  # type: ignore[attr-defined]  # because ids are words
    [action] = actions.actions(findings(0, counts={**MATCHED, verdict: 2}))
    assert verdict.value in action.what
    assert action.gravity == (actions.ALARM if standing is Standing.ALARM else actions.DOUBT)
    assert action.do
    assert action.anchor == "differences"


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("failure_notices", {"missing": 2}, "2 failures that no application was told of"),
        ("late_acks", {"was_corrected": False}, "1 late acknowledgement not told"),
        ("availability", {"is_down": True}, "the last transmission was not accepted"),
        ("channel_intervals", {"until_at": None, "state": "suspended"}, ": suspended"),
        ("channel_intervals", {"until_at": None, "state": "quarantined"}, ": quarantined"),
        ("clock_skew", {"is_within_accuracy": False}, "more than agreed"),
        ("journal_quality", {**QUALITY, "has_journal": False}, "no journal in the lake"),
        ("journal_quality", {**QUALITY, "clock_jumps": 1}, "the clock was set"),
        ("sla", {"is_kept": False}, "1 target missed"),
        ("budgets", {"is_at_risk": True}, "1 agreement whose retries outlive"),
        ("bulk_jobs", {"rejected": 7, "adds_up": True}, "7 rows of bulk jobs refused"),
        ("bulk_jobs", {"rejected": 0, "adds_up": False}, "1 bulk job whose rows do not add up"),
        (
            "in_doubt",
            {"age_us": 3_600_000_000, "verdict": "IN_FLIGHT"},
            "1 message in doubt, in no class above, for up to 1\u202fh",
        ),
    ],
)
def test_every_report_that_asks_for_something_is_listed(
    name: str, change: dict[str, object], says: str
):
    """Each finding is one line that says what it is."""
    [action] = actions.actions(with_report(name, change))
    assert says in action.what


@pytest.mark.parametrize(
    ("parties", "says"),
    [
        (1, "p1: no journal"),
        (2, "p1, p2: no journal"),
        (3, "p1, p2, p3: no journal"),
        (5, "p1, p2, p3 and 2 more: no journal"),
    ],
)
def test_names_are_listed_as_people_list_them(parties: int, says: str):
    """A comma stands between two names and behind none."""
    silent = {**QUALITY, "has_journal": False}
    rows = [{**silent, "party": f"p{n}"} for n in range(1, parties + 1)]
    [action] = actions.actions(with_report("journal_quality", *rows))
    assert says in re.sub("<[^>]*>", "", action.what)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("failure_notices", {"missing": 0}),
        ("late_acks", {"was_corrected": True}),
        ("availability", {"is_down": False}),
        ("channel_intervals", {"until_at": 5, "state": "suspended"}),
        ("clock_skew", {"is_within_accuracy": True}),
        ("journal_quality", QUALITY),
        ("sla", {"is_kept": None}),
        ("budgets", {"is_at_risk": None}),
        ("bulk_jobs", {"rejected": 0, "adds_up": True}),
    ],
)
def test_what_is_in_order_is_not_listed(name: str, change: dict[str, object]):
    """A list that cries wolf is not read."""
    assert actions.actions(with_report(name, change)) == []


def test_the_gravest_is_first():
    """Alarms before doubts before what somebody should look at."""
    found = findings(3, counts={**MATCHED, Verdict.ACK_LOST: 1, Verdict.COLLISION: 1})
    gravities = [action.gravity for action in actions.actions(found)]
    assert gravities == sorted(gravities, key=actions.GRAVITIES.index)
    assert set(gravities) == set(actions.GRAVITIES)


def test_segments_in_quarantine_are_an_alarm():
    """Their rows are missing from every count above."""
    found = findings(0, counts=MATCHED, faults=["segment 7", "segment 8"])
    [action] = actions.actions(found)
    assert action.gravity == actions.ALARM
    assert action.what.startswith("2 segments")


def test_quarantined_segments_are_not_taken_for_quarantined_pairs():
    """Where the table of the journals was not asked for, the page counts both, by name."""
    found = findings(0, counts=MATCHED)
    one, *others = found.judged.journals
    apart = {**one, "quarantined": 71, "quarantines": 82}
    shown = journals.quality(
        replace(found, judged=replace(found.judged, journals=[apart, *others]))
    ).body[0]
    assert shown.index("quarantined segments") < shown.index("quarantined pairs")
    assert shown.index(">71<") < shown.index(">82<")


def test_a_journal_that_ends_early_is_named():
    """By what others tell of behind its end, and by no clock: a quiet party's journal just ends."""
    early = {**QUALITY, "party": PARTIES[0], "status": "ends early", "behind_end": 3}
    found = with_report("journal_quality", early, QUALITY)
    [action] = actions.actions(found)
    assert PARTIES[0] in action.what
    assert "3 messages" in action.what
    counts = {**MATCHED, Verdict.ACKED_NOT_STORED: 3}
    alarmed = findings(0, counts=counts)
    alarmed = replace(alarmed, per_pair={**alarmed.per_pair, **found.per_pair})
    assert "3 are after the end of a journal" in outcome.sentence(alarmed).why


def test_a_cause_is_said_once():
    """A line of the sheet is listed where more break it than are in the class that says so."""
    found = findings(0, counts={**MATCHED, Verdict.DELIVERED_TWICE: 1}, broken=["I1", "E3"])
    told = [action.what for action in actions.actions(found)]
    assert sum("I1" in one for one in told) == 1
    assert any("E3" in one for one in told)
    lines = [replace(line, breaches=3 * line.breaches) for line in found.judged.invariants]
    more = replace(found, judged=replace(found.judged, invariants=tuple(lines)))
    assert any("broken 1 more time, by" in one.what for one in actions.actions(more))


def test_a_second_defect_shows_in_the_answer():
    """A message is in one class; what else is wrong with it stands on the sheet, and is counted."""
    found = findings(0, counts={**MATCHED, Verdict.COLLISION: 1}, broken=["I1"])
    twice = next(one for one in outcome.QUESTIONS if one.question == "delivered twice")
    assert "<b>1 " in outcome._tile(twice, found.judged, two_sided=True)


def test_a_content_that_one_side_does_not_tell_is_said():
    """MATCHED says that both agree on a delivery, and not of what."""
    found = findings(0, counts=MATCHED, unproven=2)
    assert "(content unproven: 2)" in outcome.sentence(found).why
    [action] = actions.actions(found)
    assert action.what == "Content unproven: 2 messages"
    assert action.command == "onceonly message payload m-0@example --to payload.0"


def test_headers_that_one_side_does_not_tell_are_said():
    """In the sentence, beside the classes, and with something to do."""
    found = findings(0, counts=MATCHED, unproven=2)
    found = replace(found, judged=replace(found.judged, header_unproven=5))
    assert "(content unproven: 2, header unproven: 5)" in outcome.sentence(found).why
    [told, *_] = verdicts.matrix(found).body
    assert "Content unproven: 2, header unproven: 5." in told
    assert 'href="#act"' in told
    [proven, *_] = verdicts.matrix(findings(0, counts=MATCHED)).body
    assert "unproven" not in proven


def test_parties_whose_names_look_alike_are_named():
    """A blank at the end and a capital make two parties of one; a blank is shown."""
    names = ("urn:duns:222222222", "urn:duns:222222222 ", "URN:duns:222222222", "urn:duns:3")
    [action] = actions.actions(findings(0, parties=names, counts=MATCHED))
    assert "taken for one another" in action.what
    assert ">\\u0020<" in action.what
    assert "urn:duns:3<" not in action.what


def test_many_partners_are_named_by_the_first_few():
    """A line stays a line; the section has all of them."""
    rows = [{"is_down": True, "peer": f"urn:peer:{number}"} for number in range(9)]
    [action] = actions.actions(with_report("availability", *rows))
    assert "urn:peer:2" in action.what
    assert "urn:peer:3" not in action.what
    assert " and 6 more" in action.what


def test_the_parties_are_the_heading():
    """Two are named, the order is that of the alphabet."""
    shown = outcome.first_screen(findings(0, parties=PARTIES[::-1], counts=MATCHED))
    assert shown.index(PARTIES[0]) < shown.index(PARTIES[1])


def test_a_pair_with_nobody_at_its_other_end_is_shown_as_such():
    """An orphan acknowledgement has no receiver: its pair has a line, and the heading no `?`."""
    found = findings(2, counts=MATCHED)
    orphan = {
        "from_party": PARTIES[0],
        "to_party": None,
        "verdict": "ORPHAN_ACK",
        "standing": "alarm",
        "messages": 1,
    }
    totals = {**found.judged.totals, "ORPHAN_ACK": 1}
    judged = replace(found.judged, totals=totals, matrix=[*found.judged.matrix, orphan])
    days = find("reconciliation").definition
    row = {**extract_of(days, 1).rows[0], **orphan}
    found = replace(found, judged=judged, per_pair={days.name: Extract([row], 1)})
    assert verdicts.pairs_of(judged)[0] == (PARTIES[0], None)
    assert '<bdi class="id">?</bdi>' not in outcome.first_screen(found)
    assert '<bdi class="id">?</bdi>' in verdicts.matrix(found).body[1]
    assert "Differing: 1 message, on 1 of 1 day." in verdicts.days(found).body[0]


def test_profiles_and_their_evidence_are_named_first():
    """The profile by name, and how many of the messages that asked for evidence have it."""
    rows = [
        *(
            {"profile": "ebms-2.0", "messages": 40, "evidence_asked": 30, "evidence_kept": number}
            for number in (9, 20)
        ),
        {"profile": "rm-2001", "messages": 1, "evidence_asked": 0, "evidence_kept": 0},
    ]
    shown = outcome.first_screen(with_report("profiles", *rows))
    assert "ebms-2.0</bdi></b>: 80 messages, with evidence of receipt 29 of the 60 that" in shown
    assert "rm-2001</bdi></b>: 1 message. " in shown
    assert 'href="#profiles"' in shown
    assert 'href="#profiles"' not in outcome.first_screen(findings(0, counts=MATCHED))
