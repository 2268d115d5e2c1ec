"""Whether the journals are whole, as their ingest found it (invariant E3).

Every row was verified when its segment was taken in, so nothing has to be read again: the manifests
say which numbers are in, which are missing, which stand twice, and which segments are kept apart.
`hash_chain` asks the same of the rows themselves.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from onceonly.lake import manifest
from onceonly.lake.manifest import Manifest, Quarantined, Range

Tail = tuple[int, str]
"""Number and hash of a last row: whoever has both has all rows before it."""

COLUMNS: Final = (
    "party string, rows bigint, missing bigint, quarantined bigint, forks bigint, "
    "first_bad_seq bigint, last_seq bigint, last_hash string"
)
"""What `as_row` gives, in Spark's types, after the party."""


class Wholeness(NamedTuple):
    """One party's journal."""

    folder: str
    """`party=<quoted>`."""
    rows: int
    missing: int
    """Row numbers that are not in, although a later one is."""
    quarantined: int
    """Segments that are kept apart, or would be if one lake held all of them."""
    forks: int
    """Rows with a number that another row has too."""
    first_bad_seq: int | None
    tail: Tail | None = None
    """Of the last row; None where no segment counts."""
    faults: tuple[str, ...] = ()
    """Of the quarantined segments, each with its name."""
    set_aside: tuple[str, ...] = ()
    """What somebody set aside by hand, with his reasons; no breach, and no secret."""

    @property
    def party(self) -> str:
        """The party, as far as the name of its folder tells."""
        return unquote(self.folder.partition("=")[2])

    @property
    def breaches(self) -> int:
        """How much is wrong; 0 where the journal is whole."""
        return self.missing + self.quarantined + self.forks

    @property
    def examples(self) -> list[str]:
        """What is wrong, for people."""
        rows = [] if self.first_bad_seq is None else [f"{self.party} row {self.first_bad_seq}"]
        return [*rows, *self.faults]

    def as_row(self) -> dict[str, Any]:
        """For tables and the page: `COLUMNS`, without the party."""
        return {
            "rows": self.rows,
            "missing": self.missing,
            "quarantined": self.quarantined,
            "forks": self.forks,
            "first_bad_seq": self.first_bad_seq,
            "last_seq": None if self.tail is None else self.tail[0],
            "last_hash": None if self.tail is None else self.tail[1],
        }


def of_copies(
    folder: str,
    copies: Sequence[Manifest],
    counted: Mapping[str, Any],
    contradicted: Sequence[Quarantined] = (),
    tail: Tail | None = None,
) -> Wholeness:
    """One party's journal, from what several lakes hold of it.

    `counted` has `rows`, `forks` and the first of them, `first_fork`, where the copies share
    numbers, which manifests alone cannot tell apart; it is empty where they do not. `contradicted`
    are segments of one lake that do not follow those of another; `tail` is of the last row.
    """
    together = Manifest(
        rows=counted.get("rows", sum(found.rows for found in copies)),
        ranges=_ranges(copies),
        first_fork=min(
            [
                fork
                for fork in (*(found.first_fork for found in copies), counted.get("first_fork"))
                if fork is not None
            ],
            default=None,
        ),
        quarantined=_quarantined(copies, contradicted),
    )
    return _told(folder, copies, together, together.forks, tail)


def of_cut(
    folder: str,
    copies: Sequence[Manifest],
    counted: Mapping[str, Any],
    contradicted: Sequence[Quarantined] = (),
) -> Wholeness:
    """One party's journal up to an instant, from what `cut.counted` says of the rows that count.

    A number is missing where a later one counts and no row with it is in, of whatever time. What is
    quarantined stays so: nobody knows from when the rows in it are.
    """
    last = counted["last_seq"]
    together = Manifest(
        rows=counted["rows"],
        ranges=tuple((low, min(high, last)) for low, high in _ranges(copies) if low <= last),
        first_fork=counted["first_fork"],
        quarantined=_quarantined(copies, contradicted),
    )
    forks = counted["rows"] - counted["numbers"]
    return _told(folder, copies, together, forks, (last, counted["last_hash"]))


def _ranges(copies: Sequence[Manifest]) -> tuple[Range, ...]:
    return manifest.joined(one for found in copies for one in found.ranges)


def _quarantined(
    copies: Sequence[Manifest], contradicted: Sequence[Quarantined]
) -> tuple[Quarantined, ...]:
    return (*(one for found in copies for one in found.quarantined), *contradicted)


def _told(
    folder: str, copies: Sequence[Manifest], together: Manifest, forks: int, tail: Tail | None
) -> Wholeness:
    return Wholeness(
        folder,
        together.rows,
        sum(high - low + 1 for low, high in together.missing),
        len(together.quarantined),
        forks,
        together.first_bad_seq,
        tail,
        tuple(f"{one.segment}: {one.fault}" for one in together.quarantined),
        tuple(f"{one.segment}: {one.reason}" for found in copies for one in found.distrusted),
    )
