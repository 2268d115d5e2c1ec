"""Plans as JSON, for people to read and for regressions to keep.

Knows frozen values made of fields, words, tuples and dictionaries; must not know what a plan
means. A field that has its default is left out, so that a shrunk plan shows what matters.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from onceonly.message.profile import Profile, profile_named

T = TypeVar("T")


class _Field(NamedTuple):
    name: str
    kind: Any
    default: Any


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
    if is_dataclass(value) or hasattr(value, "_fields"):
        parts = ((one, getattr(value, one.name)) for one in _fields_of(type(value)))
        return {one.name: _plain(part) for one, part in parts if part != one.default}
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
    is_made_of_fields = is_dataclass(kind) or hasattr(kind, "_fields")
    return _built(kind, raw) if is_made_of_fields else raw


def _built(kind: Any, raw: dict[str, Any]) -> Any:
    known = {one.name: one for one in _fields_of(kind)}
    strange = sorted(set(raw) - set(known))
    if strange:
        raise ValueError(f"{kind.__name__} has no {', '.join(strange)}")
    return kind(**{name: _made(known[name].kind, part) for name, part in raw.items()})


def _fields_of(kind: Any) -> tuple[_Field, ...]:
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        return tuple(_Field(one.name, hints[one.name], _default(one)) for one in fields(kind))
    defaults = getattr(kind, "_field_defaults", {})
    return tuple(_Field(name, hints[name], defaults.get(name, MISSING)) for name in kind._fields)


def _default(one: Any) -> Any:
    return one.default if one.default_factory is MISSING else one.default_factory()
