"""What a purge would forget, for a store that can say so beside its work."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from onceonly.message.word import Word

COUNTED_MAX: Final = 20_000
"""Counts of all kinds together end here: whoever wants to know more lets the purge run."""

COUNTED_LEAST: Final = 20
"""As many of each kind are counted all the same, so that every kind is named."""


class Forgettable(Word):
    """Messages of one kind whose time is over."""

    kind: str
    """`received`, `tombstones`, `in transit`, or `sent under AGREEMENT`."""
    count: int
    is_more: bool
    """There are more than were counted."""
    oldest_at: int | None
    """When the oldest of them was received, sent or set, in microseconds UTC."""
    bytes: int
    """Of their payloads that are in the store; large ones are files of their own."""


class FileSpace(Word):
    """The size of the store's file, and how much of it is free for further rows."""

    bytes: int
    free_bytes: int


@runtime_checkable
class PreviewingSnapshot(Protocol):
    """A view of committed rows that can say what is to be forgotten."""

    def preview_purge(
        self, before_at: int, settled_before_at: Mapping[str, int]
    ) -> Sequence[Forgettable]:
        """What a purge forgets whose limits are these: `purge_inbound`, `purge_outbound`.

        Counting ends at `COUNTED_MAX` of all kinds, and at `COUNTED_LEAST` of every further one.
        Kinds without any are left out.
        """
        ...

    def file_space(self) -> FileSpace:
        """How large the store is."""
        ...
