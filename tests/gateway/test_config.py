"""The configuration file: what it amounts to, and what is refused, where and why."""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceonly.gateway.config import (
    Amqp,
    Configuration,
    ConfigurationError,
    Smtp,
    StartTls,
    Tls,
    read_configuration,
)
from onceonly.gateway.config.agreement_keys import EBXML_METHOD_URI
from onceonly.gateway.config.keys import REPEATED, TABLES
from onceonly.gateway.config.values import Illegal, duration_s
from onceonly.gateway.drill import POINTS
from onceonly.message.identity import PartyId
from onceonly.message.message import AckRequested, Profile, SyncReplyMode
from onceonly.message.signals import AckStatus, Assurance
from onceonly.message.terms import (
    DeliveryReceiptProvided,
    DeliveryTerms,
    Intermediary,
    OnExhausted,
    RecoveryTerms,
    Remedy,
    ResponseChoice,
)

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

OTHER_TABLES = """\

[[route]]
id      = "north"
from    = ["urn:duns:333333333"]
to      = ["urn:duns:444444444"]
back_to = "http://127.0.0.1:8403/msh"
send_to = "http://127.0.0.1:8404/msh"

[smtp]
mailbox = "msh@seller.example"

[amqp]
user = "seller"

[tls]

[drill]
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


def heading(table: str) -> str:
    return f"[[{table}]]" if table in REPEATED else f"[{table}]"


def with_key(table: str, line: str) -> tuple[str, int]:
    """A file with this line in the table, and its number."""
    key = line.partition("=")[0].strip()
    text = SMALLEST if table in ("gateway", "agreement") else SMALLEST + OTHER_TABLES
    before, title, rest = text.partition(heading(table) + "\n")
    inside, gap, after = rest.partition("\n\n")
    kept = [old for old in inside.splitlines() if not re.match(rf"{key}\s*=", old)]
    text = before + title + "\n".join([line, *kept]) + (gap or "\n") + after
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
    assert (found.routes, found.smtp, found.amqp, found.tls) == ((), None, None, None)
    assert (found.purge_interval_s, found.archive_duration_s) == (3600, 0)
    assert found.forget_pair_after_s is None
    assert found.forget_job_after_s == 7 * 86_400
    (agreement,) = found.agreements
    assert agreement.terms == DeliveryTerms()
    assert agreement.receiver_uri == agreement.send_to
    assert agreement.our_ids == found.party


EVERYTHING = """\
[gateway]
party = ["urn:duns:222222222", {id = "4000", type = "GLN"}]
listen = "https://0.0.0.0:8401/msh"
uri = "https://seller.example/msh"
api = "http://0.0.0.0:8411"
api_token = "s3cret"
store = "/var/lib/onceonly/seller.db"
lake = "s3://bucket/lake"
publish_interval = 5
payload_bytes_max = 10
queued_max = 7
purge_interval = 60
archive_duration = "P3650D"
forget_pair_after = "P365D"
forget_job_after = "P2D"

[[agreement]]
id = "tpa-ab-1"
profile = "rm-2001"
with = ["urn:duns:111111111"]
party = [{id = "4000", type = "GLN"}]
send_to = "https://buyer.example/msh"
error_to = "https://buyer.example/errors"
resend_to = "smtps:msh@buyer.example"
caller_certificate = "AB:12:AB:12:AB:12:AB:12:AB:12:AB:12:AB:12:AB:12:\
AB:12:AB:12:AB:12:AB:12:AB:12:AB:12:AB:12:AB:12"
receiver_uri = "https://buyer.example/ebxmlhandler/"
delivery_semantics = "OnceAndOnlyOnce"
window = 3
reliable_messaging_method = "ebXML"
reliable_messaging_methods_supported = ["http://www.ebxml.org/namespaces/reliableMessaging"]
ack_requested = "Unsigned"
sync_reply_mode = "signalsOnly"
delivery_receipt_requested = "Unsigned"
delivery_receipt_provided = "Unsigned"
timeout = 1
retries = 9
retry_interval = 2
round_trip = 19
persist_duration = "P2W"
time_to_live = "PT1H30M"
msh_time_accuracy = "01:30"
on_exhausted = "suspend"
transient_retries = 4
fail_fast_on_network_error = true
strict_release = false
drop_duplicates = true
response_choice = "most-recent"
notify_failures = false
level = 5
ack_status = "content"
passed_on = true
validator = "http://127.0.0.1:9000/valid"
ping_before_send_above = 1000
inquire_status = true
ping_before_inquiry = true
inquiries = 2
when_not_received = "new-version"
response_within = "PT4H"
when_not_started = "cancel"
when_complete = "wait"
reports_processing = true

[[route]]
id = "north"
profile = "rm-2001"
intermediary = "accept"
from = ["urn:duns:333333333"]
to = ["urn:duns:444444444"]
agreement = "cpa-ca-1"
back_to = "http://c.example/msh"
sender_uri = "http://c.example/announced"
send_to = "http://d.example/msh"
receiver_uri = "http://d.example/announced"
hops_max = 4
window = 5
ack_requested = "Unsigned"
timeout = 3
retries = 4
retry_interval = 5
persist_duration = "P2D"
time_to_live = "P1D"
msh_time_accuracy = "00:10"
transient_retries = 6
fail_fast_on_network_error = true
notify_failures = false

[smtp]
listen = "smtp://127.0.0.1:2525"
mailbox = "msh@seller.example"
relay = "smtps://mail.example:465"
starttls = "offer"
user = "seller"
password = "p"
listen_user = "buyer"
listen_password = "q"

[amqp]
listen = "amqps://broker.example/vhost?queue=seller"
user = "seller"
password = "r"

[tls]
certificate = "our.pem"
key = "our.key"
trusted = "partners.pem"
clients = true

[drill]
clock_rate = 20
clock_offset_file = "offset"
failpoints = ["after-commit:1", "before-publish:12"]
"""


def test_the_file_below_has_every_key():
    """Key by key, table by table, with other values than the defaults."""
    written = tomllib.loads(EVERYTHING)
    for table, keys in TABLES.items():
        values = written[table][0] if table in REPEATED else written[table]
        assert set(values) == set(keys)


@pytest.mark.statement("S0-18")
@pytest.mark.statement("S1-57")
@pytest.mark.statement("S1-59")
@pytest.mark.statement("S3-15")
def test_every_key_is_read(tmp_path):
    """Each value of the file arrives where the parts look for it."""
    found = read(tmp_path, EVERYTHING)
    assert found.uri == "https://seller.example/msh"
    assert (found.store, found.lake) == (Path("/var/lib/onceonly/seller.db"), "s3://bucket/lake")
    assert (found.purge_interval_s, found.archive_duration_s) == (60, 3650 * 86_400)
    assert found.forget_pair_after_s == 365 * 86_400
    assert found.forget_job_after_s == 2 * 86_400
    (agreement,) = found.agreements
    assert agreement.our_party == "GLN:4000"
    assert agreement.resend_to == "smtps:msh@buyer.example"
    assert agreement.caller_certificate == "ab12" * 16
    assert agreement.validator == "http://127.0.0.1:9000/valid"
    assert agreement.methods_supported == (EBXML_METHOD_URI,)
    assert agreement.terms == DeliveryTerms(
        is_numbered=False,
        window=3,
        timeout_s=1,
        retries=9,
        retry_interval_s=2,
        persist_duration_s=14 * 86_400,
        time_to_live_s=5400,
        msh_time_accuracy_s=90,
        on_exhausted=OnExhausted.SUSPEND,
        transient_retries=4,
        fails_on_network_error=True,
        drop_duplicates=True,
        response_choice=ResponseChoice.MOST_RECENT,
        notifies_failures=False,
        ack_requested=AckRequested.UNSIGNED,
        ack_status=AckStatus(Assurance.CONTENT, is_passed_on=True),
        sync_reply_mode=SyncReplyMode.SIGNALS_ONLY,
        delivery_receipt_requested=AckRequested.UNSIGNED,
        delivery_receipt_provided=DeliveryReceiptProvided.UNSIGNED,
        reports_processing=True,
        recovery=RecoveryTerms(
            ping_above_bytes=1000,
            inquires=True,
            pings_before_inquiry=True,
            inquiries=2,
            when_not_received=Remedy.NEW_VERSION,
            response_within_s=4 * 3600,
            when_not_started=Remedy.CANCEL,
            when_complete=Remedy.WAIT,
        ),
    )


def test_every_key_around_the_agreements_is_read(tmp_path):
    """Routes, mail, brokers, TLS and the drill; paths are relative to the file."""
    found = read(tmp_path, EVERYTHING)
    (route,) = found.routes
    assert route.pair == ("urn:duns:333333333", "urn:duns:444444444")
    assert (route.profile, route.intermediary) == (Profile.RM_2001, Intermediary.ACCEPT)
    assert (route.agreement_id, route.hops_max) == ("cpa-ca-1", 4)
    assert (route.back_to, route.sender_uri) == (
        "http://c.example/msh",
        "http://c.example/announced",
    )
    assert route.receiver_uri == "http://d.example/announced"
    assert route.terms == DeliveryTerms(
        is_numbered=False,
        window=5,
        timeout_s=3,
        retries=4,
        retry_interval_s=5,
        persist_duration_s=2 * 86_400,
        time_to_live_s=86_400,
        msh_time_accuracy_s=10,
        on_exhausted=OnExhausted.FAIL,
        transient_retries=6,
        fails_on_network_error=True,
        ack_requested=AckRequested.UNSIGNED,
    )
    assert found.smtp == Smtp(
        listen="smtp://127.0.0.1:2525",
        mailbox="msh@seller.example",
        relay="smtps://mail.example:465",
        starttls=StartTls.OFFER,
        user="seller",
        password="p",
        listen_user="buyer",
        listen_password="q",
    )
    queue = "amqps://broker.example/vhost?queue=seller"
    assert found.amqp == Amqp(listen=queue, user="seller", password="r")
    assert found.tls == Tls(
        certificate=tmp_path / "our.pem",
        key=tmp_path / "our.key",
        trusted=tmp_path / "partners.pem",
        clients=True,
    )
    assert found.drill is not None
    assert found.drill.clock_offset_file == tmp_path / "offset"
    assert found.drill.failpoints == {"after-commit": 1, "before-publish": 12}


WRONG = {
    "gateway": [
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
        'uri = "smtp:msh@seller.example"',
        'uri = "amqp://seller.example/vhost"',
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
        "purge_interval = 0",
        'purge_interval = "PT1H"',
        "archive_duration = 1",
        'archive_duration = "P10Y"',
        "forget_pair_after = 0",
        'forget_pair_after = "P0D"',
        'forget_job_after = "P0D"',
        "colour = 1",
    ],
    "agreement": [
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
        'send_to = "smtp:msh"',
        'send_to = "smtp:msh@buyer.example?subject=x"',
        'send_to = "smtp:\\"a b\\"@buyer.example"',
        'send_to = "smtp:msh@buyer.example"',
        'send_to = "amqp://broker.example/vhost"',
        'send_to = "amqp://u:p@broker.example/vhost?routing_key=x"',
        'send_to = "amqp://broker.example/vhost?routing_key=x"',
        'send_to = "sftp://buyer.example/msh"',
        'send_to = ""',
        "send_to = 8402",
        'error_to = "nowhere"',
        'error_to = "ftp://buyer.example/errors"',
        'error_to = "smtp:msh@buyer.example"',
        'caller_certificate = "abc"',
        f'caller_certificate = "{"g" * 64}"',
        f'caller_certificate = "{"a" * 64}"',
        'resend_to = "nowhere"',
        'resend_to = "smtp:msh@buyer.example"',
        'receiver_uri = "nowhere"',
        'delivery_semantics = "onceandonlyonce"',
        'delivery_semantics = "Reliable"',
        "delivery_semantics = 1",
        "window = 0",
        "window = 2",
        "window = 1001",
        'window = "wide"',
        'reliable_messaging_method = "ebxml"',
        'reliable_messaging_method = "Transport"',
        'reliable_messaging_method = "MSMQ"',
        "reliable_messaging_methods_supported = []",
        'reliable_messaging_methods_supported = "urn:x:y"',
        'reliable_messaging_methods_supported = ["ebXML"]',
        'reliable_messaging_methods_supported = ["urn:x:y", "urn:x:y"]',
        "reliable_messaging_methods_supported = [1]",
        'ack_requested = "Signed"',
        'ack_requested = "unsigned"',
        "ack_requested = true",
        'sync_reply_mode = "True"',
        "sync_reply_mode = true",
        'delivery_receipt_requested = "Signed"',
        'delivery_receipt_requested = "Both"',
        'delivery_receipt_provided = "Signed"',
        'delivery_receipt_provided = "Both"',
        'delivery_receipt_provided = "none"',
        "timeout = 0",
        "timeout = 1.5",
        'timeout = "PT5S"',
        "timeout = 10000001",
        "retries = -1",
        "retries = 0.5",
        "retries = 1000001",
        "retry_interval = 0",
        "retry_interval = 2.5",
        'retry_interval = "60"',
        "round_trip = 0",
        "round_trip = 211",
        'round_trip = "PT5S"',
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
        "on_exhausted = 1",
        "transient_retries = -1",
        "transient_retries = true",
        'fail_fast_on_network_error = "yes"',
        "strict_release = 1",
        'drop_duplicates = "no"',
        'response_choice = "last"',
        'response_choice = "first"',
        'notify_failures = "on"',
        "notify_failures = true",
        "level = 6",
        "level = -1",
        'level = "5"',
        "level = 1",
        'ack_status = "passed_on"',
        'ack_status = "content"',
        "ack_status = 1",
        'passed_on = "true"',
        'validator = "/valid"',
        'validator = "smtp:valid@seller.example"',
        'validator = "http://127.0.0.1:9000/valid"',
        "ping_before_send_above = -1",
        'ping_before_send_above = "1 MiB"',
        "inquire_status = 1",
        "ping_before_inquiry = 1",
        "ping_before_inquiry = true",
        "inquiries = 0",
        "inquiries = 2",
        'when_not_received = "ask-again"',
        'when_not_received = "resend"',
        "response_within = 5",
        'response_within = "P1M"',
        'when_not_started = "resend"',
        'when_not_started = "cancel"',
        'when_complete = "cancel"',
        'when_complete = "wait"',
        'reports_processing = "yes"',
        "colour = 1",
    ],
    "route": [
        'id = "n 1"',
        "id = 1",
        'profile = "rm-1999"',
        'intermediary = "proxy"',
        'intermediary = "accept"',
        "from = []",
        'from = ["urn:duns:222222222"]',
        "to = []",
        'to = ["urn:duns:222222222"]',
        'to = ["urn:duns:333333333"]',
        'agreement = "a b"',
        'back_to = "nowhere"',
        'back_to = "smtp:msh@c.example"',
        'sender_uri = "nowhere"',
        'send_to = "ftp://d.example/msh"',
        'send_to = "http://127.0.0.1:8403/msh"',
        'receiver_uri = "nowhere"',
        "hops_max = 1",
        "hops_max = 1001",
        'hops_max = "few"',
        "window = 0",
        "window = 1",
        'ack_requested = "Signed"',
        'ack_requested = "Unsigned"',
        "timeout = 0",
        "timeout = 30",
        "retries = -1",
        "retries = 3",
        "retry_interval = 0",
        "persist_duration = 1",
        "time_to_live = 1",
        'time_to_live = "P1D"',
        "msh_time_accuracy = 30",
        "transient_retries = -1",
        "transient_retries = 1",
        "fail_fast_on_network_error = 1",
        "fail_fast_on_network_error = true",
        "notify_failures = 1",
        "notify_failures = true",
        'delivery_semantics = "BestEffort"',
    ],
    "smtp": [
        'listen = "127.0.0.1:2525"',
        'listen = "smtps://127.0.0.1:465"',
        'listen = "smtp://127.0.0.1"',
        'listen = "smtp://127.0.0.1:2525"',
        'mailbox = "msh"',
        'mailbox = "a..b@seller.example"',
        "mailbox = 1",
        'relay = "mail.example"',
        'relay = "smtp://mail.example:25/x"',
        'starttls = "always"',
        "starttls = true",
        "user = 1",
        'user = "seller"',
        "password = 1",
        'password = "p"',
        "listen_user = 1",
        'listen_user = "buyer"',
        "listen_password = 1",
        'listen_password = "q"',
        "port = 25",
    ],
    "amqp": [
        'listen = "amqp://broker.example/vhost"',
        'listen = "http://broker.example/vhost?queue=q"',
        'listen = "amqp://u:p@broker.example/?queue=q"',
        "user = 1",
        "password = 1",
        "vhost = 1",
    ],
    "tls": [
        "certificate = 1",
        'certificate = "our.pem"',
        "key = 1",
        'key = "our.key"',
        "trusted = 1",
        'clients = "yes"',
        "clients = true",
        "ciphers = 1",
    ],
    "drill": [
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


def test_every_key_has_a_wrong_value_above():
    """The table of wrong values misses no key."""
    for table, keys in TABLES.items():
        tried = {line.partition("=")[0].strip() for line in WRONG[table]}
        assert set(keys) <= tried, table


@pytest.mark.statement("S0-19")
@pytest.mark.statement("S0-21")
@pytest.mark.statement("S0-24")
@pytest.mark.statement("S1-11")
@pytest.mark.statement("S1-13")
@pytest.mark.statement("S1-57")
@pytest.mark.parametrize(
    ("table", "line"), [(table, line) for table, lines in WRONG.items() for line in lines]
)
def test_a_wrong_line_is_refused_with_its_number_and_reason(tmp_path, table, line):
    """R-06: file, line, key, what is wrong, and what would be right."""
    text, number = with_key(table, line)
    where, reason = refusal(tmp_path, text)
    assert where == number
    assert reason.startswith(f"[{table}] {line.partition('=')[0].strip()} ")


@pytest.mark.statement("S0-71")
def test_ftp_is_refused_by_name(tmp_path):
    """The seed's section on FTP is an empty heading, and the message says so."""
    text, _ = with_key("agreement", 'send_to = "ftp://buyer.example/msh"')
    _, reason = refusal(tmp_path, text)
    assert "ftp has no binding: seed 000 §2.5.3 is an empty heading" in reason


@pytest.mark.parametrize(
    "line",
    [
        'ack_requested = "Signed"',
        'delivery_receipt_requested = "Signed"',
        'delivery_receipt_provided = "Signed"',
        'delivery_receipt_provided = "Both"',
    ],
)
def test_what_is_signed_is_refused_by_name(tmp_path, line):
    """It comes with a later profile; nobody has to guess."""
    text, _ = with_key("agreement", line)
    _, reason = refusal(tmp_path, text)
    assert "not offered yet" in reason
    assert "ebMS 2.0" in reason


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
        (SMALLEST + "[route]\n", 11, "[[route]]"),
        (SMALLEST + "[[route]]\n", 11, "lacks 'id'"),
        (SMALLEST + "[smtp]\n", 11, "lacks 'mailbox'"),
        (SMALLEST + "[[tls]]\n", 11, "one table"),
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
