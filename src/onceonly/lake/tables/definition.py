"""What a table is, in words that programs can print."""

from typing import NamedTuple


class Definition(NamedTuple):
    """Name, what one row is, and what the table answers. The reference is made of these."""

    name: str
    grain: str
    meaning: str
