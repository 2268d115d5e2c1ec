"""What counts is a function of the set of segments, never of the order in which they came (E4)."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from journals import healthy, publish

from onceonly.lake.ingest.change import Change, decide
from onceonly.lake.ingest.register import GONE, KnownSegments
from onceonly.lake.ingest.segments import Look, look
from onceonly.lake.manifest import Distrusted, Manifest, Shelf, joined

SHELF = Shelf("/lake", "party=p")


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Look], list[Look]]:
    """The same numbers twice: a journal in segments of ten rows, and another history."""
    found = []
    for seed in (1, 2):
        lake = tmp_path_factory.mktemp("lake")
        ledger = healthy(seed=seed, messages=20)[0].sender
        paths = [publish(lake, ledger, first=row, last=row + 9) for row in range(1, 80, 10)]
        found.append([look(str(path), Look(f"{seed}/{path.name}")) for path in paths])
    return found[0], found[1]


def known(looks: list[Look], manifest: Manifest | None = None) -> KnownSegments:
    return KnownSegments(SHELF, manifest or Manifest(), {one.segment: one for one in looks})


def rows_of(change: Change) -> set[tuple[int, int]]:
    return {(one.first_seq, one.last_seq) for one in change.rows_of}


def test_whole_segments_count_whatever_is_missing_between_them(journals):
    """A gap is no fault of the segments around it."""
    looks, _ = journals
    change = decide(known([]), [*looks[:3], *looks[5:]])
    assert len(change.rows_of) == 6
    assert (change.quarantined, change.is_rebuilt) == ((), False)


def test_a_segment_that_does_not_follow_is_kept_apart(journals):
    """It is of another history; the one behind it in its own history is not believed either."""
    looks, others = journals
    change = decide(known(looks[:3]), [others[3], looks[4]])
    [apart] = change.quarantined
    assert (apart.segment, apart.bad_seq) == (others[3].segment, 31)
    assert "does not follow" in apart.fault
    assert rows_of(change) == {(41, 50)}


def test_what_is_set_aside_makes_room_for_what_stands_in_its_place(journals):
    """A forged last segment came first; the true one and what follows it count once it is gone."""
    looks, others = journals
    forged = others[3]._replace(segment=looks[3].segment, head=looks[3].head)
    forged = forged._replace(head_hash=looks[3].head_hash)
    before = known([*looks[:3], forged])
    refused = decide(before, [looks[3], looks[4]])
    assert {one.segment for one in refused.quarantined} == {looks[3].segment, looks[4].segment}
    before = known([*looks[:3], forged, looks[4]], Manifest(quarantined=refused.quarantined))
    aside = Distrusted(forged.segment, forged.mark, "not theirs", 1)
    change = decide(before, [looks[3]], aside)
    assert (change.quarantined, change.distrusted) == ((), (aside,))
    assert rows_of(change) == {(31, 40), (41, 50)}
    assert [one.segment for one in change.kept] == [one.segment for one in looks[:3]]
    assert list(change.dropped) == [forged]


def test_what_is_set_aside_never_counts_again(journals):
    """It stays quarantined where it stands, whatever it is called; where it is gone it is gone."""
    looks, _ = journals
    aside = Distrusted(looks[3].segment, looks[3].mark, "not theirs", 1)
    change = decide(known(looks[:4]), [looks[3]], aside)
    assert [(one.segment, one.bad_seq) for one in change.quarantined] == [(looks[3].segment, None)]
    assert list(change.dropped) == [looks[3]]
    settled = known(looks[:3], Manifest(distrusted=(aside,)))
    copied = looks[3]._replace(segment="elsewhere/segment")
    again = decide(settled, [looks[3], copied])
    assert {one.segment for one in again.quarantined} == {looks[3].segment, copied.segment}
    assert (rows_of(again), again.distrusted) == (set(), (aside,))
    gone = decide(known(looks[:4]), [Look(looks[3].segment, fault=GONE)], aside)
    assert (gone.quarantined, list(gone.dropped)) == ((), [looks[3]])


def test_a_segment_that_counted_may_turn_out_to_be_contradicted(journals):
    """The one before it comes at last, and all rows are taken anew without it."""
    looks, others = journals
    change = decide(known([*looks[:2], others[3]]), [looks[2]])
    assert change.is_rebuilt
    assert rows_of(change) == {(21, 30)}
    assert [one.segment for one in change.kept] == [one.segment for one in looks[:2]]
    assert [one.segment for one in change.quarantined] == [others[3].segment]


def test_rows_that_are_in_are_never_read_again(journals):
    """The file of a segment that counts may have changed: where it stays, its rows do."""
    looks, others = journals
    edited = looks[0]._replace(modified_at=9, fault="edited: row 4", bad_seq=4)
    apart = decide(known([looks[0], others[3]]), [edited]).quarantined
    change = decide(known([looks[0], others[3]], Manifest(quarantined=apart)), [looks[2]])
    assert change.is_rebuilt
    assert (rows_of(change), list(change.kept)) == ({(21, 30)}, [looks[0]])
    assert {one.segment for one in change.quarantined} == {looks[0].segment, others[3].segment}


def test_a_refused_segment_that_is_harmed_since_is_no_longer_laid_beside_the_others(journals):
    """Nobody looks at what it was: it cannot count, whatever comes before it."""
    looks, others = journals
    refused = others[3]
    apart = decide(known(looks[:3]), [refused]).quarantined
    harmed = refused._replace(modified_at=9, fault="unreadable: noise")
    change = decide(known([*looks[:3], refused], Manifest(quarantined=apart)), [harmed])
    assert [one.fault for one in change.quarantined] == ["unreadable: noise"]
    assert [one.fault for one in change.looks] == [GONE]


def test_a_first_row_that_was_edited_and_kept_its_hash_is_another_segment(journals):
    """Its hash is over a row that is not in the segment, so its content tells them apart."""
    looks, _ = journals
    edited = looks[2]._replace(head=f"{looks[2].head}!", modified_at=9)
    assert "changed after" in decide(known([looks[2]]), [edited]).quarantined[0].fault
    copy = edited._replace(segment="copy")
    assert decide(known([looks[2]]), [copy]).rows_of == [copy]
    assert "edited: row 21" in decide(known(looks[:3]), [copy]).quarantined[0].fault


def test_a_segment_published_again_in_place_of_a_false_one_counts(journals):
    """What was kept apart for its neighbour's sake comes back when that is right."""
    looks, others = journals
    false = others[3]._replace(segment=looks[3].segment)
    apart = decide(known(looks[:3]), [false]).quarantined
    before = known([*looks[:3], false], Manifest(quarantined=apart))
    change = decide(before, [looks[3]])
    assert (change.quarantined, rows_of(change)) == ((), {(31, 40)})


def test_the_same_rows_again_are_taken_once(journals):
    """Under another name, in the same batch or a later one."""
    looks, _ = journals
    again = [one._replace(segment=f"copy/{one.segment}") for one in looks]
    assert len(decide(known([]), [*looks, *again]).rows_of) == len(looks)
    assert decide(known(looks), again).rows_of == []


def test_a_segment_that_changed_after_it_was_taken_in_is_named(journals):
    """Its rows of before count on; what stands there now is kept apart until it is as it was."""
    looks, others = journals
    harmed = looks[2]._replace(modified_at=9, fault="unreadable: noise", bad_seq=21)
    other = others[3]._replace(segment=looks[3].segment, modified_at=9)
    change = decide(known(looks), [harmed, other])
    assert [one.fault for one in change.quarantined] == [
        "changed after it was taken in: unreadable: noise",
        "changed after it was taken in: it holds other rows",
    ]
    assert (change.rows_of, change.looks) == ([], [])
    before = known(looks, Manifest(quarantined=change.quarantined))
    mended = [looks[2]._replace(modified_at=10), looks[3]._replace(modified_at=10)]
    assert decide(before, mended).quarantined == ()


@pytest.mark.parametrize("seed", range(40))
def test_what_counts_does_not_depend_on_the_order_of_arrival(journals, seed: int):
    """Two histories under the same numbers, in random batches: the same segments are accepted."""
    chance = random.Random(seed)
    pool = [one for both in journals for one in both]
    chosen = chance.sample(pool, chance.randrange(2, len(pool)))
    at_once = decide(known([]), chosen)
    chance.shuffle(chosen)
    cuts = sorted({0, len(chosen), *(chance.randrange(len(chosen)) for _ in range(4))})
    manifest, looks = Manifest(), []
    taken: set[str] = set()
    for low, high in pairwise(cuts):
        change = decide(known(looks, manifest), chosen[low:high])
        taken = {one.segment for one in change.kept} if change.is_rebuilt else taken
        taken |= {one.segment for one in change.rows_of}
        looks += change.looks
        manifest = Manifest(quarantined=change.quarantined)
    assert manifest.quarantined == at_once.quarantined
    assert taken == {one.segment for one in at_once.rows_of}


def test_row_numbers_are_joined_and_missing_ones_named():
    """Ranges in order and apart; what lies between them is missing, and what stands twice forks."""
    found = Manifest(rows=31, ranges=joined([(1, 10), (5, 12), (13, 20), (31, 40)]))
    assert found.ranges == ((1, 20), (31, 40))
    assert found.missing == [(21, 30)]
    assert (found.numbers, found.forks, found.last_seq, found.first_bad_seq) == (30, 1, 40, 21)
    assert Manifest(rows=5, ranges=((3, 7),)).missing == [(1, 2)]
