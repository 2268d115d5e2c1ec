"""The keys of an agreement about the order of conversations: what they amount to, and refuse."""

import pytest
from configuration_file import SMALLEST, read, refusal

from onceonly.gateway.config.order_keys import ORDER_KEYS
from onceonly.message.terms import DeliveryTerms

HEAD = SMALLEST.partition("[[agreement]]")[0]

ORDERED = """\
[[agreement]]
id = "cpa-ab-1"
profile = "ebms-2.0"
with = ["urn:duns:111111111"]
send_to = "https://buyer.example/msh"
message_order = "Guaranteed"
"""


def terms_with(tmp_path, *lines: str) -> DeliveryTerms:
    """The terms of an agreement with an order, and these lines."""
    (agreement,) = read(tmp_path, HEAD + ORDERED + "\n".join(lines) + "\n").agreements
    return agreement.terms


def test_an_order_is_read_with_its_defaults(tmp_path):
    """A gap is told after the longest time to a verdict."""
    terms = terms_with(tmp_path)
    assert (terms.is_ordered, terms.order_hold_max) == (True, 100)
    assert terms.order_gap_after_s == terms.verdict_after_s


def test_every_key_of_an_order_is_read(tmp_path):
    """Each with another value than its default."""
    terms = terms_with(tmp_path, "order_hold_max = 7", 'order_gap_after = "PT2M"')
    assert (terms.order_hold_max, terms.order_gap_after_s) == (7, 120)


def test_without_the_key_there_is_no_order(tmp_path):
    """Nor with the word that says so."""
    text = HEAD + ORDERED.replace('"Guaranteed"', '"NotGuaranteed"')
    (agreement,) = read(tmp_path, text).agreements
    assert not agreement.terms.is_ordered


@pytest.mark.parametrize(
    ("key", "lines", "said"),
    [
        ("message_order", ['profile = "rm-2001"'], "for which rm-2001 has no element"),
        ("message_order", ['profile = "rm-2000"'], "for which rm-2000 has no element"),
        ("message_order", ['sync_reply_mode = "mshSignalsOnly"'], "which a sync_reply_mode"),
        ("message_order", ['delivery_semantics = "BestEffort"'], "which needs acknowledgements"),
        ("message_order", ['delivery_semantics = "AtLeastOnce"'], "which needs acknowledgements"),
        ("message_order", ['delivery_semantics = "AtMostOnce"'], "which needs acknowledgements"),
        ("strict_release", ["strict_release = true"], "ties the hand-over to"),
        ("passed_on", ["extensions = true", "passed_on = true"], "ties the hand-over to"),
        ("message_order", ['message_order = "Sometimes"'], "is none of them"),
        ("order_hold_max", ["order_hold_max = 0"], "1 to 10000"),
        ("order_hold_max", ["order_hold_max = 10001"], "1 to 10000"),
        ("order_gap_after", ['order_gap_after = "soon"'], "is not a duration"),
        (
            "order_hold_max",
            ['message_order = "NotGuaranteed"', "order_hold_max = 7"],
            "needs an order",
        ),
        (
            "order_gap_after",
            ['message_order = "NotGuaranteed"', 'order_gap_after = "PT1S"'],
            "needs an order",
        ),
    ],
)
def test_what_an_order_cannot_be_with_is_refused(tmp_path, key, lines, said):
    """With the reason; an order is of messages that are acknowledged and known again (E2-108)."""
    given = {line.partition(" =")[0]: line for line in (*ORDERED.splitlines()[1:], *lines)}
    _, reason = refusal(tmp_path, HEAD + "[[agreement]]\n" + "\n".join(given.values()) + "\n")
    assert reason.startswith(f"[agreement] {key} ")
    assert said in reason


def test_every_key_of_an_order_has_a_wrong_value_above():
    """The list above misses none."""
    (mark,) = test_what_an_order_cannot_be_with_is_refused.pytestmark
    assert set(ORDER_KEYS) <= {key for key, *_ in mark.args[1]}
