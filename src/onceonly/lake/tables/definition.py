"""What a table is, in words that programs can print: its grain, and every column with its unit.

The reference is made of these, and a test holds each of them against the frame that its function
returns. Instants are UTC timestamps and end in `_at`; every other number has its unit in its name
or in `unit`.
"""

from typing import Final, NamedTuple


class Column(NamedTuple):
    """One column as it is declared."""

    name: str
    type: str
    """In Spark's own short words: `bigint`, `string`, `array<string>`."""
    unit: str
    """What a number counts or measures; empty where there is none."""
    meaning: str


class Definition(NamedTuple):
    """Name, what one row is, what the table answers, and its columns in their order."""

    name: str
    number: int | None
    """The report's number; None for the tables that reports are made of."""
    grain: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in their order."""
        return tuple(column.name for column in self.columns)


def text(name: str, meaning: str) -> Column:
    """A word or a sentence."""
    return Column(name, "string", "", meaning)


def flag(name: str, meaning: str) -> Column:
    """Yes or no."""
    return Column(name, "boolean", "", meaning)


def instant(name: str, meaning: str) -> Column:
    """An instant, UTC."""
    return Column(name, "timestamp", "UTC", meaning)


def day(name: str, meaning: str) -> Column:
    """A day, UTC."""
    return Column(name, "date", "UTC", meaning)


def duration(name: str, meaning: str) -> Column:
    """A time span; null where it was not measured."""
    return Column(name, "bigint", "µs", meaning)


def size(name: str, meaning: str) -> Column:
    """A size."""
    return Column(name, "bigint", "bytes", meaning)


def count(name: str, unit: str, meaning: str) -> Column:
    """A whole number of `unit`."""
    return Column(name, "bigint", unit, meaning)


def ordinal(name: str, meaning: str) -> Column:
    """A whole number that counts nothing: an ordinal, a code."""
    return Column(name, "bigint", "", meaning)


def share(name: str, meaning: str) -> Column:
    """A share from 0 to 1; null where there is nothing to share out."""
    return Column(name, "double", "0 to 1", meaning)


def column(name: str, kind: str, unit: str, meaning: str) -> Column:
    """Anything else: rates, lists."""
    return Column(name, kind, unit, meaning)


PAIR_COLUMNS: Final = (
    text("from_party", "first PartyId of the sender"),
    text("to_party", "first PartyId of the receiver"),
)
KEY_COLUMNS: Final = (
    *PAIR_COLUMNS,
    text("message_id", "MessageId; the parties and it are the key"),
)
