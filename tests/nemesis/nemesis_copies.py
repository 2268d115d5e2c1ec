"""A copy of a message as a network may bring it late: the stored bytes, posted once more."""

from contextlib import closing
from typing import NamedTuple

import httpx
from nemesis_gateways import Gateway, Site

from onceonly.store.sqlite.store import open_sqlite

ANSWER_S = 30.0


class Copy(NamedTuple):
    """What a sender posts: every resend is these bytes (R-04)."""

    content_type: str
    body: bytes

    def post(self, to: Site) -> int:
        """Bring it to the endpoint; the status of the answer."""
        headers = {"Content-Type": self.content_type}
        with httpx.Client(trust_env=False, timeout=ANSWER_S) as client:
            return client.post(to.uri, content=self.body, headers=headers).status_code


def copy_of(sender: Gateway, message_id: str) -> Copy:
    """The package of a message with small payloads, from the store of a sender that is dead."""
    site = sender.site
    with closing(open_sqlite(site.store, party=site.party, clock_at=lambda: 0)) as store:
        snapshot = store.snapshot()
        package = snapshot.get_package(message_id)
        bodies = [stored.body or b"" for stored in snapshot.list_payloads(message_id)]
    pieces = [
        piece for pair in zip(package.segments, [*bodies, b""], strict=True) for piece in pair
    ]
    return Copy(package.content_type, b"".join(pieces))
