"""How the descriptors that the system gives us are shared out (ruling R-43).

Whoever calls us, uploads to us or is called by us uses some up. Each kind has a bound of its own,
and a reserve stays for the store, its log and its readers, whose failure would stop the process.
"""

import resource

from onceonly.message.word import Word

RESERVED = 64
"""For the store's writer and its readers in up to ten threads (three each), the spool's synced
directory, publishing, the event loop, the log and the API's socket."""

LEAST = 16
"""Shared out even where nearly everything is reserved: a gateway that takes no connection at all
would be of no use, and running out is refused and not fatal."""


DESCRIPTORS_PER_CALL = 2

UNLIMITED = 1 << 20
"""Where the system sets no limit: the bounds that the configuration sets are reached before."""


class Shares(Word):
    """Most descriptors of each kind; together less than what is shared out."""

    connections: int
    """To our HTTP endpoint."""
    mails: int
    """To our mail endpoint."""
    calls: int
    """To others' endpoints, each with the file of a payload beside it."""
    uploads: int
    """Payloads on their way into the spool."""
    api: int
    """Calls of the application API."""


def shares_of(descriptors_max: int) -> Shares:
    """The shares of so many descriptors."""
    sixteenth = max(LEAST, descriptors_max - RESERVED) / 16
    return Shares(
        connections=int(6 * sixteenth),
        mails=int(sixteenth),
        calls=int(4 * sixteenth / DESCRIPTORS_PER_CALL),
        uploads=int(2 * sixteenth),
        api=int(2 * sixteenth),
    )


def shares() -> Shares:
    """The shares of what this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return shares_of(UNLIMITED if soft == resource.RLIM_INFINITY else soft)
