"""What an agreement means in words, and how long a message takes at most."""

from pathlib import Path
from typing import Any

import pytest
from configuration_file import SMALLEST

from onceonly.console.pages.agreements import WIDE, cut_of, parts_of
from onceonly.demo.signers import make_signer
from onceonly.gateway.agreement_words import directions_of, longest_of, words_of
from onceonly.gateway.application.agreements import worst_case_shape
from onceonly.gateway.config import read_configuration
from onceonly.gateway.worst_case import misfits_of, verdict_of, worst_case_of
from onceonly.message.agreement import Agreement


def agreed(folder: Path, **keys: Any) -> Agreement:
    """An agreement with these keys, as a file makes it."""
    given = {"id": "a", "with": ["urn:duns:9"], "send_to": "http://b.example/msh", **keys}
    lines = [f"{name} = {_written(value)}" for name, value in given.items()]
    path = folder / "gateway.toml"
    path.write_text("\n".join([SMALLEST, "[[agreement]]", *lines, ""]), "utf-8")
    return read_configuration(path).agreements[-1]


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).replace("'", '"')


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "Messages arrive in the order in which they were sent, one after the other."),
        ({"retries": 0}, "A message is sent once. The partner has 30 s to acknowledge it."),
        ({"retries": 1}, "is sent again once: after 30 s; then 1 min are waited."),
        ({"delivery_semantics": "BestEffort"}, "It may be lost, and it may arrive twice."),
        ({"delivery_semantics": "BestEffort"}, "There is no acknowledgement, so nothing is sent"),
        ({"delivery_semantics": "AtMostOnce"}, "It may be lost, and it never arrives twice."),
        ({"delivery_semantics": "ExactlyOnce"}, "sent again until it is acknowledged: the first"),
        ({"on_exhausted": "fail"}, "If the tries are used up, later messages go on."),
        ({"fail_fast_on_network_error": True}, "cannot be reached at all, the message is given up"),
        ({"time_to_live": "P2D"}, "A message expires 2 d after it was made."),
        ({}, "A message does not expire: a doubt stays a doubt until a person settles it."),
        ({"ping_before_send_above": 4096}, "Before each message above 4 KiB the partner is asked"),
        ({"ping_before_send_above": 0}, "Before every message the partner is asked whether"),
        ({"inquire_status": True, "inquiries": 1}, "Then the partner is asked once whether it has"),
        ({"inquire_status": True, "when_not_received": "cancel"}, "it has not, it is taken back."),
        ({"response_within": "PT4H"}, "The business response is due 4 h after the message."),
        ({"strict_release": True}, "only once the acknowledgement may have left."),
        (
            {"passed_on": True},
            "received it and stored it, and has passed it on to the application.",
        ),
        ({"ack_status": "structure"}, "stored it and found its form right."),
        ({"intermediary": "relay"}, "An intermediary passes messages on, and acknowledges when"),
        ({"intermediary": "accept", "profile": "rm-2001"}, "An intermediary acknowledges for the"),
        ({"profile": "rm-2001", "window": 4}, "Up to 4 messages are under way at the same time"),
        (
            {"entrances": ["mail"]},
            "Whoever reaches this gateway by mail may speak in the partner's",
        ),
        (
            {"name": "Acme"},
            "the partner is Acme (urn:duns:9). What we send goes to http://b.example",
        ),
        (
            {
                "profile": "rm-2001",
                "send_to": "amqp://b.example/v?exchange=x&routing_key=k",
                "reliable_messaging_method": "Transport",
            },
            "A message is given to a broker, which is responsible for it from then on",
        ),
    ],
)
def test_terms_are_told_as_sentences(tmp_path: Path, keys: dict[str, Any], said: str) -> None:
    """Each ends with a full stop, and none has a name of a key in it."""
    found = agreed(tmp_path, **keys)
    sentences = [one.replace(found.send_to, "ADDRESS") for one in words_of(found)]
    said = said.replace("http://b.example", "ADDRESS")
    assert said in " ".join(sentences)
    assert all(one.endswith(".") and "_" not in one for one in sentences)


@pytest.mark.parametrize(
    ("requires", "said"),
    [
        ("all", "only by the partner's signature, which everything must have."),
        ("messages", "only by the partner's signature, which each message must have."),
        ("none", "may speak in the partner's name, unless the network"),
    ],
)
def test_who_must_sign_does_not_speak_by_calling(tmp_path: Path, requires: str, said: str) -> None:
    """Where signatures are required, whoever reaches the gateway says nothing in their name."""
    make_signer(tmp_path / "b.key", tmp_path / "b.pem", "the partner")
    found = agreed(
        tmp_path,
        profile="ebms-2.0",
        require_signature=requires,
        partner_certificates=["b.pem"],
    )
    assert said in " ".join(words_of(found))


@pytest.mark.parametrize(
    ("keys", "longest", "verdict"),
    [
        (
            {"retries": 2},
            (
                "at most 4 min 6 s: 1 x 30 s timeout, 2 x 1 min retry_interval, "
                "3 x 32 s to send by http"
            ),
            "a verdict within 246 s (150 s as agreed, and up to 3 x 32 s by http)",
        ),
        (
            {"level": 1, "time_to_live": "PT1H"},
            "at most 1 h, when the time of the message has passed",
            "a verdict within 3600 s, when its time has passed",
        ),
        (
            {"delivery_semantics": "ExactlyOnce"},
            "as long as it takes",
            "a verdict as late as it takes",
        ),
        ({"delivery_semantics": "BestEffort"}, "nothing is waited for", "no acknowledgement"),
    ],
)
def test_the_longest_time_is_told_for_people_and_for_operators(
    tmp_path: Path, keys: dict[str, Any], longest: str, verdict: str
) -> None:
    """Both are of one calculation."""
    found = agreed(tmp_path, **keys)
    assert longest_of(worst_case_of(found)) == longest
    assert verdict_of(found) == verdict


def test_a_message_that_only_expires_is_tried_as_often_as_fits(tmp_path: Path) -> None:
    """30 s and then a minute each, within the hour that the message lives."""
    found = worst_case_of(agreed(tmp_path, level=1, time_to_live="PT1H"))
    assert [(one.key, one.times) for one in found.waits] == [("timeout", 1), ("retry_interval", 60)]
    assert (found.within_s, found.tries_s) == (3600, None)
    short = worst_case_of(agreed(tmp_path, level=1, time_to_live="PT20S"))
    assert [one.key for one in short.waits] == ["timeout"]


def test_the_drawn_parts_are_as_long_as_the_waits(tmp_path: Path) -> None:
    """One after the other, and together as wide as the drawing; many tries are drawn as one."""
    worst = worst_case_shape(agreed(tmp_path, timeout=60, retries=2, retry_interval=120))
    parts = parts_of(worst)
    assert [one.tone for one in parts] == [
        "timeout",
        *["retry_interval"] * 2,
        *["transmission"] * 3,
    ]
    assert parts[0].begins == 0
    assert parts[-1].begins + parts[-1].width == pytest.approx(WIDE, abs=3)
    assert parts[1].width == pytest.approx(2 * parts[0].width, rel=0.05)
    assert cut_of(worst) is None
    many = worst_case_shape(agreed(tmp_path, retries=500))
    assert [one.tone for one in parts_of(many)] == ["timeout", "retry_interval", "transmission"]


def test_a_message_that_expires_too_early_is_cut_in_the_drawing(tmp_path: Path) -> None:
    """Where its time ends; and the misfit says how to mend it."""
    found = agreed(tmp_path, timeout=10, retries=2, retry_interval=10, time_to_live="PT63S")
    assert cut_of(worst_case_shape(found)) == pytest.approx(WIDE / 2)
    [misfit] = misfits_of(found)
    assert misfit.endswith("make it longer, or retries fewer")


def test_addresses_of_both_directions_are_told(tmp_path: Path) -> None:
    """Only those by which the partner may come."""
    ours = {"http://us.example/msh", "smtp:us@us.example"}
    found = agreed(tmp_path, resend_to="http://b.example/again", error_to="http://b.example/errors")
    told = [(way, address) for way, _, address in directions_of(found, ours)]
    assert told == [
        ("out", "http://b.example/msh"),
        ("out", "http://b.example/again"),
        ("out", "http://b.example/errors"),
        ("in", "http://us.example/msh"),
        ("in", "smtp:us@us.example"),
    ]
    by_mail = agreed(tmp_path, entrances=["mail"])
    assert [address for way, _, address in directions_of(by_mail, ours) if way == "in"] == [
        "smtp:us@us.example"
    ]
