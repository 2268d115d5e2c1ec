"""The log for people: nothing in it steers a terminal, whoever wrote it."""

import io
import json
import logging
import sys

import pytest
import structlog

from onceonly.gateway.supervise import configure_log
from onceonly.gateway.visible import show_others

NASTY = "\x1b[2J\x9b\u202e\u2066\u200b\ufeff\ud800\u2028 [red]x"
SHOWN = "\\x1b[2J\\x9b\\u202e\\u2066\\u200b\\ufeff\\ud800\\u2028 [red]x"


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def stderr(monkeypatch, request):
    """Where the log goes."""
    stream = request.param()
    monkeypatch.setattr(sys, "stderr", stream)
    configure_log(sys.stderr)
    yield stream
    structlog.reset_defaults()


def log_all() -> None:
    log = structlog.get_logger("onceonly")
    log.warning(NASTY, error=NASTY, party=NASTY, several=[NASTY], number=7)
    try:
        int(NASTY)
    except ValueError:
        log.exception("bug")


@pytest.mark.parametrize("stderr", [Terminal], indirect=True)
def test_a_terminal_sees_escapes(stderr):
    """Events, values, lists of them, tracebacks."""
    log_all()
    text = stderr.getvalue()
    assert text.count(SHOWN) >= 2
    for sign in "\x9b\u202e\u2066\u200b\ufeff\ud800\u2028":
        assert sign not in text
    assert "\x1b[2J" not in text


@pytest.mark.parametrize("stderr", [io.StringIO], indirect=True)
def test_a_line_of_json_has_the_value_in_escapes(stderr):
    """Programs read what the partner wrote; a terminal that shows the file sees ASCII."""
    log_all()
    first, second = stderr.getvalue().splitlines()
    assert (first + second).isascii()
    assert (first + second).isprintable()
    assert json.loads(first)["party"] == NASTY


def test_what_libraries_say_is_shown_the_same_way():
    """uvicorn and asyncio end in the standard library's last resort."""
    show_others()
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, NASTY, (), None)
    assert logging.lastResort is not None
    assert logging.lastResort.format(record) == SHOWN
    logging.lastResort.setFormatter(None)
