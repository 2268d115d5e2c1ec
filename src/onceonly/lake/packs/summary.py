"""The page of a pack that people and programs read first: who, when, by which rules, how many.

Knows JSON. The counts follow from the rows in the pack, and a verification computes them again. The
rest is the word of the maker, and a verification only repeats it: what the counts are computed by
(pair, day, instant, rules, whose journals were there), whether the journals were whole, and the
sign-off.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from onceonly import __version__
from onceonly.lake.packs.contents import PackScope
from onceonly.lake.verdicts import DIFFERENCES, Policy
from onceonly.message.errors import LocalError

FILE: Final = "summary.json"
VERSION: Final = 1
MAKER: Final = f"onceonly {__version__}"
"""Whose folds and rules of judgement are applied here."""
_NUMBER_MAX: Final = 1 << 53
"""Numbers of a pack are below this, which every reader of JSON has exactly."""

_LINE_MAX: Final = 200
"""Characters of one difference."""
_FAULT_MAX: Final = 400
"""Characters of what is wrong with a whole summary, with its path."""


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


class PackSummary(NamedTuple):
    """A pack's summary."""

    pair: PackScope
    as_of: int
    policy: Policy
    holders: Sequence[str]
    """Those of the two whose journals were in the lakes."""
    counts: Counts
    wholeness: Mapping[str, int]
    """Rows missing, forked, or in quarantine, per journal of the two: 0 where it is whole."""
    signed_off: SignOff | None
    made_by: str = MAKER
    """The program and its version."""

    @property
    def differences(self) -> int:
        """Messages in a class that somebody has to look at."""
        return sum(self.counts.verdicts.get(verdict.value, 0) for verdict in DIFFERENCES)


def signed_off(by: str | None, comment: str | None, at: datetime) -> SignOff | None:
    """The sign-off, where somebody gives their name."""
    if by is None:
        return None
    return SignOff(by, comment or "", at.astimezone(UTC).isoformat(timespec="seconds"))


def write(pack: Path, found: PackSummary) -> None:
    """Write the summary into the pack."""
    text = json.dumps(_written(found), indent=2, ensure_ascii=False)
    (pack / FILE).write_text(text + "\n", encoding="utf-8")


def read(pack: Path) -> PackSummary:
    """Read the summary of a pack. Raises `LocalError` (BadPack)."""
    path = pack / FILE
    try:
        found = json.loads(path.read_bytes())
        if found["version"] != VERSION:
            raise LocalError("BadPack", f"{path} has version {found['version']}, which is not ours")
        one, other = _texts(found["between"])
        day = None if found["day"] is None else date.fromisoformat(found["day"])
        return PackSummary(
            PackScope(one, other, day),
            _number(found["as_of"]),
            _policy(found["policy"]),
            _texts(found["holders"]),
            Counts(*(_numbers(found[name]) for name in Counts._fields)),
            _numbers(found["wholeness"]),
            None if found["signed_off"] is None else _sign_off(found["signed_off"]),
            *_texts([found["made_by"]]),
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        text = f"{path} is no summary of a pack: {error!r}"[:_FAULT_MAX]
        raise LocalError("BadPack", text) from error


def differing(pack: Path, found: PackSummary) -> list[str]:
    """What the file says beside `found`, which was read from it, or against what follows from it.

    Sums are for people and programs; a verification does not use them but computes them again.
    """
    told, ours = json.loads((pack / FILE).read_bytes()), _written(found)
    return [
        f"{name}: {told.get(name)!r}, and not {ours.get(name)!r}"[:_LINE_MAX]
        for name in sorted({*told, *ours})
        if told.get(name) != ours.get(name)
    ]


def _number(value: Any) -> int:
    if type(value) is not int or abs(value) >= _NUMBER_MAX:
        raise TypeError(f"{value!r} is no number that a pack has")
    return value


def _numbers(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} are no counts")
    return {name: _number(value[name]) for name in _texts(list(value))}


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise TypeError(f"{value!r} are no names")
    # JSON can escape half a surrogate pair, which neither Spark nor a report could carry.
    "".join(value).encode()
    return value


def _policy(value: Any) -> Policy:
    retries = value["retries"]
    numbers = _numbers({name: rule for name, rule in value.items() if name != "retries"})
    return Policy(**numbers, retries=None if retries is None else _number(retries))


def _sign_off(value: Any) -> SignOff:
    return SignOff(*_texts([value[name] for name in SignOff._fields]))


def _written(found: PackSummary) -> dict[str, Any]:
    day = found.pair.day
    return {
        "version": VERSION,
        "made_by": found.made_by,
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
