"""The in-doubt desk: what is known of each message whose fate is unknown, and what to do."""

import asyncio
from typing import Final

from onceonly.api import operations
from onceonly.api.messages import MessageDetail, MessagePath, MessagesQuery, WaitQuery
from onceonly.console import choices, deeds
from onceonly.console.calls import NOTHING, ApiRefused, twin_of
from onceonly.console.choices import Advice
from onceonly.console.page import Shown, Visit
from onceonly.message.word import Word

DOUBTS: Final = 20
"""Doubts of one page: each takes a call for its evidence."""


class Doubt(Word, kw_only=True):
    """One message in doubt, and the one thing to do about it."""

    message: MessageDetail
    advice: Advice


async def doubts(visit: Visit) -> Shown:
    """The oldest first."""
    query = MessagesQuery(state="in_doubt", after=visit.number("after"), limit=DOUBTS)
    page = await visit.calls.ask(operations.LIST_MESSAGES, NOTHING, query)
    found = await asyncio.gather(*(_evidence(visit, one.message_id) for one in page.messages))
    return Shown(
        template="doubts.html",
        title="In doubt",
        values={
            "doubts": tuple(one for one in found if one is not None),
            "next_after": page.next_after,
            "words": deeds.SETTLE,
        },
        twin=twin_of(operations.LIST_MESSAGES, NOTHING, query),
        command="onceonly doubt list",
        is_live=not query.after,
    )


async def _evidence(visit: Visit, message_id: str) -> Doubt | None:
    path = MessagePath(message_id=message_id)
    try:
        detail = await visit.calls.ask(operations.GET_MESSAGE, path, WaitQuery())
    except ApiRefused:
        # It was purged between the two calls.
        return None
    return Doubt(message=detail, advice=choices.advice_for(detail))
