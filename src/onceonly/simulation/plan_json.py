"""Plans as JSON, for people to read and for regressions to keep.

Knows frozen values made of fields, words, tuples and dictionaries; must not know what a plan
means. A field that has its default is left out, so that a shrunk plan shows what matters.
"""

import json
from collections.abc import Mapping
from enum import Enum
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin

from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, asdict, fields

from onceonly.message.profile import Profile, profile_named
from onceonly.message.word import Word

T = TypeVar("T")


def write(value: Any, *, version: int) -> str:
    """The value as JSON text, the same for the same value; `version` says in which form."""
    return json.dumps({"format": version, **_plain(value)}, indent=1, ensure_ascii=False) + "\n"


def read(kind: type[T], text: str, *, version: int) -> T:
    """What `write` wrote. Raises `ValueError` for another version or an unknown field."""
    raw = json.loads(text)
    if raw.pop("format", None) != version:
        raise ValueError(f"not a plan of format {version}")
    value: T = _made(kind, raw)
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Profile):
        return value.name
    if isinstance(value, Word):
        usual = defaults_of(type(value))
        parts = ((name, part, usual.get(name, NODEFAULT)) for name, part in asdict(value).items())
        return {name: _plain(part) for name, part, default in parts if part != default}
    if isinstance(value, Mapping):
        return {_plain(key): _plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value


def _made(kind: Any, raw: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if raw is None else _made(inner[0], raw)
    if origin is tuple:
        kinds = inner[:1] * len(raw) if inner[-1] is Ellipsis else inner
        return tuple(map(_made, kinds, raw))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {_made(inner[0], key): _made(inner[1], part) for key, part in raw.items()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(raw)
    if kind is Profile:
        return profile_named(raw)
    is_word = isinstance(kind, type) and issubclass(kind, Word)
    return _built(kind, raw) if is_word else raw


def _built(kind: Any, raw: dict[str, Any]) -> Any:
    known = {one.name: one.type for one in fields(kind)}
    strange = sorted(set(raw) - set(known))
    if strange:
        raise ValueError(f"{kind.__name__} has no {', '.join(strange)}")
    return kind(**{name: _made(known[name], part) for name, part in raw.items()})


def defaults_of(kind: type[Word]) -> dict[str, Any]:
    """The fields of the word that may be left out, and what they are then."""
    return {one.name: _default(one) for one in fields(kind) if not one.required}


def _default(one: FieldInfo) -> Any:
    return one.default if one.default_factory is NODEFAULT else one.default_factory()
