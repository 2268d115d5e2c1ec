"""The import rules of pyproject.toml, broken on purpose in a copy."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINT = Path(sys.executable).with_name("lint-imports")


PLANTED = [
    ("protocol/schedule.py", "import time", "onceonly.protocol.schedule -> time"),
    ("message/digest.py", "import os", "onceonly.message.digest -> os"),
    ("wire/names.py", "import logging", "onceonly.wire.names -> logging"),
    (
        "protocol/schedule.py",
        "from onceonly.store.contract.store import Store",
        "onceonly.protocol.schedule -> onceonly.store.contract.store",
    ),
    (
        "protocol/sequence.py",
        "from onceonly.journal.record import Record",
        "onceonly.protocol.sequence -> onceonly.journal.record",
    ),
    (
        "store/lock.py",
        "from onceonly.transport.transport import Body",
        "onceonly.store.lock -> onceonly.transport.transport",
    ),
    (
        "lake/manifest.py",
        "from onceonly.gateway.clock import Clock",
        "onceonly.lake.manifest -> onceonly.gateway.clock",
    ),
    (
        "lake/reports/volume.py",
        "from onceonly.lake.page import plots",
        "onceonly.lake.reports.volume -> onceonly.lake.page.plots",
    ),
    (
        "gateway/refusals.py",
        "from onceonly.wire.rm2001 import names",
        "onceonly.gateway.refusals -> onceonly.wire.rm2001.names",
    ),
    (
        "wire/rm2000/writing.py",
        "from onceonly.wire.rm2001 import writing",
        "onceonly.wire.rm2000.writing -> onceonly.wire.rm2001.writing",
    ),
    (
        "gateway/purge.py",
        "from onceonly.store.sqlite.reading import SqliteSnapshot",
        "onceonly.gateway.purge -> onceonly.store.sqlite.reading",
    ),
    ("steps/arrival.py", "import asyncio", "onceonly.steps.arrival -> asyncio"),
    ("steps/ground.py", "import secrets", "onceonly.steps.ground -> secrets"),
    ("steps/sending.py", "import time", "onceonly.steps.sending -> time"),
    (
        "steps/transit.py",
        "from onceonly.transport.transport import Outgoing",
        "onceonly.steps.transit -> onceonly.transport.transport",
    ),
    (
        "steps/custody.py",
        "from onceonly.gateway.desk import Desk",
        "onceonly.steps.custody -> onceonly.gateway.desk",
    ),
    (
        "gateway/desk.py",
        "from onceonly.gateway.incoming.receiver import Receiver",
        "onceonly.gateway.desk -> onceonly.gateway.incoming.receiver",
    ),
    (
        "gateway/incoming/arrivals.py",
        "from onceonly.store.group import GroupCommit",
        "onceonly.gateway.incoming.arrivals -> onceonly.store.group",
    ),
    (
        "gateway/relaying/relay.py",
        "from onceonly.transport.http.client import HttpTransport",
        "onceonly.gateway.relaying.relay -> onceonly.transport.http.client",
    ),
    (
        "gateway/chance.py",
        "from onceonly.cli.exits import Exit",
        "onceonly.gateway.chance -> onceonly.cli.exits",
    ),
]
"""File, line against the rules, and how import-linter names it."""


def copy_of(root: Path, place: Path) -> Path:
    shutil.copy(root / "pyproject.toml", place)
    shutil.copytree(root / "src", place / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return place


def lint(copy: Path) -> subprocess.CompletedProcess[str]:
    if not LINT.exists():
        pytest.skip("lint-imports is not installed beside this Python; make setup brings it")
    # The copy must win over the installed package, which is the repository itself.
    environment = {"PYTHONPATH": str(copy / "src"), "PATH": "/usr/bin:/bin", "COLUMNS": "200"}
    return subprocess.run(
        [LINT, "--no-cache"], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def broken(root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What import-linter says about a copy with every planted line in it."""
    copy = copy_of(root, tmp_path_factory.mktemp("planted"))
    for file, line, _ in PLANTED:
        path = copy / "src" / "onceonly" / file
        path.write_text(f"{path.read_text('utf-8')}\n{line}\n", "utf-8")
    done = lint(copy)
    assert done.returncode != 0
    return done.stdout


def test_the_rings_hold(root: Path, tmp_path: Path) -> None:
    """The code as it is breaks no import rule."""
    done = lint(copy_of(root, tmp_path))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("named", [named for _, _, named in PLANTED])
def test_a_forbidden_import_is_caught(broken: str, named: str) -> None:
    """A planted import against the rings makes `make check` fail and is named."""
    assert named in broken


def test_a_package_outside_the_rings_is_caught(root: Path, tmp_path: Path) -> None:
    """A new package has to say which ring it belongs to."""
    attic = copy_of(root, tmp_path) / "src" / "onceonly" / "attic"
    attic.mkdir()
    (attic / "__init__.py").write_text("")
    done = lint(tmp_path)
    assert done.returncode != 0
    assert "onceonly.attic" in done.stdout
