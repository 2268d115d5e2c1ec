"""What an upgrade would do to a store is told before it is done, and can be rehearsed."""

import sys
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner
from store_samples import NOW_AT, PARTY
from test_migration import first_schema

from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.sqlite.migrate import get_version, read_migrations
from onceonly.store.sqlite.store import open_sqlite
from onceonly.store.sqlite.upgrade import plan_of, rehearse
from recipes import examples_of

NEWEST = len(read_migrations())
CONFIGURATION = f"""
[gateway]
party = ["{PARTY}"]
listen = "http://127.0.0.1:8401/msh"
api = "http://127.0.0.1:8411"
store = "gateway.db"
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store as the first program left it."""
    path = tmp_path / "gateway.db"
    first_schema(path)
    return path


def version_of(path: Path) -> int:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return get_version(connection)
    finally:
        connection.close()


def test_the_plan_names_every_step_and_changes_nothing(old: Path) -> None:
    before = old.read_bytes()
    plan = plan_of(old, PARTY)
    assert plan.steps == tuple(step.name for step in read_migrations()[1:])
    assert plan.store_bytes == len(before)
    assert plan.needed_bytes > 0
    assert old.read_bytes() == before


def test_a_store_of_this_program_needs_nothing(tmp_path: Path) -> None:
    """Also while a gateway has it open."""
    path = tmp_path / "gateway.db"
    store = open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT)
    try:
        plan = plan_of(path, PARTY)
    finally:
        store.close()
    assert (plan.steps, plan.needed_bytes, plan.found.is_in_use) == ((), 0, True)


def test_a_rehearsal_works_on_a_copy_and_leaves_nothing(old: Path, tmp_path: Path) -> None:
    before = old.read_bytes()
    place = tmp_path / "place"
    place.mkdir()
    done = rehearse(old, PARTY, place, lambda: NOW_AT)
    assert done.took_s >= 0
    assert done.grown_bytes > 0
    assert old.read_bytes() == before
    assert list(place.iterdir()) == []


def test_a_store_of_a_newer_program_is_refused_with_both_versions(tmp_path: Path) -> None:
    path = tmp_path / "gateway.db"
    open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT).close()
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", NEWEST + 1)
    connection.close()
    with pytest.raises(StoreRefused, match=f"version {NEWEST + 1}; this program knows up to"):
        plan_of(path, PARTY)


def onceonly(folder: Path, *words: str) -> tuple[int, str]:
    """Exit code and output of the command over the store of the folder."""
    config = folder / "gateway.toml"
    config.write_text(CONFIGURATION, "utf-8")
    said = CliRunner().invoke(cli, [*words, "-c", str(config)])
    return said.exit_code, said.output


def test_the_command_says_what_is_to_do_and_does_it(old: Path, tmp_path: Path) -> None:
    """Exit 11 as long as there is something to do, and 0 from then on."""
    code, said = onceonly(tmp_path, "migrate", "--check", "--rehearse")
    assert code == Exit.DIFFERENCES, said
    assert f"step    {read_migrations()[-1].name}" in said
    assert "s on a copy, which grew by" in said
    assert version_of(old) == 1
    code, said = onceonly(tmp_path, "migrate")
    assert (code, f"done    schema {NEWEST}" in said) == (Exit.OK, True), said
    assert version_of(old) == NEWEST
    code, said = onceonly(tmp_path, "migrate", "--check")
    assert (code, "nothing to do" in said) == (Exit.OK, True)


def test_a_store_in_use_is_not_migrated(old: Path, tmp_path: Path) -> None:
    """Whoever holds it is another process, and this one says so."""
    lock = old.with_name(old.name + ".lock")
    import fcntl  # noqa: PLC0415 - because no other test locks

    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code, said = onceonly(tmp_path, "migrate")
    assert code == Exit.UNEXPECTED
    assert "lock" in said or "another process" in said
    assert version_of(old) == 1


def test_the_commands_of_the_page_exist(old: Path, tmp_path: Path) -> None:
    """Those of `docs/how-to/upgrade.md` about the store, in their order."""
    del old
    commands = "".join(examples_of("how-to/upgrade.md", "sh")).splitlines()
    ours = [one.split() for one in commands if one.startswith("onceonly migrate")]
    codes = [
        onceonly(tmp_path, *[word for word in words[1:] if word not in ("-c", "gateway.toml")])[0]
        for words in ours
    ]
    assert codes == [Exit.DIFFERENCES, Exit.DIFFERENCES, Exit.OK], (commands, sys.path)
