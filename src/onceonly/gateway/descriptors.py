"""How the descriptors that the system gives us are shared out (ruling R-43).

Whoever calls us, uploads to us or is called by us uses some up. Each kind has a bound of its own,
and a reserve stays for the store, its log and its readers, whose failure would stop the process.
"""

import resource
from typing import NamedTuple

RESERVED = 64
"""For the store's writer and its readers in up to ten threads (three each), the spool's synced
directory, publishing, the event loop, the log and the API's socket."""

LEAST = 16
"""Shared out even where nearly everything is reserved: a gateway that takes no connection at all
would be of no use, and running out is refused and not fatal."""


class Shares(NamedTuple):
    """Most descriptors of each kind."""

    connections: int
    """To our endpoints."""
    calls: int
    """To others' endpoints."""
    uploads: int
    """Payloads on their way into the spool."""


def shares_of(descriptors_max: int) -> Shares:
    """The shares of so many descriptors."""
    free = max(LEAST, descriptors_max - RESERVED)
    return Shares(connections=free // 2, calls=free // 4, uploads=free // 4)


def shares() -> Shares:
    """The shares of what this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return shares_of(UNLIMITED if soft == resource.RLIM_INFINITY else soft)


UNLIMITED = 1 << 20
