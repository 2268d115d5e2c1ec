"""What lies ahead of a message at the present pace, and what is known of it."""

import pytest
from driving import at

from onceonly.message.message import DeliverySemantics, ReliableMessagingMethod
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol.outbound import Exposure, Outbound, OutboundStatus, Silence
from onceonly.protocol.outlook import attempts_max, known, outlook

TERMS = DeliveryTerms(timeout_s=30, retries=3, retry_interval_s=60)
SENDING = OutboundStatus.SENDING
DUE = at(100)


def wall_at(monotonic_ns: int) -> int:
    """Both clocks run alike."""
    return DUE.at + (monotonic_ns - DUE.monotonic_ns) // 1_000


@pytest.mark.parametrize(
    ("terms", "most"),
    [
        (TERMS, 4),
        (DeliveryTerms(retries=0), 1),
        (DeliveryTerms(retries=None), None),
        (DeliveryTerms(semantics=DeliverySemantics.AT_MOST_ONCE), 1),
        (DeliveryTerms(semantics=DeliverySemantics.BEST_EFFORT), 1),
        (DeliveryTerms(semantics=DeliverySemantics.EXACTLY_ONCE), None),
        (DeliveryTerms(method=ReliableMessagingMethod.TRANSPORT), None),
    ],
)
def test_a_number_limits_the_transmissions_only_where_it_was_agreed(terms, most):
    assert attempts_max(terms) == most


@pytest.mark.parametrize(
    ("state", "next_s", "ends_s"),
    [
        (Outbound(status=SENDING, attempt=1), 100, 280),
        (Outbound(status=SENDING, attempt=3), 100, 160),
        (Outbound(status=SENDING, attempt=4), None, 100),
        (Outbound(status=SENDING, attempt=1, silence=Silence.PAUSED), 100, 310),
        (Outbound(status=SENDING, attempt=2, silence=Silence.PAUSED), 100, 280),
        (Outbound(status=SENDING, attempt=4, silence=Silence.PAUSED), 100, 160),
        (Outbound(status=SENDING, pings=1, silence=Silence.PINGING), 100, 280),
        (Outbound(status=SENDING, attempt=1, expires_at=at(200).at), 100, 200),
        (Outbound(status=SENDING, attempt=1, expires_at=at(90).at), None, 90),
        (Outbound(status=SENDING, attempt=4, silence=Silence.HELD), None, None),
        (Outbound(status=OutboundStatus.IN_DOUBT, attempt=4), None, None),
        (Outbound(status=OutboundStatus.QUEUED, expires_at=at(500).at), None, 500),
    ],
)
def test_the_pace_is_the_agreed_one(state, next_s, ends_s):
    """30 s, then three times 60 s; a pause is followed by the same transmission again."""
    due_ns = None if state.silence is Silence.HELD else DUE.monotonic_ns
    ahead = outlook(state, due_ns, TERMS, wall_at)
    assert ahead.attempts_max == 4
    assert ahead.next_attempt_at == (None if next_s is None else at(next_s).at)
    assert ahead.gives_up_at == (None if ends_s is None else at(ends_s).at)


def test_without_a_number_the_end_is_that_of_its_time():
    """And it has none, where the message never expires."""
    endless = DeliveryTerms(retries=None)
    state = Outbound(status=SENDING, attempt=9, expires_at=at(900).at)
    ahead = outlook(state, DUE.monotonic_ns, endless, wall_at)
    assert (ahead.next_attempt_at, ahead.gives_up_at) == (DUE.at, at(900).at)
    state = Outbound(status=SENDING, attempt=9)
    assert outlook(state, DUE.monotonic_ns, endless, wall_at).gives_up_at is None


def test_while_it_is_transmitted_nothing_is_due():
    """The waits begin at the end of the transmission."""
    state = Outbound(status=SENDING, attempt=1, expires_at=at(900).at)
    ahead = outlook(state, None, TERMS, wall_at)
    assert (ahead.next_attempt_at, ahead.gives_up_at) == (None, at(900).at)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (Outbound(), "it waits for its turn; no byte of it has left"),
        (Outbound(status=SENDING, exposure=Exposure.NEVER), "no byte of it has left"),
        (Outbound(status=SENDING, exposure=Exposure.OPEN), "a copy may have arrived"),
        (Outbound(status=OutboundStatus.IN_DOUBT), "nobody has said whether it did"),
        (Outbound(status=OutboundStatus.FAILED, is_certain=True), "certainly was not delivered"),
        (Outbound(status=OutboundStatus.EXPIRED), "but a copy may have arrived"),
        (Outbound(status=OutboundStatus.ACKNOWLEDGED), "the partner's gateway"),
        (Outbound(status=OutboundStatus.ACKNOWLEDGED, has_arrived=True), "the partner itself"),
        (Outbound(status=OutboundStatus.CANCELLED), "taken back"),
        (Outbound(status=OutboundStatus.SENT), "the transport has it"),
    ],
)
def test_what_is_known_is_said_in_words(state, words):
    assert words in known(state)
