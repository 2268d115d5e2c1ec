"""How the file descriptors that the system gives us are divided (ruling R-43).

Callers, uploads and our own calls need descriptors. Each kind has its own limit, and a reserve
stays for the store, its log and its readers, whose failure would stop the process.
"""

import resource

from onceonly.message.word import Word

RESERVED = 64
"""For the store's writer and its readers in up to ten threads (three each), the spool's synced
directory, publishing, the event loop, the log and the API's socket."""

LEAST = 16
"""Divided even if nearly all are reserved: a gateway that accepts no connection at all would be
useless, and if no descriptor is left, a call is refused and the process goes on."""


DESCRIPTORS_PER_CALL = 2

UNLIMITED = 1 << 20
"""Used if the system sets no limit: the limits of the configuration are reached earlier."""


class Shares(Word):
    """Most descriptors of each kind; together less than the number that is divided."""

    connections: int
    """To our HTTP endpoint."""
    mails: int
    """To our mail endpoint."""
    calls: int
    """To endpoints of others; each call may also need the file of a payload."""
    uploads: int
    """Payloads on their way into the spool."""
    api: int
    """Calls of the application API."""


def shares_of(descriptors_max: int) -> Shares:
    """The shares if `descriptors_max` descriptors may be open."""
    sixteenth = max(LEAST, descriptors_max - RESERVED) / 16
    return Shares(
        connections=int(6 * sixteenth),
        mails=int(sixteenth),
        calls=int(4 * sixteenth / DESCRIPTORS_PER_CALL),
        uploads=int(2 * sixteenth),
        api=int(2 * sixteenth),
    )


def shares() -> Shares:
    """The shares for the number of descriptors that this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return shares_of(UNLIMITED if soft == resource.RLIM_INFINITY else soft)
