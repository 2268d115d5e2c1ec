"""One message: where it stands, its way in lanes, what is to come, and what can be done."""

from onceonly.api import operations
from onceonly.api.messages import MessagePath, WaitQuery
from onceonly.console import choices
from onceonly.console.calls import twin_of
from onceonly.console.page import Shown, Visit, command
from onceonly.console.timeline import ahead_of, steps_of


async def message(visit: Visit) -> Shown:
    """An outbound message."""
    path = MessagePath(message_id=visit.get("id") or "?")
    detail = await visit.calls.ask(operations.GET_MESSAGE, path, WaitQuery())
    steps, left_out = steps_of(detail.timeline)
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
        },
        twin=twin_of(operations.GET_MESSAGE, path, WaitQuery()),
        command=command("onceonly", "message", "show", detail.message_id),
        is_live=not detail.is_final or detail.state == "in_doubt",
    )
