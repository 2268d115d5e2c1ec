"""Values out of JSON, and out of what was JSON, in any number of threads.

What msgspec needs to know of a `Struct` it notes on the class when one is read for the first time,
step by step, while Python works out the annotations. A thread that reads the same class meanwhile
finds half of it, and the process ends by a segmentation fault (msgspec 0.22). So one thread alone
makes a type known, before any reads it: nothing in the project decodes in another way.
"""

from threading import Lock
from typing import Any, Final, TypeVar, cast

import msgspec

T = TypeVar("T")

_known: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}
_alone: Final = Lock()


def decoded(content: bytes | str, kind: type[T]) -> T:
    """The value of this kind that the JSON tells. Raises as `msgspec.json.decode` does."""
    return cast("T", _decoder(kind).decode(content))


def converted(value: object, kind: type[T], *, strict: bool = True) -> T:
    """The value of this kind, made of plain ones. Raises as `msgspec.convert` does."""
    _decoder(kind)
    return msgspec.convert(value, kind, strict=strict)


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    found = _known.get(kind)
    if found is None:
        with _alone:
            found = _known.setdefault(kind, msgspec.json.Decoder(kind))
    return found
