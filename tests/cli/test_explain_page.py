"""The commands of `docs/how-to/explain.md`, and what the page says that they print."""

import shlex

import msgspec
import pytest
from captured import CONFIGURATION, body, request
from click.testing import CliRunner

from certificates import certify
from onceonly.cli.main import cli
from onceonly.explain.explanation import (
    AnswerCase,
    CheckFacts,
    Explanation,
    GatewayAnswer,
    PartFacts,
    Problem,
)
from recipes import DOCS, examples_of

PAGE = "how-to/explain.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the commands are given: with the files that the page names."""
    (tmp_path / "gateway.toml").write_text(CONFIGURATION, "utf-8")
    (tmp_path / "request.http").write_bytes(request(body()))
    (tmp_path / "wrong-agreement.http").write_bytes(request(body("tpa-zz")))
    (tmp_path / "body.bin").write_bytes(body())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("block", examples_of(PAGE, "console"))
def test_a_command_prints_what_the_page_shows(folder, block):
    """Each line of the page, in its order; the command prints more around them."""
    if "buyer.pem" in block:
        certify(folder, "buyer")
    command, *shown = block.rstrip("\n").split("\n")
    program, *words = shlex.split(command.removeprefix("$ "))
    assert program == "onceonly"
    said = CliRunner().invoke(cli, words)
    at = 0
    for line in shown:
        found = said.stdout.find(line.strip(), at)
        assert found >= 0, f"{line!r} is not in\n{said.stdout}"
        at = found


def test_the_page_names_every_field_of_the_document():
    """Also what is added later."""
    text = (DOCS / PAGE).read_text("utf-8")
    for kind in (Explanation, GatewayAnswer, AnswerCase, CheckFacts, PartFacts, Problem):
        for field in msgspec.structs.fields(kind):
            assert f"`{field.name}`" in text, field.name
