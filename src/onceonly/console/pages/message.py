"""One message: where it stands, its way in lanes, what is to come, and what can be done."""

from typing import Final

from onceonly.api import operations
from onceonly.api.messages import MessageDetail, MessagePath, WaitQuery
from onceonly.api.sent import SentHeader, SentPayload, SentPayloadPath
from onceonly.api.watching import GET_SENT_HEADER, GET_SENT_PAYLOAD
from onceonly.console import choices
from onceonly.console.calls import NOTHING, ApiRefused, twin_of
from onceonly.console.page import Shown, Visit, command
from onceonly.console.proofs import proofs_of, words_of
from onceonly.console.timeline import ahead_of, steps_of
from onceonly.message.word import Word

PREVIEW_BYTES: Final = 4_096
"""Shown of a payload: enough to recognise a document."""
LOOKED_INTO_MAX: Final = 1 << 20
"""Longest payload that is looked into: all of it is read for its beginning."""
ELEMENTS_MAX: Final = 200
"""Most parts of a header that are shown; a usual one has some forty."""

HEADER: Final = "header"


class LookedInto(Word, kw_only=True):
    """What somebody looks into: the header document, or the beginning of a payload."""

    header: SentHeader | None = None
    payload: SentPayload | None = None
    text: str = ""
    is_cut: bool = False
    problem: str | None = None
    """Why it is not shown."""


async def message(visit: Visit) -> Shown:
    """An outbound message; with `look`, also its header document or one of its payloads."""
    path = MessagePath(message_id=visit.get("id") or "?")
    detail = await visit.calls.ask(operations.GET_MESSAGE, path, WaitQuery())
    steps, left_out = steps_of(detail.timeline)
    look = await _looked(visit, detail)
    return Shown(
        template="message.html",
        title=f"Message {detail.message_id}",
        values={
            "message": detail,
            "steps": steps,
            "left_out": left_out,
            "ahead": ahead_of(detail),
            "deeds": choices.of_message(detail),
            "advice": choices.advice_for(detail) if detail.state == "in_doubt" else None,
            "look": look,
            "proofs": await proofs_of(visit, detail.message_id, detail.timeline),
            "proof_words": words_of,
            "looked_into_max": LOOKED_INTO_MAX,
            "elements_max": ELEMENTS_MAX,
        },
        twin=twin_of(operations.GET_MESSAGE, path, WaitQuery()),
        command=command("onceonly", "message", "show", detail.message_id),
        # Not while somebody reads a document, which would be asked for again and again.
        is_live=look is None and (not detail.is_final or detail.state == "in_doubt"),
    )


def payload_path(visit: Visit) -> SentPayloadPath:
    """Which payload of a sent message a download is about."""
    return SentPayloadPath(message_id=visit.get("id") or "?", n=visit.number("n"))


async def _looked(visit: Visit, detail: MessageDetail) -> LookedInto | None:
    """A look needs the right to payloads, and the page is there without it."""
    wanted = visit.get("look")
    path = MessagePath(message_id=detail.message_id)
    try:
        if wanted == HEADER:
            found = await visit.calls.ask(GET_SENT_HEADER, path, NOTHING)
            return LookedInto(header=found)
        for payload in detail.payloads:
            if wanted == str(payload.n) and payload.size_bytes <= LOOKED_INTO_MAX:
                which = SentPayloadPath(message_id=detail.message_id, n=payload.n)
                whole = await visit.calls.ask(GET_SENT_PAYLOAD, which, NOTHING)
                text = whole[:PREVIEW_BYTES].decode("utf-8", "replace")
                return LookedInto(payload=payload, text=text, is_cut=len(whole) > PREVIEW_BYTES)
    except ApiRefused as refused:
        return LookedInto(problem=f"{refused.refusal.name}: {refused.refusal.text}")
    return None
