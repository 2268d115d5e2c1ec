"""A store that can be copied while it is open; not every one can, since not every one is a file."""

from pathlib import Path
from typing import Protocol, runtime_checkable


class Copy(Protocol):
    """A copy into a new file, in steps between which its owner may write.

    What is written meanwhile is in the copy, too: it is as of its last step. Nothing is called
    while the store is in a transaction. Raises `StoreRefused` if the copy cannot be written.
    """

    def step(self) -> bool:
        """Copy some more, for a millisecond or two; True once all is there."""
        ...

    @property
    def progress(self) -> tuple[int, int]:
        """(pages copied, pages in all), as of the last step."""
        ...

    def end(self) -> None:
        """Close the copy, whole or not."""
        ...


@runtime_checkable
class CopyableStore(Protocol):
    """A store in a file."""

    def begin_copy(self, path: Path) -> Copy:
        """A copy of the store into the new file."""
        ...
