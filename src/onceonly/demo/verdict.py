"""What the two applications saw, and whether it is what was promised. Pure.

Knows what was submitted, which state each sender was told, and every delivery that a reader
fetched. It must not know journals, gateways or the lake: it is the other witness, against which
their proof is compared (`proof`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from onceonly.protocol.sending import FINAL, OutboundStatus


class Sent(NamedTuple):
    """A message that an application handed over, with the digests of its documents' bytes."""

    message_id: str
    sender: str
    receiver: str
    digests: tuple[str, ...]


class Delivery(NamedTuple):
    """A message as the receiving application got it: from the inbox's `offset`, bytes fetched."""

    message_id: str
    receiver: str
    offset: int
    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MessageCount:
    """The applications' own count of messages, both directions together."""

    sent: int
    acknowledged: int
    handed_over: int
    """Messages that reached the right application at least once."""
    delivered_twice: int
    lost: int
    """Acknowledged, and never seen by the receiving application."""
    altered: int
    """Delivered with other bytes than were handed over."""
    invented: int
    """Delivered to an application for which no such message was handed over."""
    in_doubt: int
    failed: int
    """Ended without delivery; the sender was told (failed, expired or cancelled)."""
    undecided: int
    """Without a verdict when the demonstration gave up waiting."""

    @property
    def broken(self) -> tuple[str, ...]:
        """What was promised and did not hold, in words; empty if all of it held."""
        claims = (
            (self.lost, "acknowledged and never delivered"),
            (self.delivered_twice, "delivered more than once"),
            (self.altered, "delivered with other bytes"),
            (self.invented, "delivered without having been sent"),
            (self.failed, "not delivered, and its sender told so, on a link that only delays"),
        )
        return tuple(f"{count} message(s) {claim}" for count, claim in claims if count)

    @property
    def unsettled(self) -> tuple[str, ...]:
        """What is still open, in words; empty if every message has its verdict."""
        claims = ((self.in_doubt, "in doubt"), (self.undecided, "without a verdict"))
        return tuple(f"{count} message(s) {claim}" for count, claim in claims if count)


def judge(
    sent: Sequence[Sent], states: Mapping[str, str], seen: Sequence[Delivery]
) -> MessageCount:
    """The outcome. `states` is by MessageId; a message that it lacks is undecided."""
    expected = {(message.receiver, message.message_id): message.digests for message in sent}
    times = Counter((delivery.receiver, delivery.message_id) for delivery in seen)
    altered = {
        (delivery.receiver, delivery.message_id)
        for delivery in seen
        if expected.get((delivery.receiver, delivery.message_id), delivery.digests)
        != delivery.digests
    }
    status = [states.get(message.message_id) for message in sent]
    told = Counter(status)
    acknowledged = told[OutboundStatus.ACKNOWLEDGED]
    finals = sum(told[state] for state in FINAL)
    return MessageCount(
        sent=len(sent),
        acknowledged=acknowledged,
        handed_over=sum(1 for key in expected if times[key]),
        delivered_twice=sum(1 for key in expected if times[key] > 1),
        lost=sum(
            1
            for message, state in zip(sent, status, strict=True)
            if state == OutboundStatus.ACKNOWLEDGED
            and not times[message.receiver, message.message_id]
        ),
        altered=len(altered),
        invented=sum(count for key, count in times.items() if key not in expected),
        in_doubt=told[OutboundStatus.IN_DOUBT],
        failed=finals - acknowledged,
        undecided=len(sent) - finals - told[OutboundStatus.IN_DOUBT],
    )
