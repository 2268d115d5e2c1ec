"""`onceonly report`, as `docs/how-to/reconcile.md` shows it."""

import json
import shlex

import pytest

from onceonly.cli.exits import Exit
from recipes import examples_of

pytestmark = pytest.mark.anyio

PAGE = "how-to/reconcile.md"


def commands() -> list[list[str]]:
    """Those of the page that ask a gateway for reports, without the configuration."""
    lines = [line for block in examples_of(PAGE, "sh") for line in block.splitlines()]
    return [
        shlex.split(line.removesuffix(" -c gateway.toml"))[1:]
        for line in lines
        if line.startswith("onceonly report ")
    ]


async def test_reports_are_listed_and_got(run, gateway, tmp_path, monkeypatch):
    """By the commands of the page."""
    monkeypatch.chdir(tmp_path)
    folder = gateway.configuration.reports
    folder.mkdir()
    (folder / "2026-11.html").write_text("<h1>November</h1>")
    listed, got = commands()
    result = await run(*listed)
    assert result.exit_code == Exit.OK
    assert result.stdout.split("\t")[1:3] == ["file", "2026-11.html"]
    assert "up to row 0 of" in result.stderr
    assert (await run(*got)).exit_code == Exit.OK
    assert (tmp_path / "november.html").read_text() == "<h1>November</h1>"
    again = await run(*got)
    assert (again.exit_code, "File exists" in again.stderr) == (Exit.USAGE, True)
    piped = await run("report", "get", "2026-11.html")
    assert piped.stdout == "<h1>November</h1>"


async def test_what_is_not_there_leaves_no_file(run, gateway, tmp_path):
    """And the folder that is missing is told."""
    listed = await run("report", "list")
    assert (listed.exit_code, "no reports: " in listed.stderr) == (Exit.OK, True)
    whole = json.loads((await run("report", "list", "-o", "json")).stdout)
    assert whole["reports"] == []
    gone = await run("report", "get", "../gateway.toml", "--to", tmp_path / "new")
    assert (gone.exit_code, "NotFound" in gone.stderr) == (Exit.NOT_FOUND, True)
    assert not (tmp_path / "new").exists()
