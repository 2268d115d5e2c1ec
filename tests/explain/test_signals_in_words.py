"""What our own packages of every kind are said to mean: the golden ones of the wire's tests."""

from pathlib import Path

import pytest
from captures import explained

from onceonly.explain.explanation import CaptureVerdict

GOLDEN = Path(__file__).parents[1] / "golden"
SAID = {
    "acknowledgement": "an acknowledgement: the receiver holds the message",
    "acknowledgement-with-status": "an acknowledgement: the receiver holds the message",
    "acknowledgment": "an acknowledgement: the receiver holds the message",
    "acknowledgment-with-element": "an acknowledgement: the receiver holds the message",
    "cancel-request": "an inquiry (CancelRequest)",
    "cancel-response": "the answer to the inquiry",
    "delivery-failure": "a DeliveryFailure notice about the message",
    "delivery-receipt": "a delivery receipt",
    "error": "an error about the message",
    "ping": "an inquiry (Ping)",
    "pong": "the answer to the inquiry",
    "response-notice": "the answer to the inquiry",
    "response-request": "an inquiry (ResponseRequest)",
    "status-request": "an inquiry (StatusRequest)",
    "status-response": "the answer to the inquiry",
    "status-response-not-recognized": "the answer to the inquiry",
}
FILES = sorted(GOLDEN.rglob("*.mime"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_every_kind_of_package_is_told_in_words(file):
    """A business message as one, a signal by its meaning."""
    found = explained(file.read_bytes())
    if found.verdict is CaptureVerdict.NOT_RECOGNISED:
        first = file.read_bytes().split(b"\r\n", 1)[0].removeprefix(b"--").decode()
        type_ = f'multipart/related; type="application/vnd.eb+xml"; boundary="{first}"'
        found = explained(file.read_bytes(), content_type=type_)
    assert found.verdict is CaptureVerdict.UNDERSTOOD, found.problem
    assert found.message is not None
    said = found.message.says[0]
    assert said.startswith(SAID.get(file.stem, "a business message from"))
    assert bool(found.message.content_digest) == (file.stem not in SAID)
