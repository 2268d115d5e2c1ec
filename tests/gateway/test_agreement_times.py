"""What `agreement show` says of times, and what the machine of the sender does (E2-124)."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from test_agreement_words import agreed

sys.path.insert(0, str(Path(__file__).parents[1] / "protocol"))

from driving import ACCEPTED, DUE, START, Run, at

from onceonly.gateway.agreement_findings import findings_in_time
from onceonly.gateway.agreement_times import times_of
from onceonly.gateway.agreement_words import words_of
from onceonly.message.cpa import ServiceBinding
from onceonly.message.instant import US_PER_S, from_datetime
from onceonly.message.measures import span
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol import schedule
from onceonly.protocol.effects import Transmit
from onceonly.protocol.events import Transmitted
from onceonly.protocol.outbound import OutboundStatus

PLANS = [
    {"retries": 8, "retry_interval": 10_800, "persist_duration": "PT32H24M"},
    {"retries": 3, "retry_interval": 300, "persist_duration": "P1D"},
    {"retries": 1, "retry_interval": 60},
    {"retries": 0, "retry_interval": 60},
    {"preset": "digikoppeling-osb-rm", "role": "A", "partner_role": "B"},
    {"delivery_semantics": "AtLeastOnce"},
]


def measured(terms: DeliveryTerms) -> tuple[list[float], float]:
    """When copies leave and when the tries are over, if nobody answers."""
    run, left = Run(terms).sent(ACCEPTED), [0.0]
    while True:
        now_s = run.due_s
        assert now_s is not None
        run.on(now_s, DUE)
        if len(run.of(Transmit)) == len(left):
            assert run.state.status is not OutboundStatus.SENDING
            return left, now_s
        left.append(now_s)
        run.on(now_s, Transmitted(len(left), ACCEPTED))


@pytest.fixture(params=PLANS, ids=str)
def terms(request: pytest.FixtureRequest, tmp_path: Path) -> DeliveryTerms:
    keys = {"profile": "ebms-2.0", "send_to": "https://b.example/msh", **request.param}
    return agreed(tmp_path, **keys).terms


@pytest.mark.statement("E2-124")
def test_the_last_copy_and_the_verdict_are_those_of_the_machine(terms: DeliveryTerms) -> None:
    """The machine is driven to its end with a partner who says nothing."""
    found = times_of(terms)
    left, over_s = measured(terms)
    assert found is not None
    assert found.last_resend_s == (left[-1] or None)
    assert len(left) == (terms.retries or 0) + 1
    assert found.verdict_s == over_s


@pytest.mark.statement("E2-124")
def test_expiry_and_forgetting_are_those_of_the_receiver(terms: DeliveryTerms) -> None:
    """One second before it is known or not refused, and one after it is not."""
    found = times_of(terms)
    assert found is not None
    expires_at = schedule.time_to_live_at(START.at, terms)
    assert expires_at == START.at + found.expires_s * US_PER_S
    assert not schedule.is_past(expires_at, at(found.expires_s))
    assert schedule.is_past(expires_at, at(found.expires_s + 1))
    forgettable_at = schedule.forgettable_at(START.at, START, terms)
    assert forgettable_at == START.at + found.forgotten_s * US_PER_S


@pytest.mark.statement("E2-124")
def test_show_says_these_times(tmp_path: Path) -> None:
    """In words, with the Roles, services and addresses that were agreed."""
    agreement = agreed(
        tmp_path,
        profile="ebms-2.0",
        cpa_id="orders 2026",
        role="Buyer",
        partner_role="Seller",
        signals_to="http://b.example/signals",
        check_header="lenient",
        valid_until="2030-01-01T00:00:00Z",
        retries=3,
        retry_interval=300,
    )
    said = " ".join(words_of(agreement))
    for words in (
        "is called orders 2026, and holds until 2030-01-01 00:00 UTC.",
        "Our Role is Buyer, and the partner's is Seller.",
        "Any service and action may be exchanged.",
        "pings and questions for a status go to http://b.example/signals.",
        "asks for something else than was agreed is obeyed",
        "The last copy leaves 15 min after the first, and 20 min after the first one the tries are",
        "The message expires 25 min after it was made.",
        f"Its id is kept for {span(30 * 86_400 + 60)} before it may be forgotten.",
    ):
        assert words in said


BEGINS, ENDS = "2026-01-01T00:00:00Z", "2030-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            {"valid_from": BEGINS, "valid_until": ENDS},
            "a, and holds from 2026-01-01 00:00 UTC until 2030-01-01 00:00 UTC.",
        ),
        ({"valid_from": BEGINS}, "a, and holds from 2026-01-01 00:00 UTC."),
        ({}, "In messages the agreement is called a."),
        ({"retries": 0}, "A message is not sent again, and 1 min after the first one the tries"),
    ],
)
def test_show_says_how_long_it_holds(keys: dict[str, Any], words: str, tmp_path: Path) -> None:
    """And under which name, and that a message is sent only once, where it is."""
    assert words in " ".join(words_of(agreed(tmp_path, profile="ebms-2.0", **keys)))


def test_show_says_which_actions_go_which_way(tmp_path: Path) -> None:
    """Per service, with its type."""
    services = (
        ServiceBinding(id="urn:s:Orders", send=("New", "Cancel"), receive=("Response",)),
        ServiceBinding(id="Billing", type="string", receive=("Invoice",)),
    )
    found = agreed(tmp_path, profile="ebms-2.0")
    said = " ".join(words_of(changed(found, cpa=changed(found.cpa, services=services))))
    assert "Of urn:s:Orders we send New, Cancel and we receive Response." in said
    assert "Of Billing (type string) we receive Invoice." in said


@pytest.mark.parametrize(
    ("day", "found"),
    [
        ("2025-12-31", "it begins at 2026-01-01 00:00 UTC"),
        ("2027-01-01", None),
        ("2029-12-22", "it ends in 10 d, at 2030-01-01 00:00 UTC"),
        ("2030-01-01", "it ended at 2030-01-01 00:00 UTC: nothing new is sent or taken under it"),
    ],
)
def test_an_agreement_that_ends_soon_is_a_finding(
    day: str, found: str | None, tmp_path: Path
) -> None:
    """Thirty days before, and for as long as it is in the file."""
    agreement = agreed(tmp_path, profile="ebms-2.0", valid_from=BEGINS, valid_until=ENDS)
    now_at = from_datetime(datetime.fromisoformat(f"{day}T00:00:00+00:00"))
    said = list(findings_in_time(agreement, now_at))
    assert len(said) == (found is not None)
    assert found is None or said[0].startswith(found)
