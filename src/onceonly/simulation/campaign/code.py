"""Which code this is: a digest of what a result depends on, the commit, and a zip to ship.

Knows the package's own files, wherever they lie: in a checkout, in site-packages or in a zip.
"""

import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from zipfile import ZipFile

from onceonly import __version__

PACKAGES = (
    "message",
    "api",
    "protocol",
    "journal",
    "wire",
    "store",
    "steps",
    "gateway",
    "transport",
    "simulation",
)
"""What a world is made of."""

_SOURCES = (".py", ".sql")
_FRESH_DIGITS = 9


@cache
def code_digest() -> str:
    """SHA-256 over the sources that a result depends on, and over nothing else."""
    digest = sha256()
    for package in PACKAGES:
        for name, content in _inside(files("onceonly") / package, package):
            if name.endswith(_SOURCES):
                digest.update(f"{name} {len(content)}\n".encode())
                digest.update(content)
    return digest.hexdigest()


def zipped(folder: Path) -> Path:
    """The whole package as a zip in `folder`, from which Python can import it."""
    path = folder / f"onceonly-{code_digest()[:16]}.zip"
    with ZipFile(path, "w") as archive:
        for name, content in _inside(files("onceonly"), "onceonly"):
            archive.writestr(name, content)
    return path


@cache
def commit() -> str:
    """The last commit that touched the package; the version where it is no checkout."""
    git = shutil.which("git")
    if git is None:
        return __version__
    where = Path(__file__).parents[2]
    answer = subprocess.run(  # noqa: S603 - because the arguments are ours
        [git, "-C", str(where.parent), "log", "-1", "--format=%H", "--", where.name],
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout.strip() or __version__


def fresh_seed() -> int:
    """Where the seeds of this commit begin: another commit tries other worlds."""
    return int(sha256(commit().encode()).hexdigest()[:_FRESH_DIGITS], 16)


def _inside(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = f"{path}/{entry.name}"
        if entry.is_file():
            yield name, entry.read_bytes()
        elif entry.name != "__pycache__":
            yield from _inside(entry, name)
