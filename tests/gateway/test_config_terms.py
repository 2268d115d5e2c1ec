"""What a profile, a degree and a level of a configuration file stand for."""

from pathlib import Path
from typing import Any

import pytest
from configuration_file import LIVES, NEW, TRANSPORT, agreement, read

from onceonly.message.message import DeliverySemantics, ReliableMessagingMethod
from onceonly.message.terms import DeliveryTerms, Intermediary, OnExhausted, RecoveryTerms, Remedy

MAIL = '[smtp]\nmailbox = "s@s.example"\nrelay = "smtp://127.0.0.1:25"\n'


def terms(directory: Path, *lines: str) -> DeliveryTerms:
    return read(directory, agreement(*lines)).agreements[0].terms


ACCEPTED: dict[str, tuple[list[str], dict[str, Any]]] = {
    "rm-2000": ([], {"window": 1, "is_numbered": True, "on_exhausted": OnExhausted.SUSPEND}),
    "rm-2001": (
        [NEW],
        {
            "window": 16,
            "is_numbered": False,
            "on_exhausted": OnExhausted.FAIL,
            "notifies_failures": True,
            "method": ReliableMessagingMethod.EBXML,
        },
    ),
    "strict release": (
        [NEW, "strict_release = true"],
        {"strict_release": True, "notifies_failures": False},
    ),
    "AtMostOnce": (
        ['delivery_semantics = "AtMostOnce"'],
        {
            "semantics": DeliverySemantics.AT_MOST_ONCE,
            "retries": 0,
            "on_exhausted": OnExhausted.FAIL,
        },
    ),
    "ExactlyOnce": (
        [NEW, 'delivery_semantics = "ExactlyOnce"'],
        {"retries": None, "verdict_after_s": None, "notifies_failures": False},
    ),
    "ExactlyOnce in rm-2000": (
        ['delivery_semantics = "ExactlyOnce"'],
        {"retries": None, "on_exhausted": OnExhausted.SUSPEND},
    ),
    "BestEffort": (
        ['delivery_semantics = "BestEffort"', "drop_duplicates = true", 'time_to_live = "PT1S"'],
        {
            "drop_duplicates": True,
            "on_exhausted": OnExhausted.FAIL,
            "retries": 0,
            "verdict_after_s": 0,
        },
    ),
    "Transport": (
        [TRANSPORT],
        {"method": ReliableMessagingMethod.TRANSPORT, "retries": 0, "notifies_failures": False},
    ),
    "Transport with a short life": (
        [TRANSPORT, 'time_to_live = "PT1S"'],
        {"time_to_live_s": 1, "verdict_after_s": 1},
    ),
    "level 0": (["level = 0"], {"retries": 0, "recovery": RecoveryTerms()}),
    "level 0 with a ping": (
        ["level = 0", "ping_before_send_above = 0"],
        {"retries": 0, "recovery": RecoveryTerms(ping_above_bytes=-1)},
    ),
    "level 1": (
        ["level = 1", LIVES],
        {"retries": None, "verdict_after_s": 7 * 86_400, "recovery": RecoveryTerms()},
    ),
    "level 1 with a count": (["level = 1", LIVES, "retries = 5"], {"retries": 5}),
    "level 2": (
        ["level = 2", LIVES],
        {"retries": None, "recovery": RecoveryTerms(ping_above_bytes=-1)},
    ),
    "level 2 for what is large": (
        ["level = 2", LIVES, "ping_before_send_above = 1000000"],
        {"recovery": RecoveryTerms(ping_above_bytes=1_000_000)},
    ),
    "level 2 over level 0": (["level = 2", LIVES, "retries = 0"], {"retries": 0}),
    "level 3": (["level = 3", LIVES], {"recovery": RecoveryTerms(inquires=True)}),
    "level 3 that sends again": (
        ["level = 3", LIVES, 'when_not_received = "resend"'],
        {"recovery": RecoveryTerms(inquires=True, when_not_received=Remedy.RESEND)},
    ),
    "level 4": (
        ["level = 4", LIVES, "ping_before_inquiry = true", "inquiries = 5"],
        {
            "recovery": RecoveryTerms(
                ping_above_bytes=-1, inquires=True, pings_before_inquiry=True, inquiries=5
            )
        },
    ),
    "level 5": (
        ["level = 5", LIVES, 'response_within = "PT1H"', 'when_not_started = "cancel"'],
        {
            "recovery": RecoveryTerms(
                ping_above_bytes=-1,
                inquires=True,
                response_within_s=3600,
                when_not_started=Remedy.CANCEL,
            )
        },
    ),
    "straight to the partner": ([], {"may_be_copied": False, "intermediary": None}),
    "by mail": (
        ['send_to = "smtp:a@b.example"', MAIL],
        {"may_be_copied": True, "intermediary": None},
    ),
    "the first one by HTTP": (['resend_to = "smtp:a@b.example"', MAIL], {"may_be_copied": True}),
    "by a broker": ([TRANSPORT], {"may_be_copied": True}),
    "over a relay": (
        ['intermediary = "relay"'],
        {"may_be_copied": True, "intermediary": Intermediary.RELAY},
    ),
    "over an owner": (
        [NEW, 'intermediary = "accept"'],
        {"may_be_copied": True, "intermediary": Intermediary.ACCEPT},
    ),
    "an agreed round trip": (["round_trip = 210"], {"verdict_after_s": 210}),
}


@pytest.mark.statement("S4-17")
@pytest.mark.statement("S4-19")
@pytest.mark.statement("S3-16")
@pytest.mark.parametrize("case", ACCEPTED)
def test_what_a_profile_a_degree_and_a_level_stand_for(tmp_path, case):
    """Defaults follow the profile (R-07, R-14), levels expand, and a given key wins."""
    lines, wanted = ACCEPTED[case]
    found = terms(tmp_path, *lines)
    assert {name: getattr(found, name) for name in wanted} == wanted
