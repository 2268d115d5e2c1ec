"""How a call is served: by a method that says which declared operation it is.

The method's types are the operation's own; mypy compares them. What is asked has been read by those
types before the method is called.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Generic, TypeVar

from starlette.requests import Request

from onceonly.api.inbox import WhichItem
from onceonly.api.operation import A, B, Operation, P, Q
from onceonly.gateway.api.answers import Answer
from onceonly.gateway.caller import ANYBODY, Caller
from onceonly.message.word import Word

S = TypeVar("S")


class Asked(Word, Generic[P, Q, B]):
    """One call: where it went and what it asks for, in the declared types."""

    request: Request
    path: P
    query: Q
    body: B
    """Where the body is JSON. A call that takes documents reads them on from the request."""
    caller: Caller = ANYBODY
    """Who asks: what is not his is not there for him."""
    actor: str = ANYBODY.name
    """For an action: who answers for it, as the journal names him."""


def item_of(asked: Asked[Any, Any, Any]) -> tuple[str | None, int | None]:
    """MessageId and offset of the inbox item that a call is about; one of them may be missing."""
    if hasattr(asked.path, "offset"):
        return None, asked.path.offset
    named = asked.query if isinstance(asked.query, WhichItem) else asked.path
    return named.message_id, asked.query.offset


Call = Callable[[Any, Asked[Any, Any, Any]], Awaitable[Answer[Any]] | Answer[Any]]
"""One that is no coroutine reads the store: it runs in a thread."""

_SERVES = "operations"


def serves(
    *operations: Operation[P, Q, B, A],
) -> Callable[
    [Callable[[S, Asked[P, Q, B]], Awaitable[Answer[A]] | Answer[A]]],
    Callable[[S, Asked[P, Q, B]], Awaitable[Answer[A]] | Answer[A]],
]:
    """The method answers these operations."""

    def declared(
        method: Callable[[S, Asked[P, Q, B]], Awaitable[Answer[A]] | Answer[A]],
    ) -> Callable[[S, Asked[P, Q, B]], Awaitable[Answer[A]] | Answer[A]]:
        setattr(method, _SERVES, operations)
        return method

    return declared


def calls_of(face: type) -> Iterator[tuple[Operation[Any, Any, Any, Any], Call]]:
    """Every operation that a class serves, and its method."""
    for name in dir(face):
        method = getattr(face, name)
        for operation in getattr(method, _SERVES, ()):
            yield operation, method
