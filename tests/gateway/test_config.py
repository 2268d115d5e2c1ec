"""The configuration file: what it amounts to, key by key, and how long a duration is."""

import re
import tomllib
from base64 import b64encode
from pathlib import Path

import pytest
from configuration_file import SMALLEST, read
from hypothesis import given
from hypothesis import strategies as st

from onceonly.api.events import USUAL_KINDS
from onceonly.api.looks import RULES
from onceonly.gateway.config import (
    AlertWay,
    Amqp,
    Drop,
    Limits,
    Pickup,
    Ready,
    Report,
    Smtp,
    StartTls,
    Tls,
    Webhook,
)
from onceonly.gateway.config.agreement_keys import EBXML_METHOD_URI
from onceonly.gateway.config.configuration import read_client_settings
from onceonly.gateway.config.cpa_keys import CPA_KEYS
from onceonly.gateway.config.keys import REPEATED, TABLES
from onceonly.gateway.config.order_keys import ORDER_KEYS
from onceonly.gateway.config.signing_keys import SIGNING_KEYS
from onceonly.gateway.config.values import Illegal, duration_s
from onceonly.gateway.drill import POINTS
from onceonly.message.identity import PartyId
from onceonly.message.message import AckRequested, SyncReplyMode
from onceonly.message.profile import Profile
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
from onceonly.store.contract.alerts import AlertLevel


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
api = "https://0.0.0.0:8411"
api_token = "s3cret"
api_keys = true
api_hosts = ["gateway.example", "gateway"]
lake_group = "auditors"
store = "/var/lib/onceonly/seller.db"
backups = "/srv/backups"
reports = "/srv/reports"
agreements = "."
log_file = "/var/log/onceonly/gateway.log"
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
name = "Buyer & Co"
party = [{id = "4000", type = "GLN"}]
send_to = "https://buyer.example/msh"
error_to = "https://buyer.example/errors"
resend_to = "smtps:msh@buyer.example"
caller_certificate = "AB:12:AB:12:AB:12:AB:12:AB:12:AB:12:AB:12:AB:12:\
AB:12:AB:12:AB:12:AB:12:AB:12:AB:12:AB:12:AB:12"
entrances = ["https", "mail"]
intermediary = "accept"
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
timestamp_ahead_max = "PT2H"
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
caller_certificate = ["cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
  "efefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefef"]
next_hop_certificate = "efefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefef"
entrances = ["https"]
window = 5
ack_requested = "Unsigned"
timeout = 3
retries = 4
retry_interval = 5
persist_duration = "P2D"
time_to_live = "P1D"
msh_time_accuracy = "00:10"
timestamp_ahead_max = "PT3H"
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

[api_tls]
certificate = "api.pem"
key = "api.key"
trusted = "callers.pem"
clients = true

[tls]
certificate = "our.pem"
key = "our.key"
trusted = "partners.pem"
clients = true

[limits]
refusal_rows_per_hour = 10
error_posts_per_hour = 6
unadmitted_bytes_max = 2097152
connections_max = 100
connections_per_address_max = 20
body_rate_min = 500

[[pickup]]
id = "orders"
path = "out/orders"
agreement = "tpa-ab-1"
service = "Ordering"
action = "NewOrder"
conversation = "orders"
content_type = "text/xml"
ready = "settled"
settle = 30
interval = 5

[[drop]]
id = "invoices"
path = "/srv/invoices"
agreements = ["tpa-ab-1"]
services = ["Billing"]
actions = ["NewInvoice"]
report = "in-progress"

[[webhook]]
id = "erp"
url = "https://erp.example/hook?x=1"
kinds = ["verdicts", "traffic"]
secret = ["whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1u", "whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1u"]
trusted = "erp.pem"
timeout = 3
give_up_after = "P1D"

[[alert]]
id = "ops"
mail = "ops@our.example"
trusted = "relay.pem"
rules = ["silence", "disk"]
severity = "critical"
repeat = "PT4H"
timeout = 9

[[identity]]
id = "seller-2026"
certificate = "seller.pem"
key = "/etc/onceonly/seller.key"
from = 2026-11-01T00:00:00Z

[drill]
clock_rate = 20
clock_offset_file = "offset"
failpoints = ["after-commit:1", "before-publish:12"]
"""


NOT_TOGETHER = {("alert", key) for key in ("url", "secret", "command")} | {
    ("agreement", "preset")  # tests/cpa/test_presets.py
}
NOT_TOGETHER |= {("agreement", key.name) for key in SIGNING_KEYS}
"""Keys beside which another one of the file is not legal; they are read below."""


def test_the_file_below_has_every_key():
    """Key by key, table by table, with other values than the defaults."""
    written = tomllib.loads(EVERYTHING)
    for table, keys in TABLES.items():
        values = written[table][0] if table in REPEATED else written[table]
        elsewhere = {key for there, key in NOT_TOGETHER if there == table}
        if table == "agreement":
            # Of another profile: in test_cpa_config.py and test_order_config.py.
            elsewhere |= {*CPA_KEYS, *ORDER_KEYS}
        assert set(values) == set(keys) - elsewhere


@pytest.mark.statement("S0-18")
@pytest.mark.statement("S1-57")
@pytest.mark.statement("S1-59")
@pytest.mark.statement("S3-15")
def test_every_key_is_read(tmp_path):
    """Each value of the file arrives where the parts look for it."""
    found = read(tmp_path, EVERYTHING)
    assert found.uri == "https://seller.example/msh"
    assert (found.store, found.lake) == (Path("/var/lib/onceonly/seller.db"), "s3://bucket/lake")
    assert (found.backups, found.reports) == (Path("/srv/backups"), Path("/srv/reports"))
    assert found.log_file == Path("/var/log/onceonly/gateway.log")
    assert (found.purge_interval_s, found.archive_duration_s) == (60, 3650 * 86_400)
    assert found.forget_pair_after_s == 365 * 86_400
    assert found.forget_job_after_s == 2 * 86_400
    (agreement,) = found.agreements
    assert agreement.our_party == "GLN:4000"
    assert agreement.name == "Buyer & Co"
    assert agreement.resend_to == "smtps:msh@buyer.example"
    assert agreement.caller_certificate == ("ab12" * 16,)
    assert agreement.entrances == ("https", "mail")
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
        timestamp_ahead_max_s=7200,
        on_exhausted=OnExhausted.SUSPEND,
        transient_retries=4,
        fails_on_network_error=True,
        drop_duplicates=True,
        response_choice=ResponseChoice.MOST_RECENT,
        intermediary=Intermediary.ACCEPT,
        may_be_copied=True,
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


def test_every_key_of_folders_is_read(tmp_path):
    """What is put where, and what is written where; paths are relative to the file."""
    found = read(tmp_path, EVERYTHING)
    assert found.pickups == (
        Pickup(
            id="orders",
            path=tmp_path / "out/orders",
            agreement="tpa-ab-1",
            service="Ordering",
            action="NewOrder",
            conversation="orders",
            content_type="text/xml",
            ready=Ready.SETTLED,
            settle_s=30,
            interval_s=5,
        ),
    )
    assert found.drops == (
        Drop(
            id="invoices",
            path=Path("/srv/invoices"),
            agreements=("tpa-ab-1",),
            services=("Billing",),
            actions=("NewInvoice",),
            report=Report.IN_PROGRESS,
        ),
    )


def test_every_key_of_a_webhook_is_read(tmp_path):
    """A secret is read as bytes, from this file or another one, with blanks between several."""
    key = b"0123456789abcdefghijklmn"
    secret = "whsec_" + b64encode(key).decode()
    (found,) = read(tmp_path, EVERYTHING).webhooks
    assert found == Webhook(
        id="erp",
        url="https://erp.example/hook?x=1",
        kinds=("verdicts", "traffic"),
        secrets=(key, key),
        trusted=tmp_path / "erp.pem",
        timeout_s=3,
        give_up_after_s=86_400,
    )
    table = '[[webhook]]\nid = "erp"\nurl = "http://127.0.0.1:1/"\nsecret = {file = "erp.secret"}\n'
    (tmp_path / "erp.secret").write_text(f"{secret} {secret}\n", "ascii")
    (plain,) = read(tmp_path, SMALLEST + table).webhooks
    assert (plain.secrets, plain.kinds) == ((key, key), USUAL_KINDS)


def test_every_key_of_an_alert_is_read(tmp_path):
    """Without rules it is told of all; it has one way."""
    (found,) = read(tmp_path, EVERYTHING).alerts
    assert found == AlertWay(
        id="ops",
        mail="ops@our.example",
        url=None,
        command=None,
        secrets=(),
        trusted=tmp_path / "relay.pem",
        rules=("silence", "disk"),
        severity=AlertLevel.CRITICAL,
        repeat_s=4 * 3_600,
        timeout_s=9,
    )
    secret = "whsec_" + b64encode(b"0123456789abcdefghijklmn").decode()
    url = f'[[alert]]\nid = "a"\nurl = "http://127.0.0.1:1/"\nsecret = "{secret}"\n'
    command = '[[alert]]\nid = "b"\ncommand = ["logger", "-s"]\n'
    posted, run = read(tmp_path, SMALLEST + url + command).alerts
    assert (posted.secrets, posted.rules) == ((b"0123456789abcdefghijklmn",), tuple(RULES))
    assert run.command == ("logger", "-s")


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
    assert route.caller_certificate == ("cd" * 32, "ef" * 32)
    assert route.next_hop_certificate == ("ef" * 32,)
    assert route.entrances == ("https",)
    assert found.limits == Limits(
        refusal_rows_per_hour=10,
        error_posts_per_hour=6,
        unadmitted_bytes_max=2 << 20,
        connections_max=100,
        connections_per_address_max=20,
        body_rate_min=500,
    )
    assert route.terms == DeliveryTerms(
        is_numbered=False,
        window=5,
        timeout_s=3,
        retries=4,
        retry_interval_s=5,
        persist_duration_s=2 * 86_400,
        time_to_live_s=86_400,
        msh_time_accuracy_s=10,
        timestamp_ahead_max_s=10_800,
        on_exhausted=OnExhausted.FAIL,
        transient_retries=6,
        fails_on_network_error=True,
        intermediary=Intermediary.ACCEPT,
        may_be_copied=True,
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
    assert found.api_keys
    assert found.api_certificate == tmp_path / "api.pem"
    assert found.api_tls == Tls(
        certificate=tmp_path / "api.pem",
        key=tmp_path / "api.key",
        trusted=tmp_path / "callers.pem",
        clients=True,
    )
    assert read_client_settings(found.path).api_certificate == tmp_path / "api.pem"
    assert found.drill is not None
    assert found.drill.clock_offset_file == tmp_path / "offset"
    assert found.drill.failpoints == {"after-commit": 1, "before-publish": 12}


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
