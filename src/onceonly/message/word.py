"""`Word`: the base of all frozen values that the parts of onceonly exchange.

Words are the events, effects and states of the machines, the values of the store, and what the
parts of a gateway pass to one another. A word is not a tuple: it cannot be unpacked, and two words
of different classes are never equal, even if their fields are.
"""

from typing import TYPE_CHECKING, dataclass_transform

from msgspec import Struct, field

if TYPE_CHECKING:  # mypy checks the arguments of this one against the fields of the word.
    from dataclasses import replace as changed
else:
    from msgspec.structs import replace as changed

__all__ = ["Word", "changed", "field"]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Word(Struct, frozen=True):
    """A frozen value. `changed` makes a copy of it with some fields changed."""
