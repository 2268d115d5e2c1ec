"""What the lake reads, declared: nothing is ever inferred from files.

`JOURNAL` is `Record` in Spark's types (a test holds the two equal); what the lake derives has its
schema from the functions that make it.
"""

from typing import Final

from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from onceonly.journal.segment import SEGMENT_SCHEMA

_TYPES: Final[dict[str, type[DataType]]] = {"int64": LongType, "string": StringType}

JOURNAL: Final = StructType(
    [StructField(field.name, _TYPES[str(field.type)](), field.nullable) for field in SEGMENT_SCHEMA]
)
"""One journal row; instants are microseconds UTC as bigint."""

BATCH: Final = "batch"
"""Column of a lake's own copy of a journal, which no reader sees: the number of the batch by which
the row was taken in. Null in lakes of before."""
BRONZE: Final = StructType([*JOURNAL.fields, StructField(BATCH, LongType())])

KEY: Final = ("from_party", "to_party", "message_id")
"""What makes two rows speak of one message, in either journal (ruling R-01)."""
