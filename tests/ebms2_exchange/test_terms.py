"""What can be agreed in ebMS 2.0, and what follows from it."""

from pathlib import Path
from typing import Any

import pytest
from peer_ebms2 import TERMS
from two_parties import SELLER, agreement, house, write

from onceonly.gateway.config import ConfigurationError
from onceonly.message.message import AckRequested
from onceonly.message.terms import DeliveryTerms


def terms_of(directory: Path, **terms: Any) -> DeliveryTerms:
    table = agreement(
        "cpa-1",
        "urn:duns:3",
        "http://127.0.0.1:8/msh",
        **{**TERMS, **terms},
    )
    gateway = write(directory, "seller", house(SELLER, "seller", 9), table)
    return gateway.configuration.agreements[0].terms


def test_a_budget_is_told_without_a_timeout(tmp_path):
    with pytest.raises(ConfigurationError, match=r"\(retries \+ 1\) x retry_interval = 21 s"):
        terms_of(tmp_path, retries=2, retry_interval=7, persist_duration="PT20S")


ONCE: dict[str, Any] = {"retries": None, "retry_interval": 7}


def test_a_message_lives_one_interval_longer_than_its_verdict(tmp_path):
    """At most for PersistDuration, and as long as is agreed where that is said."""
    assert terms_of(tmp_path, retries=2, retry_interval=7).time_to_live_s == 28
    short = {"retries": 2, "retry_interval": 7, "persist_duration": "PT22S"}
    assert terms_of(tmp_path, **short).time_to_live_s == 22
    assert (
        terms_of(tmp_path, retries=2, retry_interval=7, time_to_live="PT25S").time_to_live_s == 25
    )
    assert terms_of(tmp_path, **ONCE, delivery_semantics="ExactlyOnce").time_to_live_s is None


def test_every_wait_is_a_retry_interval(tmp_path):
    terms = terms_of(tmp_path, retries=2, retry_interval=7)
    assert (terms.timeout_s, terms.verdict_after_s) == (7, 21)


@pytest.mark.parametrize(
    ("semantics", "asked"),
    [
        ("OnceAndOnlyOnce", AckRequested.UNSIGNED),
        ("AtLeastOnce", AckRequested.UNSIGNED),
        ("ExactlyOnce", AckRequested.UNSIGNED),
        ("AtMostOnce", AckRequested.NONE),
        ("BestEffort", AckRequested.NONE),
    ],
)
def test_a_degree_asks_for_the_acknowledgement_that_it_needs(tmp_path, semantics, asked):
    terms = terms_of(tmp_path, delivery_semantics=semantics, **ONCE)
    assert terms.ack_requested is asked
    assert terms.is_acknowledged is (asked is not AckRequested.NONE)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("timeout", 5),
        ("transient_retries", 5),
        ("delivery_receipt_requested", "Unsigned"),
        ("delivery_receipt_provided", "Unsigned"),
        ("response_choice", "first"),
        ("response_within", "PT60S"),
        ("reports_processing", True),
        ("reliable_messaging_method", "ebXML"),
        ("when_not_received", "cancel"),
        ("ack_requested", "None"),
    ],
)
def test_a_key_without_a_meaning_is_refused_with_the_reason(tmp_path, key, value):
    asking = {"inquire_status": True} if key == "when_not_received" else {}
    with pytest.raises(ConfigurationError, match=rf"{key}.*ebms-2\.0"):
        terms_of(tmp_path, **asking, **{key: value})


@pytest.mark.parametrize(
    ("key", "value"), [("delivery_semantics", "AtLeastOnce"), ("sync_reply_mode", "mshSignalsOnly")]
)
def test_its_words_are_not_for_the_older_profiles(tmp_path, key, value):
    with pytest.raises(ConfigurationError, match=rf"{key}.*rm-2001"):
        terms_of(tmp_path, profile="rm-2001", **{key: value})
