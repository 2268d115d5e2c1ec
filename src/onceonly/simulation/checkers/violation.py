"""What a checker finds, and what it knows to be true."""

from onceonly.message.identity import MessageKey
from onceonly.message.word import Word


class Violation(Word):
    """An invariant that did not hold."""

    invariant: str
    """`I3`, `L1`, `E3`, `R-09`, or `bug` for an exception that nothing explains."""
    text: str
    order: int
    """Where in the history it shows."""


class Truth(Word):
    """What really became of one message: what a reconciliation of journals must find (E1)."""

    key: MessageKey
    accepted: bool
    delivered_count: int
    verdict: str | None
    """Event of its sender's last verdict: Acknowledged, Failed, InDoubt; None while pending."""
    kind: str
    """Name of its class, as E1 has them."""
