"""Which of a gateway's files are open to other users, and the command that closes each.

Files that the gateway makes are closed to others. Files that were there before stay as their owner
left them, and are named at every start if they are open. Knows modes; changes nothing.
"""

import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from onceonly.gateway.config import Configuration
from onceonly.gateway.config.report_folder import spool_of
from onceonly.message.word import Word

ANYBODY_ELSE: Final = 0o077
OTHERS: Final = 0o007
"""Mode bits of files that a group may share: the configuration, a key, a lake."""
WRITABLE: Final = 0o002
STORE_PARTS: Final = ("", "-wal", "-shm", "-journal", ".lock")
"""Endings of the files that belong to the database."""


class OpenFile(Word):
    """A file or folder that others may read, or that they may write although they must not."""

    path: str
    mode: str
    """Octal, as `chmod` takes it."""
    mend: str
    """The command that closes it."""


def find_open(configuration: Configuration) -> list[OpenFile]:
    """All existing files and folders of this gateway that are open to others."""
    return list(_found(configuration))


def _found(configuration: Configuration) -> Iterator[OpenFile]:
    store = configuration.store
    for part in STORE_PARTS:
        yield from _look(store.with_name(store.name + part), ANYBODY_ELSE, "go-rwx")
    yield from _look(spool_of(store), ANYBODY_ELSE, "go-rwx", is_deep=True)
    # A user who may write there can replace our store by another one.
    yield from _look(store.parent, WRITABLE, "o-w", is_sticky_enough=True)
    if "://" not in configuration.lake:
        yield from _look(Path(configuration.lake), OTHERS, "o-rwx", is_deep=True)
    if configuration.has_secrets:
        yield from _look(configuration.path, OTHERS, "o-rwx")
    for tls in (configuration.tls, configuration.api_tls):
        if tls is not None and tls.key is not None:
            yield from _look(tls.key, OTHERS, "o-rwx")
    for identity in configuration.identities:
        yield from _look(identity.key, OTHERS, "o-rwx")
    for drop in configuration.drops:
        yield from _look(drop.path, OTHERS, "o-rwx", is_deep=True)
    for pickup in configuration.pickups:
        # A user who may write there sends documents in our name.
        yield from _look(pickup.path, WRITABLE, "o-w")
    for path in configuration.secret_files:
        yield from _look(path, OTHERS, "o-rwx")


def _look(
    path: Path, bits: int, change: str, *, is_deep: bool = False, is_sticky_enough: bool = False
) -> Iterator[OpenFile]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return
    if mode & bits and not (is_sticky_enough and mode & stat.S_ISVTX):
        command = ["chmod", *(["-R"] if is_deep else []), change, str(path)]
        yield OpenFile(str(path), f"{mode:04o}", shlex.join(command))
