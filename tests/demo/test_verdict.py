"""The applications' verdict finds every broken promise and invents none."""

import pytest

from onceonly.demo.proof import disagreements
from onceonly.demo.verdict import Delivery, Sent, judge

SENT = (
    Sent("order-1", "buyer", "seller", ("aa",)),
    Sent("order-2", "buyer", "seller", ("bb",)),
    Sent("reply-1", "seller", "buyer", ("cc",)),
)
SEEN = (
    Delivery("order-1", "seller", 1, ("aa",)),
    Delivery("order-2", "seller", 2, ("bb",)),
    Delivery("reply-1", "buyer", 1, ("cc",)),
)
STATES = {message.message_id: "acknowledged" for message in SENT}
PARTIES = {"buyer": "urn:b", "seller": "urn:s"}
VERDICTS = {
    ("urn:s", "order-1"): "MATCHED",
    ("urn:s", "order-2"): "MATCHED_LATE",
    ("urn:b", "reply-1"): "MATCHED",
}


def counts_of(outcome) -> dict[str, int]:
    """The counts that are not zero."""
    names = outcome.__slots__
    return {name: getattr(outcome, name) for name in names if getattr(outcome, name)}


def test_all_delivered_once_is_what_was_promised():
    """Every message acknowledged and seen once, unaltered: nothing is broken, nothing open."""
    outcome = judge(SENT, STATES, SEEN)
    assert counts_of(outcome) == {"sent": 3, "acknowledged": 3, "handed_over": 3}
    assert outcome.broken == ()
    assert outcome.unsettled == ()


def test_a_missing_delivery_of_an_acknowledged_message_is_a_loss():
    """Acknowledged and never seen: the one thing that must never happen."""
    outcome = judge(SENT, STATES, SEEN[1:])
    assert (outcome.lost, outcome.handed_over) == (1, 2)
    assert outcome.broken == ("1 message(s) acknowledged and never delivered",)


def test_a_second_delivery_counts_however_it_came():
    """The same message under a second offset is a second delivery."""
    outcome = judge(SENT, STATES, (*SEEN, Delivery("order-1", "seller", 3, ("aa",))))
    assert (outcome.delivered_twice, outcome.handed_over) == (1, 3)
    assert outcome.broken == ("1 message(s) delivered more than once",)


@pytest.mark.parametrize("digests", [("xx",), ("aa", "aa"), ()])
def test_other_bytes_are_an_alteration(digests):
    """Another content, a document too many or too few: all of them are altered messages."""
    outcome = judge(SENT, STATES, (Delivery("order-1", "seller", 1, digests), *SEEN[1:]))
    assert outcome.altered == 1
    assert outcome.broken == ("1 message(s) delivered with other bytes",)


@pytest.mark.parametrize(
    "stranger",
    [Delivery("order-9", "seller", 9, ("zz",)), Delivery("order-1", "buyer", 9, ("aa",))],
)
def test_a_delivery_that_nobody_sent_there_is_invented(stranger):
    """An unknown message, or a known one at the wrong application."""
    outcome = judge(SENT, STATES, (*SEEN, stranger))
    assert outcome.invented == 1
    assert outcome.broken == ("1 message(s) delivered without having been sent",)


@pytest.mark.parametrize(
    ("state", "count"), [("in_doubt", "in_doubt"), ("sending", "undecided"), (None, "undecided")]
)
def test_what_has_no_verdict_is_open_and_not_lost(state, count):
    """A doubt is told as a doubt, and a message that was never handed over as undecided."""
    states = {key: value for key, value in STATES.items() if key != "order-1"}
    if state is not None:
        states["order-1"] = state
    outcome = judge(SENT, states, SEEN[1:])
    assert getattr(outcome, count) == 1
    assert outcome.lost == 0
    assert outcome.broken == ()
    assert len(outcome.unsettled) == 1


@pytest.mark.parametrize("state", ["failed", "expired", "cancelled"])
def test_a_failure_is_not_a_loss_but_not_what_the_demonstration_promises(state):
    """The sender was told; on a link that recovers it should not have come to that."""
    outcome = judge(SENT, STATES | {"order-1": state}, SEEN[1:])
    assert (outcome.failed, outcome.lost) == (1, 0)
    assert len(outcome.broken) == 1


def test_applications_and_journals_that_agree_have_no_disagreements():
    """Matched late is a good delivery too."""
    assert disagreements(SENT, STATES, SEEN, VERDICTS, PARTIES) == ()


@pytest.mark.parametrize(
    "seen",
    [
        SEEN[1:],
        (*SEEN, Delivery("order-1", "seller", 3, ("aa",))),
        (Delivery("order-1", "seller", 1, ("xx",)), *SEEN[1:]),
    ],
)
def test_journals_that_know_nothing_of_what_went_wrong_disagree(seen):
    """Missing, doubled or altered for the application, and MATCHED in the journals."""
    (told,) = disagreements(SENT, STATES, seen, VERDICTS, PARTIES)
    assert told.startswith("order-1: the applications saw no good delivery")


@pytest.mark.parametrize("verdict", ["DELIVERED_TWICE", "ACK_LOST", "IN_FLIGHT"])
def test_journals_that_find_fault_where_the_application_saw_none_disagree(verdict):
    """Any verdict but a match contradicts one good, acknowledged delivery."""
    verdicts = VERDICTS | {("urn:s", "order-1"): verdict}
    (told,) = disagreements(SENT, STATES, SEEN, verdicts, PARTIES)
    assert told.endswith(f"journals say {verdict}")


def test_a_message_that_only_one_witness_knows_is_a_disagreement():
    """A message without a verdict, and a verdict without a message."""
    verdicts = {key: word for key, word in VERDICTS.items() if key != ("urn:s", "order-1")}
    verdicts["urn:s", "order-9"] = "MATCHED"
    unknown, stranger = disagreements(SENT, STATES, SEEN, verdicts, PARTIES)
    assert unknown == "order-1: the journals do not know it"
    assert stranger == "order-9: the journals judge a message that nobody sent"
