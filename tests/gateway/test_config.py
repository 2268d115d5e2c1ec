"""The configuration file: what it amounts to, and what is refused, where and why."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceonly.gateway.config import Configuration, ConfigurationError, read_configuration
from onceonly.gateway.config_keys import (
    AGREEMENT_KEYS,
    DRILL_KEYS,
    GATEWAY_KEYS,
)
from onceonly.gateway.config_values import Illegal, duration_s
from onceonly.gateway.drill import POINTS
from onceonly.message.identity import PartyId
from onceonly.message.terms import DeliveryTerms, OnExhausted

SMALLEST = """\
[gateway]
party  = ["urn:duns:222222222"]
listen = "http://127.0.0.1:8401/msh"
api    = "http://127.0.0.1:8411"
store  = "seller.db"

[[agreement]]
id      = "tpa-ab-1"
with    = ["urn:duns:111111111"]
send_to = "http://127.0.0.1:8402/msh"
"""


def read(directory: Path, text: str) -> Configuration:
    path = directory / "gateway.toml"
    path.write_text(text, encoding="utf-8")
    return read_configuration(path)


def refusal(directory: Path, text: str) -> tuple[int | None, str]:
    """The line that is named, and the reason."""
    with pytest.raises(ConfigurationError) as caught:
        read(directory, text)
    line = re.search(r"gateway\.toml:(\d+)$", caught.value.where)
    return (int(line[1]) if line else None), caught.value.reason


def with_key(table: str, line: str) -> tuple[str, int]:
    """The smallest file with this line in the table, and its number."""
    key = line.partition("=")[0].strip()
    before, heading, rest = SMALLEST.partition(table)
    inside, gap, after = rest.partition("\n\n") if heading else ("", "", "")
    kept = [old for old in inside.splitlines() if not re.match(rf"{key}\s*=", old)]
    text = before + "\n".join([table, line, *kept[1:]]) + gap + after
    return text, text.splitlines().index(line) + 1


def test_the_smallest_file_has_the_published_defaults(tmp_path):
    """Defaults are those of the reference page."""
    found = read(tmp_path, SMALLEST)
    assert found.party == (PartyId("urn:duns:222222222"),)
    assert (found.uri, found.api_token) == (found.listen, None)
    assert found.store == tmp_path / "seller.db"
    assert found.lake == str(tmp_path / "lake")
    assert (found.publish_interval_s, found.payload_bytes_max) == (60, 1 << 30)
    assert (found.queued_max, found.drill) == (1_000_000, None)
    (agreement,) = found.agreements
    assert agreement.terms == DeliveryTerms()
    assert agreement.receiver_uri == agreement.send_to
    assert agreement.our_ids == found.party


def test_every_key_is_read(tmp_path):
    """All keys of all tables, with other values than their defaults."""
    text = """\
[gateway]
party = ["urn:duns:222222222", {id = "4000", type = "GLN"}]
listen = "http://0.0.0.0:8401/msh"
uri = "https://seller.example/msh"
api = "http://0.0.0.0:8411"
api_token = "s3cret"
store = "/var/lib/onceonly/seller.db"
lake = "s3://bucket/lake"
publish_interval = 5
payload_bytes_max = 10
queued_max = 7

[[agreement]]
id = "tpa-ab-1"
profile = "rm-2000"
with = ["urn:duns:111111111"]
party = [{id = "4000", type = "GLN"}]
send_to = "https://buyer.example/msh"
error_to = "https://buyer.example/errors"
receiver_uri = "https://buyer.example/ebxmlhandler/"
delivery_semantics = "OnceAndOnlyOnce"
timeout = 1
retries = 0
retry_interval = 2
persist_duration = "P2W"
time_to_live = "PT1H30M"
msh_time_accuracy = "01:30"
on_exhausted = "fail"
transient_retries = 4

[drill]
clock_rate = 20
clock_offset_file = "offset"
failpoints = ["after-commit:1", "before-publish:12"]
"""
    written = set(re.findall(r"^(\w+) =", text, re.MULTILINE))
    assert written == set(GATEWAY_KEYS) | set(AGREEMENT_KEYS) | set(DRILL_KEYS)
    found = read(tmp_path, text)
    assert found.uri == "https://seller.example/msh"
    assert (found.store, found.lake) == (Path("/var/lib/onceonly/seller.db"), "s3://bucket/lake")
    (agreement,) = found.agreements
    assert agreement.our_party == "GLN:4000"
    assert agreement.terms == DeliveryTerms(
        timeout_s=1,
        retries=0,
        retry_interval_s=2,
        persist_duration_s=14 * 86_400,
        time_to_live_s=5400,
        msh_time_accuracy_s=90,
        on_exhausted=OnExhausted.FAIL,
        transient_retries=4,
    )
    assert found.drill is not None
    assert found.drill.clock_offset_file == tmp_path / "offset"
    assert found.drill.failpoints == {"after-commit": 1, "before-publish": 12}


WRONG = {
    "[gateway]": [
        'party = "urn:duns:1"',
        "party = []",
        'party = ["Smith"]',
        'party = ["urn:duns:1", "urn:duns:1"]',
        'party = [{id = "1"}]',
        'party = [{id = "1", type = ""}]',
        "party = [7]",
        'listen = "http://127.0.0.1/msh"',
        'listen = "https://127.0.0.1:8401/msh"',
        'listen = "127.0.0.1:8401"',
        'listen = "http://0.0.0.0:8401/msh"',
        "listen = 8401",
        'uri = "ftp://seller.example/msh"',
        'uri = "http://seller.example:0/msh"',
        'uri = "http://seller.example:99999/msh"',
        'uri = "http://user@seller.example/msh"',
        'uri = "http://seller.example/msh?x=1"',
        'uri = "http://seller.example/msh#x"',
        'uri = "http://seller.example/m sh"',
        'uri = "http://seller.example/{msh}"',
        'uri = "http://söller.example/msh"',
        'uri = "http://[::1/msh"',
        'uri = "http:///msh"',
        'api = "http://192.0.2.1:8411"',
        'api = "http://seller.example:8411"',
        'api = "unix:/run/api"',
        'api_token = ""',
        "api_token = 7",
        'api_token = "two\\nlines"',
        'store = " "',
        'store = "a\\u0000b"',
        "store = 1",
        "lake = 1",
        "publish_interval = 0",
        "publish_interval = 1.5",
        "publish_interval = true",
        "payload_bytes_max = 0",
        'payload_bytes_max = "1 GiB"',
        "queued_max = 0",
        "colour = 1",
    ],
    "[[agreement]]": [
        'id = "tpa 1"',
        'id = ""',
        "id = 1",
        'profile = "rm-1999"',
        "profile = 2000",
        "with = []",
        'with = ["urn:duns:222222222"]',
        'with = ["Smith"]',
        'party = ["urn:duns:999999999"]',
        'send_to = "ftp://buyer.example/msh"',
        'send_to = "smtp:msh@buyer.example"',
        'send_to = ""',
        'error_to = "nowhere"',
        'receiver_uri = "nowhere"',
        'delivery_semantics = "BestEffort"',
        'delivery_semantics = "onceandonlyonce"',
        "timeout = 0",
        "timeout = 1.5",
        'timeout = "PT5S"',
        "timeout = 10000001",
        "retries = -1",
        "retries = 0.5",
        "retry_interval = 0",
        'retry_interval = "60"',
        'persist_duration = "30 days"',
        "persist_duration = 30",
        'persist_duration = "PT1M"',
        'time_to_live = "P1Y"',
        'time_to_live = "PT0S"',
        'time_to_live = "PT1M"',
        'time_to_live = "P31D"',
        'msh_time_accuracy = "30"',
        'msh_time_accuracy = "00:60"',
        "msh_time_accuracy = 30",
        'on_exhausted = "give-up"',
        "transient_retries = -1",
        "transient_retries = true",
        'level = "5"',
    ],
    "[drill]": [
        "clock_rate = 0",
        "clock_rate = -1",
        "clock_rate = 1001",
        "clock_rate = nan",
        'clock_rate = "fast"',
        "clock_rate = true",
        "clock_offset_file = 1",
        'failpoints = "after-commit:1"',
        'failpoints = ["after-commit"]',
        'failpoints = ["after-commit:0"]',
        'failpoints = ["after-commit:1x"]',
        'failpoints = ["nowhere:1"]',
        "failpoints = [1]",
        "speed = 2",
    ],
}


def test_every_key_has_a_wrong_value_below():
    """The table of wrong values misses no key."""
    tables = (
        ("[gateway]", GATEWAY_KEYS),
        ("[[agreement]]", AGREEMENT_KEYS),
        ("[drill]", DRILL_KEYS),
    )
    for heading, keys in tables:
        tried = {line.partition("=")[0].strip() for line in WRONG[heading]}
        assert set(keys) <= tried


@pytest.mark.parametrize(
    ("table", "line"), [(table, line) for table, lines in WRONG.items() for line in lines]
)
def test_a_wrong_line_is_refused_with_its_number_and_reason(tmp_path, table, line):
    """S0-19, S0-21, S0-24, R-06: file, line, key, what is wrong, and what would be right."""
    text, number = with_key(table, line)
    where, reason = refusal(tmp_path, text)
    assert where == number
    assert reason.startswith(f"{table.strip('[]').join('[]')} {line.partition('=')[0].strip()}")


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("", None, "[gateway]"),
        ("colour = 1\n", 1, "legal: [gateway]"),
        (SMALLEST + "[other]\n", 11, "legal: [gateway]"),
        (SMALLEST.replace("[[agreement]]", "[agreement]"), 7, "[[agreement]]"),
        (SMALLEST.replace("[gateway]", "[[gateway]]"), 1, "one table"),
        ("gateway = 1\n", 1, "one table"),
        ("agreement = [1]\n" + SMALLEST.partition("[[")[0], 1, "one table"),
        (SMALLEST + "[[agreement]]\n", 11, "lacks 'id'"),
        (SMALLEST + SMALLEST.partition("\n\n")[2], 12, "is there twice"),
        (SMALLEST.replace("store ", "# store "), 1, "lacks 'store'"),
        (SMALLEST + "[gateway]\n", 11, "is not TOML"),
        ('[gateway]\nparty = "\n', 2, "is not TOML"),
    ],
)
def test_a_wrong_shape_is_refused_where_it_stands(tmp_path, text, line, word):
    """Tables that are missing, doubled, misnamed or no tables."""
    where, reason = refusal(tmp_path, text)
    assert word in reason
    assert where == line


def test_the_second_agreement_is_named_by_its_own_line(tmp_path):
    """The line is found in the table that is wrong, not in the first of that name."""
    second = SMALLEST.partition("\n\n")[2].replace("tpa-ab-1", "tpa-ab-2")
    text = SMALLEST + "\n" + second + "timeout = 0  # no wait\n"
    where, _ = refusal(tmp_path, text)
    assert text.splitlines()[(where or 0) - 1].startswith("timeout = 0")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["missing", "no UTF-8"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    """The reason is the system's."""
    path = tmp_path / "gateway.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_configuration(path)


def test_every_failpoint_can_be_armed(tmp_path):
    """What the drill offers, the file accepts."""
    armed = ", ".join(f'"{point}:1"' for point in POINTS)
    found = read(tmp_path, f"{SMALLEST}\n[drill]\nfailpoints = [{armed}]\n")
    assert found.drill is not None
    assert found.drill.failpoints == dict.fromkeys(POINTS, 1)


UNITS = {"W": 604_800, "D": 86_400, "H": 3600, "M": 60, "S": 1}
counts = st.one_of(st.none(), st.integers(0, 999_999))


@given(counts, counts, counts, counts, counts)
def test_a_duration_is_the_sum_of_its_parts(weeks, days, hours, minutes, seconds):
    """ISO 8601: P[nW][nD][T[nH][nM][nS]], each part optional, not all of them, not nothing."""
    parts = list(zip(UNITS, (weeks, days, hours, minutes, seconds), strict=True))
    date = "".join(f"{n}{unit}" for unit, n in parts[:2] if n is not None)
    time = "".join(f"{n}{unit}" for unit, n in parts[2:] if n is not None)
    text = f"P{date}" + (f"T{time}" if time else "")
    total = sum(UNITS[unit] * n for unit, n in parts if n is not None)
    if total == 0:
        with pytest.raises(Illegal):
            duration_s(text)
    else:
        assert duration_s(text) == total


@given(st.text(alphabet="PTWDHMS0123456789-.+ ٣", max_size=12))
def test_a_text_is_a_duration_or_refused(text):
    """R-25 for configurations: a positive number of seconds or `Illegal`, nothing else."""
    try:
        assert duration_s(text) > 0
    except Illegal:
        return
    assert re.fullmatch(r"P(\d+W)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?", text, re.ASCII)
