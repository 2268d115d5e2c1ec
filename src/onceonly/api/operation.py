"""One call of the API, declared: its name, where it is, what it reads and what it answers."""

import re
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

from msgspec import to_builtins

from onceonly.api.rights import RIGHTS, UNTHOUGHT_OF, AskerHead, Right
from onceonly.message.word import Word

JSON: Final = "application/json"
FORM: Final = "multipart/form-data"
LINES: Final = "application/x-ndjson"
ARROW: Final = "application/vnd.apache.arrow.stream"
BYTES: Final = "application/octet-stream"
ANY: Final = "*/*"
TEXT: Final = "text/plain"
EVENTS: Final = "text/event-stream"


class Nothing(Word, forbid_unknown_fields=True):
    """No path, query or body of its own."""


P = TypeVar("P", bound=Word)
Q = TypeVar("Q", bound=Word)
B = TypeVar("B", bound=Word)
A = TypeVar("A")

_STEP: Final = re.compile(r"{(\w+)}")


class Operation(Word, Generic[P, Q, B, A], kw_only=True):
    """One call: `name` is its operationId, which stays, and the types say what it reads.

    The gateway serves it, the client calls it and the document describes it by this value alone.
    """

    name: str
    method: str
    path: str
    """With the names of `path_type` in braces."""
    summary: str
    path_type: type[P]
    query_type: type[Q]
    body_type: type[B]
    answer_type: type[A]
    head_type: type[Word] = Nothing
    """Header fields that it alone reads."""
    body_media: str = JSON
    media: tuple[str, ...] = (JSON,)
    """Of the answer; the first, unless the caller's `Accept` names another."""
    statuses: tuple[int, ...] = (200,)
    """With which it answers by `answer_type`."""
    refusals: tuple[str, ...] = ()
    """Names of refusals that it has beside `EVERYWHERE`."""
    is_open: bool = False
    """Whether it needs no key."""

    @property
    def right(self) -> Right:
        """What a caller's key must allow."""
        return RIGHTS.get(self.name, UNTHOUGHT_OF)

    @property
    def head_types(self) -> tuple[type[Word], ...]:
        """Header fields that it reads, beside those of every call."""
        return (self.head_type, *((AskerHead,) if self.right.is_action else ()))

    def target(self, path: P) -> str:
        """The path, with each value as one percent-encoded step."""
        steps: dict[str, Any] = to_builtins(path)
        return _STEP.sub(lambda found: quote(str(steps[found[1]]), safe=""), self.path)

    @property
    def writes(self) -> bool:
        """Whether it may change something."""
        return self.method != "get"


AnyOperation = Operation[Any, Any, Any, Any]
