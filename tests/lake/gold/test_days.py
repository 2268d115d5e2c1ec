"""What gold's file says: days that are judged by several rules, and the folders of nobody."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from onceonly.lake.gold import days
from onceonly.lake.gold.days import OTHERS_MAX, OTHERS_S, Day, Gold
from onceonly.lake.verdicts import Policy

if TYPE_CHECKING:
    from pathlib import Path

RULES = [Policy(grace_us=number) for number in range(5)]
LATER = int(OTHERS_S * 1_000_000)


def judged(rules: int, *names: str, by: str = "") -> dict[str, Day]:
    """Days as one write leaves them."""
    folder = f"lives/{rules}{by}"
    return {name: Day(f"{folder}/day={name}", 1, f"basis-{rules}", 0, 9) for name in names}


def by(gold: Gold, rules: int, now: int) -> Gold:
    """Gold after a refresh by these rules to which no row came."""
    found = gold.by_rules(RULES[rules], now)
    stale = [name for name, day in found.days.items() if day.basis != f"basis-{rules}"]
    return replace(found.with_days(judged(rules, *stale, by="-again"), now), policy=RULES[rules])


def retired(gold: Gold) -> set[str]:
    return {one.folder for one in gold.retired}


def first() -> Gold:
    return Gold(days=judged(0, "mon", "tue"), policy=RULES[0])


def test_rules_that_come_back_find_their_days():
    """Nothing is judged again, and nothing retires."""
    gold = by(by(first(), 1, 10), 0, 20)
    assert gold.days == first().days
    assert by(gold, 1, 30).days == judged(1, "mon", "tue", by="-again")
    assert retired(gold) == set()


def test_a_day_for_which_rows_came_is_judged_again_by_all_rules():
    """Its folders retire; the other days stay judged."""
    gold = by(first(), 1, 10)
    touched = gold.with_days(judged(1, "tue", by="-more"), 20).without_others(["tue"], 20)
    assert retired(touched) == {"lives/0/day=tue", "lives/1-again/day=tue"}
    back = touched.by_rules(RULES[0], 30)
    assert back.days == {**judged(0, "mon"), **judged(1, "tue", by="-more")}
    assert by(touched, 0, 30).days["tue"] == judged(0, "tue", by="-again")["tue"]
    assert retired(by(touched, 0, 30)) == retired(touched)


def test_only_so_many_other_rules_are_kept():
    """The one that was used the longest ago goes first."""
    gold = first()
    for number in range(1, len(RULES)):
        gold = by(gold, number, number)
    assert [one.policy for one in gold.others] == RULES[-2 : -2 - OTHERS_MAX : -1]
    gone = set(range(len(RULES) - 1 - OTHERS_MAX))
    assert retired(gold) == {
        day.folder
        for number in gone
        for day in judged(number, "mon", "tue", by="-again" if number else "").values()
    }


def test_other_rules_are_kept_for_a_time():
    """A question that somebody asked once does not keep its answer for ever."""
    gold = by(by(first(), 1, 10), 0, 20)
    assert gold.by_rules(RULES[0], 20 + LATER - 1) == gold
    gone = gold.by_rules(RULES[0], 20 + LATER)
    assert gone.others == ()
    assert retired(gone) == {f"lives/1-again/day={name}" for name in ("mon", "tue")}
    assert gone.days == gold.days


def test_what_some_rules_need_is_not_swept(tmp_path: Path):
    """Folders of lives and of what is counted of them; and the file tells all of them again."""
    gold = by(first(), 1, 10)
    where = str(tmp_path)
    for folder in ("lives/0", "sums/0", "lives/1-again", "sums/1-again", "lives/2", "sums/2"):
        (tmp_path / folder / "day=mon").mkdir(parents=True)
        (tmp_path / folder / "day=mon" / "file").touch()
    kept = days.sweep(where, gold, 2**62)
    there = {str(one.relative_to(tmp_path)) for one in tmp_path.glob("*/*")}
    assert there == {"lives/0", "sums/0", "lives/1-again", "sums/1-again"}
    days.publish(where, kept)
    assert days.load(where) == kept
    days.sweep(where, kept.all_retired(20), 2**62)
    assert list(tmp_path.glob("*/*")) == []
    said = json.loads((tmp_path / "gold.json").read_bytes())
    del said["others"]
    (tmp_path / "gold.json").write_text(json.dumps(said))
    assert days.load(where) == Gold()
