"""`onceonly package explain`, as people and scripts use it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from captured import AT, CONFIGURATION, PACKAGE_TYPE, PAYLOAD, body, request
from click.testing import CliRunner, Result

from onceonly.cli.exits import Exit
from onceonly.cli.main import cli


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "gateway.toml"
    path.write_text(CONFIGURATION, "utf-8")
    return path


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "request.http"
    path.write_bytes(request(body()))
    return path


def invoke(*words: object, given: bytes | None = None) -> Result:
    command = ["package", "explain", *map(str, words)]
    return CliRunner().invoke(cli, command, input=given)


def test_a_capture_is_told_in_chapters(capture, config):
    """From what it is to what would be answered; the payload is not in it."""
    said = invoke(capture, "-c", config, *AT)
    assert said.exit_code == Exit.OK
    chapters = re.findall(r"^[A-Z].*$", said.stdout, re.MULTILINE)
    assert chapters[:5] == ["Transport", "Parts", "Header document", "Meaning", "The gateway"]
    assert "Checks" in chapters
    assert said.stdout.rstrip().endswith("Verdict: the gateway would accept it")
    assert "secret" not in said.stdout
    assert "[seed 000 §2.2.2]" in said.stdout


def test_exit_codes_tell_a_script(capture, config, tmp_path):
    """0 accepted or understood, 8 refused or foreign, 2 nothing that can be read."""
    assert invoke(capture).exit_code == Exit.OK
    other = tmp_path / "other.http"
    other.write_bytes(request(body("tpa-zz")))
    assert invoke(other).exit_code == Exit.OK
    assert invoke(other, "-c", config, *AT).exit_code == Exit.REFUSED
    cut = tmp_path / "cut.http"
    cut.write_bytes(request(body())[:-30])
    assert invoke(cut).exit_code == Exit.REFUSED
    foreign = tmp_path / "soap.xml"
    foreign.write_bytes(b'<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"/>')
    assert invoke(foreign).exit_code == Exit.REFUSED
    noise = tmp_path / "noise"
    noise.write_bytes(b"\x00\x01")
    unknown = invoke(noise)
    assert unknown.exit_code == Exit.USAGE
    assert "it is not a mail" in unknown.stdout
    assert invoke(tmp_path / "absent").exit_code == Exit.USAGE
    assert invoke(capture, "-c", tmp_path / "absent.toml").exit_code == Exit.USAGE


def test_json_has_the_same_facts(capture, config):
    """One document, with the names of its fields as they are documented."""
    found = json.loads(invoke(capture, "-c", config, *AT, "-o", "json").stdout)
    assert found["schema_version"] == 1
    assert (found["kind"], found["verdict"]) == ("http-request", "accepted")
    assert [part["role"] for part in found["parts"]] == ["header", "payload"]
    assert found["message"]["message_id"] == "m-1@a.example.com"
    assert found["answer"]["falls_under"] == "agreement tpa-ab-1"
    assert {check["result"] for check in found["answer"]["checks"]} == {"passed", "not-known"}
    assert found["answer"]["cases"][0]["status"] == 204


def test_stdin_is_a_capture_too(config):
    """Also a large one, which is read more than once."""
    said = invoke("-", "-c", config, *AT, given=request(body()))
    assert said.exit_code == Exit.OK
    large = body().replace(PAYLOAD, b"x" * (3 << 20))
    assert invoke("-", "-c", config, *AT, given=request(large)).exit_code == Exit.OK


def test_a_bare_body_needs_its_type(tmp_path, config):
    """Where its first line is no delimiter, nothing says where its parts begin."""
    bare = tmp_path / "body"
    bare.write_bytes(body())
    assert invoke(bare).exit_code == Exit.OK
    bare.write_bytes(b"This is a message in MIME format.\r\n" + body())
    without = invoke(bare)
    assert without.exit_code == Exit.USAGE
    assert "--content-type" in without.stderr
    given = invoke(bare, "--content-type", PACKAGE_TYPE, "-c", config, *AT)
    assert given.exit_code == Exit.OK


def test_the_bytes_of_a_part_are_written_where_they_are_asked_for(capture, tmp_path):
    """To stdout alone, or into a new file that is nobody else's."""
    said = CliRunner().invoke(cli, ["package", "explain", str(capture), "--payload", "2"])
    assert said.stdout_bytes == PAYLOAD
    out = tmp_path / "order.xml"
    assert invoke(capture, "--payload", 2, "--out", out).exit_code == Exit.OK
    assert out.read_bytes() == PAYLOAD
    assert out.stat().st_mode & 0o077 == 0
    assert invoke(capture, "--payload", 2, "--out", out).exit_code == Exit.USAGE
    assert invoke(capture, "--payload", 9).exit_code == Exit.NOT_FOUND
    assert invoke(capture, "--out", out).exit_code == Exit.USAGE


def test_a_part_is_not_written_to_a_terminal(capture):
    """Its bytes could steer it."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "onceonly", "package", "explain", capture, "--payload", "2"]
    try:
        said = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(theirs)
        os.close(ours)
    assert said.returncode == Exit.USAGE
    assert b"terminal" in said.stderr


def test_nothing_in_a_capture_steers_a_terminal(tmp_path, config):
    """Neither a field, nor a name, nor the markup of a table (attack X16)."""
    path = tmp_path / "hostile.http"
    hostile = "\x1b]0;owned\x07[red]\u202e"
    content = body("tpa-\u202e", "[bold]order\u202e\u200b")
    path.write_bytes(
        request(content, Via="\x1b[2J\x9b31m", Server=hostile.encode().decode("latin-1"))
    )
    for words in ((), ("-o", "json")):
        said = invoke(path, "-c", config, *AT, *words)
        assert said.exception is None or isinstance(said.exception, SystemExit)
        assert all(sign == "\n" or sign.isprintable() for sign in said.stdout)
        assert "[bold]order" in said.stdout


def test_options_that_say_nothing_are_usage(capture, config, tmp_path):
    """An instant that is none, and a certificate that is none."""
    assert invoke(capture, "--at", "yesterday").exit_code == Exit.USAGE
    assert invoke(capture, "--caller-certificate", tmp_path / "no.pem").exit_code == Exit.USAGE
    assert invoke(capture, "--caller-certificate", config).exit_code == Exit.USAGE
    assert invoke(capture, "--caller-certificate", "AB:" * 31 + "AB", *AT).exit_code == Exit.OK
    assert invoke(capture, "--at", "2026-01-31T12:00:05").exit_code == Exit.OK


def test_a_pipe_with_a_name_is_refused(tmp_path):
    """It cannot be read twice; stdin can."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    keep = os.open(pipe, os.O_RDWR)
    try:
        said = invoke(pipe)
    finally:
        os.close(keep)
    assert said.exit_code == Exit.USAGE
    assert "stdin" in said.stderr
