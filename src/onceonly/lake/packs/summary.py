"""The page of a pack that people and programs read first: who, when, by which rules, how many.

Knows JSON. Everything in it but the sign-off follows from the rows beside it, and is computed anew
by whoever verifies the pack.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from onceonly.lake.packs.contents import Pair
from onceonly.lake.verdicts import DIFFERENCES, Policy
from onceonly.message.errors import LocalError

FILE: Final = "summary.json"
VERSION: Final = 1


class SignOff(NamedTuple):
    """Who stands for the pack."""

    by: str
    comment: str
    at: str
    """UTC, ISO 8601."""


class Counts(NamedTuple):
    """What the rows of the pack amount to."""

    rows: Mapping[str, int]
    """Per journal."""
    verdicts: Mapping[str, int]
    """Messages per class; every class is there."""
    breaches: Mapping[str, int]
    """Per line of the once-and-only-once sheet."""


class Summary(NamedTuple):
    """A pack's summary."""

    pair: Pair
    as_of: int
    policy: Policy
    holders: Sequence[str]
    """Those of the two whose journals were in the lakes."""
    counts: Counts
    wholeness: Mapping[str, int]
    """Rows missing, forked, or in quarantine, per journal of the two: 0 where it is whole."""
    signed_off: SignOff | None

    @property
    def differences(self) -> int:
        """Messages in a class that somebody has to look at."""
        return sum(self.counts.verdicts.get(verdict.value, 0) for verdict in DIFFERENCES)


def signed_off(by: str | None, comment: str | None, at: datetime) -> SignOff | None:
    """The sign-off, where somebody gives their name."""
    if by is None:
        return None
    return SignOff(by, comment or "", at.astimezone(UTC).isoformat(timespec="seconds"))


def write(pack: Path, found: Summary) -> None:
    """Write the summary into the pack."""
    text = json.dumps(_written(found), indent=2, ensure_ascii=False)
    (pack / FILE).write_text(text + "\n", encoding="utf-8")


def read(pack: Path) -> Summary:
    """Read the summary of a pack. Raises `LocalError` (BadPack)."""
    path = pack / FILE
    try:
        found = json.loads(path.read_bytes())
        if found["version"] != VERSION:
            raise LocalError("BadPack", f"{path} has version {found['version']}, which is not ours")
        one, other = found["between"]
        day = None if found["day"] is None else date.fromisoformat(found["day"])
        return Summary(
            Pair(one, other, day),
            int(found["as_of"]),
            Policy(**found["policy"]),
            list(found["holders"]),
            Counts(found["rows"], found["verdicts"], found["breaches"]),
            found["wholeness"],
            None if found["signed_off"] is None else SignOff(**found["signed_off"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LocalError("BadPack", f"{path} is no summary of a pack: {error!r}") from error


def _written(found: Summary) -> dict[str, Any]:
    day = found.pair.day
    return {
        "version": VERSION,
        "between": [found.pair.one, found.pair.other],
        "day": None if day is None else day.isoformat(),
        "as_of": found.as_of,
        "policy": found.policy._asdict(),
        "holders": list(found.holders),
        "rows": dict(found.counts.rows),
        "messages": sum(found.counts.verdicts.values()),
        "verdicts": dict(found.counts.verdicts),
        "differences": found.differences,
        "breaches": dict(found.counts.breaches),
        "wholeness": dict(found.wholeness),
        "signed_off": None if found.signed_off is None else found.signed_off._asdict(),
    }
