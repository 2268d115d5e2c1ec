"""The systemd unit of `docs/how-to/service.md`: what it starts, and what it is closed to."""

import shutil
import subprocess
from pathlib import Path

import pytest

from onceonly.cli.main import cli
from recipes import examples_of

PAGE = "how-to/service.md"
ANALYZE = shutil.which("systemd-analyze")
EXPOSURE_MAX = 20
"""In tenths, as systemd counts it: "OK" ends at 49, and a service that is closed has 10 to 20."""

CLOSED = {
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateDevices": "yes",
    "PrivateTmp": "yes",
    "MemoryDenyWriteExecute": "yes",
    "RestrictNamespaces": "yes",
    "SystemCallArchitectures": "native",
}


@pytest.fixture
def unit() -> str:
    """The unit as the page shows it."""
    return next(block for block in examples_of(PAGE, "ini") if "[Service]" in block)


def settings(unit: str) -> dict[str, str]:
    """Every setting; of one that is there several times the last."""
    pairs = (line.partition("=") for line in unit.splitlines() if "=" in line)
    return {name: value for name, _, value in pairs}


def test_the_unit_is_closed_and_writes_where_the_page_puts_the_store(unit: str) -> None:
    found = settings(unit)
    assert CLOSED.items() <= found.items()
    assert found["User"] not in ("", "root")
    [text] = [one for one in examples_of(PAGE, "toml") if "store " in one]
    assert f'store     = "{found["ReadWritePaths"]}/' in text


@pytest.mark.parametrize("name", ["ExecStartPre", "ExecStart", "ExecReload"])
def test_what_it_runs_are_commands_of_ours(unit: str, name: str) -> None:
    program, command, *_ = settings(unit)[name].split()
    assert program == "/opt/onceonly/bin/onceonly"
    assert command in cli.commands


@pytest.mark.skipif(ANALYZE is None, reason="there is no systemd-analyze here")
def test_systemd_finds_it_right_and_closed(unit: str, tmp_path: Path) -> None:
    """By its own count; no service needs to run for it."""
    program = tmp_path / "onceonly"
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    path = tmp_path / "onceonly.service"
    path.write_text(unit.replace("/opt/onceonly/bin/onceonly", str(program)), "utf-8")
    assert ANALYZE is not None
    verify = [ANALYZE, "verify", "--man=no", str(path)]
    verified = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert "onceonly.service" not in verified.stderr, verified.stderr
    security = [ANALYZE, "security", "--offline=true", f"--threshold={EXPOSURE_MAX}", str(path)]
    counted = subprocess.run(security, capture_output=True, text=True, check=False)
    if "unrecognized option" in counted.stderr:
        pytest.skip("this systemd cannot count without running")
    assert counted.returncode == 0, counted.stdout[-600:]
