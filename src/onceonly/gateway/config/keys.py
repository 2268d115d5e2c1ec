"""Every configuration key: its type, legal values, unit, default, meaning and source.

The reader and the reference page are made from these tables; a key that is not here does not exist.
`terms` and `configuration` know which values may be used together.
"""

from onceonly.gateway.config import secrets
from onceonly.gateway.config import values as read
from onceonly.gateway.config.agreement_keys import AGREEMENT_KEYS
from onceonly.gateway.config.alert_keys import ALERT_KEYS
from onceonly.gateway.config.folder_keys import DROP_KEYS, PICKUP_KEYS
from onceonly.gateway.config.key import DURATION, ENDPOINT, FLAG, PARTIES, Key, table_of
from onceonly.gateway.config.route_keys import ROUTE_KEYS
from onceonly.gateway.config.signing_keys import IDENTITY_KEYS
from onceonly.gateway.config.webhook_keys import WEBHOOK_KEYS
from onceonly.gateway.drill import POINTS

__all__ = [
    "AGREEMENT_KEYS",
    "ALERT_KEYS",
    "AMQP_KEYS",
    "API_TLS_KEYS",
    "DRILL_KEYS",
    "DROP_KEYS",
    "GATEWAY_KEYS",
    "IDENTITY_KEYS",
    "LIMITS_KEYS",
    "PICKUP_KEYS",
    "REPEATED",
    "ROUTE_KEYS",
    "SMTP_KEYS",
    "TABLES",
    "TLS_KEYS",
    "WEBHOOK_KEYS",
    "Key",
]

_MAIL_HOST_TEXT = "smtp://host:port"

GATEWAY_KEYS = table_of(
    Key(
        "party",
        read.parties,
        PARTIES,
        "Our PartyIds; the first one is the default From.",
        is_required=True,
    ),
    Key(
        "listen",
        read.listen_uri,
        "an http URI with a port, or an https one where [tls] has a certificate",
        "Where partners post to us.",
        is_required=True,
    ),
    Key(
        "uri",
        read.endpoint,
        ENDPOINT,
        "The address that we announce as SenderURI and expect as ReceiverURI (seed 000 §2.2.2).",
        default_text="`listen`",
    ),
    Key(
        "api",
        read.api_uri,
        "an http URI with a port, or an https one where [api_tls] has a certificate",
        "Application API. An address beyond this machine needs `api_keys`, or an `api_token`.",
        is_required=True,
    ),
    Key(
        "api_token",
        read.text,
        secrets.LEGAL,
        "Secret that API callers send as `Authorization: Bearer …`: one key with every right. "
        "Those of `onceonly key create` are better.",
        is_secret=True,
    ),
    Key(
        "api_keys",
        read.flag,
        FLAG,
        "Whether every caller of the API needs a key even before the first one was made.",
        default=False,
        default_text="`false`: from the first key on",
    ),
    Key(
        "api_hosts",
        read.host_names,
        "a list of names of hosts, without ports",
        "Further names by which callers reach the API, such as a proxy's. A call whose Host is "
        "neither one of these, nor the host of `api`, nor `localhost`, nor an address is refused: "
        "it may come from a web page.",
        default=(),
        default_text="none",
    ),
    Key(
        "agreements",
        read.text,
        "a path",
        "Folder of further files, relative to this one: the `[[agreement]]` and `[[route]]` tables "
        "of each file there that ends in `.toml`, in the order of the files' names.",
        default_text="none: all are in this file",
    ),
    Key(
        "store",
        read.text,
        "a path",
        "SQLite file that survives crashes, relative to this file; large payloads lie beside it.",
        is_required=True,
    ),
    Key(
        "backups",
        read.text,
        "a path",
        "Folder in which `onceonly backup` makes backups, relative to this file.",
        default_text="`store` with `-backups` at its end",
    ),
    Key(
        "reports",
        read.text,
        "a path",
        "Folder of reports, relative to this file: what `onceonly lake report` and its like write "
        "there, the API and the console show. The gateway only reads it. Whoever may read reports "
        "reads every file in it, so it holds neither this file nor the store, backups, the log, or "
        "a file that this one names.",
        default="reports",
        default_text='`"reports"`',
    ),
    Key(
        "log_file",
        read.text,
        "a path",
        "Where log lines go, relative to this file; the gateway opens it again on SIGUSR1, so that "
        "it can be rotated.",
        default_text="stderr",
    ),
    Key(
        "lake",
        read.text,
        "a path or fsspec URL",
        "Where journal segments are published.",
        default="lake",
        default_text='`"lake"`',
    ),
    Key(
        "lake_group",
        read.text,
        "a group of this machine",
        "Who may read the segments besides us, where `lake` is a path: folders and files get this "
        "group. The account must be in it.",
        default_text="the group of the process",
    ),
    Key(
        "publish_interval",
        read.whole(1, 86_400),
        "whole seconds, 1 to 86400",
        "How often new journal rows are published as a segment.",
        default=60,
        default_text="`60`",
        unit="seconds",
    ),
    Key(
        "payload_bytes_max",
        read.whole(1, 1 << 40),
        "a count, 1 to 2^40",
        "Largest sum of payloads of one message, in and out.",
        default=1 << 30,
        default_text="`1073741824` (1 GiB)",
        unit="bytes",
    ),
    Key(
        "queued_max",
        read.whole(1, 1_000_000_000),
        "a count, 1 to 1000000000",
        "Most messages without a verdict, those carried for others included; past it a submit is "
        "refused, and a previous hop is told to come again (R-27).",
        default=1_000_000,
        default_text="`1000000`",
        unit="messages",
    ),
    Key(
        "purge_interval",
        read.whole(1, 86_400),
        "whole seconds, 1 to 86400",
        "How often what nobody needs any more is forgotten (R-19).",
        default=3600,
        default_text="`3600`",
        unit="seconds",
    ),
    Key(
        "archive_duration",
        read.duration_s,
        "an ISO 8601 duration such as P3650D",
        "Messages are kept this much longer than `persist_duration`, for reasons of law or trade "
        "(seed 001 §2.1.1.4).",
        default=0,
        default_text="none: `persist_duration` alone",
        unit="duration",
    ),
    Key(
        "forget_pair_after",
        read.duration_s,
        DURATION,
        "A sender's SequenceNumber counter that was idle for so long is dropped; the next message "
        "has number 1 (seed 000 §2.2.2 c).",
        default_text="none: never",
        unit="duration",
    ),
    Key(
        "forget_job_after",
        read.duration_s,
        DURATION,
        "Rows that were staged in a job and not released for so long are dropped; and a job is "
        "forgotten so long after its release, once all its messages are.",
        default=7 * 86_400,
        default_text='`"P7D"`',
        unit="duration",
    ),
)

SMTP_KEYS = table_of(
    Key(
        "listen",
        read.mail_host("smtp"),
        _MAIL_HOST_TEXT,
        "Where we take mail from partners' mail servers.",
        section="seed 000 §2.5.2",
    ),
    Key(
        "mailbox",
        read.mailbox,
        "a mail address",
        "The address that we take mail for, and send from.",
        is_required=True,
        section="seed 000 §2.5.2",
    ),
    Key(
        "relay",
        read.mail_host("smtp", "smtps"),
        f"{_MAIL_HOST_TEXT} or smtps://host:port",
        "The mail server that takes our mail.",
        section="seed 000 §2.5.2",
    ),
    Key(
        "starttls",
        read.one_of(("require", "offer", "never")),
        "require, offer, never",
        "Whether mail goes under TLS on a plain port, in and out. `require` sends and takes "
        "nothing without it.",
        default="require",
        default_text='`"require"`',
        section="ours",
    ),
    Key("user", read.text, "a text", "User name at `relay`.", section="ours"),
    Key(
        "password",
        read.text,
        secrets.LEGAL,
        "Password at `relay`.",
        section="ours",
        is_secret=True,
    ),
    Key(
        "listen_user",
        read.text,
        "a text",
        "User name that whoever brings us mail must give.",
        section="ours",
    ),
    Key(
        "listen_password",
        read.text,
        secrets.LEGAL,
        "Password that whoever brings us mail must give.",
        section="ours",
        is_secret=True,
    ),
)

AMQP_KEYS = table_of(
    Key(
        "listen",
        read.queue,
        "amqp://host:port/vhost?queue=NAME (or amqps:)",
        "The queue that partners' messages come from.",
        section="seed 001 §1.2.4",
    ),
    Key(
        "user",
        read.text,
        "a text",
        "User name at every broker.",
        default="guest",
        default_text='`"guest"`',
        section="ours",
    ),
    Key(
        "password",
        read.text,
        secrets.LEGAL,
        "Password at every broker.",
        is_secret=True,
        default="guest",
        default_text='`"guest"`',
        section="ours",
    ),
)

TLS_KEYS = table_of(
    Key(
        "certificate",
        read.text,
        "a path",
        "PEM file with our certificate and its chain: shown by `listen`, by mail, and to partners "
        "that ask for it.",
        section="ours",
    ),
    Key("key", read.text, "a path", "PEM file with its private key.", section="ours"),
    Key(
        "trusted",
        read.text,
        "a path",
        "PEM file with the certificates that partners' must chain to.",
        default_text="the system's",
        section="ours",
    ),
    Key(
        "clients",
        read.flag,
        FLAG,
        "Whether whoever calls us must show a certificate that chains to `trusted`.",
        default=False,
        default_text="`false`",
        section="ours",
    ),
)

API_TLS_KEYS = table_of(
    Key(
        "certificate",
        read.text,
        "a path",
        "PEM file with the certificate of the API and its chain.",
        section="ours",
    ),
    Key("key", read.text, "a path", "PEM file with its private key.", section="ours"),
    Key(
        "trusted",
        read.text,
        "a path",
        "PEM file with the certificates that callers' must chain to. Callers may show one, and its "
        "key of the API is theirs.",
        section="ours",
    ),
    Key(
        "clients",
        read.flag,
        FLAG,
        "Whether callers of the API must show a certificate that chains to `trusted`.",
        default=False,
        default_text="`false`",
        section="ours",
    ),
)

LIMITS_KEYS = table_of(
    Key(
        "refusal_rows_per_hour",
        read.whole(1, 1_000_000),
        "a count, 1 to 1000000",
        "Most journal rows in an hour about callers that are not admitted: they name no agreement, "
        "or do not show the certificate that it demands. One row more counts the others.",
        default=1000,
        default_text="`1000`",
        unit="rows",
        section="ours, R-45",
    ),
    Key(
        "error_posts_per_hour",
        read.whole(0, 1_000_000),
        "a count, 0 to 1000000",
        "Most posts to one partner in an hour that packages cause which are refused; the others "
        "are answered on their own connection alone.",
        default=60,
        default_text="`60`",
        unit="posts",
        section="ours, R-45",
    ),
    Key(
        "unadmitted_bytes_max",
        read.whole(1 << 20, 1 << 40),
        "a count, 1048576 to 2^40",
        "Most bytes, of all callers together, of packages whose header was not read yet; nothing "
        "of a payload is kept before that. Past it a caller is asked to come again (503).",
        default=64 << 20,
        default_text="`67108864` (64 MiB)",
        unit="bytes",
        section="ours, R-45",
    ),
    Key(
        "connections_max",
        read.whole(1, 100_000),
        "a count, 1 to 100000",
        "Most connections to `listen`; fewer where the system lets us open fewer files.",
        default=1024,
        default_text="`1024`",
        unit="connections",
        section="ours, R-45",
    ),
    Key(
        "connections_per_address_max",
        read.whole(1, 100_000),
        "a count, 1 to 100000",
        "Most connections to `listen` from one address. Behind a proxy all partners have one.",
        default=64,
        default_text="`64`",
        unit="connections",
        section="ours, R-45",
    ),
    Key(
        "body_rate_min",
        read.whole(1, 1_000_000_000),
        "a count, 1 to 1000000000",
        "Least bytes per second of a package on its way in, over any ten seconds of it; slower is "
        "refused (408).",
        default=1000,
        default_text="`1000`",
        unit="bytes per second",
        section="ours, R-45",
    ),
)

DRILL_KEYS = table_of(
    Key(
        "clock_rate",
        read.rate,
        "a number from 0.01 to 1000",
        "How many times as fast every wait of the protocol passes; the wall clock stays true.",
        default=1.0,
        default_text="`1`",
    ),
    Key(
        "clock_offset_file",
        read.text,
        "a path",
        "A file whose number of seconds is added to the wall clock, read at each use.",
    ),
    Key(
        "failpoints",
        read.failpoints,
        f"a list of POINT:N with POINT one of {', '.join(POINTS)}",
        "Kill the process at the N-th time that the point is reached.",
        default={},
        default_text="none",
    ),
)

TABLES = {
    "gateway": GATEWAY_KEYS,
    "agreement": AGREEMENT_KEYS,
    "identity": IDENTITY_KEYS,
    "route": ROUTE_KEYS,
    "smtp": SMTP_KEYS,
    "amqp": AMQP_KEYS,
    "tls": TLS_KEYS,
    "api_tls": API_TLS_KEYS,
    "limits": LIMITS_KEYS,
    "pickup": PICKUP_KEYS,
    "drop": DROP_KEYS,
    "webhook": WEBHOOK_KEYS,
    "alert": ALERT_KEYS,
    "drill": DRILL_KEYS,
}
"""Keys of every table of the file."""

REPEATED = ("agreement", "identity", "route", "pickup", "drop", "webhook", "alert")
"""Tables that are written `[[name]]`, once for each."""
