"""What a look at a store finds after a cut: everything, or which harm was done."""

from collections import deque

import apsw
import pytest

from onceonly.message.event import Event
from onceonly.simulation.machine.disk import Disk, Image
from onceonly.simulation.machine.files import DiskFiles
from onceonly.simulation.power.cut_store import STORE, CutStore, Harm, look_at_pages, look_at_rows
from onceonly.simulation.power.store_steps import journal_row


def store_after(*statements: str) -> Image:
    """A disk with a store of one commit, in which somebody did this behind the product's back."""
    disk = Disk()
    files = DiskFiles(disk)
    store = CutStore(files)
    store.begin().append([journal_row(Event.STARTED, None)])
    store.commit()
    store.close()
    connection = apsw.Connection(str(STORE), vfs=files.vfs)
    for statement in statements:
        connection.execute(statement)
    connection.close()
    files.close_vfs()
    return disk.image()


def test_a_sound_store_is_its_answers() -> None:
    """No harm, and the same digest for the same rows."""
    found, again = look_at_rows(store_after(), []), look_at_rows(store_after(), [])
    assert found == again
    assert found.harm is None


@pytest.mark.parametrize(
    ("statement", "harm", "why"),
    [
        ("PRAGMA user_version=99", Harm.UNOPENABLE, "schema version 99"),
        ("UPDATE journal SET event='Nonsense'", Harm.ALTERED, "Nonsense"),
    ],
)
def test_sound_pages_with_wrong_content_are_a_harm(statement: str, harm: Harm, why: str) -> None:
    """SQLite has nothing to say against them; the product has."""
    found = look_at_rows(store_after(statement), [])
    assert found.harm is harm
    assert why in found.why


def test_pages_that_are_no_database_are_a_damage() -> None:
    """For the quick look and for the close one."""
    image = store_after() | {str(STORE): b"no database" * 1000}
    for found in (look_at_pages(image, deque()), look_at_rows(image, [])):
        assert found.harm is Harm.DAMAGED
        assert "NotADBError" in found.why
