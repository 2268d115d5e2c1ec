"""kill -9 of two gateways that sign, one way with ordered conversations (R-30, R-31, R-34)."""

from collections.abc import Iterable
from contextlib import closing

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from nemesis_evidence import read_journal
from nemesis_faults import Form
from nemesis_figures import Say
from nemesis_gateways import Exchange, Gateway
from nemesis_keys import certificate
from nemesis_load import strike
from nemesis_ways import SIGNED, SIGNED_IN_ORDER, Way, use_signatures

from onceonly.message.event import Direction, Event
from onceonly.store.contract.evidence import EvidenceKind
from onceonly.store.contract.store import Snapshot
from onceonly.store.sqlite.store import open_sqlite
from onceonly.wire.evidence import examine


@pytest.mark.statement("E2-105", "E2-82")
@pytest.mark.parametrize("way", [SIGNED, SIGNED_IN_ORDER], ids=lambda way: way.name)
def test_random_kills_lose_no_message_and_no_evidence(
    exchange: Exchange, way: Way, form: Form, say: Say
) -> None:
    """E2-82: all acknowledged by a signature that is kept, each once, each conversation in order.

    Under load both ways, and either or both killed.
    """
    use_signatures(exchange, way)
    strike(exchange, way, form.share(4), say)
    for gateway in exchange.gateways:
        proofs = check_evidence(gateway)
        assert proofs, "nothing was proved"


def check_evidence(gateway: Gateway) -> int:
    """What the store of a gateway that does not run can prove; returns for how many messages."""
    journal = read_journal(gateway)
    sent = {
        row.message_id
        for row in journal
        if row.event in (Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED) and row.message_id
    }
    taken = {
        row.message_id
        for row in journal
        if row.event is Event.STORED and row.direction is Direction.IN and row.message_id
    }
    site = gateway.site
    with closing(open_sqlite(site.store, party=site.party, clock_at=lambda: 0)) as store:
        snapshot = store.snapshot()
        for message_id in sent:
            check_receipt(snapshot, message_id, gateway.partner.name)
        check_origins(snapshot, taken, gateway.partner.name)
    return len(sent)


def check_receipt(snapshot: Snapshot, message_id: str, partner: str) -> None:
    """The partner signed that it has just this message (R-31)."""
    kept = {one.kind: one.document for one in snapshot.list_evidence(message_id)}
    ours, proof = (
        examine(kept[kind]) for kind in (EvidenceKind.MESSAGE, EvidenceKind.ACKNOWLEDGMENT)
    )
    assert ours.trouble is None, (message_id, ours.trouble)
    assert proof.trouble is None, (message_id, proof.trouble)
    assert proof.acknowledged == message_id
    assert proof.certificate == certificate(partner).public_bytes(Encoding.DER)
    assert {one.digest_value for one in proof.copied} == {
        one.digest_value for one in ours.references
    }


def check_origins(snapshot: Snapshot, taken: Iterable[str], partner: str) -> None:
    """The partner signed each message that was stored (R-30)."""
    for message_id in taken:
        kept = {one.kind: one.document for one in snapshot.list_evidence(message_id)}
        theirs = examine(kept[EvidenceKind.MESSAGE])
        assert theirs.trouble is None, (message_id, theirs.trouble)
        assert theirs.certificate == certificate(partner).public_bytes(Encoding.DER)
