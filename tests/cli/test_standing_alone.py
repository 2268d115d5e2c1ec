"""Commands and exit codes that need no running gateway."""

import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from onceonly import __version__
from onceonly.cli.exits import MEANINGS, Exit, exit_of_message, exit_of_refusal
from onceonly.cli.main import cli

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
    """R-06: the longest time to a verdict is published."""
    result = invoke("check", "-c", config)
    assert result.exit_code == Exit.OK
    assert "tpa-ab-1: rm-2000 with urn:duns:111111111" in result.stdout
    assert "a verdict within 210 s" in result.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('delivery_semantics = "ExactlyOnce"', "a verdict as late as it takes"),
        ('delivery_semantics = "BestEffort"', "no acknowledgement"),
        ('delivery_semantics = "AtMostOnce"', "a verdict within 30 s"),
    ],
)
def test_check_says_when_there_is_no_bound_and_no_verdict(config, line, words):
    """A number only where it means something."""
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


@pytest.mark.parametrize(
    ("api", "code"),
    [
        ("http://127.0.0.1:port", Exit.USAGE),
        ("nonsense", Exit.UNREACHABLE),
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
    found = {"state": state, "error_code": error_code, "pair": {"state": pair}}
    assert exit_of_message(found) is code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("NotFound", Exit.NOT_FOUND),
        ("UnknownPartner", Exit.NOT_FOUND),
        ("InvalidField", Exit.USAGE),
        ("QueueFull", Exit.UNEXPECTED),
        ("StoreFull", Exit.UNEXPECTED),
        ("LakeFailed", Exit.UNEXPECTED),
    ],
)
def test_a_refusal_says_whose_turn_it_is(name, code):
    """The caller's mistake is 2 or 3; what the caller can't mend is 1."""
    assert exit_of_refusal(name) is code
