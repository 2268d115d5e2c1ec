"""The other MSH in profile rm-2001."""

from typing import Any

import packages_2001
from packages import Parcel
from packages_2001 import ACKNOWLEDGMENT, ERROR
from peer import Arrival, Peer, Reply, read_package


class Peer2001(Peer):
    """A partner of a gateway under a CPA of seed 001."""

    def __init__(self, party: str = "urn:duns:111111111", agreement: str = "cpa-ab-1") -> None:
        super().__init__(party, agreement)

    def business(self, message_id: str, **fields: Any) -> Parcel:
        """A business message of ours to the gateway."""
        return packages_2001.package(
            message_id,
            **{
                "from_party": self.party,
                "to_party": self.gateway_party,
                "sender_uri": self.uri,
                "receiver_uri": self.gateway_uri,
                "agreement": self.agreement,
                **fields,
            },
        )

    def signal_2001(self, ref: str | None, words: tuple[str, str], **fields: Any) -> Parcel:
        """A signal from our MSH to the gateway's."""
        service, action = words
        return packages_2001.package(
            self.fresh_id("s"),
            **{
                "from_party": self.uri,
                "to_party": self.gateway_uri,
                "sender_uri": self.uri,
                "receiver_uri": self.gateway_uri,
                "agreement": self.agreement,
                "service": service,
                "action": action,
                "semantics": "BestEffort",
                "ref": ref,
                "payloads": (),
                **fields,
            },
        )

    async def send_2001(self, message_id: str, **fields: Any) -> Reply:
        """Post a business message."""
        return await self.post(self.business(message_id, **fields))

    async def acknowledge_2001(self, ref: str, **fields: Any) -> Reply:
        """Post a stand-alone acknowledgement about the message."""
        return await self.post(self.signal_2001(ref, ACKNOWLEDGMENT, **fields))

    async def refuse_2001(self, ref: str, code: str, severity: str = "Error") -> Reply:
        """Post an error about the message."""
        errors = packages_2001.error_list(code, severity)
        return await self.post(self.signal_2001(ref, ERROR, particulars=errors))


def in_the_answer(reply: Reply) -> Arrival:
    """The package that came back in the answer of HTTP."""
    assert reply.status == 200, reply
    return read_package("", reply.headers, reply.body)


def answering(parcel: Parcel) -> bytes:
    """An answer of HTTP that carries a package."""
    head = (
        "HTTP/1.1 200 OK\r\n"
        f"Content-Type: {parcel.content_type}\r\n"
        f"Content-Length: {len(parcel.body)}\r\n\r\n"
    )
    return head.encode() + parcel.body
