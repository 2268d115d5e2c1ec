"""Commands and exit codes that need no running gateway."""

import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from onceonly import __version__
from onceonly.api.messages import MessageDetail, PairCondition
from onceonly.api.refusals import REFUSALS
from onceonly.cli.exits import MEANINGS, Exit, exit_of_message, exit_of_refusal
from onceonly.cli.main import cli
from onceonly.journal.record import Record
from onceonly.message.event import Event
from onceonly.message.message import DeliverySemantics
from onceonly.store.sqlite.store import open_sqlite

CONFIGURATION = """\
[gateway]
party  = ["urn:duns:222222222"]
listen = "http://127.0.0.1:8401/msh"
api    = "http://127.0.0.1:9"
store  = "seller.db"

[[agreement]]
id      = "tpa-ab-1"
with    = ["urn:duns:111111111"]
send_to = "http://127.0.0.1:8402/msh"
timeout = 30
"""

RELAY = """
[smtp]
mailbox = "msh@seller.example"
relay   = "smtp://127.0.0.1:25"
starttls = "offer"
"""

ROUTE = """\
[[route]]
id      = "north"
from    = ["urn:x:3"]
to      = ["urn:x:4"]
back_to = "http://127.0.0.1:3/msh"
send_to = "http://127.0.0.1:4/msh"
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "gateway.toml"
    path.write_text(CONFIGURATION)
    return path


def invoke(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_version_prints_the_version():
    """And nothing else."""
    assert invoke("version").stdout == f"{__version__}\n"


def test_help_names_every_exit_code():
    """Scripts read `$?`; people read `--help`."""
    text = invoke("--help").stdout
    assert all(f"{code.value} {meaning}" in text for code, meaning in MEANINGS.items())
    assert set(MEANINGS) == set(Exit)


def test_check_says_what_a_configuration_amounts_to(config):
    """R-06: the longest time to a verdict is published, with the transports' own waits."""
    result = invoke("check", "-c", config)
    assert result.exit_code == Exit.OK
    assert "tpa-ab-1: rm-2000 with urn:duns:111111111" in result.stdout
    words = "a verdict within 338 s (210 s as agreed, and up to 4 x 32 s by http)"
    assert words in result.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('delivery_semantics = "ExactlyOnce"', "a verdict as late as it takes"),
        ('delivery_semantics = "BestEffort"', "no acknowledgement"),
        ('delivery_semantics = "AtMostOnce"', "62 s (30 s as agreed, and up to 1 x 32 s by http)"),
        ('time_to_live = "PT5M"', "a verdict within 300 s, when its time has passed"),
        (
            'profile = "rm-2001"\nlevel = 1\ntime_to_live = "P1D"',
            "within 86400 s, when its time has passed",
        ),
        (
            'resend_to = "smtp:msh@buyer.example"\nretries = 2' + RELAY,
            "2740 s (150 s as agreed, and up to 1 x 32 s by http, 2 x 1279 s by smtp)",
        ),
    ],
)
def test_check_says_what_bounds_a_verdict(config, line, words):
    """Transports that wait, or the end of the message; a number only where it means something."""
    config.write_text(f"{CONFIGURATION}{line}\n")
    assert invoke("check", "-c", config).stdout.rstrip().endswith(words)


def test_check_names_the_routes(config):
    """Who may pass, which way."""
    config.write_text(CONFIGURATION + ROUTE)
    (line,) = re.findall("^route .*$", invoke("check", "-c", config).stdout, re.MULTILINE)
    assert line == "route north: rm-2000, relay, from urn:x:3 to urn:x:4 at http://127.0.0.1:4/msh"


def test_check_names_the_file_of_certificates_that_cannot_be_used(config):
    """They are read by `check` and at start, not with the file."""
    config.write_text(CONFIGURATION + '[tls]\ntrusted = "nowhere.pem"\n')
    result = invoke("check", "-c", config)
    assert result.exit_code == Exit.USAGE
    assert f"{config}: [tls] " in result.stderr
    assert "nowhere.pem" in result.stderr


def test_check_says_that_a_gateway_without_agreements_takes_nothing(config):
    """It would start, and refuse whoever calls; a route is enough."""
    kept = CONFIGURATION[: CONFIGURATION.index("[[")]
    config.write_text(kept)
    result = invoke("check", "-c", config)
    assert result.exit_code == Exit.OK
    assert "no [[agreement]] and no [[route]]" in result.stderr
    config.write_text(kept + ROUTE)
    assert "no [[agreement]]" not in invoke("check", "-c", config).stderr


def test_check_makes_nothing(config):
    """Neither the store nor the lake, nor anything beside them."""
    before = sorted(config.parent.iterdir())
    result = invoke("check", "-c", config)
    assert (result.exit_code, result.stderr) == (Exit.OK, "")
    assert f"store   {config.parent}/seller.db, which is made at the first start" in result.stdout
    assert sorted(config.parent.iterdir()) == before


def test_check_looks_at_the_store(config):
    """Whether it can be opened; one that a gateway has open is fine, and is not disturbed."""
    path = config.parent / "seller.db"
    store = open_sqlite(path, party="urn:duns:222222222", clock_at=lambda: 0)
    result = invoke("check", "-c", config)
    assert result.exit_code == Exit.OK
    assert "seller.db, in use by a gateway that runs" in result.stdout
    store.begin()
    store.commit()
    store.close()
    before = sorted(config.parent.iterdir())
    assert "seller.db, can be opened" in invoke("check", "-c", config).stdout
    assert sorted(config.parent.iterdir()) == before
    open_sqlite(path, party="urn:duns:222222222", clock_at=lambda: 0).close()


def of_another_party(path):
    open_sqlite(path, party="urn:duns:9", clock_at=lambda: 0).close()


def no_database(path):
    path.write_bytes(b"no database" * 100)


def a_folder(path):
    path.mkdir()


def of_a_newer_program(path):
    open_sqlite(path, party="urn:duns:222222222", clock_at=lambda: 0).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 999")


def of_another_program(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (x)")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (of_another_party, "belongs to urn:duns:9"),
        (no_database, "cannot be opened"),
        (a_folder, "cannot be opened"),
        (of_a_newer_program, "schema version 999"),
        (of_another_program, "no store of onceonly"),
    ],
)
def test_check_says_why_a_store_cannot_be_opened(config, spoil, words):
    """Exit 2, one line, before a gateway is started over it."""
    spoil(config.parent / "seller.db")
    result = invoke("check", "-c", config)
    assert result.exit_code == Exit.USAGE
    assert f"{config}: store: " in result.stderr
    assert words in result.stderr
    assert result.stdout == ""


def test_check_says_where_a_store_cannot_be_made(config):
    """A file stands where its folder has to."""
    config.write_text(CONFIGURATION.replace("seller.db", "gateway.toml/deep/seller.db"))
    result = invoke("check", "-c", config)
    assert result.exit_code == Exit.USAGE
    assert "gateway.toml is not a folder" in result.stderr


@pytest.mark.parametrize(
    ("lake", "words"),
    [("gateway.toml/lake", "cannot be written"), ("nosuch://lake", "cannot be reached")],
)
def test_check_warns_of_a_lake_that_cannot_be_written(config, lake, words):
    """A gateway runs without one, so that it is no reason not to start it."""
    config.write_text(CONFIGURATION.replace("[[agr", f'lake = "{lake}"\n[[agr'))
    result = invoke("check", "-c", config)
    assert result.exit_code == Exit.OK
    assert words in result.stderr


SECURED = """\
[gateway]
party  = ["urn:duns:222222222"]
listen = "https://0.0.0.0:8401/msh"
uri    = "https://seller.example:8401/msh"
api    = "http://127.0.0.1:9"
store  = "seller.db"

[tls]
certificate = "us.pem"
key         = "us.key"
trusted     = "us.pem"
clients     = true

[[agreement]]
id      = "tpa-ab-1"
with    = ["urn:duns:111111111"]
send_to = "http://buyer.example/msh"
"""


@pytest.mark.skipif(not shutil.which("openssl"), reason="makes its certificate with openssl")
def test_check_warns_of_who_can_be_taken_for_the_partner(tmp_path):
    """R-11 and R-44: each configuration has the warning that it deserves, and no other.

    Behind a proxy only `uri` tells that others reach a gateway on loopback.
    """
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    words = [*command.split(), "-subj", "/CN=seller", "-keyout", "us.key", "-out", "us.pem"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    config = tmp_path / "gateway.toml"
    bound = f'caller_certificate = "{"a" * 64}"\n'
    for lines, closed, plain in (
        (SECURED, True, False),
        (SECURED + bound, False, True),
        (SECURED.replace("http://buyer", "https://buyer") + bound, False, False),
        (CONFIGURATION, False, False),
        (CONFIGURATION.replace("api ", 'uri = "https://b2b.example/msh"\napi '), True, False),
        (CONFIGURATION.replace("api ", 'uri = "http://127.0.0.1:80/msh"\napi '), False, False),
    ):
        config.write_text(lines)
        result = invoke("check", "-c", config)
        assert result.exit_code == Exit.OK, result.output
        assert ("close the pair" in result.stderr) == closed
        assert ("send_to is http" in result.stderr) == plain


def test_check_shouts_about_a_drill(config):
    """On stderr, since it is no data."""
    config.write_text(CONFIGURATION + "\n[drill]\nclock_rate = 20\n")
    assert "THIS IS A DRILL" in invoke("check", "-c", config).stderr


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("timeout = 30", "timeout = 1.5", 11, "whole seconds, 1 to 10000000"),
        ("timeout = 30", "colour = 1", 11, "legal: id, profile, with"),
        ("timeout = 30", 'profile = "rm-1999"', 11, "legal: rm-2000"),
        ("timeout = 30", 'time_to_live = "PT1S"', 11, "is shorter than timeout"),
        ('store  = "seller.db"', "", 1, "lacks 'store': a path"),
        ("[gateway]", "[gateway", 1, "is not TOML"),
    ],
)
def test_check_refuses_with_line_reason_and_legal_values(config, old, new, line, words):
    """Exit 2."""
    config.write_text(CONFIGURATION.replace(old, new))
    result = invoke("check", "-c", config)
    assert result.exit_code == Exit.USAGE
    assert f"{config}:{line}: " in result.stderr
    assert words in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ("check",),
        ("check", "-c", "/nowhere.toml"),
        ("serve", "-c", "/nowhere.toml"),
        ("message", "list"),
        ("nonsense",),
        ("message", "list", "-o", "xml"),
    ],
)
def test_wrong_usage_ends_with_two(words):
    """Exit 2."""
    assert invoke(*words).exit_code == Exit.USAGE


@pytest.mark.parametrize(
    "words",
    [
        ("message", "list"),
        ("message", "show", "m-1"),
        ("inbox", "list"),
        ("inbox", "take", "m-1"),
        ("partner", "list"),
        ("partner", "resume", "urn:duns:111111111"),
    ],
)
def test_a_gateway_that_does_not_run_is_unreachable(config, words):
    """Exit 5."""
    result = invoke(*words, "-c", config)
    assert result.exit_code == Exit.UNREACHABLE
    assert "cannot be reached" in result.stderr


@pytest.mark.parametrize("words", [("check",), ("serve",), ("lake", "publish")])
def test_who_runs_a_gateway_of_a_file_refuses_a_wrong_agreement(config, words):
    """Exit 2 with the line; `lake publish` opens the store where no gateway answers."""
    config.write_text(CONFIGURATION + "colour = 1\n")
    result = invoke(*words, "-c", config)
    assert result.exit_code == Exit.USAGE
    assert f"{config}:12: [agreement] colour" in result.stderr


def test_who_calls_a_gateway_does_not_ask_about_its_agreements(config):
    """The gateway that runs has read them; its file may be in somebody's editor by now."""
    config.write_text(CONFIGURATION + "colour = 1\n")
    assert invoke("partner", "list", "-c", config).exit_code == Exit.UNREACHABLE
    config.write_text(CONFIGURATION.replace("store ", "colour"))
    result = invoke("partner", "list", "-c", config)
    assert result.exit_code == Exit.USAGE
    assert f"{config}:5: [gateway] colour" in result.stderr


@pytest.mark.parametrize(
    ("api", "code"),
    [
        ("http://127.0.0.1:port", Exit.USAGE),
        ("nonsense", Exit.USAGE),
        ("http://127.0.0.1:9", Exit.UNREACHABLE),
    ],
)
def test_an_address_that_is_none_shows_no_traceback(api, code):
    """`--api` is given by people."""
    result = invoke("message", "list", "--api", api)
    assert result.exit_code == code
    assert result.stderr.startswith("Error: ")


def test_the_installed_command_ends_with_the_documented_code(config):
    """The entry point hands the exit code to the shell, and shows no traceback."""
    command = [sys.executable, "-m", "onceonly", "message", "list", "-c", str(config)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == Exit.UNREACHABLE
    assert "Traceback" not in result.stderr
    assert re.match(r"Error: the gateway cannot be reached", result.stderr)


WITHOUT_SPARK = "import sys; sys.modules['pyspark'] = None; from onceonly.cli import main; main()"
"""A Python in which `import pyspark` fails as where the extra is not installed."""


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("lake", "ingest", "somewhere"), Exit.USAGE),
        (("demo", "--out", "somewhere"), Exit.UNEXPECTED),
    ],
)
def test_without_spark_one_is_told_what_to_install(tmp_path, words, code):
    """One line and an exit code; everything else works without it."""
    command = [sys.executable, "-c", WITHOUT_SPARK, *words]
    result = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == code
    assert "onceonly[spark]" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_question_without_an_answer_is_an_interruption():
    """The end of the input at a prompt is what Ctrl-C is: exit 130, and nothing was done."""
    program = (
        "import click\nfrom onceonly.cli.main import cli, main\n"
        "cli.add_command(click.Command('ask', callback=lambda: click.confirm('Sure?', abort=True)))"
        "\nmain()"
    )
    command = [sys.executable, "-c", program, "ask"]
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == Exit.INTERRUPTED
    assert "Traceback" not in result.stderr


def a_message(**known: Any) -> MessageDetail:
    """A message of which this is known."""
    at = "2026-11-25T12:00:00.000000Z"
    texts = dict.fromkeys(("message_id", "agreement", "conversation", "service", "action"), "x")
    numbers = dict.fromkeys(("attempt", "episode", "size_bytes"), 0)
    fields = msgspec.structs.fields(MessageDetail)
    unknown = dict.fromkeys(one.name for one in fields if one.required)
    lists = dict.fromkeys(("from_ids", "to_ids", "receipts", "timeline", "payloads"), ())
    usual = {"is_final": False, "digest": "", "submitted_at": at, "timestamp": at}
    semantics = {"semantics": DeliverySemantics.ONCE_AND_ONLY_ONCE}
    return MessageDetail(**{**unknown, **texts, **numbers, **lists, **usual, **semantics, **known})


class StillSending(BaseHTTPRequestHandler):
    """A gateway on which a message stays on its way."""

    def do_GET(self) -> None:
        """The message; `looked` is set at the first look."""
        message_id = self.path.rpartition("/")[2]
        body = msgspec.json.encode(a_message(message_id=message_id, state="sending", attempt=1))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.looked.set()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_ctrl_c_ends_the_wait_and_not_the_message():
    """Exit 130, and the words with which one goes on waiting."""
    with ThreadingHTTPServer(("127.0.0.1", 0), StillSending) as server:
        server.looked = threading.Event()
        api = f"http://127.0.0.1:{server.server_port}"
        command = [sys.executable, "-m", "onceonly", "message", "wait", "m-1", "m-2", "--api", api]
        # Whatever started the tests in the background may have had them ignore it, and a child
        # ignores what its parent does.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        waiting = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        signal.signal(signal.SIGINT, before)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            assert server.looked.wait(60)
            waiting.send_signal(signal.SIGINT)
            _, said = waiting.communicate()
        finally:
            waiting.kill()
            server.shutdown()
            thread.join()
    assert waiting.returncode == Exit.INTERRUPTED
    assert "onceonly message wait m-1 m-2" in said


def test_a_journal_of_a_store_that_cannot_be_opened_is_not_published(config):
    """Without a gateway the store itself is asked, and its refusal is told."""
    config.with_name("seller.db").write_bytes(b"no database, but long enough for a header" * 100)
    result = invoke("lake", "publish", "-c", config)
    assert result.exit_code == Exit.UNEXPECTED
    assert "cannot be opened" in result.stderr


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Unauthorized", Exit.NOT_ALLOWED),
        ("JournalForked", Exit.NOT_POSSIBLE),
        ("LakeFailed", Exit.UNEXPECTED),
    ],
)
def test_what_a_gateway_does_not_publish_is_told_by_its_code(config, name, code):
    """As of every other call: who calls may be wrong, or the time, or the lake."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        server.refusal = name
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        config.write_text(CONFIGURATION.replace(':9"', f':{server.server_port}"'))
        result = invoke("lake", "publish", "-c", config)
        server.shutdown()
        thread.join()
    assert (result.exit_code, result.stderr) == (code, f"Error: {name}: not now\n")


class Refusing(BaseHTTPRequestHandler):
    """A gateway that refuses what is asked."""

    def do_POST(self) -> None:
        """The refusal that the server has."""
        name = self.server.refusal
        body = msgspec.json.encode({"error": {"name": name, "text": "not now"}})
        self.send_response(REFUSALS[name].status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_without_a_gateway_a_refusal_has_the_code_that_it_has_with_one(config):
    """Of a journal that forked, and of a backup that is there: exit 13, and not 1 or 2."""
    invoke("lake", "publish", "-c", config)
    party, store = "urn:duns:222222222", config.with_name("seller.db")
    before = store.with_name("before.db")
    shutil.copy(store, before)
    with closing(open_sqlite(store, party=party, clock_at=lambda: 1)) as opened:
        opened.begin().append([Record(party, Event.STARTED, 1, 0)])
        opened.commit()
    assert invoke("lake", "publish", "-c", config).exit_code == Exit.OK
    shutil.copy(before, store)
    forked = invoke("lake", "publish", "-c", config)
    assert forked.exit_code == Exit.NOT_POSSIBLE
    assert forked.stderr.splitlines()[-1].startswith("Error: JournalForked: ")
    assert invoke("backup", "nightly", "-c", config).exit_code == Exit.OK
    twice = invoke("backup", "nightly", "-c", config)
    assert twice.exit_code == Exit.NOT_POSSIBLE
    assert "BackupExists: " in twice.stderr


@pytest.mark.parametrize(
    ("state", "error_code", "pair", "code"),
    [
        ("acknowledged", None, "open", Exit.OK),
        ("failed", "DeliveryFailure", "open", Exit.FAILED),
        ("expired", "TimeToLiveExpired", "open", Exit.FAILED),
        ("cancelled", None, "open", Exit.FAILED),
        ("in_doubt", "DeliveryFailure", "suspended", Exit.IN_DOUBT),
        ("failed", "ValueNotRecognized", "open", Exit.REFUSED),
        ("in_doubt", "InvalidSequenceNumber", "quarantined", Exit.REFUSED),
        ("sending", None, "open", Exit.STILL_TRYING),
        ("queued", None, "open", Exit.STILL_TRYING),
        ("queued", None, "suspended", Exit.SUSPENDED),
        ("sending", "DeliveryFailure", "suspended", Exit.SUSPENDED),
    ],
)
def test_the_exit_code_tells_the_fate(state, error_code, pair, code):
    """One code per fate."""
    condition = PairCondition(state=pair, reason=None)
    found = a_message(state=state, error_code=error_code, pair=condition)
    assert exit_of_message(found) is code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("NotFound", Exit.NOT_FOUND),
        ("UnknownPartner", Exit.NOT_FOUND),
        ("Cancelled", Exit.NOT_FOUND),
        ("Unauthorized", Exit.NOT_ALLOWED),
        ("ForeignHost", Exit.NOT_ALLOWED),
        ("InvalidField", Exit.USAGE),
        ("PayloadTooLarge", Exit.USAGE),
        ("UnusableAddress", Exit.USAGE),
        ("NotCancellable", Exit.NOT_POSSIBLE),
        ("ProcessingWentBack", Exit.NOT_POSSIBLE),
        ("MessageIdTaken", Exit.NOT_POSSIBLE),
        ("UnexpectedAnswer", Exit.UNEXPECTED),
        ("QueueFull", Exit.UNEXPECTED),
        ("StoreFull", Exit.UNEXPECTED),
        ("LakeFailed", Exit.UNEXPECTED),
    ],
)
def test_a_refusal_says_whose_turn_it_is(name, code):
    """A wrong call is 2, 3 or 4; 13 is a right one that comes at the wrong time; 1 is ours."""
    assert exit_of_refusal(name) is code
