"""One message on its way through an intermediary in `relay` mode (ruling R-13)."""

from enum import StrEnum
from typing import NamedTuple


class TransitStatus(StrEnum):
    """How far the message has come past us."""

    FORWARDING = "forwarding"
    """No acknowledgement from the next hop yet."""
    ACKNOWLEDGED = "acknowledged"
    """The next hop acknowledged; every copy that comes again goes on all the same."""
    REFUSED = "refused"
    """The next hop refused it or could not be reached, and the previous one was told."""
    SENT = "sent"
    """No acknowledgement is to come (BestEffort, method Transport); a copy was sent on."""


class Transit(NamedTuple):
    """The durable state of one message in transit."""

    status: TransitStatus = TransitStatus.FORWARDING
    copies: int = 0
    """Copies that arrived and were sent on; relays neither drop nor add any (seed 003 §4)."""
