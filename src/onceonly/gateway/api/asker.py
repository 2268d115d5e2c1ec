"""The person who asks for an action: who the journal says it was, and why.

The action's row is written before the action begins, so there is no action without one. What was
then refused has its row, too: that somebody tried is worth knowing.
"""

from typing import Any

import structlog
from starlette.requests import Request

from onceonly.api.operation import Operation
from onceonly.api.rights import AskerHead
from onceonly.gateway.api.declared import from_texts
from onceonly.gateway.api.serving import Asked
from onceonly.gateway.office import Office
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.message.word import Word, changed
from onceonly.store.contract.conditions import StoreFull

log: Any = structlog.get_logger("onceonly")

REASON_CHARACTERS_MAX = 500


class Action(Word):
    """An action, in the words of its journal row."""

    name: str
    """The operation's name, and what it is about."""
    actor: str
    reason: str | None
    message_id: str | None = None
    agreement_id: str | None = None


def action_of(operation: Operation[Any, Any, Any, Any], asked: Asked[Any, Any, Any]) -> Action:
    """Who asks for what. Raises `LocalError` (InvalidField, Forbidden)."""
    caller, path, body, head = asked.caller, asked.path, asked.body, _head(asked.request)
    actor = caller.name
    if head.operator is not None:
        if not caller.may("operate"):
            text = "a key without the scope operate speaks for nobody: leave Onceonly-Operator away"
            raise LocalError("Forbidden", text)
        actor = f"{head.operator} ({caller.name})"
    reason = getattr(body, "reason", None) or head.reason
    about = [str(getattr(path, name)) for name in getattr(path, "__struct_fields__", ())]
    named = getattr(body, "name", None)
    if isinstance(named, str):
        about.append(named)
    message_id = getattr(path, "message_id", None)
    name = " ".join([operation.name, *about])
    return Action(name, actor, reason and reason[:REASON_CHARACTERS_MAX], message_id)


def _head(request: Request) -> AskerHead:
    names = [one.lower() for one in ("Onceonly-Operator", "Onceonly-Reason")]
    given = [(name, value) for name, value in request.headers.items() if name in names]
    try:
        texts = [(name.title(), value.encode("latin-1").decode()) for name, value in given]
    except UnicodeDecodeError as error:
        raise LocalError("InvalidField", "the operator and the reason are UTF-8") from error
    return from_texts(AskerHead, texts)


async def write_down(office: Office, action: Action) -> None:
    """Write the action's row.

    On a full disk it goes into the log alone: publishing, purging and the like are what frees it.
    """
    reason = action.name if action.reason is None else f"{action.name}: {action.reason}"
    row = changed(
        office.about_gateway(Event.ASKED, reason),
        actor=action.actor,
        message_id=action.message_id,
        agreement_id=action.agreement_id,
    )
    try:
        await office.transact(lambda txn, _: txn.append((row,)))
    except StoreFull:
        log.warning("store full; an action has no row", actor=action.actor, asked=reason)
