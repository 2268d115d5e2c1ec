"""Evidence: signed envelopes that are kept, and which acknowledgement is one (`ebms2.md` §9.7).

Signed asked, signed given: an acknowledgement that is not what was asked for never acknowledges
(R-31). The envelopes are kept as bytes, with whoever signed them, longer than the messages
themselves.
"""

from hashlib import sha256
from typing import Final

from onceonly.message.agreement import Agreement
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.message.instant import US_PER_S
from onceonly.message.message import AcknowledgmentElement, AckRequested
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import Outcome, Outcomes, Transmission
from onceonly.steps.agreements import AdmittedMessage
from onceonly.steps.ground import Ground
from onceonly.steps.signing import Attested, Heard, Unproven
from onceonly.store.contract.entries import OutboundEntry
from onceonly.store.contract.evidence import EvidenceKind, KeptEnvelope
from onceonly.store.contract.store import Snapshot, Transaction
from onceonly.wire.evidence import Said, document_of, said_by
from onceonly.wire.signature import is_evidence

ENVELOPE_TYPE = 'text/xml; charset="UTF-8"'
"""Of an envelope of ours; one that came is in the encoding that its declaration says."""

WITHOUT_EVIDENCE = "acknowledged without valid signature"
"""Why a message stays in doubt whose partner acknowledges it in another way than was asked."""


def take_proof(
    txn: Transaction,
    ground: Ground,
    entry: OutboundEntry,
    element: AcknowledgmentElement | None,
    heard: Heard,
) -> bool:
    """Whether a word of the partner acknowledges the message; what proves it is kept.

    What is no proof although one was asked for is noted, and nothing else happens.
    """
    agreement = ground.house.agreement(entry.agreement_id)
    if isinstance(heard, Unproven):
        _refuse(txn, ground, entry, agreement, heard.why)
        return False
    if agreement.terms.ack_requested is not AckRequested.SIGNED:
        return True
    if not isinstance(heard, Attested):
        _refuse(txn, ground, entry, agreement, _NOT_SIGNED)
        return False
    said = _find_said(txn, entry, agreement)
    if said is None or element is None or not is_evidence(said.references, element.references):
        _refuse(txn, ground, entry, agreement, _NEVER_SENT if said is None else _OTHERS)
        return False
    _keep_sent(txn, ground, entry, agreement, said, heard)
    return True


_NOT_SIGNED: Final = (
    "the acknowledgement has no signature; expected is a signed one, as was asked for"
)
_NEVER_SENT: Final = "the message was never sent, so nobody can have it"
_OTHERS: Final = (
    "the References of the acknowledgement are not those of the message; expected is a copy of"
    " each, and no other"
)


def _find_said(snapshot: Snapshot, entry: OutboundEntry, agreement: Agreement) -> Said | None:
    """The message as it left, if it ever did."""
    try:
        package = snapshot.get_package(entry.message_id)
    except KeyError:
        return None
    view = snapshot.find_outbound_view(entry.message_id)
    assert view is not None, f"{entry.message_id} is not stored"
    return said_by(document_of(package), view.message.payloads, agreement.profile)


def _refuse(
    txn: Transaction, ground: Ground, entry: OutboundEntry, agreement: Agreement, why: str
) -> None:
    key = MessageKey(*entry.pair, entry.message_id)
    if not txn.has_evidence(key, EvidenceKind.REFUSED):
        txn.add_evidence(_evidence(ground, agreement, key, EvidenceKind.REFUSED, b"", None))
    row = Journal(Event.SIGNATURE_REFUSED, reason=why)
    rows = ground.house.rows
    txn.append((rows.about_message(key, agreement, Direction.OUT, row, ground.now),))


def _keep_sent(
    txn: Transaction,
    ground: Ground,
    entry: OutboundEntry,
    agreement: Agreement,
    said: Said,
    heard: Attested,
) -> None:
    key = MessageKey(*entry.pair, entry.message_id)
    if txn.has_evidence(key, EvidenceKind.ACKNOWLEDGMENT):
        return
    kind = EvidenceKind.MESSAGE
    txn.add_evidence(_evidence(ground, agreement, key, kind, said.document, said.signer))
    kind = EvidenceKind.ACKNOWLEDGMENT
    proof = _evidence(ground, agreement, key, kind, heard.document, heard.signer)
    txn.add_evidence(proof)
    _note(txn, ground, agreement, Direction.OUT, proof)


def keep_received(
    txn: Transaction, ground: Ground, admitted: AdmittedMessage, attested: Attested | None
) -> None:
    """Keep the signed envelope of a message that is stored: its From Party said just that."""
    if attested is None:
        return
    key, agreement = admitted.message.key, admitted.agreement
    kind = EvidenceKind.MESSAGE
    kept = _evidence(ground, agreement, key, kind, attested.document, attested.signer)
    txn.add_evidence(kept)
    _note(txn, ground, agreement, Direction.IN, kept)


def _note(
    txn: Transaction,
    ground: Ground,
    agreement: Agreement,
    direction: Direction,
    kept: KeptEnvelope,
) -> None:
    key = MessageKey(kept.from_party, kept.to_party, kept.message_id)
    effect = Journal(Event.EVIDENCE_KEPT, reason=kept.kind.value)
    row = ground.house.rows.about_message(key, agreement, direction, effect, ground.now)
    digest = sha256(kept.document).hexdigest()
    txn.append((changed(row, signer=kept.signer, digest=digest),))


def _evidence(
    ground: Ground,
    agreement: Agreement,
    key: MessageKey,
    kind: EvidenceKind,
    document: bytes,
    signer: str | None,
) -> KeptEnvelope:
    at = ground.now.at
    return KeptEnvelope(
        from_party=key.from_party,
        to_party=key.to_party,
        message_id=key.message_id,
        kind=kind,
        content_type=ENVELOPE_TYPE,
        document=document,
        signer=signer,
        verified_at=at,
        keep_until_at=at + agreement.terms.persist_duration_s * US_PER_S,
    )


def with_refusal(
    snapshot: Snapshot, entry: OutboundEntry, agreement: Agreement, before: Outcomes
) -> Outcomes:
    """The outcomes of a message, after what its partner said of it that was no evidence."""
    if not agreement.profile.has_signatures:
        return before
    key = MessageKey(*entry.pair, entry.message_id)
    if not snapshot.has_evidence(key, EvidenceKind.REFUSED):
        return before
    return (Transmission(Outcome.UNKNOWN, bytes_left=True, detail=WITHOUT_EVIDENCE), *before)
