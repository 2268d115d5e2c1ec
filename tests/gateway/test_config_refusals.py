"""The configuration file: what is refused, where and why."""

import re

import pytest
from configuration_file import ROUTE, SMALLEST, read, refusal

from onceonly.gateway.config import ConfigurationError, read_configuration
from onceonly.gateway.config.cpa_keys import CPA_KEYS
from onceonly.gateway.config.keys import REPEATED, TABLES
from onceonly.gateway.config.order_keys import ORDER_KEYS

OTHER_TABLES = f"""{ROUTE}
[smtp]
mailbox = "msh@seller.example"

[amqp]
user = "seller"

[tls]

[api_tls]

[limits]

[[pickup]]
id = "orders"
path = "orders"
agreement = "tpa-ab-1"

[[drop]]
id = "invoices"
path = "invoices"

[[webhook]]
id = "erp"
url = "https://erp.example/hook"
secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

[[alert]]
id = "ops"
command = ["logger"]

[[identity]]
id = "ours"
certificate = "ours.pem"
key = "ours.key"

[drill]
"""


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
        'uri = "http://seller.example/msh?"',
        'uri = "http://seller.example/msh?x=1#y"',
        'uri = "http://seller.example/msh#"',
        'uri = "http://seller.example/msh?x=a b"',
        'api = "http://127.0.0.1:8411/?x=1"',
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
        'api = "https://127.0.0.1:8411"',
        "api_keys = 1",
        'api_hosts = "gateway.example"',
        "api_hosts = [7]",
        'api_hosts = ["gateway.example:8411"]',
        'api_hosts = ["*.example"]',
        'store = " "',
        'store = "a\\u0000b"',
        "store = 1",
        "backups = 1",
        "reports = 1",
        "log_file = 1",
        "agreements = 1",
        'agreements = "no-such-folder"',
        "api_token = {}",
        'api_token = {file = "no-such-file"}',
        'api_token = {env = "ONCEONLY_NO_SUCH_NAME"}',
        'api_token = {file = "a", env = "B"}',
        "api_token = {file = 1}",
        'api_token = {vault = "a"}',
        'backups = " "',
        "lake = 1",
        "lake_group = 100",
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
        'preset = "x"',
        'preset = "digikoppeling-osb-rm-e"',
        "with = []",
        'name = ""',
        "name = 1",
        'name = "x\\u0000y"',
        f'name = "{"x" * 101}"',
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
        'intermediary = "accept"',
        'intermediary = "none"',
        'error_to = "nowhere"',
        'error_to = "ftp://buyer.example/errors"',
        'error_to = "smtp:msh@buyer.example"',
        'caller_certificate = "abc"',
        f'caller_certificate = "{"g" * 64}"',
        f'caller_certificate = "{"a" * 64}"',
        "caller_certificate = []",
        f'caller_certificate = ["{"a" * 64}", "{"A" * 64}"]',
        "entrances = []",
        'entrances = "https"',
        'entrances = ["http"]',
        'entrances = ["mail", "mail"]',
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
        'sign = "some"',
        'sign = "all"',
        "require_signature = true",
        'require_signature = "messages"',
        "identities = []",
        'identities = ["nobody", "nobody"]',
        "partner_certificates = []",
        'partner_certificates = "partner.pem"',
        'signature_algorithm = "dsa-sha1"',
        'canonicalization = "c14n"',
        "accept_sha1 = 1",
        "xml_part_transforms = 1",
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
        'timestamp_ahead_max = "PT0S"',
        "timestamp_ahead_max = 86400",
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
        "caller_certificate = 1",
        f'caller_certificate = "{"a" * 64}"',
        "next_hop_certificate = 1",
        f'next_hop_certificate = "{"a" * 64}"',
        'entrances = ["http"]',
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
        "timestamp_ahead_max = 1",
        'timestamp_ahead_max = "P1D"',
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
    "api_tls": [
        "certificate = 1",
        'certificate = "our.pem"',
        "key = 1",
        'key = "our.key"',
        "trusted = 1",
        'clients = "yes"',
        "clients = true",
    ],
    "limits": [
        "refusal_rows_per_hour = 0",
        'error_posts_per_hour = "60"',
        "error_posts_per_hour = -1",
        "unadmitted_bytes_max = 1000",
        "connections_max = 0",
        "connections_per_address_max = 0",
        "body_rate_min = 0",
        "colour = 1",
    ],
    "pickup": [
        'id = ""',
        'id = "../orders"',
        "id = 1",
        'path = ""',
        "path = 1",
        'agreement = "tpa-xx-1"',
        'agreement = "a b"',
        'service = ""',
        "service = 1",
        'action = ""',
        'conversation = "a b"',
        "content_type = 1",
        'ready = "done"',
        'ready = "settled"',
        "settle = 0",
        "settle = 30",
        "interval = 0",
        "interval = 1.5",
        'marker = ".done"',
    ],
    "drop": [
        'id = "a/b"',
        "path = 1",
        'agreements = "tpa-ab-1"',
        'agreements = ["tpa-xx-1"]',
        "agreements = []",
        "services = []",
        "services = [1]",
        'actions = ""',
        'report = "not-started"',
    ],
    "webhook": [
        'id = "a b"',
        'url = "ftp://erp.example/"',
        'url = "https://user:word@erp.example/"',
        "kinds = []",
        'kinds = "verdicts"',
        'kinds = ["everything"]',
        'kinds = ["verdicts", "verdicts"]',
        'secret = "password"',
        'secret = "whsec_c2hvcnQ="',
        'secret = "whsec_!"',
        "secret = []",
        "secret = 7",
        'secret = {file = "nowhere"}',
        "trusted = 1",
        "timeout = 0",
        "timeout = 301",
        'give_up_after = "P0D"',
        'method = "GET"',
    ],
    "alert": [
        'id = "a b"',
        'mail = "nobody"',
        'url = "ftp://ops.example/"',
        'secret = "password"',
        "trusted = 1",
        "command = []",
        'command = "logger"',
        'command = ["logger", 7]',
        'command = [""]',
        "rules = []",
        'rules = ["weather"]',
        'rules = ["disk", "disk"]',
        'severity = "bad"',
        'repeat = "P0D"',
        "timeout = 0",
        "timeout = 301",
        'to = "ops"',
    ],
    "identity": [
        'id = "a b"',
        "certificate = 1",
        'key = ""',
        'from = "tomorrow"',
        "from = 2026-11-01",
        "from = 2026-11-01T00:00:00",
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
        # In test_cpa_config.py and test_order_config.py.
        elsewhere = {*CPA_KEYS, *ORDER_KEYS} if table == "agreement" else set()
        assert set(keys) - elsewhere <= tried, table


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


def test_an_alert_has_one_way_and_a_name_of_its_own(tmp_path):
    """A way that lacks its secret or its relay is none."""
    alert = '[[alert]]\nid = "ops"\n'
    command = 'command = ["logger"]\n'
    for keys, reason in (
        ("", "needs one of mail, url and command"),
        (command + 'mail = "ops@our.example"\n', "needs one of mail, url and command"),
        ('url = "https://ops.example/"\n', "url and secret belong together"),
        ('mail = "ops@our.example"\n', "legal with relay in [smtp]"),
        (command + alert + command, "is there twice"),
    ):
        assert reason in refusal(tmp_path, SMALLEST + alert + keys)[1]


def test_a_webhook_has_a_secret_and_a_name_of_its_own(tmp_path):
    """Nothing is posted without a signature."""
    table = '[[webhook]]\nid = "erp"\nurl = "https://erp.example/hook"\n'
    _, reason = refusal(tmp_path, SMALLEST + table)
    assert "secret" in reason
    table += 'secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1u"\n'
    _, reason = refusal(tmp_path, SMALLEST + table + table)
    assert "there twice" in reason


@pytest.mark.parametrize(
    ("key", "word"), [('id = "invoices"', "there twice"), ('path = "./invoices"', "already")]
)
def test_two_folders_are_not_one(tmp_path, key, word):
    """Neither by their names, nor by where they are: one would take what the other has written."""
    text, _ = with_key("pickup", key)
    _, reason = refusal(tmp_path, text)
    assert word in reason


SECRETS = """
[tls]
certificate = "tls/own.pem"
key = "tls/own.key"

[[webhook]]
id = "erp"
url = "https://erp.example/hook"
secret = {file = "secrets/erp"}
trusted = "trusted/erp.pem"
"""


@pytest.mark.parametrize(
    ("reports", "word"),
    [
        (".", "holds this configuration"),
        ("..", "holds this configuration"),
        ("/", "holds this configuration"),
        ("link", "holds this configuration"),
        ("store", "holds the store"),
        ("tls", "holds the key of [tls]"),
        ("trusted", "holds the trusted certificates of 'erp'"),
        ("secrets", "holds a file of a secret"),
        ("log", "holds the log"),
        ("store/seller.db-spool/reports", "lies in the payloads of the store"),
        ("kept", "holds backups"),
        ("kept/backups/latest", "lies in backups"),
    ],
)
def test_a_folder_of_reports_holds_no_secret(tmp_path, reports, word):
    """Every file below it is sent to whoever has a key that may read."""
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "erp").write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    keys = f'reports = "{reports}"\nlog_file = "log/gateway.log"\nbackups = "kept/backups"\n'
    text = SMALLEST.replace('store  = "', f'{keys}store  = "store/') + SECRETS
    line, reason = refusal(tmp_path, text)
    assert reason.startswith("[gateway] reports ")
    assert word in reason
    assert line == 5


@pytest.mark.parametrize("reports", ["reports", "lake", "lake/reports", "store/reports"])
def test_reports_may_lie_in_the_lake_and_beside_the_store(tmp_path, reports):
    """What is published, whoever may read reports reads over the API too."""
    keys = f'reports = "{reports}"\nlake = "lake"\n'
    found = read(tmp_path, SMALLEST.replace('store  = "', f'{keys}store  = "store/'))
    assert found.reports == tmp_path / reports


@pytest.mark.statement("S0-71")
def test_ftp_is_refused_by_name(tmp_path):
    """The seed's section on FTP is an empty heading, and the message says so."""
    text, _ = with_key("agreement", 'send_to = "ftp://buyer.example/msh"')
    _, reason = refusal(tmp_path, text)
    assert "ftp has no binding: seed 000 §2.5.3 is an empty heading" in reason


@pytest.mark.parametrize(
    "line",
    [
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
