"""The page shows what was found, escapes what came from outside, and needs no network."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

from journals import DAWN, SECOND

from onceonly.lake.reports import page, plots
from onceonly.lake.reports.findings import Findings, InvariantResult, Judged
from onceonly.lake.verdicts import Policy

HOSTILE = "<script>alert('$x$')</script>&amp;\""


def findings(party: str = "urn:duns:1", *, verdict: str = "MATCHED", drills: int = 0) -> Findings:
    pair: dict[str, Any] = {"from_party": party, "to_party": "urn:duns:2"}
    standing = "agreed" if verdict == "MATCHED" else "alarm"
    difference = {**pair, "message_id": HOSTILE, "verdict": verdict}
    evidence = {
        **pair,
        "message_id": HOSTILE,
        "party": party,
        "seq": 3,
        "at": DAWN,
        "event": "HandedOver",
        "attempt": None,
        "outcome": None,
        "error_code": None,
        "digest": "ab" * 32,
        "reason": HOSTILE,
    }
    journal = {
        "party": party,
        "rows": 9,
        "first_at": DAWN,
        "last_at": DAWN + 90 * SECOND,
        "epochs": 2,
        "suspensions": 0,
        "quarantines": 0,
        "security_events": 0,
        "drills": drills,
        "missing": 0,
        "edited": 0,
        "forks": 0,
        "first_bad_seq": None,
    }
    judged = Judged(
        as_of=DAWN + 600 * SECOND,
        policy=Policy(),
        matrix=[{**pair, "verdict": verdict, "standing": standing, "messages": 3}],
        invariants=(
            InvariantResult("I1", "No message twice.", 3, int(verdict != "MATCHED"), ()),
            InvariantResult("I18", "Budget.", 0, 0, ()),
        ),
        journals=[journal],
    )
    bins = [
        {
            "bin_at": DAWN + number * SECOND,
            "sent": number,
            "acknowledged": number,
            "handed_over": number,
            "eliminated": 1,
        }
        for number in range(5)
    ]
    times = {"p50_s": 0.05, "p90_s": 0.5, "p95_s": 2.0, "p99_s": 90.0, "worst_s": 4_000.0}
    outcome = {"sends_accepted": 3, "sends_refused": 0, "sends_unknown": 1, "cut_off": 0}
    causes = {"doubled": 1, "after_lost_ack": 2, "after_slow_ack": 0}
    return Findings(
        judged=judged,
        differences=[difference] if verdict != "MATCHED" else [],
        evidence=[evidence] if verdict != "MATCHED" else [],
        promise=bins,
        promise_width_us=SECOND,
        turnaround=[{**pair, "messages": 3, **times, "curve_s": [0.05, 0.5, 4_000.0]}],
        retries=[{"transmissions": 1, "messages": 3, "acknowledged": 2}],
        outcomes=[{**pair, **outcome, "transmissions": 4, "repeats": 3}],
        duplicate_causes=[{**pair, **causes}],
        volume=[
            {
                **pair,
                "service": HOSTILE,
                "action": "Order",
                "messages": 3,
                "bytes": 12_288,
                "median_bytes": 4_096,
                "largest_bytes": 4_096,
            }
        ],
    )


def test_what_came_from_outside_is_text():
    """A PartyId, a Service or a reason cannot become markup, in tables or in charts."""
    shown = page.render(findings(HOSTILE, verdict="DELIVERED_TWICE"))
    assert "<script" not in shown
    assert "&lt;script&gt;alert" in shown


def test_the_page_needs_no_network():
    """No address is loaded: no script, no image, no font, no style sheet."""
    shown = page.render(findings())
    loads = re.findall(r"""(?:src|href)\s*=\s*["'](?!#)([^"']+)|@import|url\((?!#)""", shown)
    assert loads == []


def test_the_same_findings_give_the_same_page():
    """A report can be compared byte for byte."""
    assert page.render(findings()) == page.render(findings())


def test_a_clean_exchange_is_sealed():
    """The first thing to be read is whether the promise held."""
    assert "The promise held." in page.render(findings())


def test_a_difference_is_on_top_and_in_detail():
    """A broken promise is said first, and its evidence is on the page."""
    shown = page.render(findings(verdict="DELIVERED_TWICE"))
    assert "There are differences." in shown
    assert "digest abababababababab…" in shown
    assert "The promise held." not in shown


def test_an_invariant_that_was_tried_on_nothing_does_not_claim_to_hold():
    """`not tried` is not `holds`."""
    assert "not tried" in page.render(findings())


def test_a_drill_is_said_aloud():
    """Times of a drill must not be taken for real ones."""
    assert "A drill:" in page.render(findings(drills=1))
    assert "A drill:" not in page.render(findings())


def test_charts_are_well_formed_and_follow_the_page():
    """Every chart is XML, has ids of its own, and takes its colours from the page."""
    found = findings(HOSTILE)
    drawn = [
        draw(found)
        for draw in (
            plots.promise,
            plots.turnaround,
            plots.retries,
            plots.duplicates,
            plots.outcomes,
        )
    ]
    ids: list[str] = []
    for svg in drawn:
        ET.fromstring(svg)
        assert "var(--" in svg
        assert "#0101" not in svg
        ids += re.findall(r'\bid="([^"]+)"', svg)
    assert len(ids) == len(set(ids))


def test_a_silence_is_drawn_as_one():
    """A bin in which nothing was sent is 0, not what the bin before it was."""
    bins = [{"bin_at": at, "sent": 3, "acknowledged": 3, "eliminated": 0} for at in (10, 40)]
    drawn = plots.every_bin(bins, 10)
    assert [(row["bin_at"], row["sent"]) for row in drawn] == [(10, 3), (20, 0), (30, 0), (40, 3)]
