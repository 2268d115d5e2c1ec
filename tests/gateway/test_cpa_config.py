"""The keys of an agreement that only a CPA has: what they amount to, and what is refused."""

import tomllib

import pytest
from configuration_file import SMALLEST, read, refusal

from onceonly.gateway.config.cpa_keys import CPA_KEYS
from onceonly.message.cpa import (
    AckActor,
    CheckHeader,
    CpaTerms,
    Demand,
    MessageIdForm,
    ServiceBinding,
)
from onceonly.message.identity import PartyId
from onceonly.message.instant import from_datetime

HEAD = SMALLEST.partition("[[agreement]]")[0]

EVERY_KEY = """\
[[agreement]]
id = "cpa-ab-1-orders"
profile = "ebms-2.0"
with = ["urn:duns:111111111"]
send_to = "https://buyer.example/msh"
cpa_id = "http://registry.example/cpa ab 1"
role = "Seller"
partner_role = "Buyer"
services = [{id = "urn:services:Ordering", send = ["Confirm"], receive = ["NewOrder"]},
  {id = "Invoicing", type = "string", send = ["Invoice"]}]
check_header = "lenient"
duplicate_elimination = "perMessage"
ack_actor = "both"
signals_to = "https://buyer.example/signals"
soap_action = "{service}/{action}"
answer_status = 202
plain_when_empty = false
strict_parts = true
valid_from = 2026-01-01T00:00:00Z
valid_until = "2027-01-01T00:00:00+01:00"
retriable_faults = ["200", "206"]
reports_refusals = true
lenient_signal_parties = true
roles_on_signals = true
extensions = true
answers_inquiries = false
message_id_form = "upper-case-uuid"
xml_part_first = true
status_request_ref = true
description = "Orders of the buyer"
"""

SECOND = """
[[agreement]]
id = "cpa-ab-1-other"
profile = "ebms-2.0"
with = ["urn:duns:111111111"]
send_to = "https://buyer.example/other"
cpa_id = "http://registry.example/cpa ab 1"
"""


def test_every_key_of_a_cpa_is_read(tmp_path):
    """Each with another value than its default."""
    assert set(CPA_KEYS) <= set(tomllib.loads(EVERY_KEY)["agreement"][0])
    (agreement,) = read(tmp_path, HEAD + EVERY_KEY).agreements
    year_at = from_datetime(tomllib.loads("at = 2026-01-01T00:00:00Z")["at"])
    assert agreement.name_on_wire == "http://registry.example/cpa ab 1"
    assert agreement.terms.reports_refusals
    assert agreement.cpa == CpaTerms(
        cpa_id="http://registry.example/cpa ab 1",
        role="Seller",
        partner_role="Buyer",
        services=(
            ServiceBinding(id="urn:services:Ordering", send=("Confirm",), receive=("NewOrder",)),
            ServiceBinding(id="Invoicing", type="string", send=("Invoice",)),
        ),
        check_header=CheckHeader.LENIENT,
        duplicate_elimination=Demand.PER_MESSAGE,
        ack_actor=AckActor.BOTH,
        signals_to="https://buyer.example/signals",
        soap_action="{service}/{action}",
        answer_status=202,
        is_plain_when_empty=False,
        has_strict_parts=True,
        valid_from_at=year_at,
        valid_until_at=year_at + (365 * 24 - 1) * 3_600_000_000,
        retriable_faults=("200", "206"),
        has_lenient_signal_parties=True,
        has_roles_on_signals=True,
        has_extensions=True,
        answers_inquiries=False,
        message_id_form=MessageIdForm.UPPER_CASE_UUID,
        has_xml_first=True,
        names_in_requests=True,
        description="Orders of the buyer",
    )


def test_without_a_cpa_id_the_id_is_the_name_on_the_wire(tmp_path):
    """As in the older profiles."""
    text = HEAD + EVERY_KEY.replace('cpa_id = "http://registry.example/cpa ab 1"\n', "")
    (agreement,) = read(tmp_path, text).agreements
    assert agreement.name_on_wire == agreement.id == "cpa-ab-1-orders"


@pytest.mark.parametrize("key", CPA_KEYS)
def test_no_key_of_a_cpa_is_legal_in_an_older_profile(tmp_path, key):
    """They would have no effect."""
    at = next(n for n, line in enumerate(EVERY_KEY.splitlines()) if line.startswith(f"{key} ="))
    lines = EVERY_KEY.splitlines()
    kept = lines[:5] + lines[at : at + (2 if key == "services" else 1)]
    text = HEAD + "\n".join(kept).replace("ebms-2.0", "rm-2001") + "\n"
    _, reason = refusal(tmp_path, text)
    assert reason.startswith(f"[agreement] {key} is a term of a CPA, which rm-2001 has not")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('cpa_id = " a"', "not one line of text"),
        ("cpa_id = 1", "is not a text"),
        ('role = ""', "is not a text"),
        ('role = "Seller"', "is given alone"),
        ("partner_role = 7", "is not a text"),
        ("services = []", "is not a list of services"),
        ('services = ["urn:x"]', "is not a service"),
        ('services = [{id = "urn:x", sends = ["a"]}]', "is not a service"),
        ('services = [{id = "urn:x"}]', "has no action"),
        ('services = [{id = "urn:x", send = "a"}]', "is not a list of actions"),
        ('services = [{id = "urn:x", send = ["a", "a"]}]', "an action is there twice"),
        (
            'services = [{id = "urn:x", send = ["a"]}, {id = "urn:x", receive = ["b"]}]',
            "a service is there twice",
        ),
        ('check_header = "loose"', "is none of them"),
        ('duplicate_elimination = "sometimes"', "is none of them"),
        ('ack_actor = "previousMSH"', "is none of them"),
        ('signals_to = "ftp://x"', "legal: an http"),
        ("soap_action = 'say \"so\"'", "does not fit between the quotes"),
        ('soap_action = "{party}"', "braces around something else"),
        ('soap_action = "{service"', "braces around something else"),
        ("answer_status = 201", "is none of them"),
        ("answer_status = true", "is none of them"),
        ("plain_when_empty = 1", "neither true nor false"),
        ('strict_parts = "yes"', "neither true nor false"),
        ("valid_from = 2026-01-01T00:00:00", "without a time zone"),
        ('valid_from = "soon"', "is not an instant"),
        ("valid_until = 2026-01-01", "is not an instant"),
        ("retriable_faults = []", "is not a list of texts"),
        ('retriable_faults = ["1", "1"]', "a text is there twice"),
        ("reports_refusals = 0", "neither true nor false"),
        ("lenient_signal_parties = 0", "neither true nor false"),
        ("roles_on_signals = 0", "neither true nor false"),
        ("extensions = 0", "neither true nor false"),
        ("answers_inquiries = 0", "neither true nor false"),
        ('message_id_form = "uuid"', "is none of them"),
        ("xml_part_first = 1", "neither true nor false"),
        ("status_request_ref = 1", "neither true nor false"),
        ('description = "a\\nb"', "not one line of text"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(tmp_path, line, said):
    """Key by key, with the reason."""
    key = line.partition(" =")[0]
    text = HEAD + "\n".join(EVERY_KEY.splitlines()[:5]) + f"\n{line}\n"
    _, reason = refusal(tmp_path, text)
    assert reason.startswith(f"[agreement] {key} ")
    assert said in reason


@pytest.mark.parametrize(
    "resend_to", ["smtp:msh@buyer.example", "amqp://b.example/v?exchange=x&routing_key=k"]
)
def test_what_asks_for_an_answer_is_not_sent_again_where_there_is_none(tmp_path, resend_to):
    """A resend is the stored bytes, with the SyncReply in them (§14)."""
    lines = "\n".join(EVERY_KEY.splitlines()[:5])
    mode = 'sync_reply_mode = "mshSignalsOnly"'
    text = f'{HEAD}{lines}\n{mode}\nresend_to = "{resend_to}"\n'
    _, reason = refusal(tmp_path, text)
    assert reason.startswith("[agreement] resend_to has no answer")


def test_every_key_of_a_cpa_has_a_wrong_value_above():
    """The list above misses none."""
    (mark,) = test_a_wrong_value_is_refused_with_its_key.pytestmark
    assert set(CPA_KEYS) == {line.partition(" =")[0] for line, _ in mark.args[1]}


def test_an_agreement_must_end_after_it_begins(tmp_path):
    """Else no message could ever be sent under it."""
    text = HEAD + EVERY_KEY.replace("2027-01-01T00:00:00+01:00", "2026-01-01T00:00:00Z")
    _, reason = refusal(tmp_path, text)
    assert reason.startswith("[agreement] valid_until is not after valid_from, 2026-01-01")


def test_two_agreements_share_a_cpa_id_if_their_actions_differ(tmp_path):
    """Arrivals are told apart by service and action alone."""
    other = SECOND + 'services = [{id = "urn:services:Ordering", send = ["Cancel"]}]\n'
    found = read(tmp_path, HEAD + EVERY_KEY + other).agreements
    assert len({one.name_on_wire for one in found}) == 1
    assert len(found) == 2


@pytest.mark.parametrize(
    ("services", "said"),
    [
        ("", "has any service for CPAId"),
        (
            'services = [{id = "urn:services:Ordering", receive = ["NewOrder"]}]\n',
            "has action 'NewOrder' of service 'urn:services:Ordering' for CPAId",
        ),
    ],
)
def test_two_agreements_that_no_arrival_could_tell_apart_are_refused(tmp_path, services, said):
    """Whichever was taken would be a guess."""
    _, reason = refusal(tmp_path, HEAD + EVERY_KEY + SECOND + services)
    assert said in reason
    assert "as 'cpa-ab-1-orders' has" in reason


def test_a_party_may_have_blanks_where_headers_can(tmp_path):
    """`ebms2.md` §2; the headers of the older profiles cannot have such a name."""
    partner = '{id = "Acme Corp", type = "name"}'
    text = HEAD + EVERY_KEY.replace('"urn:duns:111111111"', partner)
    (agreement,) = read(tmp_path, text).agreements
    assert agreement.their_ids == (PartyId("Acme Corp", "name"),)
    older = SMALLEST.replace('with    = ["urn:duns:111111111"]', f"with = [{partner}]")
    assert older != SMALLEST
    _, reason = refusal(tmp_path, older)
    assert "'Acme Corp' is not an identifier" in reason
