"""Presets: what the rules of a network say, as values of keys (§13 of the profile `ebms-2.0`).

A preset is data over names of keys. It stands where a default stands: each key may still be given.
What the network forbids is refused all the same, with the preset as the reason. What a network asks
for and no key can say is in the how-to of that network.
"""

from collections.abc import Mapping
from typing import Any, Final

from onceonly import __version__
from onceonly.gateway.config.key import Key
from onceonly.message.profile import PROFILES
from onceonly.message.word import Word, field

PROFILE: Final = next(profile.name for profile in PROFILES if profile.has_cpa)
"""The profile of every preset, and of every agreement that comes from a CPA."""
_DAY_S: Final = 86_400
_MORE: Final = (6, 5)
"""Ids are kept for a fifth longer than a sender may try."""


class Preset(Word, kw_only=True):
    """The values of one network, as a file would say them."""

    name: str
    what: str
    """The network, and for what it is."""
    values: dict[str, Any]
    legal: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """Keys of which the network allows only some values."""
    needs: tuple[str, ...] = ()
    """Keys that the network demands, and whose values only the agreement knows."""
    schemes: tuple[str, ...] = ()
    """By which addresses messages go; empty: by any."""
    party_type: str | None = None
    """The type of every PartyId."""
    service_type: str | None = None
    """The type of every Service."""
    counts_transmissions: bool = False
    """The partner's product counts transmissions where we count resends."""
    keeps_plan: bool = False
    """`persist_duration` is a day, raised to a plan that is longer."""

    def values_beside(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Its values for the keys that are not given."""
        found = {"profile": PROFILE, **self.values}
        if self.keeps_plan:
            found["persist_duration"] = _kept({**found, **given})
        return {key: value for key, value in found.items() if key not in given}

    def unknown(self, keys: Mapping[str, Key]) -> tuple[str, ...]:
        """What it sets and is no key of this version."""
        return tuple(key for key in self.values if key not in keys)


def _kept(values: Mapping[str, Any]) -> str:
    """The persist_duration of a plan; a wrong plan is refused where its keys are read."""
    retries, interval_s = values.get("retries"), values.get("retry_interval")
    plan_s = 0
    if isinstance(retries, int) and isinstance(interval_s, int):
        plan_s = max(0, retries + 1) * max(0, interval_s)
    if plan_s <= _DAY_S:
        return "P1D"
    return f"PT{-(-plan_s * _MORE[0] // _MORE[1])}S"


_RELIABLE: Final = {
    "delivery_semantics": "OnceAndOnlyOnce",
    "ack_requested": "Unsigned",
    "retries": 8,
    "retry_interval": 10_800,
}
_DIGIKOPPELING: Final = {
    "sync_reply_mode": (None, "none", "mshSignalsOnly"),
    "ack_actor": ("toPartyMSH",),
    "message_order": (None, "NotGuaranteed"),
}

PRESETS: Final = (
    Preset(
        name="digikoppeling-osb-be",
        what="Digikoppeling, best effort",
        values={"delivery_semantics": "BestEffort"},
        legal={**_DIGIKOPPELING, "sync_reply_mode": (None, "none"), "sign": ("none",)},
        needs=("role", "partner_role"),
        schemes=("https",),
    ),
    Preset(
        name="digikoppeling-osb-rm",
        what="Digikoppeling, reliable",
        values=_RELIABLE,
        legal={**_DIGIKOPPELING, "sign": ("none",)},
        needs=("role", "partner_role"),
        schemes=("https",),
        keeps_plan=True,
    ),
    Preset(
        name="digikoppeling-osb-rm-s",
        what="Digikoppeling, reliable and signed",
        values={
            **_RELIABLE,
            "ack_requested": "Signed",
            "sign": "messages",
            "canonicalization": "exclusive",
            "signature_algorithm": "rsa-sha256",
        },
        legal=_DIGIKOPPELING,
        needs=("role", "partner_role", "partner_certificates"),
        schemes=("https",),
        keeps_plan=True,
    ),
    Preset(
        name="norway",
        what="the Norwegian health network by mail",
        values={
            "delivery_semantics": "OnceAndOnlyOnce",
            "ack_requested": "Signed",
            "sign": "all",
            "canonicalization": "inclusive",
            "retries": 5,
            "retry_interval": 43_200,
            "description": f"onceonly {__version__}",
        },
        needs=("partner_certificates",),
        schemes=("smtp", "smtps"),
        party_type="HER",
        service_type="string",
    ),
    Preset(
        name="norway-sync",
        what="the Norwegian health network, a question and its answer",
        values={
            "delivery_semantics": "BestEffort",
            "sync_reply_mode": "signalsAndResponse",
            "sign": "all",
            "canonicalization": "inclusive",
            "description": f"onceonly {__version__}",
        },
        needs=("partner_certificates",),
        schemes=("http", "https"),
        party_type="HER",
        service_type="string",
    ),
    Preset(
        name="nhs",
        what="the NHS in England",
        values={
            "delivery_semantics": "OnceAndOnlyOnce",
            "ack_requested": "Unsigned",
            "sync_reply_mode": "mshSignalsOnly",
            "soap_action": "{service}/{action}",
            "answer_status": 202,
            "plain_when_empty": False,
            "retriable_faults": ["200", "206", "208"],
            "lenient_signal_parties": True,
            "message_id_form": "upper-case-uuid",
            "xml_part_first": True,
        },
        schemes=("http", "https"),
    ),
    Preset(
        name="hermes",
        counts_transmissions=True,
        what="a partner with Hermes",
        values={
            "delivery_semantics": "OnceAndOnlyOnce",
            "ack_requested": "Unsigned",
            "duplicate_elimination": "perMessage",
            "check_header": "lenient",
            "answer_status": 200,
            "status_request_ref": True,
        },
    ),
)
BY_NAME: Final = {preset.name: preset for preset in PRESETS}

NOT_OFFERED: Final = {
    "digikoppeling-osb-rm-e": "it encrypts parts, and XML encryption is not offered; legal: "
    "digikoppeling-osb-rm-s, where the application encrypts what it hands over"
}
"""Presets that people ask for, and why there are none."""
