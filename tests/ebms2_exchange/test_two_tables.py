"""One CPA in two tables, one signed and one not, and another partner beside them.

What is not signed never moves, acknowledges or marks a message of the signed table (R-30, R-44).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from peer_ebms2 import ACK_REQUESTED, BLOCK, TO_PARTY, stamp
from running_gateway import RunningGateway
from signed_parties import (
    EBMS,
    ORDERING,
    SIGNED,
    SigningPeer,
    write_identity,
)
from two_parties import SELLER, agreement, house, submit, write

from onceonly.message.event import Event
from ports import free_port

pytestmark = pytest.mark.anyio

M = "m-0001@a.example.com"
CPA = "cpa-ab-1"
INFO: dict[str, Any] = {"service": "urn:services:Info", "action": "Tell"}


class TwoTables(NamedTuple):
    """A gateway of the seller's, its partner with two tables, and another partner."""

    gateway: RunningGateway
    peer: SigningPeer
    other: SigningPeer


def service(name: str, action: str) -> list[dict[str, Any]]:
    """The only service of a table, both ways."""
    return [{"id": name, "send": [action], "receive": [action]}]


@asynccontextmanager
async def with_two_tables(
    directory: Path, *, plain: Any = None, **signed: Any
) -> AsyncIterator[TwoTables]:
    """The table without signatures comes first in the file."""
    peer, other = SigningPeer(agreement=CPA), SigningPeer("urn:duns:399999999", "other")
    for name in ("partner", "elsewhere"):
        write_identity(directory, name)
    ordering, info = service("urn:services:Ordering", "NewOrder"), service(*INFO.values())
    usual = {**EBMS, "cpa_id": CPA}
    pinned = {**SIGNED, "partner_certificates": ["partner.pem"]}
    gateway = write(
        directory,
        "seller",
        house(SELLER, "seller", free_port()),
        write_identity(directory, "seller"),
        agreement("plain", peer.party, peer.uri, **usual, services=info, **(plain or {})),
        agreement(
            "signed", peer.party, peer.uri, **{**usual, **pinned, "services": ordering, **signed}
        ),
        agreement("other", other.party, other.uri, **EBMS),
    )
    for one in (peer, other):
        one.gateway_uri, one.gateway_party = gateway.uri, SELLER
        await one.listen()
    await gateway.start()
    try:
        yield TwoTables(gateway, peer, other)
    finally:
        await gateway.stop(0.0)
        for one in (peer, other):
            await one.close()


async def test_no_unsigned_message_acknowledges_for_a_table_that_asks_for_signatures(tmp_path):
    """It is delivered under its own table; what it says about the other one counts for nothing."""
    async with with_two_tables(tmp_path, ack_requested="Unsigned") as (gateway, peer, _):
        ours = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        carried = (
            f'<eb:Acknowledgment {BLOCK} SOAP:actor="{TO_PARTY}"><eb:Timestamp>{stamp()}'
            f"</eb:Timestamp><eb:RefToMessageId>{ours}</eb:RefToMessageId></eb:Acknowledgment>"
        )
        await peer.say_business(M, ref=ours, blocks=ACK_REQUESTED + carried, **INFO)
        await gateway.until_handed_over(M)
        assert (await gateway.get(f"/v1/messages/{ours}"))["state"] == "sending"


async def test_a_damaged_unsigned_copy_of_a_signed_message_gets_no_acknowledgement(tmp_path):
    """Its header cannot be read whole, so nobody knows of which table it is."""
    async with with_two_tables(tmp_path) as (gateway, peer, _):
        await peer.post(peer.signed(M))
        await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        damaged = ACK_REQUESTED.replace('eb:signed="false"', 'eb:signed="x"')
        await peer.say_business(M, blocks=damaged)
        assert (await peer.hear()).kind == "MessageError"


async def test_an_unsigned_error_of_another_partner_leaves_no_row_at_our_message(tmp_path):
    """It is counted against the agreement that it names, and is a security event (R-44)."""
    async with with_two_tables(tmp_path) as (gateway, peer, other):
        ours = await submit(gateway, peer.party, **ORDERING, agreement="signed")
        await peer.hear("NewOrder")
        error = '<eb:Error eb:errorCode="SecurityFailure" eb:severity="Error"/>'
        errors = f'<eb:ErrorList {BLOCK} eb:highestSeverity="Error">{error}</eb:ErrorList>'
        await other.say_signal("MessageError", ref=ours, blocks=errors)
        assert not gateway.rows(Event.SIGNATURE_REFUSED)
        (alarm,) = gateway.rows(Event.SECURITY_EVENT)
        assert (alarm.message_id, alarm.agreement_id) == (ours, "other")
        await peer.say_signal("MessageError", ref=ours, blocks=errors)
        (row,) = gateway.rows(Event.SIGNATURE_REFUSED)
        assert row.message_id == ours
