"""Presets: what each sets, what its network forbids; and every key may still be given (§13)."""

import re
from pathlib import Path
from typing import Any

import pytest

from onceonly.gateway.config import Configuration, ConfigurationError, read_configuration
from onceonly.gateway.config.keys import AGREEMENT_KEYS
from onceonly.gateway.config.presets import BY_NAME, PRESETS, Preset
from onceonly.gateway.cpa import toml
from onceonly.message.cpa import CheckHeader, Demand
from onceonly.message.message import AckRequested, DeliverySemantics, SyncReplyMode
from onceonly.message.profile import Profile

GATEWAY = """[gateway]
party = ["urn:duns:111111111"]
listen = "http://127.0.0.1:8401/msh"
api = "http://127.0.0.1:8411"
store = "s.db"
"""
ROLES = {"role": "Buyer", "partner_role": "Seller"}
AGREEMENT: dict[str, Any] = {"id": "a", "with": ["urn:duns:9"], "send_to": "https://b.example/msh"}


def read(folder: Path, **keys: Any) -> Configuration:
    """A configuration with one agreement of these keys."""
    path = folder / "gateway.toml"
    table = toml.table("agreement", {**AGREEMENT, **keys})
    path.write_text(f"{GATEWAY}{table}", "utf-8")
    return read_configuration(path)


def need(preset: Preset) -> None:
    """Every key that the preset sets is one of the configuration."""
    assert not preset.unknown(AGREEMENT_KEYS)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda one: one.name)
def test_a_preset_whose_keys_this_version_has_not_is_refused_and_no_other(preset, tmp_path):
    """Nothing that a network asks for is left out silently."""
    if not preset.unknown(AGREEMENT_KEYS):
        assert set(preset.values) <= AGREEMENT_KEYS.keys()
        return
    with pytest.raises(ConfigurationError, match=re.escape(f"'{preset.name}' sets ")):
        read(tmp_path, preset=preset.name)


def test_best_effort_of_digikoppeling(tmp_path):
    """Nothing is acknowledged, nothing is sent again, the profile is that of the standard."""
    (found,) = read(tmp_path, preset="digikoppeling-osb-be", **ROLES).agreements
    assert found.profile is Profile.EBMS_2_0
    assert found.terms.semantics is DeliverySemantics.BEST_EFFORT
    assert not found.terms.is_acknowledged
    assert found.terms.sync_reply_mode is SyncReplyMode.NONE


def test_reliable_of_digikoppeling(tmp_path):
    """Eight resends, three hours apart; P1D is raised to the plan and a fifth."""
    (found,) = read(tmp_path, preset="digikoppeling-osb-rm", **ROLES).agreements
    terms = found.terms
    assert (terms.retries, terms.retry_interval_s) == (8, 10_800)
    assert terms.persist_duration_s == 9 * 10_800 * 6 // 5
    assert terms.ack_requested is AckRequested.UNSIGNED
    assert terms.semantics is DeliverySemantics.ONCE_AND_ONLY_ONCE


@pytest.mark.parametrize(
    ("given", "kept_s"),
    [
        ({"retries": 2, "retry_interval": 60}, 86_400),
        ({"retries": 10}, 11 * 10_800 * 6 // 5),
        ({"persist_duration": "P9D"}, 9 * 86_400),
    ],
)
def test_the_day_is_raised_to_the_plan_that_holds(given, kept_s, tmp_path):
    """That of the table, if it has one; and a given duration is the one that holds."""
    (found,) = read(tmp_path, preset="digikoppeling-osb-rm", **ROLES, **given).agreements
    assert found.terms.persist_duration_s == kept_s


def test_the_nhs(tmp_path):
    """Its acknowledgement is in the answer, its SOAPAction is service and action."""
    need(BY_NAME["nhs"])
    (found,) = read(tmp_path, preset="nhs").agreements
    assert found.terms.sync_reply_mode is SyncReplyMode.MSH_SIGNALS_ONLY
    assert found.terms.ack_requested is AckRequested.UNSIGNED
    assert found.cpa.soap_action == "{service}/{action}"
    assert found.cpa.answer_status == 202
    assert not found.cpa.is_plain_when_empty
    assert found.cpa.retriable_faults == ("200", "206", "208")
    assert found.cpa.has_lenient_signal_parties


def test_hermes(tmp_path):
    """Acknowledgement and suppression are a matter of each message."""
    (found,) = read(tmp_path, preset="hermes", send_to="http://b.example/msh").agreements
    assert found.cpa.answer_status == 200
    assert found.cpa.duplicate_elimination is Demand.PER_MESSAGE
    assert found.cpa.check_header is CheckHeader.LENIENT


def test_each_key_may_still_be_given(tmp_path):
    """It has priority over the preset; the others are as the preset has them."""
    (found,) = read(tmp_path, preset="nhs", answer_status=200, retries=2).agreements
    assert (found.cpa.answer_status, found.terms.retries) == (200, 2)
    assert found.cpa.soap_action == "{service}/{action}"


RM = {"preset": "digikoppeling-osb-rm", **ROLES}
REFUSED = [
    ({"preset": "digikoppeling-osb-rm-e"}, "it encrypts parts, and XML encryption is not offered"),
    ({"preset": "x"}, "'x' is none of them; legal: digikoppeling-osb-be"),
    ({**RM, "profile": "rm-2001"}, "profile is rm-2001 with the preset digikoppeling-osb-rm"),
    ({"preset": "digikoppeling-osb-rm"}, "it needs role"),
    ({**RM, "send_to": "http://b.example/msh"}, "send_to is http with the preset"),
    ({**RM, "message_order": "Guaranteed"}, "message_order is Guaranteed with the preset"),
    ({**RM, "ack_actor": "nextMSH"}, "ack_actor is nextMSH with the preset"),
    ({**RM, "sync_reply_mode": "signalsAndResponse"}, "legal: none, mshSignalsOnly"),
    (
        {"preset": "digikoppeling-osb-be", **ROLES, "sync_reply_mode": "mshSignalsOnly"},
        "sync_reply_mode is mshSignalsOnly with the preset",
    ),
    ({**RM, "retries": 20, "persist_duration": "P1D"}, "persist_duration is shorter than"),
]


@pytest.mark.parametrize(("keys", "reason"), REFUSED)
def test_what_the_network_forbids_is_refused_with_its_name(keys, reason, tmp_path):
    """The key is legal elsewhere, and the reason is the preset."""
    with pytest.raises(ConfigurationError, match=re.escape(reason)):
        read(tmp_path, **keys)


SIGNED = ["digikoppeling-osb-rm-s", "norway", "norway-sync"]


@pytest.mark.parametrize("name", SIGNED)
def test_a_signed_network_needs_the_certificate_of_the_partner(name, tmp_path):
    """Without it nothing of the partner could be verified."""
    need(BY_NAME[name])
    with pytest.raises(ConfigurationError, match="it needs partner_certificates"):
        read(tmp_path, preset=name, **ROLES)


@pytest.mark.parametrize("name", ["norway", "norway-sync"])
def test_norway_names_parties_and_services_by_their_types(name, tmp_path):
    """HER and string."""
    need(BY_NAME[name])
    keys = {"preset": name, "partner_certificates": ["p.pem"], "send_to": "https://b.example/x"}
    if name == "norway":
        keys["send_to"] = "smtp:edi@b.example"
    with pytest.raises(ConfigurationError, match="legal: type = 'HER'"):
        read(tmp_path, **keys)
    keys["with"] = [{"id": "8137888", "type": "HER"}]
    with pytest.raises(ConfigurationError, match="legal: type = 'string'"):
        read(tmp_path, services=[{"id": "S", "send": ["A"]}], **keys)
