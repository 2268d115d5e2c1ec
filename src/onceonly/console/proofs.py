"""The evidence that is kept of a message, on its page: what, by whose certificate, how long."""

from collections.abc import Iterable
from typing import Final

from onceonly.api.history import JournalRow
from onceonly.api.messages import MessagePath
from onceonly.api.sent import KeptProof
from onceonly.api.watching import GET_EVIDENCE
from onceonly.console.calls import NOTHING, ApiRefused
from onceonly.console.page import Visit
from onceonly.message.event import Event

_TELL_OF_SOME: Final = frozenset({Event.EVIDENCE_KEPT, Event.SIGNATURE_REFUSED})
KINDS: Final = {
    "message": "the message, signed by its sender",
    "acknowledgment": "the partner's signed acknowledgement: it has just this message",
    "refused": "an acknowledgement came that proves nothing; see the reason in its way",
}
"""What is kept, in words."""
UNSIGNED: Final = "the message as it was sent, without a signature"


async def proofs_of(
    visit: Visit, message_id: str, rows: Iterable[JournalRow]
) -> tuple[KeptProof, ...]:
    """What is kept of a message with these rows; the gateway is asked if they tell of something."""
    if all(row.event not in _TELL_OF_SOME for row in rows):
        return ()
    try:
        found = await visit.calls.ask(GET_EVIDENCE, MessagePath(message_id=message_id), NOTHING)
    except ApiRefused:
        # It was forgotten between the two calls, or was never kept.
        return ()
    return found.envelopes


def words_of(proof: KeptProof) -> str:
    """What this envelope is."""
    is_unsigned = proof.kind == "message" and proof.signer is None
    return UNSIGNED if is_unsigned else KINDS[proof.kind]
