"""What `bench.lake.growth` measures is what a gateway and an ingest would leave."""

from itertools import pairwise
from pathlib import Path

from bench.lake import growth
from bench.lake.small_segments import PARTIES, SmallSegments

from onceonly.journal.segment import party_folder
from onceonly.lake.ingest import seams
from onceonly.lake.ingest.segments import Look, look


def test_very_small_segments_are_whole_and_follow_one_another(tmp_path: Path):
    """Also where a second call went on with the journals."""
    made = SmallSegments()
    made.publish(tmp_path, 3)
    made.publish(tmp_path, 2)
    for party in PARTIES:
        paths = sorted((tmp_path / "journal" / party_folder(party)).iterdir())
        looks = [look(str(path), Look(path.name)) for path in paths]
        assert [one.fault for one in looks] == [None] * 5
        assert {one.party for one in looks} == {party}
        assert len(seams.fit(looks).accepted) == 5
        assert all(one.is_followed_by(other) for one, other in pairwise(looks))


def test_a_manifest_is_measured_after_as_many_changes_as_asked_for(tmp_path: Path):
    """One by one where they are few."""
    found = growth.manifest_of(tmp_path, 40)
    assert (found["changes"], found["of_them_one_by_one"]) == (40, 40)
