"""What may stand beside what in a configuration file."""

import re
from pathlib import Path

import pytest
from configuration_file import (
    AGREEMENT,
    BROKER,
    GATEWAY,
    LIVES,
    NEW,
    ROUTE,
    SEND_TO,
    TRANSPORT,
    agreement,
    read,
)

from onceonly.gateway.config import ConfigurationError

OURS = "http://127.0.0.1:8401/msh"
"""Where the gateway of these files listens."""


def assert_refused(directory: Path, text: str, key: str, word: str) -> None:
    """The line of the key is named, and the reason has the word."""
    with pytest.raises(ConfigurationError) as caught:
        read(directory, text)
    line = re.search(r"gateway\.toml:(\d+)$", caught.value.where)
    assert line is not None
    named = text.splitlines()[int(line[1]) - 1]
    assert re.match(rf"{key}\s*=", named), caught.value
    assert word in caught.value.reason


TWICE = "is another than that of"
SECOND = AGREEMENT.replace("tpa-ab-1", "tpa-ab-2")

REFUSED: dict[str, tuple[str, str, str]] = {
    # profile
    "several in flight in rm-2000": (agreement("window = 2"), "window", "legal: 1"),
    "a method in rm-2000": (
        agreement('reliable_messaging_method = "ebXML"'),
        "reliable_messaging_method",
        "seed 001",
    ),
    "methods in rm-2000": (
        agreement('reliable_messaging_methods_supported = ["urn:x:y"]'),
        "reliable_messaging_methods_supported",
        "seed 001",
    ),
    "an Acknowledgment element in rm-2000": (
        agreement('ack_requested = "Unsigned"'),
        "ack_requested",
        "rm-2001",
    ),
    "a synchronous reply in rm-2000": (
        agreement('sync_reply_mode = "signalsOnly"'),
        "sync_reply_mode",
        "rm-2001",
    ),
    "a receipt asked for in rm-2000": (
        agreement('delivery_receipt_requested = "Unsigned"'),
        "delivery_receipt_requested",
        "rm-2001",
    ),
    "a receipt given in rm-2000": (
        agreement('delivery_receipt_provided = "Unsigned"'),
        "delivery_receipt_provided",
        "rm-2001",
    ),
    "another response in rm-2000": (
        agreement('response_choice = "most-recent"'),
        "response_choice",
        "rm-2001",
    ),
    "failure notices in rm-2000": (
        agreement("notify_failures = true"),
        "notify_failures",
        "R-14",
    ),
    **{
        f"{line.partition(' ')[0]} without extensions": (
            agreement('profile = "ebms-2.0"', line, *more),
            line.partition(" ")[0],
            "with extensions = true",
        )
        for line, *more in (
            ('ack_status = "structure"',),
            ("passed_on = true",),
            ("reports_processing = true",),
            ('response_within = "PT1H"',),
            ('when_not_received = "cancel"', "inquire_status = true"),
            ('when_not_received = "new-version"', "inquire_status = true"),
        )
    },
    "level 5 without extensions": (
        agreement(
            'profile = "ebms-2.0"', "level = 5", 'time_to_live = "P1D"', 'response_within = "PT1H"'
        ),
        "response_within",
        "with extensions = true",
    ),
    "refusals told under strict release": (
        agreement('profile = "ebms-2.0"', "strict_release = true", "reports_refusals = true"),
        "reports_refusals",
        "R-14",
    ),
    "two profiles with one partner": (
        agreement() + SECOND + SEND_TO + NEW,
        "profile",
        TWICE,
    ),
    # method
    "Transport over HTTP": (
        agreement(NEW, 'reliable_messaging_method = "Transport"'),
        "reliable_messaging_method",
        "send_to = amqp",
    ),
    "a broker without Transport": (agreement(NEW, BROKER), "send_to", "Transport"),
    "a partner that lacks the method": (
        agreement(NEW, 'reliable_messaging_methods_supported = ["urn:x:y"]'),
        "reliable_messaging_methods_supported",
        "http://www.ebxml.org/namespaces/reliableMessaging",
    ),
    **{
        f"Transport with {line.partition(' ')[0]}": (
            agreement(TRANSPORT, line),
            line.partition(" ")[0],
            "which Transport does not run",
        )
        for line in (
            'ack_requested = "Unsigned"',
            'sync_reply_mode = "signalsOnly"',
            'delivery_receipt_requested = "Unsigned"',
            'delivery_receipt_provided = "Unsigned"',
            "level = 0",
            "timeout = 1",
            "retries = 0",
            "round_trip = 1",
            'resend_to = "http://127.0.0.1:8402/msh"',
            "transient_retries = 1",
            'on_exhausted = "fail"',
            "fail_fast_on_network_error = true",
            "strict_release = true",
            "notify_failures = true",
            'response_choice = "first"',
            'ack_status = "structure"',
            "passed_on = true",
            'validator = "http://127.0.0.1:9000/valid"',
            "ping_before_send_above = 0",
            "inquire_status = true",
        )
    },
    # semantics
    **{
        f"{semantics} with {line}": (
            agreement(NEW, LIVES if with_life else "", f'delivery_semantics = "{semantics}"', line),
            line.partition(" ")[0],
            f"is not for {semantics}",
        )
        for semantics, with_life, line in (
            ("AtMostOnce", False, "retries = 1"),
            ("AtMostOnce", True, "level = 1"),
            ("AtMostOnce", False, 'resend_to = "http://127.0.0.1:8403/msh"'),
            ("AtMostOnce", False, 'on_exhausted = "suspend"'),
            ("ExactlyOnce", False, "retries = 0"),
            ("ExactlyOnce", False, LIVES),
            ("ExactlyOnce", False, "level = 0"),
            ("ExactlyOnce", False, "fail_fast_on_network_error = true"),
            ("ExactlyOnce", False, "notify_failures = true"),
            ("ExactlyOnce", False, "inquire_status = true"),
            ("BestEffort", True, "level = 1"),
            ("BestEffort", False, "retries = 1"),
            ("BestEffort", False, 'ack_requested = "Unsigned"'),
            ("BestEffort", False, "inquire_status = true"),
            ("BestEffort", False, 'on_exhausted = "suspend"'),
        )
    },
    # levels
    **{
        f"level {level} without a time to live": (
            agreement(f"level = {level}"),
            "level",
            "legal: with time_to_live",
        )
        for level in (1, 2, 3, 4, 5)
    },
    "level 0 that sends again": (agreement("level = 0", "retries = 1"), "retries", "legal: 0"),
    **{
        f"level {level} that never sends again": (
            agreement(f"level = {level}", LIVES, "retries = 0"),
            "retries",
            f"level {level} sends again",
        )
        for level in (1, 3, 4, 5)
    },
    **{
        f"level {level} that never inquires": (
            agreement(f"level = {level}", LIVES, "inquire_status = false"),
            "inquire_status",
            f"level {level}",
        )
        for level in (3, 4, 5)
    },
    "level 5 without a response": (agreement("level = 5", LIVES), "level", "response_within"),
    # recovery
    "a remedy without an inquiry": (
        agreement('when_not_received = "cancel"'),
        "when_not_received",
        "needs inquire_status",
    ),
    "a ping before no inquiry": (
        agreement("ping_before_inquiry = true"),
        "ping_before_inquiry",
        "needs inquire_status",
    ),
    "a late response that nobody waits for": (
        agreement('when_not_started = "cancel"'),
        "when_not_started",
        "needs response_within",
    ),
    "a finished work that nobody waits for": (
        agreement('when_complete = "wait"'),
        "when_complete",
        "needs response_within",
    ),
    "a number of no questions": (agreement("inquiries = 3"), "inquiries", "needs something to ask"),
    "a resend without the turn": (
        agreement("inquire_status = true", 'on_exhausted = "fail"', 'when_not_received = "resend"'),
        "when_not_received",
        "legal: with on_exhausted = suspend",
    ),
    # acknowledgements
    "valid content without a validator": (
        agreement('ack_status = "content"'),
        "ack_status",
        "legal: with validator",
    ),
    "a validator that is never asked": (
        agreement('validator = "http://127.0.0.1:9000/valid"'),
        "validator",
        "legal: with ack_status = content",
    ),
    "each waits for the other": (
        agreement("strict_release = true", "passed_on = true"),
        "passed_on",
        "strict_release",
    ),
    "notices under strict_release": (
        agreement(NEW, "strict_release = true", "notify_failures = true"),
        "notify_failures",
        "R-14",
    ),
    #
    "a message forgotten before its verdict": (
        agreement('persist_duration = "PT3M"'),
        "persist_duration",
        "210 s",
    ),
    "a message expired before its verdict": (
        agreement('time_to_live = "PT3M"'),
        "time_to_live",
        "210 s",
    ),
    "a message that outlives the memory": (
        agreement("level = 1", 'time_to_live = "P31D"'),
        "time_to_live",
        "longer than persist_duration",
    ),
    "a verdict before the answer can be there": (
        agreement("round_trip = 211"),
        "round_trip",
        "210 s",
    ),
    # mail
    **{
        f"a mailbox in {key} and no mail server": (
            agreement(*([] if key == "send_to" else [SEND_TO]), f'{key} = "smtp:a@b.example"'),
            key,
            "relay in [smtp]",
        )
        for key in ("send_to", "error_to", "resend_to")
    },
    "a synchronous reply by mail": (
        agreement(NEW, 'send_to = "smtp:a@b.example"', 'sync_reply_mode = "signalsOnly"')
        + '[smtp]\nmailbox = "s@s.example"\nrelay = "smtp://127.0.0.1:25"\n',
        "sync_reply_mode",
        "mail has no answer",
    ),
    "mail taken under TLS without a certificate": (
        GATEWAY + '[smtp]\nmailbox = "s@s.example"\nlisten = "smtp://127.0.0.1:25"\n',
        "listen",
        "[tls]",
    ),
    "a password for nobody": (
        GATEWAY + '[smtp]\nmailbox = "s@s.example"\nuser = "u"\npassword = "p"\n',
        "user",
        "relay, which is not given",
    ),
    "a password from nobody": (
        GATEWAY + '[smtp]\nmailbox = "s@s.example"\nlisten_user = "u"\nlisten_password = "p"\n',
        "listen_user",
        "listen, which is not given",
    ),
    "a password in clear": (
        GATEWAY + '[smtp]\nmailbox = "s@s.example"\nrelay = "smtp://127.0.0.1:25"\n'
        'user = "u"\npassword = "p"\nstarttls = "never"\n',
        "starttls",
        "in clear",
    ),
    "a password asked for in clear": (
        GATEWAY + '[smtp]\nmailbox = "s@s.example"\nlisten = "smtp://127.0.0.1:25"\n'
        'listen_user = "u"\nlisten_password = "p"\nstarttls = "never"\n',
        "listen_user",
        "in clear",
    ),
    "another's mailbox as our address": (
        GATEWAY + 'uri = "smtp:msh@s.example"\n'
        '[smtp]\nmailbox = "s@s.example"\nlisten = "smtp://127.0.0.1:25"\nstarttls = "never"\n',
        "uri",
        "'msh@s.example'",
    ),
    # TLS
    "https without a certificate": (
        GATEWAY.replace("http://127.0.0.1:8401", "https://127.0.0.1:8401"),
        "listen",
        "[tls]",
    ),
    "clients without anchors": (
        GATEWAY + '[tls]\ncertificate = "c"\nkey = "k"\nclients = true\n',
        "clients",
        "needs trusted",
    ),
    "clients without a certificate of ours": (
        GATEWAY + '[tls]\ntrusted = "t"\nclients = true\n',
        "clients",
        "needs certificate",
    ),
    "an https API without a certificate": (
        GATEWAY.replace("http://127.0.0.1:8411", "https://127.0.0.1:8411"),
        "api",
        "is https just where [api_tls]",
    ),
    "a certificate of the API that nobody would see": (
        GATEWAY + '[api_tls]\ncertificate = "c"\nkey = "k"\n',
        "api",
        "is https just where [api_tls]",
    ),
    "an API for everybody": (
        GATEWAY.replace("http://127.0.0.1:8411", "http://0.0.0.0:8411"),
        "api",
        "say api_keys = true",
    ),
    # addresses and names
    "applications where partners call": (
        GATEWAY.replace(":8411", ":8401"),
        "api",
        "has the address of listen",
    ),
    "applications on every address of the partners' port": (
        GATEWAY.replace("http://127.0.0.1:8411", "http://0.0.0.0:8401") + 'api_token = "t"\n',
        "api",
        "has the address of listen",
    ),
    "ourselves as our partner": (
        agreement(f'send_to = "{OURS}"'),
        "send_to",
        "is our own address",
    ),
    "ourselves as the next hop": (
        GATEWAY + ROUTE.replace("http://127.0.0.1:8404/msh", OURS),
        "send_to",
        "is our own address",
    ),
    "ourselves as the previous hop": (
        GATEWAY + ROUTE.replace("http://127.0.0.1:8403/msh", OURS),
        "back_to",
        "is our own address",
    ),
    "a broker as the next hop": (
        GATEWAY + ROUTE.replace("http://127.0.0.1:8404/msh", "amqp://b/v?routing_key=k"),
        "send_to",
        "is a broker",
    ),
    "one partner under two names": (
        agreement()
        + SECOND.replace('["urn:duns:111111111"]', '["urn:x:1", "urn:duns:111111111"]')
        + SEND_TO,
        "with",
        "urn:duns:111111111 first",
    ),
    "ourselves under two names to one partner": (
        agreement('party = ["urn:duns:222222222"]').replace(
            '["urn:duns:222222222"]', '["urn:duns:222222222", "urn:x:2"]', 1
        )
        + SECOND
        + SEND_TO
        + 'party = ["urn:x:2", "urn:duns:222222222"]\n',
        "party",
        "urn:duns:222222222 first",
    ),
    "an alias that another agreement brought in": (
        GATEWAY
        + AGREEMENT
        + SEND_TO
        + SECOND.replace('["urn:duns:111111111"]', '["urn:duns:111111111", "urn:x:1"]')
        + SEND_TO
        + AGREEMENT.replace("tpa-ab-1", "tpa-ab-3").replace("urn:duns:111111111", "urn:x:1")
        + SEND_TO,
        "with",
        "another id than in 'tpa-ab-2', which is between the same parties",
    ),
    # routes
    "accept in rm-2000": (
        GATEWAY + ROUTE + 'intermediary = "accept"\n',
        "intermediary",
        "legal: relay",
    ),
    "a route twice": (GATEWAY + ROUTE + ROUTE, "id", "is there twice"),
    "a route named as an agreement": (
        GATEWAY + AGREEMENT + SEND_TO + ROUTE.replace("north", "tpa-ab-1"),
        "id",
        "is the id of an agreement",
    ),
    "two routes for one message": (
        GATEWAY + ROUTE + ROUTE.replace("north", "south") + 'agreement = "cpa-1"\n',
        "id",
        "carries already",
    ),
    "a route for every message behind one for some": (
        GATEWAY + ROUTE + 'agreement = "cpa-1"\n' + ROUTE.replace("north", "south"),
        "id",
        "would carry what 'north' carries already",
    ),
    "two routes for one agreement": (
        GATEWAY
        + ROUTE
        + 'agreement = "cpa-1"\n'
        + ROUTE.replace("north", "south")
        + 'agreement = "cpa-2"\n'
        + ROUTE.replace("north", "third")
        + 'agreement = "cpa-2"\n',
        "id",
        "would carry what 'south' carries already",
    ),
    "two profiles on one route": (
        GATEWAY
        + ROUTE
        + ROUTE.replace("north", "south").replace("8404", "8405")
        + f'{NEW}\nagreement = "x"\n',
        "profile",
        "not mixed",
    ),
    "another profile on the way back": (
        GATEWAY
        + ROUTE
        + ROUTE.replace("north", "back")
        .replace("from ", "xx ")
        .replace("to  ", "from")
        .replace("xx ", "to ")
        + NEW,
        "profile",
        "not mixed",
    ),
    "another profile than that of an agreement": (
        agreement() + ROUTE.replace("333333333", "111111111") + NEW,
        "profile",
        "not mixed",
    ),
    "a route from ourselves": (
        GATEWAY + ROUTE.replace("333333333", "222222222"),
        "from",
        "[[agreement]]",
    ),
    **{
        f"a relay with {line.partition(' ')[0]}": (
            GATEWAY + ROUTE + f"{NEW}\n{line}\n",
            line.partition(" ")[0],
            "is not for a relay",
        )
        for line in (
            "window = 2",
            'ack_requested = "Unsigned"',
            "timeout = 1",
            "retries = 1",
            LIVES,
            "transient_retries = 1",
            "fail_fast_on_network_error = true",
            "notify_failures = true",
        )
    },
    "an accepted message forgotten before its verdict": (
        GATEWAY + ROUTE + f'{NEW}\nintermediary = "accept"\npersist_duration = "PT3M"\n',
        "persist_duration",
        "210 s",
    ),
}


@pytest.mark.statement("S1-11")
@pytest.mark.parametrize("case", REFUSED)
def test_a_combination_that_cannot_work_is_refused_at_its_line(tmp_path, case):
    """The key that has to change is named with its line, the reason and what would be legal."""
    text, key, word = REFUSED[case]
    assert_refused(tmp_path, text, key, word)


def test_one_partner_may_have_several_agreements_of_one_profile(tmp_path):
    """Other terms under another id; and other partners under another profile."""
    other = AGREEMENT.replace("tpa-ab-1", "cpa-cb-1").replace("111111111", "333333333")
    text = agreement() + SECOND + SEND_TO + other + SEND_TO + NEW
    assert len(read(tmp_path, text).agreements) == 3


def test_routes_with_mail_and_accepting(tmp_path):
    """A relay's pause is its retry_interval; who accepts has a window and reports failures."""
    south = ROUTE.replace("north", "south").replace("444444444", "555555555")
    text = (
        GATEWAY
        + ROUTE.replace("http://127.0.0.1:8404/msh", "smtp:d@d.example")
        + "retry_interval = 7\n"
        + south
        + f'{NEW}\nintermediary = "accept"\n'
        + '[smtp]\nmailbox = "s@s.example"\nrelay = "smtp://127.0.0.1:25"\n'
    )
    relay, accept = read(tmp_path, text).routes
    assert (relay.send_to, relay.terms.retry_interval_s) == ("smtp:d@d.example", 7)
    assert (accept.terms.window, accept.terms.notifies_failures) == (16, True)


def test_our_address_may_be_a_mailbox(tmp_path):
    """Where partners answer by mail, the mailbox is what we announce."""
    text = (
        GATEWAY.replace("store ", 'uri = "smtp:s@s.example"\nstore ')
        + '[smtp]\nmailbox = "s@s.example"\nlisten = "smtp://127.0.0.1:25"\nstarttls = "never"\n'
    )
    assert read(tmp_path, text).uri == "smtp:s@s.example"
