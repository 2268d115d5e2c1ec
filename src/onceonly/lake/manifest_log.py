"""What an entry of a manifest's log says: the difference of two states, as JSON has them.

A state is a JSON object. An entry names only what is another in the next state: so what is written
for a batch is small, however much the state says of the batches before it. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

_IS: Final = "is"
_OF: Final = "of"
_GONE: Final = "gone"
_AT: Final = "at"
_OUT: Final = "out"
_IN: Final = "in"


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What `applied` makes of `before` with it is equal to `after`; empty where they are equal."""
    told: dict[str, Any] = {}
    changed = {
        name: _between(before[name], value) if name in before else {_IS: value}
        for name, value in after.items()
        if name not in before or before[name] != value
    }
    if changed:
        told[_OF] = changed
    gone = [name for name in before if name not in after]
    if gone:
        told[_GONE] = gone
    return told


def applied(before: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """The state after an entry. Raises `KeyError` or `TypeError` where it is of another state."""
    after = {name: value for name, value in before.items() if name not in told.get(_GONE, ())}
    for name, change in told.get(_OF, {}).items():
        after[name] = change[_IS] if _IS in change else _after(before[name], change)
    return after


def _between(before: Any, after: Any) -> dict[str, Any]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return difference(before, after)
    if isinstance(before, Sequence) and isinstance(after, Sequence) and not isinstance(after, str):
        return _spliced(before, after)
    return {_IS: after}


def _spliced(before: Sequence[Any], after: Sequence[Any]) -> dict[str, Any]:
    """One stretch of a list that is replaced by another: what is appended is the usual case."""
    most = min(len(before), len(after))
    same = 0
    while same < most and before[same] == after[same]:
        same += 1
    tail = 0
    while tail < most - same and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    out = len(before) - tail - same
    return {_AT: same, _OUT: out, _IN: list(after[same : len(after) - tail])}


def _after(before: Any, change: Mapping[str, Any]) -> Any:
    if _AT not in change:
        return applied(before, change)
    at = change[_AT]
    return [*before[:at], *change[_IN], *before[at + change[_OUT] :]]
