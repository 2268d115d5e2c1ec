"""What can be wrong with a store: try again later, one step has failed, or the process stops.

Part of the store's contract (`store.py`); `failures.py` says which error of SQLite or of the file
system is which.
"""

from onceonly.message.errors import OnceonlyError


class StoreFull(OnceonlyError):  # noqa: N818 - because it is a condition that ends, see R-28
    """No space: the transaction was rolled back, nothing of it is stored (ruling R-28)."""


class StoreExhausted(StoreFull):
    """No descriptor or no memory, before anything was durable: handled as `StoreFull` (R-43)."""


class StoreMisused(OnceonlyError):  # noqa: N818 - because it names what happened, like StoreFull
    """A step asked for what the tables do not allow: our bug, no fault of the disk (R-43)."""


class StoreMisusedBefore(StoreMisused):
    """The same of a write that was put off: this step's, or that of one before it in the batch."""


class StoreFailed(OnceonlyError):  # noqa: N818 - because it names what happened, like StoreFull
    """An I/O error, a failed fsync or a foreign writer: the process must stop (R-22, R-23)."""


class StoreRefused(OnceonlyError):  # noqa: N818 - because it names what happened, like StoreFull
    """The store cannot be opened safely: locked, too new, damaged, or not durable here."""
