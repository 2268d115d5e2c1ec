"""What every store does in the same way, as pure functions over the contract's values.

Knows decisions that do not depend on how rows are kept; must not know tables or files.
"""

from collections.abc import Sequence

from onceonly.message.message import Payload
from onceonly.protocol.sending import FINAL, Outbound
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.spool import INLINE_BYTES_MAX


def later_of(one_at: int | None, other_at: int | None) -> int | None:
    """The later of two instants until which something is kept; None keeps it for ever."""
    return None if one_at is None or other_at is None else max(one_at, other_at)


def settled_at(state: Outbound, at: int) -> int | None:
    """`at` if the status of `state` is final, otherwise None."""
    return at if state.status in FINAL else None


def check_payloads(described: Sequence[Payload], payloads: Sequence[StoredPayload]) -> None:
    """Assert that each described payload has its stored one, and no body is too large for a row."""
    assert len(payloads) == len(described), "one stored payload for each described one"
    for one in payloads:
        is_small = one.body is None or len(one.body) <= INLINE_BYTES_MAX
        assert is_small, "a body of this size belongs into the spool"


def check_owner(owner: str, party: str) -> None:
    """Raise `StoreRefused` if the store of `owner` is opened for another party."""
    if owner != party:
        raise StoreRefused(f"the store belongs to {owner}, not to {party}")
