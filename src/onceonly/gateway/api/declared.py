"""Values read by their declared types: texts of a path, a query or a head, members of JSON.

The bounds are those that the type has for `/openapi.json` too, so that the document says what is
enforced. Every refusal is a `LocalError` (InvalidField) that says which field, what was seen and
what was expected.
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from msgspec import inspect

from onceonly.gateway.api.answers import shown
from onceonly.message.errors import LocalError
from onceonly.message.word import Word

W = TypeVar("W", bound=Word)

_FRACTION: Final = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+")


class Field(Word):
    """One value of a declared type: its name outside, its name here, and what it can be."""

    name: str
    attribute: str
    kind: inspect.Type
    expected: str
    """What it can be, in words."""
    is_required: bool
    is_nullable: bool


@cache
def fields_of(declared: type) -> Mapping[str, Field]:
    """The fields of a declared type, by their names outside."""
    found = inspect.type_info(declared)
    assert isinstance(found, inspect.StructType), "requests are declared as words"
    return {one.encode_name: _field(one) for one in found.fields}


def _field(field: inspect.Field) -> Field:
    kinds = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
    is_nullable = any(isinstance(one, inspect.NoneType) for one in kinds)
    (kind,) = [one for one in kinds if not isinstance(one, inspect.NoneType)]
    described = ""
    if isinstance(kind, inspect.Metadata):
        described = (kind.extra_json_schema or {}).get("description", "")
        kind = kind.type
    is_required = field.required
    expected = "; ".join(filter(None, (_expected(kind), described)))
    return Field(field.encode_name, field.name, kind, expected, is_required, is_nullable)


def from_texts(declared: type[W], given: Sequence[tuple[str, str]]) -> W:
    """The value of a query, a path or a head: nothing but what is declared, and each once."""
    if not given:
        made: W = _made_of_nothing(declared)
        return made
    fields = fields_of(declared)
    names = [name for name, _ in given]
    check_names(names, fields, "parameter")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        text = f"the parameter {twice} is given more than once"
        raise LocalError("InvalidField", text, {"field": twice})
    read = {fields[name].attribute: _of_text(fields[name], text) for name, text in given}
    return _made(declared, fields, read)


def from_path(declared: type[W], steps: Mapping[str, Any]) -> W:
    """The value of a path, whose numbers were read as they were found."""
    fields = fields_of(declared)
    return declared(**{name: checked(fields[name], value) for name, value in steps.items()})


def from_members(declared: type[W], given: Mapping[str, Any]) -> W:
    """The value of a JSON object."""
    if not given:
        made: W = _made_of_nothing(declared)
        return made
    fields = fields_of(declared)
    check_names(given, fields, "member")
    values: dict[str, Any] = {}
    for name, value in given.items():
        field = fields[name]
        is_null = value is None and field.is_nullable
        values[field.attribute] = None if is_null else _of_json(field, value)
    return _made(declared, fields, values)


def _of_json(field: Field, value: Any) -> Any:
    match field.kind:
        case inspect.VarTupleType(item_type=inspect.StructType(cls=item)):
            declared: Any = item
            return tuple(from_members(declared, one) for one in checked(field, value))
        case inspect.VarTupleType():
            return tuple(checked(field, value))
        case inspect.BytesType():
            return b64decode(checked(field, value))
        case inspect.IntType() if type(value) is float and value.is_integer():
            # To JSON Schema, 5.0 is a whole number.
            return checked(field, int(value))
        case _:
            return checked(field, value)


@cache
def _made_of_nothing(declared: type[W]) -> W:
    """The value where nothing is given, as for most calls; words are frozen, so one will do."""
    return _made(declared, fields_of(declared), {})


def _made(declared: type[W], fields: Mapping[str, Field], values: Mapping[str, Any]) -> W:
    for field in fields.values():
        if field.is_required and field.attribute not in values:
            raise wrong(field.name, None, field.expected, f"{field.name} is missing")
    return declared(**values)


def check_names(given: Iterable[str], legal: Iterable[str], kind: str) -> None:
    """Nothing but what the call reads: what is not read is not meant."""
    legal = tuple(legal)
    for name in given:
        if name not in legal:
            there = f"legal: {', '.join(legal)}" if legal else "there are none"
            text = f"{shown(name)} is no {kind} of this call; {there}"
            raise LocalError("InvalidField", text, {"field": shown(name), "expected": there})


def _of_text(field: Field, text: str) -> Any:
    match field.kind:
        case inspect.IntType():
            # As many digits as the greatest number has: more are no number that is meant.
            is_whole = text.isascii() and text.isdecimal() and len(text) < _DIGITS_MAX
            return checked(field, int(text) if is_whole else text)
        case inspect.FloatType():
            is_number = _FRACTION.fullmatch(text) is not None and len(text) < _DIGITS_MAX
            return checked(field, float(text) if is_number else text)
        case _:
            return checked(field, text)


_DIGITS_MAX: Final = 20


def checked(field: Field, value: Any) -> Any:
    """The value, if the field can have it."""
    if not _fits(field.kind, value):
        text = f"{field.name} {shown(value)} is not {field.expected}"
        raise wrong(field.name, value, field.expected, text)
    return value


def wrong(name: str, value: Any, expected: str, text: str) -> LocalError:
    """A refusal of one value; None was not there."""
    facts = {"field": name, "expected": expected}
    if value is not None:
        facts["seen"] = shown(value)
    return LocalError("InvalidField", text, facts)


def _fits(kind: inspect.Type, value: Any) -> bool:
    match kind:
        case inspect.BoolType():
            fits = isinstance(value, bool)
        case inspect.IntType(ge=least, le=most):
            fits = type(value) is int and _is_between(least, value, most)
        case inspect.FloatType(ge=least, le=most):
            is_finite = type(value) in (int, float) and abs(value) < float("inf")
            fits = is_finite and _is_between(least, value, most)
        case inspect.EnumType(cls=enum):
            fits = isinstance(value, str) and value in {word.value for word in enum}
        case inspect.LiteralType(values=words):
            fits = isinstance(value, str) and value in words
        case inspect.StrType():
            fits = isinstance(value, str) and _is_text(kind, value)
        case inspect.BytesType():
            fits = isinstance(value, str) and _is_base64(value)
        case inspect.VarTupleType(item_type=inspect.StructType()):
            fits = isinstance(value, list) and all(isinstance(one, dict) for one in value)
        case inspect.VarTupleType(item_type=item):
            is_list = isinstance(value, list) and len(value) >= (kind.min_length or 0)
            fits = is_list and all(_fits(_plain(item), one) for one in value)
        case _:
            raise AssertionError(f"no request is declared with {kind}")
    return fits


def _plain(kind: inspect.Type) -> inspect.Type:
    """Without what is said of it for people."""
    return kind.type if isinstance(kind, inspect.Metadata) else kind


def _is_base64(text: str) -> bool:
    try:
        b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def _is_between(least: float | None, value: float, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _is_text(kind: inspect.StrType, text: str) -> bool:
    if not (kind.min_length or 0) <= len(text) <= (kind.max_length or len(text)):
        return False
    return kind.pattern is None or _compiled(kind.pattern).search(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """`$` of Python also stands in front of a last line feed; of JSON Schema, at the end alone."""
    return re.compile(pattern.replace("$", r"\Z"))


def _expected(kind: inspect.Type) -> str:
    match kind:
        case inspect.BoolType():
            words = "true or false"
        case inspect.IntType(ge=least, le=most):
            words = f"a whole number of {least} to {most}"
        case inspect.FloatType(ge=least):
            words = f"a number of {least} or more"
        case inspect.EnumType(cls=enum):
            words = f"one of {', '.join(word.value for word in enum)}"
        case inspect.LiteralType(values=legal):
            words = f"one of {', '.join(map(str, legal))}"
        case inspect.StrType(min_length=least, max_length=most):
            usual = "a text that is not empty" if least else "a text"
            words = usual if most is None else f"a text of {least or 0} to {most} characters"
        case inspect.BytesType():
            words = "base64"
        case inspect.VarTupleType(item_type=inspect.StructType()):
            words = "a list of objects"
        case inspect.VarTupleType(item_type=item):
            words = f"a list, each of it {_expected(_plain(item))}"
        case _:
            raise AssertionError(f"no request is declared with {kind}")
    return words
