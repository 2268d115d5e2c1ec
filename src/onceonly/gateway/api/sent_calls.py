"""Calls about what was sent: payloads and header documents of outbound messages."""

from base64 import b64encode
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse

from onceonly.api import sent, watching
from onceonly.api.messages import MessagePath
from onceonly.api.operation import Nothing
from onceonly.api.sent import SentPayloadPath
from onceonly.gateway.api.answers import Answer, Bytes, Json, sendable_type
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves
from onceonly.gateway.shapes import text_of
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.contract.evidence import KeptEnvelope
from onceonly.store.spool import Spool


class SentCalls:
    """The routes to what was sent, of the API that has them."""

    _served: Served

    @serves(watching.GET_SENT_PAYLOAD)
    def get_sent_payload(self, asked: Asked[SentPayloadPath, Nothing, Nothing]) -> Answer[bytes]:
        """The bytes of one payload."""
        stored = self._served.sent.payload(asked.path.message_id, asked.path.n)
        return payload_answer(stored, self._served.spool)

    @serves(watching.GET_SENT_HEADER)
    def get_sent_header(
        self, asked: Asked[MessagePath, Nothing, Nothing]
    ) -> Answer[sent.SentHeader]:
        """The header document as it left, raw and in its parts."""
        message_id = asked.path.message_id
        found = self._served.sent.header(message_id)
        return Json(
            sent.SentHeader(
                message_id=message_id,
                content_type=found.content_type,
                raw=found.text,
                elements=tuple(found.elements()),
            )
        )

    @serves(watching.GET_EVIDENCE)
    def get_evidence(
        self, asked: Asked[MessagePath, Nothing, Nothing]
    ) -> Answer[sent.MessageEvidence]:
        """The signed envelopes that are kept about a message."""
        message_id = asked.path.message_id
        found = self._served.sent.evidence(message_id)
        envelopes = tuple(map(_proof, found))
        return Json(sent.MessageEvidence(message_id=message_id, envelopes=envelopes))


def _proof(one: KeptEnvelope) -> sent.KeptProof:
    return sent.KeptProof(
        kind=one.kind.value,
        from_party=one.from_party,
        to_party=one.to_party,
        content_type=one.content_type,
        document=b64encode(one.document).decode(),
        signer=one.signer,
        verified_at=text_of(one.verified_at),
        keep_until=text_of(one.keep_until_at),
    )


def payload_answer(stored: StoredPayload, spool: Spool) -> Bytes | StreamingResponse:
    """The bytes of a payload, received or sent, from memory or from the spool."""
    headers = {
        # A browser must never show a payload as one of our pages (attack R6).
        "content-type": sendable_type(stored.payload.content_type),
        "content-disposition": "attachment",
        "content-security-policy": "sandbox",
        "content-length": str(stored.payload.size_bytes),
        "etag": f'"{stored.payload.digest}"',
    }
    if stored.body is not None:
        return Bytes(stored.body, headers=headers)
    return StreamingResponse(_pieces(spool, stored.payload.digest), headers=headers)


async def _pieces(spool: Spool, digest: str) -> AsyncIterator[bytes]:
    for piece in spool.open_reader(digest):
        yield piece
