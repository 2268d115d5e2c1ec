"""The keys of `[[agreement]]`: every parameter of the seeds, and of our rulings.

`[[route]]` shares some of them.
"""

from onceonly.gateway.config import values as read
from onceonly.gateway.config.cpa_keys import CPA_KEYS
from onceonly.gateway.config.key import DURATION, ENDPOINT, FLAG, PARTIES, Key, listed, table_of
from onceonly.gateway.config.order_keys import ORDER_KEYS
from onceonly.gateway.config.presets import BY_NAME, NOT_OFFERED
from onceonly.gateway.config.signing_keys import SIGNING_KEYS
from onceonly.message.message import (
    AckRequested,
    DeliverySemantics,
    ReliableMessagingMethod,
    SyncReplyMode,
)
from onceonly.message.profile import PROFILES, Profile
from onceonly.message.signals import Assurance
from onceonly.message.terms import (
    DeliveryReceiptProvided,
    Intermediary,
    OnExhausted,
    Remedy,
    ResponseChoice,
)

EBXML_METHOD_URI = "http://www.ebxml.org/namespaces/reliableMessaging"
"""The name of the acknowledgement protocol in a list of supported methods (seed 001 §2.1.1.3)."""

WINDOW_MAX = 1000
"""Most messages in flight to one partner: each needs a timer, and memory of the partner."""

WINDOW_2001 = 16
"""Messages in flight in `rm-2001` unless agreed otherwise: two fsync batches under way."""

_SIGNED_LATER = "signed acknowledgements and receipts come with the ebMS 2.0 profile"

_SECONDS_RANGE = read.whole(1, 10_000_000)
_SECONDS_TEXT = "whole seconds, 1 to 10000000"
_COUNT_RANGE = read.whole(0, 1_000_000)
_COUNT_TEXT = "a count, 0 to 1000000"

PROFILE = Key(
    "profile",
    read.profile,
    ", ".join(profile.name for profile in PROFILES),
    "Wire form and rules: `rm-2000` is the text of seed 000, `rm-2001` that of seed 001, "
    "`ebms-2.0` the standard.",
    default=Profile.RM_2000,
    default_text='`"rm-2000"`',
    section="the seeds themselves",
)
WINDOW = Key(
    "window",
    read.whole(1, WINDOW_MAX),
    f"a count, 1 to {WINDOW_MAX}; 1 in rm-2000",
    "Most messages of the pair in flight at once.",
    default_text=f"`1` in `rm-2000`, else `{WINDOW_2001}`",
    unit="messages",
    section="seed 000 §2.1.3",
)
ACK_REQUESTED = Key(
    "ack_requested",
    read.one_of(AckRequested),
    "None, Unsigned, Signed (ebms-2.0 only)",
    "Whether an acknowledgement is to hold an Acknowledgment element; not in `rm-2000`. An "
    "intermediary in `accept` mode acknowledges only where it is asked for. With Signed, only an "
    "acknowledgement counts that is signed and has the digests of the message.",
    default_text='`"None"`',
    section="seed 001 §1.2.5",
)
TIMEOUT = Key(
    "timeout",
    _SECONDS_RANGE,
    _SECONDS_TEXT,
    "Wait for a response after the first transmission (Timeout).",
    default=30,
    default_text="`30`",
    unit="seconds",
    section="seed 000 §2.1.4.1, seed 001 §1.2.6",
)
RETRIES = Key(
    "retries",
    _COUNT_RANGE,
    _COUNT_TEXT,
    "Most resends (Retries).",
    default_text="`3`; `0` at level 0, with AtMostOnce and BestEffort; until the message expires "
    "from level 1 on",
    unit="resends",
    section="seed 000 §2.1.4.1, seed 001 §1.2.7",
)
RETRY_INTERVAL = Key(
    "retry_interval",
    _SECONDS_RANGE,
    _SECONDS_TEXT,
    "Wait for a response after each resend (RetryInterval); pause of a TransientError that names "
    "none.",
    default=60,
    default_text="`60`",
    unit="seconds",
    section="seed 000 §2.1.4.1, §4.2, seed 001 §1.2.8",
)
PERSIST_DURATION = Key(
    "persist_duration",
    read.duration_s,
    DURATION,
    "Least time that ids are kept; a message older than this is refused (R-19), and none is sent "
    "again past it.",
    default=30 * 86_400,
    default_text='`"P30D"`',
    unit="duration",
    section="seed 001 §1.2.9, §2.1.1.4",
)
TIME_TO_LIVE = Key(
    "time_to_live",
    read.duration_s,
    "an ISO 8601 duration such as P7D",
    "Age after which an unknown copy is refused and a failure is final (R-08, R-18).",
    default_text="none: a doubt stays a doubt",
    unit="duration",
    section="seed 001 §1.2.3, seed 004 level 1",
)
MSH_TIME_ACCURACY = Key(
    "msh_time_accuracy",
    read.minutes_seconds,
    '"mm:ss"',
    "How far the two wall clocks may differ.",
    default=30,
    default_text='`"00:30"`',
    unit="minutes and seconds",
    section="seed 001 §2.1.1.5",
)
TIMESTAMP_AHEAD_MAX = Key(
    "timestamp_ahead_max",
    read.duration_s,
    DURATION,
    "How far ahead of the clock here a message's Timestamp may be, beside `msh_time_accuracy`; "
    "past it an unknown message is refused as `Inconsistent`, since its id would be kept as long "
    "(R-19).",
    default=86_400,
    default_text='`"P1D"`',
    unit="duration",
    section="R-19",
)
TRANSIENT_RETRIES = Key(
    "transient_retries",
    _COUNT_RANGE,
    _COUNT_TEXT,
    "Most pauses in a row that TransientError may ask for (R-15).",
    default=100,
    default_text="`100`",
    unit="pauses",
    section="seed 000 §4.2",
)
FAIL_FAST = Key(
    "fail_fast_on_network_error",
    read.flag,
    FLAG,
    "Give up as soon as the transport says that nothing left.",
    default=False,
    default_text="`false`",
    section="seed 003 §1",
)
NOTIFY_FAILURES = Key(
    "notify_failures",
    read.flag,
    f"{FLAG}; true neither in rm-2000 nor under strict_release",
    "Send DeliveryFailure notices to the From Party (R-14).",
    default_text="`false` in `rm-2000`, under `strict_release` and with ExactlyOnce, else `true`",
    section="seed 001 §1.6, seed 003 §4",
)

CALLER_CERTIFICATE = Key(
    "caller_certificate",
    read.fingerprints,
    "64 hexadecimal digits, with colons between pairs or without; or a list of such",
    "SHA-256 of the certificate that the partner's MSH (or the intermediary before us) shows when "
    "it calls us; a list while it changes. Whatever is about this agreement and comes otherwise is "
    "refused, by mail or broker too.",
    default_text="any that `trusted` in `[tls]` lets in",
    section="ours, R-44",
)
ENTRANCES = Key(
    "entrances",
    read.entrances,
    "a list of https, mail, amqp",
    "By which ways the partner may call us.",
    default_text='`["https"]` with `caller_certificate`, else all',
    section="ours, R-44",
)

AGREEMENT_KEYS = table_of(
    Key(
        "id",
        read.identifier,
        "an identifier",
        "TPAId of the agreement.",
        is_required=True,
        section="seed 000 §2.2.2",
    ),
    PROFILE,
    Key(
        "preset",
        read.one_of(BY_NAME, NOT_OFFERED),
        ", ".join(BY_NAME),
        "The rules of a network: short for the keys that it sets. Each may still be given.",
        default_text="none",
        section="ours",
    ),
    Key(
        "with",
        read.parties,
        PARTIES,
        "The partner's PartyIds. All agreements with a partner are of one profile.",
        is_required=True,
        section="seed 000 §2.1.3",
    ),
    Key(
        "name",
        read.short_text,
        "a text of at most 100 characters",
        "What people call the partner, shown beside its PartyId; the same in all agreements with "
        "it. It is never sent.",
        section="ours",
    ),
    Key(
        "party",
        read.parties,
        "some of the ids of [gateway] party",
        "Our PartyIds in this agreement.",
        default_text="all of `[gateway] party`",
        section="seed 000 §2.1.3",
    ),
    Key(
        "send_to",
        read.endpoint,
        ENDPOINT,
        "Where messages, acknowledgements and errors for the partner are posted (R-26).",
        is_required=True,
        section="seed 000 §2.2.2, §2.5",
    ),
    Key(
        "error_to",
        read.endpoint,
        ENDPOINT,
        "A second address of the partner's, honoured when a message names it as ErrorURI (R-26).",
        section="seed 000 §2.2.2",
    ),
    Key(
        "resend_to",
        read.endpoint,
        ENDPOINT,
        "Where resends go, where that is elsewhere: perhaps by another transport.",
        default_text="`send_to`",
        section="seed 001 §1.3.3.3",
    ),
    CALLER_CERTIFICATE,
    ENTRANCES,
    Key(
        "intermediary",
        read.one_of(mode.value for mode in Intermediary),
        f"{listed(Intermediary)} (accept: rm-2001 only)",
        "Who stands between the parties. `accept`: one that acknowledges in its own name, so that "
        "its DeliveryFailure may come after an acknowledgement and ends the message (R-39). "
        "With either, a refused copy need not be the only one, so the message is in doubt (R-46).",
        default_text="none: the partner's MSH is called directly",
        section="seed 000 §4.1, seed 001 §1.3.4",
    ),
    Key(
        "receiver_uri",
        read.endpoint,
        ENDPOINT,
        "The URI that the partner's MSH announces, where it differs from `send_to`.",
        default_text="`send_to`",
        section="seed 000 §2.2.2",
    ),
    Key(
        "delivery_semantics",
        read.one_of(semantics.value for semantics in DeliverySemantics),
        listed(one for one in DeliverySemantics if one is not DeliverySemantics.AT_LEAST_ONCE),
        "Degree of reliability of what we send; the last two are written as OnceAndOnlyOnce.",
        default="OnceAndOnlyOnce",
        default_text='`"OnceAndOnlyOnce"`',
        section="seed 000 §2.2.1, seed 001 §1.2.1, seed 003 §1",
    ),
    WINDOW,
    Key(
        "reliable_messaging_method",
        read.one_of(method.value for method in ReliableMessagingMethod),
        listed(ReliableMessagingMethod),
        "`ebXML`: acknowledgements and resends. `Transport`: a reliable product underneath (an "
        "amqp endpoint) and none of ours; `rm-2001` only.",
        default_text='`"ebXML"`',
        section="seed 001 §1.2.4",
    ),
    Key(
        "reliable_messaging_methods_supported",
        read.uris,
        "a list of URIs",
        f"Methods that the partner's MSH supports; `{EBXML_METHOD_URI}` is the one of `ebXML`.",
        default_text="whatever `reliable_messaging_method` needs",
        section="seed 001 §2.1.1.3",
    ),
    ACK_REQUESTED,
    Key(
        "sync_reply_mode",
        read.one_of(mode.value for mode in SyncReplyMode),
        listed(mode for mode in SyncReplyMode if mode is not SyncReplyMode.MSH_SIGNALS_ONLY),
        "What comes back in the HTTP answer itself; `rm-2001` over http or https only.",
        default_text='`"none"`',
        section="seed 001 §1.2.2",
    ),
    Key(
        "delivery_receipt_requested",
        read.one_of(
            (AckRequested.NONE, AckRequested.UNSIGNED), {AckRequested.SIGNED.value: _SIGNED_LATER}
        ),
        "None, Unsigned (Signed comes with ebMS 2.0)",
        "Whether our messages ask for a delivery receipt; `rm-2001` only.",
        default_text='`"None"`',
        section="seed 001 §2.1.1.1",
    ),
    Key(
        "delivery_receipt_provided",
        read.one_of(
            (DeliveryReceiptProvided.NONE, DeliveryReceiptProvided.UNSIGNED),
            {
                DeliveryReceiptProvided.SIGNED.value: _SIGNED_LATER,
                DeliveryReceiptProvided.BOTH.value: _SIGNED_LATER,
            },
        ),
        "None, Unsigned (Signed and Both come with ebMS 2.0)",
        "Which delivery receipts we give; others are answered with NotSupported. `rm-2001` only.",
        default_text='`"None"`',
        section="seed 001 §2.1.1.2",
    ),
    TIMEOUT,
    RETRIES,
    RETRY_INTERVAL,
    Key(
        "round_trip",
        _SECONDS_RANGE,
        _SECONDS_TEXT,
        "Longest agreed time for a message to go over all hops and its acknowledgement to come "
        "back; a verdict that could come before it is refused (R-06).",
        default_text="none: not agreed",
        unit="seconds",
        section="seed 003 §2",
    ),
    PERSIST_DURATION,
    TIME_TO_LIVE,
    MSH_TIME_ACCURACY,
    TIMESTAMP_AHEAD_MAX,
    Key(
        "on_exhausted",
        read.one_of(choice.value for choice in OnExhausted),
        listed(OnExhausted),
        "What happens to the pair when the retries are used up (R-07).",
        default_text="`suspend` in `rm-2000`, else `fail`; `fail` with AtMostOnce and BestEffort",
        section="seed 000 §2.1.4.3",
    ),
    TRANSIENT_RETRIES,
    FAIL_FAST,
    Key(
        "strict_release",
        read.flag,
        FLAG,
        "Hand over only once an acknowledgement may have left (R-12).",
        default=False,
        default_text="`false`",
        section="seed 003 §1",
    ),
    Key(
        "drop_duplicates",
        read.flag,
        FLAG,
        "Eliminate repeats of BestEffort messages that we receive, too (R-16).",
        default=False,
        default_text="`false`",
        section="seed 000 §2.2.1, §3.1.3",
    ),
    Key(
        "response_choice",
        read.one_of(choice.value for choice in ResponseChoice),
        listed(ResponseChoice),
        "Which stored response answers a repeat, where there are several (R-03); `rm-2001` only.",
        default_text='`"first"`',
        section="seed 001 §1.3.3 9a",
    ),
    NOTIFY_FAILURES,
    Key(
        "level",
        read.whole(0, 5),
        "a level, 0 to 5",
        "Recovery level: short for the keys below it, of which each may still be given.",
        default_text="none: the rules of the profile",
        section="seed 004",
    ),
    Key(
        "ack_status",
        read.one_of(assurance.value for assurance in Assurance),
        listed(Assurance),
        "How far we have looked when we acknowledge, and say so; we acknowledge no earlier.",
        default="received",
        default_text='`"received"`',
        section="seed 004 level 0 a, b",
    ),
    Key(
        "passed_on",
        read.flag,
        FLAG,
        "Acknowledge only after the hand-over to the application, and say so.",
        default=False,
        default_text="`false`",
        section="seed 004 level 0 c",
    ),
    Key(
        "validator",
        read.http_uri,
        "an http or https URI",
        "Our application's address that says whether content is valid; `ack_status` is `content`.",
        section="seed 004 level 0 b",
    ),
    Key(
        "ping_before_send_above",
        read.whole(0, 1 << 40),
        "a count, 0 to 2^40",
        "Ask whether the partner takes messages before one whose payloads have more bytes than "
        "this; 0: before every message.",
        default_text="none; `0` at levels 2, 4 and 5",
        unit="bytes",
        section="seed 004 level 2",
    ),
    Key(
        "inquire_status",
        read.flag,
        FLAG,
        "Ask for the status of a message once we have given up.",
        default_text="`false`; `true` at levels 3, 4 and 5",
        section="seed 004 level 3",
    ),
    Key(
        "ping_before_inquiry",
        read.flag,
        FLAG,
        "Ask for availability before the status inquiry.",
        default=False,
        default_text="`false`",
        section="seed 004 level 3 (2)",
    ),
    Key(
        "inquiries",
        read.whole(1, 1000),
        "a count, 1 to 1000",
        "Most questions of one kind without an answer, `retry_interval` apart.",
        default=3,
        default_text="`3`",
        unit="questions",
        section="seed 004 level 3",
    ),
    Key(
        "when_not_received",
        read.one_of((Remedy.RESEND, Remedy.NEW_VERSION, Remedy.CANCEL, Remedy.WAIT)),
        "resend, new-version, cancel, wait",
        "What is done by rule when the partner has no record of the message.",
        default="wait",
        default_text='`"wait"`',
        section="seed 004 level 3 (3a')",
    ),
    Key(
        "response_within",
        read.duration_s,
        "an ISO 8601 duration such as PT4H",
        "Time after which the business response to a message of ours is late.",
        default_text="none: no response is expected",
        unit="duration",
        section="seed 004 level 5 (1)",
    ),
    Key(
        "when_not_started",
        read.one_of((Remedy.CANCEL, Remedy.WAIT)),
        "cancel, wait",
        "What is done by rule when the response is late and the work has not begun.",
        default="wait",
        default_text='`"wait"`',
        section="seed 004 level 5 (2b)",
    ),
    Key(
        "when_complete",
        read.one_of((Remedy.ASK_AGAIN, Remedy.WAIT)),
        "ask-again, wait",
        "What is done by rule when the response is late and the work is done.",
        default="ask-again",
        default_text='`"ask-again"`',
        section="seed 004 level 5 (2b)",
    ),
    Key(
        "reports_processing",
        read.flag,
        FLAG,
        "Our application reports how far it is, and asks before it starts; without it the "
        "partner's question is answered with `not-known`.",
        default=False,
        default_text="`false`",
        section="seed 004 level 3 (3b)",
    ),
    *SIGNING_KEYS,
    *CPA_KEYS.values(),
    *ORDER_KEYS.values(),
)
