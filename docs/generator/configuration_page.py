"""Reference: every configuration key, from the tables that the reader itself uses."""

from collections.abc import Mapping

from generator.words import table
from onceonly.gateway.config.keys import (
    AGREEMENT_KEYS,
    ALERT_KEYS,
    AMQP_KEYS,
    API_TLS_KEYS,
    DRILL_KEYS,
    DROP_KEYS,
    GATEWAY_KEYS,
    IDENTITY_KEYS,
    LIMITS_KEYS,
    PICKUP_KEYS,
    ROUTE_KEYS,
    SMTP_KEYS,
    TLS_KEYS,
    WEBHOOK_KEYS,
    Key,
)
from onceonly.gateway.config.presets import PRESETS, Preset
from onceonly.gateway.cpa import toml

INTRODUCTION = """# Configuration

One TOML file per gateway. Paths in it are relative to the file. A key that is not listed here, a
value of the wrong type, and a combination that cannot work are refused at start with the file,
the line, the reason and what is legal. `onceonly check -c FILE` does the same without starting
anything, and prints how long a message can stay without a verdict under each agreement.

```toml
[gateway]
party  = ["urn:duns:111111111"]
listen = "http://127.0.0.1:8401/msh"
api    = "http://127.0.0.1:8411"
store  = "buyer.db"
lake   = "lake"

[[agreement]]
id      = "tpa-ab-1"
with    = ["urn:duns:222222222"]
send_to = "http://127.0.0.1:8402/msh"
```

`seed 000 §…` is a section of the text of the profile `rm-2000`, the ebXML Reliable Messaging
Specification, working draft v0-080. `seed 001` is its rewrite of early 2001, the text of `rm-2001`.
`seed 003` and `seed 004` are two contributions to the discussion: when a message counts as
delivered, and the levels of recovery. `R-…` is a ruling of this project where those texts
contradict each other or leave a question open.
"""

IDENTITY = """## `[[identity]]`

Once for each key that signs (`ebms-2.0`). Several may overlap: the certificate of the next one goes
to the partners first, and from `from` on it signs. A reload takes them over.

```toml
[[identity]]
id          = "buyer-2027"
certificate = "buyer-2027.pem"
key         = "buyer-2027.key"
from        = 2027-01-01T00:00:00Z
```
"""

AGREEMENT = """## `[[agreement]]`

Once per agreement with a partner. Durations of the protocol are whole seconds where the drafts
say seconds, and ISO 8601 durations where they say duration.
"""

LEVELS = """### What a level stands for

`level` is short for other keys of the same agreement. If such a key is given too, the key counts;
if it contradicts the level, the file is refused.

| Level | Stands for |
|---|---|
| 0 | `retries = 0`: an acknowledgement, and no resend if it does not come |
| 1 | `time_to_live` is required; resends until the message is acknowledged or expires |
| 2 | level 1 and `ping_before_send_above = 0` (with `retries = 0`: over level 0) |
| 3 | level 1 and `inquire_status = true` |
| 4 | levels 2 and 3 |
| 5 | level 4, and `response_within` is required |

### What goes together
"""

PRESETS_OF_NETWORKS = """### What a preset stands for

`preset` is short for other keys of the same agreement, and for `profile = "ebms-2.0"`. If such a
key is given too, the key counts. What the network forbids is refused. A network asks for more than
a table can say: see [Digikoppeling](../how-to/digikoppeling.md), [Norway](../how-to/norway.md),
[the NHS](../how-to/nhs.md) and [Hermes](../how-to/hermes.md).
"""

COMBINATIONS = (
    (
        '`profile = "rm-2000"`',
        "one message in flight; no key of seed 001's own; no failure notices (R-14)",
    ),
    (
        "one partner",
        (
            "all agreements between the same two parties have one profile, and their `with` and "
            "`party` begin with the same ids"
        ),
    ),
    ("addresses", "`api` is not where `listen` is; `send_to` and `back_to` are not our own"),
    (
        "`delivery_semantics`",
        (
            "AtMostOnce sends once, and its pair goes on; ExactlyOnce has no `retries`, no "
            "`time_to_live` and no level, and its receiver forgets nothing; BestEffort sends once "
            "and has no acknowledgement"
        ),
    ),
    (
        '`reliable_messaging_method = "Transport"`',
        (
            "with an amqp `send_to`, and an amqp `send_to` only with it, never in a route; none of "
            "the keys of the acknowledgement protocol"
        ),
    ),
    (
        "R-06",
        (
            "`timeout + retries * retry_interval` is at most `time_to_live` and "
            "`persist_duration`, and at least `round_trip`; `time_to_live` is at most "
            "`persist_duration`"
        ),
    ),
    (
        '`when_not_received = "resend"`',
        'in `rm-2000` with `on_exhausted = "suspend"`: the message keeps its turn',
    ),
    ('`ack_status = "content"`', "with `validator`, and `validator` only with it"),
    ("`strict_release`", "without `passed_on` and `notify_failures`"),
    (
        "`sync_reply_mode`",
        "with an http or https `send_to`, and in `ebms-2.0` such a `resend_to`",
    ),
    ("a mailbox", "with `relay` in `[smtp]`"),
    (
        "`caller_certificate`, `next_hop_certificate`",
        "with an https `listen` and `clients = true` in `[tls]`, so that callers show them",
    ),
    (
        "`caller_certificate` and `entrances`",
        "`entrances` has https, the only way by which a certificate can be shown",
    ),
    (
        "`caller_certificate` and `resend_to`",
        "a `resend_to` by mail needs `mail` in `entrances`: no certificate is shown there",
    ),
    ("`ftp:`", "refused: the seed's section on FTP is an empty heading"),
)

ROUTE = """## `[[route]]`

Once per direction of traffic that passes through this gateway between two other parties, as an
intermediary (R-13). A conversation in both directions needs two routes. Acknowledgements and errors
about a message go back without a route of their own.

```toml
[[route]]
id      = "buyer-to-seller"
from    = ["urn:duns:111111111"]
to      = ["urn:duns:222222222"]
back_to = "http://buyer.example/msh"
send_to = "http://seller.example/msh"
```
"""

SMTP = """## `[smtp]`

Mail in and out. An agreement sends by mail if an endpoint of it is `smtp:mailbox@domain`; to
`smtps:mailbox@domain` it sends only under TLS.
"""

AMQP = """## `[amqp]`

A broker as the reliable transport product (`reliable_messaging_method = "Transport"`). Addresses of
brokers never contain credentials, since addresses are written to journals and messages.
"""

TLS = """## `[tls]`

Our certificate, and the anchors of those that we accept. Without the table we call https partners
with the system's trust anchors and show no certificate. The files are read at start.
"""

API_TLS = """## `[api_tls]`

The certificate of the application API, whose `api` is an `https` URI then. Without the table the
API is plain HTTP. The files are read at start.
"""

LIMITS = """## `[limits]`

What callers may cost us before an agreement admits them, and how many posts may be caused in a
partner's name (R-45). Without the table the defaults hold. The bounds that have no key stand with
these in [Security](../explanation/security.md#what-a-stranger-can-cost).

```toml
[limits]
refusal_rows_per_hour = 5000       # many partners, and somebody who reads the rows
connections_per_address_max = 256  # behind a proxy, where all partners have one address
```
"""

PICKUP = """## `[[pickup]]`

Once per folder whose files are sent as messages; see
[Exchange files by folders](../how-to/folders.md).

```toml
[[pickup]]
id        = "orders"
path      = "/srv/exchange/orders"
agreement = "tpa-ab-1"
service   = "Ordering"
action    = "NewOrder"
```
"""

DROP = """## `[[drop]]`

Once per folder that received messages are written to. A message goes to the first folder of the
file that it fits.

```toml
[[drop]]
id       = "invoices"
path     = "/srv/exchange/invoices"
services = ["Billing"]
```
"""

WEBHOOK = """## `[[webhook]]`

Once per program that is told what happens; see [Tell programs what happens](../how-to/webhooks.md).

```toml
[[webhook]]
id     = "erp"
url    = "https://erp.example/onceonly"
secret = {file = "erp.secret"}
```
"""

ALERT = """## `[[alert]]`

Once for each who is told when something is wrong; see
[Be told when something is wrong](../how-to/alerts.md).

```toml
[[alert]]
id      = "ops"
command = ["/usr/local/bin/page-somebody"]
repeat  = "PT4H"
```
"""

DRILL = """
For demonstrations and tests. A gateway with a drill says so at start, in `/healthz` and in its
journal: what it does under a drill proves nothing about real time.

A failpoint `POINT:N` kills the process, as hard as `kill -9`, at the N-th time that the point is
reached.
"""


def page() -> str:
    """The whole page."""
    return "\n".join(
        [
            INTRODUCTION,
            "## `[gateway]`\n\nOne table, required.\n",
            _keys(GATEWAY_KEYS),
            IDENTITY,
            _keys(IDENTITY_KEYS),
            AGREEMENT,
            _sourced_keys(AGREEMENT_KEYS),
            LEVELS,
            table(("Where", "Rule"), COMBINATIONS),
            PRESETS_OF_NETWORKS,
            table(("Preset", "For", "Sets", "Demands"), map(_preset, PRESETS)),
            ROUTE,
            _sourced_keys(ROUTE_KEYS),
            SMTP,
            _keys(SMTP_KEYS),
            AMQP,
            _keys(AMQP_KEYS),
            TLS,
            _keys(TLS_KEYS),
            API_TLS,
            _keys(API_TLS_KEYS),
            LIMITS,
            _keys(LIMITS_KEYS),
            PICKUP,
            _keys(PICKUP_KEYS),
            DROP,
            _keys(DROP_KEYS),
            WEBHOOK,
            _keys(WEBHOOK_KEYS),
            ALERT,
            _keys(ALERT_KEYS),
            "## `[drill]`\n",
            DRILL,
            _keys(DRILL_KEYS),
        ]
    )


def _keys(keys: Mapping[str, Key]) -> str:
    return table(
        ("Key", "Legal values", "Default", "Meaning"), (_row(key) for key in keys.values())
    )


def _row(key: Key) -> tuple[str, str, str, str]:
    default = "**required**" if key.is_required else key.default_text
    return f"`{key.name}`", key.legal, default, key.meaning


def _preset(preset: Preset) -> tuple[str, str, str, str]:
    sets = [f"`{key} = {toml.written(value)}`" for key, value in preset.values.items()]
    if preset.keeps_plan:
        sets.append("`persist_duration` of a day, or of the plan and a fifth")
    demands = [f"`{key}`" for key in preset.needs]
    demands += [
        f"`{key}` is {' or '.join(str(one) for one in legal if one is not None)}"
        for key, legal in preset.legal.items()
    ]
    if preset.schemes:
        demands.append(f"`send_to` by {' or '.join(preset.schemes)}")
    if preset.party_type is not None:
        demands.append(f"PartyIds of type `{preset.party_type}`")
    if preset.service_type is not None:
        demands.append(f"services of type `{preset.service_type}`")
    return f"`{preset.name}`", preset.what, ", ".join(sets), ", ".join(demands)


def _sourced_keys(keys: Mapping[str, Key]) -> str:
    rows = ((*_row(key), key.unit, key.section) for key in keys.values())
    return table(("Key", "Legal values", "Default", "Meaning", "Unit", "Source"), rows)
