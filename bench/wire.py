"""What it takes to read a package of 4 KB and its acknowledgement, and to write them.

    PYTHONPATH=src python -m bench.wire

Nothing but `wire` is measured, in one thread. Two versions of it are compared by running this with
the source of either on PYTHONPATH, in turn and several times.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

from onceonly.message.identity import PartyId
from onceonly.message.message import DeliverySemantics, Message, Payload, RoutingHeader
from onceonly.message.package import Package
from onceonly.message.profile import PROFILES, Profile
from onceonly.message.signals import Acknowledgment, SignalHeader
from onceonly.wire.envelope import Content, Decoder, PartHead, boundary_for, encode

ROUNDS = 60
PACKAGES = 50
"""In a round; no two of them have an identifier, a boundary or a time in common."""

BODY = b"<Order><Line/></Order>\r\n" * 170
SELLER, BUYER = "http://seller.example.com/msh", "http://buyer.example.com/msh"
SENT_AT = 1_000_000_000_000_000
BETWEEN_US = 5_000
"""From one message to the next: 200 in a second."""


class Sink:
    """Keeps and digests, as the spool does."""

    def __init__(self, _: PartHead) -> None:
        self._held: list[bytes] = []
        self._digest = sha256()
        self._size_bytes = 0

    def write(self, data: bytes, /) -> None:
        """Take the next bytes."""
        self._digest.update(data)
        self._size_bytes += len(data)
        self._held.append(bytes(data))

    def close(self) -> tuple[int, str]:
        """The sum of it all."""
        return self._size_bytes, self._digest.hexdigest()


@dataclass(frozen=True)
class Sample:
    """What is written once, and read once."""

    content: Content
    routing: RoutingHeader
    profile: Profile
    token: str

    def write(self) -> Package:
        """As a gateway does."""
        return encode(
            self.content,
            self.routing,
            profile=self.profile,
            boundary=boundary_for(self.token),
            root_content_id=f"header-{self.token}",
        )


def samples(profile: Profile, *, acknowledge: bool) -> Iterator[Sample]:
    """Messages of one pair, or the acknowledgements of them."""
    for number in range(PACKAGES):
        token, sent_at = sha256(b"%d" % number).hexdigest()[:32], SENT_AT + number * BETWEEN_US
        names: Any = {
            "message_id": f"{token}@seller.example.com",
            "conversation_id": f"conversation-{token}@seller.example.com",
            "agreement_id": "seller-buyer",
            "timestamp_at": sent_at,
        }
        hop: Any = {"timestamp_at": sent_at}
        content: Content
        if acknowledge:
            names["ref_to_message_id"] = f"{token}@buyer.example.com"
            parties = (PartyId(BUYER),), (PartyId(SELLER),)
            content = Acknowledgment(SignalHeader(from_ids=parties[0], to_ids=parties[1], **names))
            hop |= {"sender_uri": BUYER, "receiver_uri": SELLER, "error_uri": BUYER}
        else:
            digest = sha256(BODY).hexdigest()
            content = Message(
                from_ids=(PartyId("urn:duns:111111111"),),
                to_ids=(PartyId("urn:duns:222222222"),),
                service="urn:services:Ordering",
                action="NewOrder",
                semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
                payloads=(
                    Payload(f"part-{token}", "application/xml", len(BODY), digest, "order.xml"),
                ),
                **names,
            )
            hop |= {"sender_uri": SELLER, "receiver_uri": BUYER, "error_uri": SELLER}
            if profile.is_numbered:
                hop["sequence_number"] = number + 1
        yield Sample(content, RoutingHeader(**hop), profile, token)


def read(content_type: str, body: bytes) -> None:
    """One package that came in one piece."""
    decoder = Decoder(content_type, Sink)
    decoder.feed(body)
    decoder.finish()


def rounds(works: list[Callable[[], object]]) -> str:
    """Microseconds for one of the works: the least of the rounds, and the median."""
    taken = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for work in works:
            work()
        taken.append((time.perf_counter() - begun) / len(works) * 1e6)
    taken.sort()
    return f"{taken[0]:8.1f}{taken[len(taken) // 2]:8.1f}"


def main() -> None:
    """Print a line for each profile and kind of package."""
    print(f"{'us, least and median':30}{'decode':>16}{'encode':>16}")
    for profile in PROFILES:
        for acknowledge in (False, True):
            ours = list(samples(profile, acknowledge=acknowledge))
            packages = [sample.write() for sample in ours]
            bodies = [BODY.join(package.segments) for package in packages]
            decode = rounds(
                [
                    partial(read, package.content_type, body)
                    for package, body in zip(packages, bodies, strict=True)
                ]
            )
            encode_ = rounds([sample.write for sample in ours])
            kind = "acknowledgement" if acknowledge else "message"
            print(f"{profile.name + ' ' + kind:30}{decode}{encode_}")


if __name__ == "__main__":
    main()
