"""A ledger in a folder of its own (`--out`): replaced so that no reader sees half of it.

Where that is possible: on this machine the new folder is written beside the old one, and both
change their names in one step. Elsewhere Spark replaces the folder file by file.
"""

import ctypes
import errno
import os
import re
import shutil
import time
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame

from onceonly.lake import manifest, runner, runs, storage
from onceonly.lake.formats import TableFormat

_HERE: Final = -100
"""AT_FDCWD: names are as the process sees them."""
_EXCHANGE: Final = 2
"""RENAME_EXCHANGE."""
_FRESH: Final = re.compile(r"\.new-[0-9a-f]{16}")


def put_apart(frame: DataFrame, out: str, wanted: TableFormat) -> None:
    """Replace the table in the folder `out` by the frame."""
    place = storage.local_path(out) if storage.is_arrows_own(out) else None
    if wanted is not TableFormat.PLAIN or place is None or not _is_replaceable(place):
        runner.write_table(frame, out, wanted)
        return
    _sweep(place)
    new = place.with_name(f".{place.name}.new-{manifest.fresh_name()}")
    runner.write_table(frame, str(new), wanted)
    storage.keep([str(new)])
    _put_in_place(new, place)
    storage.keep([str(place)])


def _is_replaceable(place: Path) -> bool:
    """Whether the folder can change its name: it is no mount, and its parent may be written."""
    near = next(one for one in place.parents if one.exists())
    return os.access(near, os.W_OK | os.X_OK) and not place.is_mount()


def _put_in_place(new: Path, place: Path) -> None:
    if not place.exists():
        new.rename(place)
        return
    if not _exchanged(new, place):
        # For a moment there is no folder, which a reader takes for an error and not for a table.
        old = place.with_name(f".{place.name}.new-{manifest.fresh_name()}")
        place.rename(old)
        new.rename(place)
        new = old
    shutil.rmtree(new)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether the system could let two folders change their names in one step."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    failed = ctypes.get_errno()
    if failed in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(failed, os.strerror(failed), str(other))


def _sweep(place: Path) -> None:
    """Remove what jobs left here that died a long time ago."""
    until = time.time() - runs.KEEP_S
    for left in place.parent.glob(f".{place.name}.new-*") if place.parent.is_dir() else ():
        name = left.name.removeprefix(f".{place.name}")
        if _FRESH.fullmatch(name) and left.stat().st_mtime < until:
            shutil.rmtree(left)
