"""A received message as files: the steps on the disk, each safe from a kill.

A message becomes one folder, since a folder with all its files appears by one rename. It is written
below `.onceonly`, then a durable mark says that it is whole, then it is renamed to where others see
it. After a kill, a folder that is still below `.onceonly` and has a mark is renamed; one without a
mark is written again; and where there is a mark and no folder, the rename has happened, even if
somebody has taken the files away since. So nobody finds a message twice.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from onceonly.gateway.folders import durable

OURS: Final = ".onceonly"
_MARK: Final = ".written"


def drop(
    folder: Path,
    name: str,
    files: Mapping[str, Iterable[bytes]],
    reach: Callable[[str], None],
) -> bool:
    """Let the files appear in a folder `name`, once; again, it does what is left.

    `files` are read only if they must be written. False if it had appeared before. Raises
    `OSError`.
    """
    ours = folder / OURS
    staged, mark = ours / name, ours / f"{name}{_MARK}"
    durable.make_folder(ours)
    durable.check_folder(ours)
    if not mark.exists():
        if (folder / name).exists():
            return False  # Whoever took `.onceonly` away: the name is this message's alone.
        _stage(staged, files)
        durable.write_new(mark, ())
        durable.sync_folder(ours)
    reach("before-drop")
    if not os.path.lexists(staged):
        return False
    durable.move(staged, folder / name)
    reach("after-drop")
    return True


def _stage(staged: Path, files: Mapping[str, Iterable[bytes]]) -> None:
    if staged.exists():
        shutil.rmtree(staged)
    staged.mkdir(durable.FOLDER_MODE)
    for file, chunks in files.items():
        durable.write_new(staged / file, chunks)
    durable.sync_folder(staged)


def forget(folder: Path, name: str) -> None:
    """Remove the mark of a message that nobody will write again; it need not survive a crash."""
    (folder / OURS / f"{name}{_MARK}").unlink(missing_ok=True)


def list_marked(folder: Path) -> list[str]:
    """The names of the messages that have a mark."""
    try:
        names = [one.name for one in (folder / OURS).iterdir()]
    except FileNotFoundError:
        return []
    return sorted(name.removesuffix(_MARK) for name in names if name.endswith(_MARK))
