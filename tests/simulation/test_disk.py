"""The simulated disk: what a power cut may take, and what it never may."""

import errno
from random import Random

import pytest

from onceonly.simulation.machine.disk import (
    SECTOR_BYTES,
    Disk,
    DiskOperation,
    FileHandle,
    OperationKind,
    PowerLostError,
)

PATH = "/house/file"
SEEDS = range(200)


def opened(disk: Disk, path: str = PATH) -> FileHandle:
    """A new file whose name is durable."""
    file = disk.open(path, life=disk.life, is_new=True)
    disk.sync_directory("/house", life=disk.life)
    return file


def outcomes(disk: Disk, path: str = PATH) -> set[bytes | None]:
    """What may be left of the file: None where its name is gone."""
    images = [disk.after_cut(Random(seed)) for seed in SEEDS]
    return {None if image.get(path) is None else bytes(image[path] or b"") for image in images}


def test_what_was_synced_is_never_lost() -> None:
    """Whatever the chance, synced bytes under a synced name are there."""
    disk = Disk()
    file = opened(disk)
    file.write(0, b"a" * 3_000)
    file.sync()
    assert outcomes(disk) == {b"a" * 3_000}


def test_an_unsynced_write_is_kept_lost_or_torn_between_sectors() -> None:
    """All three happen, and within a sector it is the old or the new, never a mixture."""
    disk = Disk()
    file = opened(disk)
    file.write(0, b"a" * 2_048)
    file.sync()
    file.write(0, b"b" * 2_048)
    found = outcomes(disk)
    assert {b"a" * 2_048, b"b" * 2_048} < found
    for content in found:
        assert content is not None
        for start in range(0, len(content), SECTOR_BYTES):
            assert len(set(content[start : start + SECTOR_BYTES])) == 1


def test_a_later_write_may_survive_an_earlier_one() -> None:
    """Between two syncs there is no order, and a hole reads as zeros."""
    disk = Disk()
    file = opened(disk)
    file.write(0, b"a" * SECTOR_BYTES)
    file.write(SECTOR_BYTES, b"b" * SECTOR_BYTES)
    assert b"\0" * SECTOR_BYTES + b"b" * SECTOR_BYTES in outcomes(disk)


def test_a_cut_of_the_file_is_a_write_like_any_other() -> None:
    """Unsynced, the old end may be back; synced, it is gone."""
    disk = Disk()
    file = opened(disk)
    file.write(0, b"abc")
    file.sync()
    file.truncate(1)
    assert {b"abc", b"a"} <= outcomes(disk)
    file.sync()
    assert outcomes(disk) == {b"a"}


def test_a_name_is_lost_unless_its_directory_is_synced() -> None:
    """The bytes of a new file are worth nothing without its name (fault D7)."""
    disk = Disk()
    file = disk.open(PATH, life=0, is_new=True)
    file.write(0, b"abc")
    file.sync()
    assert outcomes(disk) == {None, b"abc"}
    disk.sync_directory("/house", life=0)
    assert outcomes(disk) == {b"abc"}


def test_a_rename_happens_or_does_not() -> None:
    """After the cut one of both names has the file, never none and never both."""
    disk = Disk()
    opened(disk).write(0, b"")
    disk.rename(PATH, "/house/other", life=0)
    found = {tuple(disk.after_cut(Random(seed))) for seed in SEEDS}
    assert found == {(PATH,), ("/house/other",)}


def test_a_removed_name_may_come_back() -> None:
    """Until the directory is synced: what undoes a commit in journal_mode=DELETE."""
    disk = Disk()
    opened(disk)
    disk.remove(PATH, life=0)
    assert outcomes(disk) == {None, b""}
    disk.sync_directory("/house", life=0)
    assert outcomes(disk) == {None}


def test_with_a_directory_goes_what_is_in_it() -> None:
    """A directory that was made is a name, too."""
    disk = Disk()
    disk.make_directory("/house/spool", life=0)
    disk.open("/house/spool/file", life=0, is_new=True)
    disk.sync_directory("/house/spool", life=0)
    found = {frozenset(disk.after_cut(Random(seed))) for seed in SEEDS}
    assert found == {frozenset(), frozenset({"/house/spool", "/house/spool/file"})}


def test_the_death_of_a_process_loses_nothing() -> None:
    """The cache belongs to the machine; but what the dead one has open is dead (fault D1)."""
    disk = Disk()
    file = opened(disk)
    file.write(0, b"abc")
    disk.kill()
    for call in (lambda: file.write(0, b"x"), lambda: file.truncate(0), file.sync):
        with pytest.raises(PowerLostError):
            call()
    with pytest.raises(PowerLostError):
        disk.remove(PATH, life=0)
    assert disk.image() == {PATH: b"abc"}


def test_a_cut_leaves_what_it_said_it_would() -> None:
    """`cut` does to the disk what `after_cut` only tells."""
    disk = Disk()
    file = opened(disk)
    for number in range(20):
        file.write(number * 300, b"%03d" % number * 100)
    told = disk.after_cut(Random(7))
    disk.cut(Random(7))
    assert disk.image() == told
    assert not disk.has_unsynced()


def test_an_image_does_not_change_with_its_disk() -> None:
    """Disks that share an image change without one another's knowledge."""
    disk = Disk()
    file = opened(disk)
    file.write(0, b"abc")
    file.sync()
    image = disk.after_cut(Random(0))
    first, second = Disk(image), Disk(image)
    for changed in (first, disk):
        again = changed.open(PATH, life=changed.life)
        again.write(0, b"x")
        again.sync()
    assert image == second.image() == {PATH: b"abc"}
    assert first.after_cut(Random(1)) == {PATH: b"xbc"}


def test_a_failed_sync_has_lost_the_writes_for_good() -> None:
    """A second sync says yes to nothing: why no fsync is ever repeated (R-22, fault D3)."""
    disk = Disk()
    file = opened(disk)
    file.write(0, b"abc")

    def fail(operation: DiskOperation) -> None:
        if operation.kind is OperationKind.SYNC:
            raise OSError(errno.EIO, "an I/O error")

    disk.watcher = fail
    with pytest.raises(OSError, match="I/O error"):
        file.sync()
    disk.watcher = None
    file.sync()
    assert file.read(0, 3) == b"abc"
    assert outcomes(disk) == {b""}


def test_power_that_goes_during_a_sync_leaves_the_writes_to_chance() -> None:
    """Unlike after an error: what was not synced yet may be there, or not (faults D1, D2)."""
    disk = Disk()
    file = opened(disk)
    file.write(0, b"abc")

    def lose_power(operation: DiskOperation) -> None:
        if operation.kind is OperationKind.SYNC:
            raise PowerLostError

    disk.watcher = lose_power
    with pytest.raises(PowerLostError):
        file.sync()
    disk.watcher = None
    assert disk.has_unsynced()
    assert {b"", b"abc"} <= outcomes(disk)


def test_a_full_disk_takes_no_more_and_loses_nothing() -> None:
    """ENOSPC where a file would grow; writing over old bytes goes on (fault D4)."""
    disk = Disk()
    file = opened(disk)
    file.write(0, b"abc")
    disk.space_bytes = 4
    with pytest.raises(OSError, match="No space"):
        file.write(3, b"de")
    file.write(0, b"x")
    assert file.read(0, 9) == b"xbc"


def test_a_lying_disk_says_yes_and_forgets() -> None:
    """The documented limit: no store can tell (fault D8)."""
    disk = Disk()
    file = opened(disk)
    disk.lies = lambda kind, path: True
    file.write(0, b"abc")
    file.sync()
    assert b"" in outcomes(disk)


def test_one_bit_turns_over_where_it_rests() -> None:
    """Also after a cut it is one bit that differs (fault D5)."""
    disk = Disk()
    file = opened(disk)
    file.write(0, bytes(100))
    file.sync()
    where = disk.flip_bit(PATH, Random(3))
    for content in (file.read(0, 100), *outcomes(disk)):
        assert content is not None
        assert sum(byte.bit_count() for byte in content) == 1
        assert content[where] != 0


def test_names_are_listed_as_long_as_they_are_there() -> None:
    """Only those right in the directory."""
    disk = Disk()
    for name in ("b", "a", "deep/c"):
        disk.open(f"/house/{name}", life=0, is_new=True)
    assert list(disk.list_names("/house")) == ["b", "a"]
    with pytest.raises(FileExistsError):
        disk.open("/house/a", life=0, is_new=True)
    with pytest.raises(FileNotFoundError):
        disk.open("/house/d", life=0)
