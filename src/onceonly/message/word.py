"""What a word of the house is made of: a frozen value that is equal to none of another kind.

Words are the events, effects and states of the machines, what stands in the store, and what the
parts of a gateway hand to one another. A word is no tuple: it cannot be unpacked, and two of
different kinds are never equal, whatever is in them.
"""

from typing import TYPE_CHECKING, dataclass_transform

from msgspec import Struct, field

if TYPE_CHECKING:  # mypy checks what this one is given, by the fields of the word.
    from dataclasses import replace as changed
else:
    from msgspec.structs import replace as changed

__all__ = ["Word", "changed", "field"]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Word(Struct, frozen=True):
    """A value of a kind of its own. `changed` makes a copy of it with some fields changed."""
