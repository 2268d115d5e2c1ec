"""Which calls a caller may make, and that somebody answers for every action."""

from collections.abc import Callable
from typing import Any, NoReturn

from starlette.requests import Request

from onceonly.api.operation import Operation
from onceonly.api.words import Scope
from onceonly.gateway.api.access import CALLER
from onceonly.gateway.api.asker import action_of, write_down
from onceonly.gateway.api.ownership import Ownership
from onceonly.gateway.api.serving import Asked
from onceonly.gateway.caller import ANYBODY, Caller
from onceonly.gateway.keys import Keys
from onceonly.gateway.office import Office
from onceonly.message.errors import LocalError
from onceonly.message.word import changed

NoteDenied = Callable[[str, Any, str | None], None]


class Gate:
    """Every call passes it twice: before its body is read, and before it begins."""

    def __init__(
        self, *, office: Office, keys: Keys, ownership: Ownership, note_denied: NoteDenied
    ) -> None:
        self._office = office
        self._keys = keys
        self.ownership = ownership
        self._note_denied = note_denied

    def allow(self, operation: Operation[Any, Any, Any, Any], request: Request) -> Caller:
        """The caller, if its key allows the call. Raises `LocalError` (Forbidden)."""
        if operation.is_open:
            return ANYBODY
        caller, right = caller_of(request), operation.right
        if caller.agreement_ids is not None and not right.is_own:
            text = f"{operation.name} is about the whole gateway, and this key is an application's"
            self._forbid(caller, text, request)
        self.check_scope(caller, right.scope, request)
        return caller

    def check_still_open(self, caller: Caller) -> None:
        """Raise `LocalError` (Unauthorized) for a key that was revoked while its call waited.

        Or for a certificate that ended.
        """
        if not self._keys.are_open_to(caller):
            text = "the key was revoked, or the certificate ended, while the call waited"
            raise LocalError("Unauthorized", text)

    def check_scope(self, caller: Caller, scope: Scope, request: Request) -> None:
        """Raise `LocalError` (Forbidden) for a caller without the scope."""
        if not caller.may(scope):
            self._forbid(caller, f"the key {caller.name!r} lacks the scope {scope}", request)

    def _forbid(self, caller: Caller, text: str, request: Request) -> NoReturn:
        self._note_denied("Forbidden", request.scope, caller.name)
        raise LocalError("Forbidden", f"{text}; whoever makes keys here can give you another one")

    async def note_action(
        self, operation: Operation[Any, Any, Any, Any], asked: Asked[Any, Any, Any]
    ) -> Asked[Any, Any, Any]:
        """What is asked, with the name of whoever answers for it, which is durable now.

        Raises `LocalError` (InvalidField, Forbidden) for a head that does not say it rightly.
        """
        if not operation.right.is_action:
            return asked
        action = action_of(operation, asked)
        await write_down(self._office, action)
        return changed(asked, actor=action.actor)


def caller_of(request: Request) -> Caller:
    """Who was let in."""
    caller: Caller = request.scope[CALLER]
    return caller
