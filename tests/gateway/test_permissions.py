"""Who may read what a gateway writes: nobody else, and of a lake one group; whatever the umask."""

import grp
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from running_gateway import running, write_configuration

from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import read_configuration
from onceonly.gateway.lake_files import (
    FILE_MODE,
    FOLDER_MODE,
    Reader,
    create,
    make_folders,
    reader_of,
)
from onceonly.gateway.open_files import find_open
from onceonly.gateway.wiring import open_store, publish_offline
from onceonly.store.spool import INLINE_BYTES_MAX


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request):
    """The process has this umask for the length of a test."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(root: Path) -> dict[str, int]:
    """The mode of everything below the folder, by its path in it."""
    return {
        path.relative_to(root).as_posix(): stat.S_IMODE(path.lstat().st_mode)
        for path in sorted(root.rglob("*"))
    }


@pytest.mark.anyio
async def test_a_gateway_closes_what_it_makes(tmp_path, peer, umask):
    """The store and everything beside it 0600, folders above it 0700; the lake 0750 and 0640."""
    keys = {"store": "state/here/gateway.db", "lake": "shared/lake"}
    async with running(tmp_path, peer, gateway=keys) as gateway:
        await gateway.submit(b"x" * (2 * INLINE_BYTES_MAX), to=peer)
        assert (await gateway.call("POST", "/v1/lake/publish")).json["published"] > 0
        found = modes(tmp_path)
    del umask, found["gateway.toml"]
    store = "state/here/gateway.db"
    assert {"-wal", "-shm", ".lock"} <= {name.removeprefix(store) for name in found}
    assert any(name.startswith(f"{store}-spool/") for name in found)
    assert any(name.endswith(".parquet") for name in found)
    for name, mode in found.items():
        is_folder = (tmp_path / name).is_dir()
        expected = {
            ("state", True): 0o700,
            ("state", False): 0o600,
            ("shared", True): FOLDER_MODE,
            ("shared", False): FILE_MODE,
        }[name.split("/")[0], is_folder]
        assert (name, oct(mode)) == (name, oct(expected))


def test_a_lake_beside_the_store_is_in_reach(tmp_path, umask):
    """What holds both is made for the lake; the store in it is closed by itself."""
    config = write_configuration(
        tmp_path, [], gateway={"store": "data/gateway.db", "lake": "data/lake"}
    )
    assert publish_offline(read_configuration(config)) == 0
    found = modes(tmp_path)
    assert (found["data"], found["data/lake"], found["data/gateway.db"]) == (0o750, 0o750, 0o600)
    del umask


def test_the_process_is_closed_as_well(tmp_path):
    """A real `onceonly`, started with the umask 0: what it writes by itself, and by libraries."""
    config = write_configuration(tmp_path, [], gateway={"store": "state/gateway.db"})
    words = [sys.executable, "-m", "onceonly", "lake", "publish", "-c", str(config)]
    subprocess.run(words, check=True, umask=0, capture_output=True)
    found = modes(tmp_path)
    del found["gateway.toml"]
    assert found["state/gateway.db"] == 0o600
    assert found["lake"] == FOLDER_MODE
    assert {mode & 0o027 for mode in found.values()} == {0}


# --- The group of a lake --------------------------------------------------------------------------


def some_group() -> grp.struct_group:
    """A group that files can be given to here, and that they do not have by themselves."""
    mine = {os.getegid()}
    is_any = os.geteuid() == 0
    for group in grp.getgrall():
        if group.gr_gid not in mine and (is_any or group.gr_gid in os.getgroups()):
            return group
    pytest.skip("this account is in one group only")


def test_the_group_may_read_what_is_published(tmp_path, umask):
    """Folders and files have it, those above the lake that we made too."""
    group = some_group()
    reader = reader_of(group.gr_name)
    make_folders(tmp_path / "a" / "lake", reader)
    with create(tmp_path / "a" / "lake" / "segment", reader) as file:
        file.write(b"x")
    for path in (tmp_path / "a").rglob("*"):
        assert path.stat().st_gid == group.gr_gid, path
    assert set(modes(tmp_path).values()) == {FOLDER_MODE, FILE_MODE}
    del umask


def test_a_folder_that_is_there_stays_as_it_is(tmp_path):
    """Its owner knows why."""
    (tmp_path / "lake").mkdir(mode=0o755)
    (tmp_path / "lake").chmod(0o755)
    make_folders(tmp_path / "lake" / "journal", reader_of(None))
    assert modes(tmp_path) == {"lake": 0o755, "lake/journal": FOLDER_MODE}


def test_a_file_that_is_there_is_not_written(tmp_path):
    """Nor through a link that somebody has put there."""
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "segment").symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        create(tmp_path / "segment", reader_of(None))
    assert (tmp_path / "victim").read_text() == "mine"


def test_a_group_that_may_not_be_given_leaves_nothing_open(tmp_path, monkeypatch):
    """The error says so; the file that was begun is for our eyes only."""

    def refuse(_file: int, _user: int, _group: int) -> None:
        raise PermissionError("not yours to give")

    monkeypatch.setattr(os, "fchown", refuse)
    with pytest.raises(PermissionError):
        create(tmp_path / "segment", Reader(os.getegid()))
    assert modes(tmp_path) == {"segment": 0o600}


def test_a_lake_that_a_group_waits_for_must_be_there(tmp_path):
    """Without a group messages go on, and whoever publishes is told."""
    group = grp.getgrgid(os.getegid()).gr_name
    (tmp_path / "lake").write_text("a file is in the way")
    for keys in ({"lake_group": group}, {}):
        configuration = read_configuration(write_configuration(tmp_path, [], gateway=keys))
        if keys:
            with pytest.raises(NotADirectoryError):
                open_store(configuration, Clock())
        else:
            open_store(configuration, Clock()).close()


def test_a_group_that_is_not_there_is_named(tmp_path):
    """By whoever checks a configuration, too."""
    with pytest.raises(OSError, match="there is no group 'no-such-group'"):
        reader_of("no-such-group")
    config = write_configuration(tmp_path, [], gateway={"lake_group": "no-such-group"})
    checked = CliRunner().invoke(cli, ["check", "-c", str(config)])
    assert checked.exit_code == Exit.USAGE
    assert "lake_group" in checked.stderr
    published = CliRunner().invoke(cli, ["lake", "publish", "-c", str(config)])
    assert published.exit_code == Exit.UNEXPECTED
    assert "lake_group" in published.stderr


@pytest.mark.parametrize("command", ["serve", "check"])
def test_a_group_that_is_not_there_is_named_at_start(tmp_path, command):
    """Exit 1 or 2 with the key and the name, before anything is sent."""
    config = write_configuration(tmp_path, [], gateway={"lake_group": "no-such-group"})
    words = [sys.executable, "-m", "onceonly", command, "-c", str(config)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode in (1, 2)
    assert "lake_group: there is no group 'no-such-group'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_group_that_is_not_ours_is_named(monkeypatch):
    """Nobody may give files away to a group that they are not in."""
    group = next(one for one in grp.getgrall() if one.gr_gid != os.getegid())
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getgroups", list)
    with pytest.raises(OSError, match="is not in the group"):
        reader_of(group.gr_name)


# --- What is open already -------------------------------------------------------------------------


def test_what_is_open_is_named_with_what_closes_it(tmp_path):
    """Store, log, spool, lake, the file with the token; and the commands do close them."""
    config = write_configuration(
        tmp_path, [], gateway={"api_token": "s3cret", "store": "state/gateway.db"}
    )
    configuration = read_configuration(config)
    config.chmod(0o600)
    open_store(configuration, Clock()).close()
    assert find_open(configuration) == []
    spool = configuration.store.with_name("gateway.db-spool")
    spool.mkdir()
    (spool / "x").touch()
    for path, mode in {
        config: 0o644,
        configuration.store: 0o644,
        spool: 0o755,
        spool / "x": 0o644,
        configuration.store.parent: 0o777,
        Path(configuration.lake): 0o755,
    }.items():
        path.chmod(mode)
    found = find_open(configuration)
    assert [(Path(one.path).name, one.mode) for one in found] == [
        ("gateway.db", "0644"),
        ("gateway.db-spool", "0755"),
        ("state", "0777"),
        ("lake", "0755"),
        ("gateway.toml", "0644"),
    ]
    for one in found:
        subprocess.run(one.mend, shell=True, check=True)
    assert find_open(configuration) == []


def test_a_start_names_what_is_open_once(tmp_path):
    """One line of the log for each, with path, mode and command; nothing is changed."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"http://127.0.0.1:{taken.getsockname()[1]}/msh"
        config = write_configuration(tmp_path, [], gateway={"listen": listen})
        (tmp_path / "gateway.db").touch()
        (tmp_path / "gateway.db").chmod(0o644)
        words = [sys.executable, "-m", "onceonly", "serve", "-c", str(config)]
        # It ends by itself, since somebody else has its address.
        ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    lines = [line for line in ended.stderr.splitlines() if "open to other users" in line]
    assert len([line for line in lines if 'gateway.db"' in line]) == 1
    assert f"chmod go-rwx {tmp_path}/gateway.db" in lines[0]
    assert stat.S_IMODE((tmp_path / "gateway.db").stat().st_mode) == 0o644
