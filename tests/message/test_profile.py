"""The rules of each text, as data."""

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict

import pytest

from onceonly.message.profile import PROFILES, Profile, profile_named


def test_the_rules_of_the_texts_are_these() -> None:
    """Pinned one by one: a rule that changes its side changes what gateways tell one another."""
    rules = [asdict(profile) for profile in PROFILES]
    assert rules == [
        {
            "name": "rm-2000",
            "is_numbered": True,
            "has_routing_headers": True,
            "has_error_uri": True,
            "header_decides_semantics": True,
            "header_has_parameters": False,
            "header_names_semantics": True,
            "acknowledges_on_request": False,
            "response_acknowledges": False,
            "has_timeout": True,
            "has_cancels": True,
            "has_transient_errors": True,
            "has_order": False,
            "has_cpa": False,
            "has_receipts": False,
            "has_failure_notices": False,
            "has_signatures": False,
            "has_accepting_intermediaries": False,
            "reads_every_answer": False,
            "answers_at_once": False,
            "drops_repeated_mail": False,
            "soap_action": None,
            "signal_service": "",
        },
        {
            "name": "rm-2001",
            "is_numbered": False,
            "has_routing_headers": True,
            "has_error_uri": False,
            "header_decides_semantics": False,
            "header_has_parameters": True,
            "header_names_semantics": True,
            "acknowledges_on_request": False,
            "response_acknowledges": True,
            "has_timeout": True,
            "has_cancels": True,
            "has_transient_errors": True,
            "has_order": False,
            "has_cpa": False,
            "has_receipts": True,
            "has_failure_notices": True,
            "has_signatures": False,
            "has_accepting_intermediaries": True,
            "reads_every_answer": False,
            "answers_at_once": False,
            "drops_repeated_mail": False,
            "soap_action": None,
            "signal_service": "",
        },
        {
            "name": "ebms-2.0",
            "is_numbered": False,
            "has_routing_headers": False,
            "has_error_uri": False,
            "header_decides_semantics": False,
            "header_has_parameters": True,
            "header_names_semantics": False,
            "acknowledges_on_request": True,
            "response_acknowledges": False,
            "has_timeout": False,
            "has_cancels": False,
            "has_transient_errors": False,
            "has_order": True,
            "has_cpa": True,
            "has_receipts": False,
            "has_failure_notices": True,
            "has_signatures": True,
            "has_accepting_intermediaries": True,
            "reads_every_answer": True,
            "answers_at_once": True,
            "drops_repeated_mail": True,
            "soap_action": "ebXML",
            "signal_service": "urn:oasis:names:tc:ebxml-msg:service",
        },
    ]


def test_a_profile_is_found_by_its_name() -> None:
    assert profile_named("rm-2000") is Profile.RM_2000
    assert profile_named("rm-2001") is Profile.RM_2001
    with pytest.raises(KeyError):
        profile_named("rm-1999")


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_there_is_one_object_of_each(profile: Profile) -> None:
    """Also where values travel to another process: who asks by identity is not told otherwise."""
    assert copy.deepcopy(profile) is profile
    assert pickle.loads(pickle.dumps(profile)) is profile


def test_no_rule_can_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Profile.RM_2000.is_numbered = False  # type: ignore[misc]  # because that is the test
