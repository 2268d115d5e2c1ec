"""Which messages of an inbox, and what of them, a DataFrame has: the gateway sends nothing else.

Messages are chosen by options, and by Spark's own filters where it hands them on. Spark hands a
Python source no list of the columns that a query uses, so they are named: by `payload=none`, by
the option `columns`, or by a schema.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pyspark_onceonly.offsets import Range
from pyspark_onceonly.options import Options

PAYLOADS: Final = ("binary", "text", "none")
"""What a payload is read as."""

CRITERIA: Final = (
    *("from", "agreement", "service", "action", "conversation"),
    *("id_prefix", "since", "until"),
)
"""Options that choose messages: those of the API, and of `onceonly inbox list`."""

_OF_COLUMN: Final[Mapping[str, str]] = {
    "from_party": "from",
    "agreement_id": "agreement",
    "service": "service",
    "action": "action",
    "conversation_id": "conversation",
}
"""Columns whose equality the gateway can look for, and the criterion for it."""

_BYTES: Final = frozenset({"payload", "attachments"})
"""Columns for which the bytes of payloads are fetched."""

_TEXT, _NUMBER = StringType(), LongType()

_PART: Final = (
    StructField("content_type", _TEXT),
    StructField("name", _TEXT),
    StructField("size_bytes", _NUMBER),
    StructField("digest", _TEXT),
)


def inbox_schema(payload: str) -> StructType:
    """All columns of an inbox. With `none` for `payload` no column has bytes."""
    has_bytes = payload != "none"
    content: DataType = _TEXT if payload == "text" else BinaryType()
    body = [StructField("body", BinaryType())] if has_bytes else []
    return StructType(
        [
            StructField("offset", _NUMBER, nullable=False),
            StructField("message_id", _TEXT, nullable=False),
            StructField("from_party", _TEXT, nullable=False),
            StructField("to_party", _TEXT, nullable=False),
            StructField("agreement_id", _TEXT, nullable=False),
            StructField("conversation_id", _TEXT, nullable=False),
            StructField("service", _TEXT, nullable=False),
            StructField("action", _TEXT, nullable=False),
            StructField("ref_to_message_id", _TEXT),
            StructField("semantics", _TEXT, nullable=False),
            StructField("timestamp_at", _NUMBER, nullable=False),
            StructField("received_at", _NUMBER, nullable=False),
            StructField("handed_over_at", _NUMBER, nullable=False),
            StructField("processing", _TEXT, nullable=False),
            StructField("size_bytes", _NUMBER, nullable=False),
            StructField("digest", _TEXT, nullable=False),
            StructField("header_digest", _TEXT),
            StructField("content_type", _TEXT),
            StructField("name", _TEXT),
            *([StructField("payload", content)] if has_bytes else []),
            StructField("attachments", ArrayType(StructType([*_PART, *body])), nullable=False),
            StructField("handed_over_again", _NUMBER, nullable=False),
        ]
    )


def chosen_columns(options: Options) -> StructType:
    """The columns that the options ask for, in the order in which they are named.

    Raises `ValueError` for one that is not there, or is named twice.
    """
    whole = inbox_schema(options.word("payload", *PAYLOADS))
    named = options.find("columns")
    if named is None:
        return whole
    chosen = []
    for name in map(str.strip, named.split(",")):
        column = options.find_column(name, whole.fieldNames())
        if column is None:
            there = ", ".join(whole.fieldNames())
            raise ValueError(f"option columns names {name!r}; there are {there}")
        chosen.append(column)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"option columns is {named!r}, and names a column twice")
    return StructType([whole[name] for name in chosen])


def check_columns(schema: StructType, payload: str, options: Options | None = None) -> None:
    """A schema that was given by hand. Raises `ValueError` where it is not one of the inbox."""
    whole, options = inbox_schema(payload), options or Options({})
    seen: dict[str, str] = {}
    for field in schema:
        column = options.find_column(field.name, whole.fieldNames())
        if column is None:
            there = ", ".join(whole.fieldNames())
            raise ValueError(f"the schema names {field.name!r}; there are {there}")
        if column in seen:
            raise ValueError(f"the schema names {column} twice: {seen[column]}, {field.name}")
        seen[column] = field.name
        kind = whole[column].dataType
        if kind != field.dataType:
            text = f"column {field.name} is {kind.simpleString()}, and the schema says "
            raise ValueError(text + field.dataType.simpleString())


class Selection(NamedTuple):
    """What is asked of the gateway; picklable."""

    columns: StructType
    criteria: Mapping[str, str]
    """By their names in the API."""
    payload: str = "binary"
    """One of `PAYLOADS`."""

    @property
    def has_bytes(self) -> bool:
        """Whether any payload is fetched."""
        names = map(str.lower, self.columns.fieldNames())
        return self.payload != "none" and not _BYTES.isdisjoint(names)

    @property
    def query(self) -> dict[str, Any]:
        """The same as members of an `InboxQuery`."""
        wanted: dict[str, Any] = {} if self.has_bytes else {"payloads": "none"}
        for name, value in self.criteria.items():
            wanted["sender" if name == "from" else name] = value
        return wanted


def selection_of(options: Options, schema: StructType) -> Selection:
    """What the options and the schema ask for. Raises `ValueError`."""
    payload = options.word("payload", *PAYLOADS)
    check_columns(schema, payload, options)
    given = ((name, options.find(name)) for name in CRITERIA)
    criteria = {name: value for name, value in given if value is not None}
    return Selection(schema, criteria, payload)


class Pushed(NamedTuple):
    """What Spark's filters come to: criteria, and a range of offsets within the one asked for."""

    criteria: dict[str, str]
    wanted: Range


def pushed(filters: Iterable[Filter], criteria: Mapping[str, str], wanted: Range) -> Pushed:
    """Hand to the gateway what it can look for; a criterion that is given already stays as it is.

    What comes is never less than what the filters leave, and may be more: Spark looks again.
    """
    found = dict(criteria)
    for one in filters:
        column = _column(one)
        if column is None:
            continue
        if column in _OF_COLUMN and isinstance(one, (EqualTo, EqualNullSafe)):
            found.setdefault(_OF_COLUMN[column], one.value)
        elif column == "offset":
            wanted = _within(wanted, one)
        elif column == "received_at":
            found |= _between(found, one)
    return Pushed(found, wanted)


def _column(one: Filter) -> str | None:
    path = getattr(one, "attribute", None)
    return path[0].lower() if path is not None and len(path) == 1 else None


def _bounds(one: Filter) -> tuple[int | None, int | None]:
    """The least and the greatest whole number that fit."""
    if isinstance(one, (EqualTo, EqualNullSafe)):
        return one.value, one.value
    if isinstance(one, GreaterThan):
        return one.value + 1, None
    if isinstance(one, GreaterThanOrEqual):
        return one.value, None
    if isinstance(one, LessThan):
        return None, one.value - 1
    if isinstance(one, LessThanOrEqual):
        return None, one.value
    return None, None


def _within(wanted: Range, one: Filter) -> Range:
    least, most = _bounds(one)
    after = wanted.after if least is None else max(wanted.after, least - 1)
    return Range(after, wanted.up_to if most is None else min(wanted.up_to, most))


def _between(criteria: Mapping[str, str], one: Filter) -> dict[str, str]:
    """`since` and `until` of microseconds; an option for the same bound stays."""
    least, most = _bounds(one)
    found = {}
    if least is not None and "since" not in criteria:
        found["since"] = _instant(least)
    if most is not None and "until" not in criteria:
        found["until"] = _instant(most + 1)
    return {name: text for name, text in found.items() if text is not None}


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _instant(at: int) -> str | None:
    """As the API has it; None for what is in no year that it has."""
    try:
        moment = _EPOCH + timedelta(microseconds=at)
    except OverflowError:
        return None
    text = moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return text if moment.year >= 1000 else None


def check_reports(criteria: Mapping[str, str]) -> None:
    """Raises `ValueError`: what was not read must not be reported as complete."""
    if criteria:
        text = (
            f"the stream reads a part of the inbox ({', '.join(criteria)}), and would report all "
            "of it complete: set processing=none, and report by offset what you have processed"
        )
        raise ValueError(text)
