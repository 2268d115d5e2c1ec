"""What is printed is inert, whoever wrote it."""

import ast
import io
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from onceonly import cli
from onceonly.api.history import JournalRow
from onceonly.cli.alert import MuteTime
from onceonly.cli.exits import Exit, Failure
from onceonly.cli.main import cli as root
from onceonly.cli.output import (
    complain,
    complain_of_bug,
    inert,
    print_fields,
    print_json,
    print_rows,
    print_trace,
    put,
    put_lines,
    say,
    waiting,
)
from onceonly.cli.status_line import counted

NASTY = "\x9b2J\x1b[31m two\nlines [/bold] [red]x"
INERT = "\\x9b2J\\x1b[31m two\\nlines [/bold] [red]x"


class Terminal(io.StringIO):
    """A stdout that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stdout", [io.StringIO, Terminal])
def test_a_cell_steers_no_terminal_and_is_no_markup(monkeypatch, stdout):
    """X16: control characters are shown as escapes, brackets as brackets."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stdout", stdout())
    print_rows([{"reason": NASTY}], ("reason",), "table")
    assert INERT in sys.stdout.getvalue()


def test_csv_has_every_member_and_starts_no_formula(monkeypatch):
    """R15: a partner's text is a text in a spreadsheet, too; X16: and inert in a terminal."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    rows = [
        {"at": "2026-11-25", "reason": "=cmd|'/C calc'!A0", "counts": {"sent": 1}, "n": -1},
        {"at": None, "reason": 'two "quoted"\nlines', "is_final": True},
    ]
    print_rows(rows, ("reason", "missing"), "csv")
    assert sys.stdout.getvalue().splitlines() == [
        "reason,at,counts,n,is_final",
        '\'=cmd|\'/C calc\'!A0,2026-11-25,"{""sent"": 1}",-1,',
        '"two ""quoted""\\nlines",,,,true',
    ]


def test_csv_of_nothing_has_its_head(monkeypatch):
    """So that a script finds the columns on a quiet day."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    print_rows([], ("message_id", "state"), "csv")
    assert sys.stdout.getvalue() == "message_id,state\n"


def test_jsonl_has_an_object_per_line(monkeypatch):
    """Each can be read by itself, and none steers a terminal."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    print_rows([{"reason": NASTY}, {"reason": "é"}], ("reason",), "jsonl")
    lines = sys.stdout.getvalue().splitlines()
    assert [json.loads(line)["reason"] for line in lines] == [NASTY, "é"]
    assert "\x9b" not in sys.stdout.getvalue()


TIMELINE = [
    {"at": "2026-11-25T09:56:27.123456Z", "event": "Submitted"},
    {
        "at": "2026-11-25T09:56:28.123456Z",
        "event": "Transmitted",
        "attempt": 12,
        "outcome": "refused",
        "status_code": 404,
        "reason": "NotFound: there is nothing at this path; expected is that of the agreed address",
    },
    {
        "at": "2026-11-25T09:56:29.123456Z",
        "event": "RepeatedAckReceived",
        "attempt": 1000,
        "status_code": 413,
        "reason": "413 Request Entity Too Large",
    },
    {
        "at": "2026-11-25T09:56:30.123456Z",
        "event": "ErrorReceived",
        "error_code": "InvalidSequenceNumber",
    },
]


def row_of(said: dict[str, Any]) -> JournalRow:
    """The row, with what each row has beside."""
    usual = {"party": "a", "monotonic_ns": 1, "schema_version": 2, "seq": 1, "store_epoch": 1}
    return JournalRow(**{**usual, "chain_hash": "", **said})


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_a_trace_fits_its_terminal_and_cuts_nothing(monkeypatch, columns):
    """No instant, no status, no word of a reason: what is long goes on below itself."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stdout", Terminal())
    print_trace([row_of(one) for one in TIMELINE], "table")
    shown = sys.stdout.getvalue()
    lines = shown.splitlines()
    assert max(map(len, lines)) <= columns
    assert all(row["at"] in shown and row["event"] in shown for row in TIMELINE)
    begun = {line[:27]: line[27:] for line in lines}
    assert "refused 404 NotFound:" in begun[TIMELINE[1]["at"]]
    assert "413 Request Entity" in begun[TIMELINE[2]["at"]]
    assert all(word in shown for row in TIMELINE for word in row.get("reason", "").split())
    assert "…" not in shown


def test_a_table_cuts_no_instant(monkeypatch):
    """An incident on 80 columns; a column that has nothing takes no room."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stdout", Terminal())
    row = {
        "incident_id": 1,
        "to": "urn:duns:222222222",
        "reason": "3 times in a row: refused, 413 Request Entity Too Large",
        "opened_at": "2026-11-25T09:56:27.123456Z",
        "resolved_at": None,
    }
    print_rows([row], ("incident_id", "to", "reason", "opened_at", "resolved_at"), "table")
    shown = sys.stdout.getvalue()
    assert row["opened_at"] in shown
    assert "resolved_at" not in shown
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_field_is_one_line(capsys):
    """As above, for one noun."""
    print_fields({"reason": NASTY, "absent": None, "nested": {}}, "table")
    assert capsys.readouterr().out == f"reason           {INERT}\n"


def test_talk_is_one_line_that_steers_no_terminal(capsys):
    """A MessageId among examples, the comment of a pack: no line of its own, nothing hidden."""
    say(f"signed off by {NASTY}")
    assert capsys.readouterr().err == f"signed off by {INERT}\n"


BIDI = "abc\u202e\u2066\u200b\ufeff\x85\u2028 [red]x[/red] [link=http://evil]y[/link]"
SHOWN = "abc\\u202e\\u2066\\u200b\\ufeff\\x85\\u2028 [red]x[/red] [link=http://evil]y[/link]"


@pytest.mark.parametrize("nasty", [BIDI, "\x1b[2J\x7f", "\ud800", "\U000e0041"])
def test_json_is_inert_and_keeps_its_value(capsys, nasty):
    """A program reads what the partner wrote; a terminal sees escapes."""
    print_json({nasty: [nasty, "Größe"]})
    out = capsys.readouterr().out
    assert json.loads(out) == {nasty: [nasty, "Größe"]}
    assert "Größe" in out
    assert all(line.isprintable() for line in out.split("\n"))


def test_data_is_inert_in_every_way_that_it_is_printed(capsys):
    """A line, lines, a row, a field, a refusal, a traceback."""
    put(BIDI)
    put_lines(f"{BIDI}\n{BIDI}\n")
    print_rows([{"action": BIDI}], ("action",), "table")
    print_fields({"action": BIDI}, "table")
    complain(Failure(Exit.NOT_FOUND, f"two\nlines {BIDI}"))
    Failure(Exit.NOT_FOUND, BIDI).show()
    complain_of_bug(ValueError, ValueError(BIDI), None)
    out, err = capsys.readouterr()
    assert out.splitlines() == [SHOWN] * 4 + [f"action           {SHOWN}"]
    assert err.splitlines()[:2] == [f"Error: two\\nlines {SHOWN}", f"Error: {SHOWN}"]
    assert err.splitlines()[-1] == f"ValueError: {SHOWN}"


def test_what_waits_and_what_is_counted_is_no_markup(monkeypatch):
    """The spinners and the bar of a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with waiting(BIDI) as status:
        status.update(inert(BIDI))
    with counted(BIDI, 3) as tell:
        tell(1)
    shown = sys.stderr.getvalue()
    assert SHOWN in shown
    assert "\u202e" not in shown
    assert "\x1b]8" not in shown, "a link"


def test_no_other_module_of_the_command_line_prints():
    """So that what is inert here is inert everywhere: no echo, no print, no stream, no console."""
    modules = [*Path(cli.__file__).parent.rglob("*.py")]
    assert len(modules) > 10
    found = [
        f"{module.name}:{node.lineno}"
        for module in modules
        if module.name != "output.py"
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if is_printing(node, module.name)
    ]
    assert not found


def is_printing(node: ast.AST, module: str) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="print")):
            return True
        case ast.Attribute(attr="echo" | "secho" | "echo_via_pager" | "stdout" | "stderr"):
            return True
        case ast.ImportFrom(module=str(name)) if name.split(".")[0] == "rich":
            return module != "status_line.py" or name == "rich.markup"
        case ast.Import(names=names):
            return any(alias.name.split(".")[0] == "rich" for alias in names)
    return False


REFUSED = json.dumps({"error": {"name": f"Bad{BIDI}", "text": f"\x1b]0;title\x07 {BIDI}"}}).encode()


class Hostile(BaseHTTPRequestHandler):
    """A gateway that answers every call with the same nasty refusal."""

    def handle_one_request(self) -> None:
        """As the base class does, whatever the method is."""
        self.raw_requestline = self.rfile.readline()
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(400)
        self.send_header("content-length", str(len(REFUSED)))
        self.end_headers()
        self.wfile.write(REFUSED)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        elif any(parameter.name == "api" for parameter in command.params):
            yield (*path, name), command


def words_for(command: click.Command, file: Path) -> Iterator[str]:
    """The least that the command wants to be told, and every thing that it can be about."""
    for parameter in command.params:
        if not (parameter.required or isinstance(parameter, click.Argument)):
            continue
        kind = parameter.type
        word = kind.choices[0] if isinstance(kind, click.Choice) else "x"
        word = "1" if kind is click.INT else word
        word = "1h" if isinstance(kind, MuteTime) else word
        if isinstance(kind, click.Path):
            word = str(file.with_suffix(".csv") if kind.writable else file)
        yield from [word] if isinstance(parameter, click.Argument) else [parameter.opts[0], word]


def test_every_command_that_calls_a_gateway_can_bring_a_key():
    """A client is made in one place, which knows keys, certificates and the person who asks."""
    files = Path(cli.__file__).parent.glob("*.py")
    makers = [
        file.name
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id == "Client"
    ]
    assert makers == ["caller_option.py"]


def test_every_command_shows_a_nasty_refusal_inert(tmp_path):
    """Walks all commands that call a gateway, so that a new one is covered on its own."""
    file = tmp_path / "order.xml"
    file.write_text("<a/>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        found = list(leaves(root))
        assert len(found) > 15
        for path, command in found:
            words = [
                *path,
                *words_for(command, file),
                "--api",
                f"http://127.0.0.1:{server.server_port}",
            ]
            result = CliRunner().invoke(root, words)
            assert result.exit_code not in (0, 1), (words, result.output)
            assert SHOWN in result.stderr, words
            assert all(line.isprintable() for line in result.output.split("\n")), words
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
