"""The kinds of values that a package defines, and which of them can be taken for one another."""

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from itertools import combinations
from types import ModuleType

FILLING = "urn:example:filling"
"""Goes for a MessageId, for a PartyId, and for whatever is not looked at."""


def kinds_in(package: ModuleType) -> list[type]:
    """Every class of the package's modules that is a value made of fields."""
    names = (one.name for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))
    return [kind for module in map(importlib.import_module, names) for kind in kinds_of(module)]


def kinds_of(module: ModuleType) -> list[type]:
    """Those of one module."""
    classes = [one for one in vars(module).values() if isinstance(one, type)]
    own = [one for one in classes if one.__module__ == module.__name__]
    return [one for one in own if fields_of(one) is not None]


def fields_of(kind: type) -> tuple[str, ...] | None:
    """Names of the fields; None of a class that is no such value."""
    if is_dataclass(kind):
        return tuple(one.name for one in fields(kind))
    return getattr(kind, "__struct_fields__", getattr(kind, "_fields", None))


def equal_pairs(kinds: Iterable[type]) -> list[tuple[str, str]]:
    """Names of each two kinds of which values with the same in every field are equal."""
    made = [kind(**dict.fromkeys(fields_of(kind), FILLING)) for kind in kinds]
    pairs = combinations(made, 2)
    return [(type(a).__name__, type(b).__name__) for a, b in pairs if a == b or b == a]


def tuples_among(kinds: Iterable[type]) -> set[str]:
    """Names of those that are equal to any tuple of the same fields."""
    return {kind.__name__ for kind in kinds if issubclass(kind, tuple)}
