"""Where lakes are: paths and URLs, as Spark and the driver's own file access both take them.

Knows file systems, and nothing of what lies in them. Needs nothing of this package, so that
Spark's workers can be given it by value.
"""

import errno
import fcntl
import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote
from uuid import uuid4

from pyarrow import ArrowInvalid, fs

_CONDITIONAL: Final = frozenset({"s3", "gs", "gcs", "abfs", "abfss"})
"""Schemes of object stores that can put a file only where there is none, or a known one."""
_ATOMIC_PUTS: Final = frozenset({"s3", "gcs", "abfs"})
"""Arrow's file systems in which a file is seen as soon as it is whole, and not before."""
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK})
_WILD: Final = re.compile(r"([\\{}\[\]*?])")


class Listed(NamedTuple):
    """One file, as the storage lists it."""

    name: str
    """Relative to the folder that was listed."""
    length: int
    modified_at: int
    """Milliseconds UTC; 0 where the storage does not know, as of folders in object stores."""


def lake_url(directory: str) -> str:
    """The lake directory as Spark and `opened` both take it: absolute, without a last slash."""
    if "://" in directory:
        return directory.rstrip("/")
    return str(Path(directory).absolute())


def opened(url: str) -> tuple[Any, str]:
    """The file system of a path or URL, and the path in it.

    Arrow's own where it knows the scheme, else the one that fsspec has for it. Raises `ValueError`
    for a scheme that neither knows, `ImportError` where fsspec lacks the driver.
    """
    if is_local(url):
        return fs.LocalFileSystem(), url
    try:
        return _arrows_own(url)
    except ArrowInvalid:
        import fsspec  # noqa: PLC0415 - because a worker that never needs it need not have it

        other, path = fsspec.core.url_to_fs(url)
        return fs.PyFileSystem(fs.FSSpecHandler(other)), path


def _arrows_own(url: str) -> tuple[Any, str]:
    scheme, _, place = url.partition("://")
    host, slash, path = place.partition("/")
    # As Spark and fsspec take it: the `%3A` in the folder of a party is no colon.
    found, inside = fs.FileSystem.from_uri(f"{scheme}://{host}{slash}{quote(path)}")
    return found, inside


def is_local(url: str) -> bool:
    """Whether it is a path of this machine."""
    return "://" not in url


def is_here(url: str) -> bool:
    """Whether it is a path of this machine, also as `file://…`."""
    return is_local(url) or url.startswith("file:")


def local_path(url: str) -> Path | None:
    """The one place on this machine that a path or `file://` URL leads to; None elsewhere."""
    files, path = opened(url)
    return Path(path).resolve() if isinstance(files, fs.LocalFileSystem) else None


def is_arrows_own(url: str) -> bool:
    """Whether Arrow itself knows the storage, so that a lake may be kept there."""
    if is_local(url):
        return True
    try:
        _arrows_own(url)
    except ArrowInvalid:
        return False
    return True


def literal(path: str) -> str:
    """The path as Spark's readers take it: they read `[`, `{`, `*` and `?` as patterns."""
    return _WILD.sub(r"\\\1", path)


def is_folder(url: str) -> bool:
    """Whether there is a folder."""
    files, path = opened(url)
    return bool(files.get_file_info(path).type == fs.FileType.Directory)


def folders(url: str) -> list[str]:
    """Names of the folders in a folder; none where there is no such folder."""
    return sorted(map(_name, _entries(url, fs.FileType.Directory)))


def listed(url: str) -> list[Listed]:
    """Every file of a folder by name, none of those that readers take for hidden."""
    return sorted(
        _listed(entry) for entry in _entries(url, fs.FileType.File) if is_listed(_name(entry))
    )


def each_listed(url: str) -> Iterator[Listed]:
    """What `listed` gives, in no order, and of a local folder never all of it at once."""
    files, path = opened(url)
    if not isinstance(files, fs.LocalFileSystem):
        yield from listed(url)
        return
    try:
        entries = os.scandir(path)
    except FileNotFoundError:
        return
    with entries:
        for entry in entries:
            name = os.fsencode(entry.name).decode(errors="backslashreplace")
            if is_listed(name) and (state := _state(entry)) is not None:
                yield Listed(name, *state)


def _state(entry: os.DirEntry[str]) -> tuple[int, int] | None:
    """Length and age of a file; None if it is none, or gone since the folder was listed."""
    try:
        if not entry.is_file():
            return None
        found = entry.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns // 1_000_000


def is_listed(name: str) -> bool:
    """Whether `listed` shows a file: one of the folder itself, by a name that hides nothing.

    Spark also reads what is in folders like `day=1`, and shows a file `_a=b`.
    """
    return "/" not in name and not name.startswith((".", "_"))


def look_up(folder: str, names: Iterable[str]) -> list[Listed]:
    """These files of a folder as they are now, in order; those that are gone are left out."""
    files, root = opened(folder)
    wanted = list(names)
    found = files.get_file_info([f"{root}/{name}" for name in wanted])
    return [
        _listed(entry)._replace(name=name)
        for name, entry in zip(wanted, found, strict=True)
        if entry.type == fs.FileType.File
    ]


def _entries(url: str, kind: Any) -> list[Any]:
    files, root = opened(url)
    found = files.get_file_info(fs.FileSelector(root, allow_not_found=True))
    return [entry for entry in found if entry.type == kind]


def _listed(entry: Any) -> Listed:
    return Listed(_name(entry), entry.size or 0, (entry.mtime_ns or 0) // 1_000_000)


def _name(entry: Any) -> str:
    """Without its folder; bytes in it that are no text are written as escapes."""
    try:
        return str(entry.base_name)
    except UnicodeDecodeError as error:
        return error.object.decode(errors="backslashreplace")


def read_bytes(url: str) -> bytes | None:
    """What is in a file; None where there is none."""
    files, path = opened(url)
    if files.get_file_info(path).type != fs.FileType.File:
        return None
    with files.open_input_file(path) as source:
        return bytes(source.readall())


def replace_bytes(url: str, content: bytes) -> None:
    """Put a file in the place of the one before, so that readers see either, and whole.

    A local file is on the disk when this returns.
    """
    files, path = opened(url)
    if files.type_name in _ATOMIC_PUTS:
        # Whole once it is closed; a temporary file could be another writer's.
        with files.open_output_stream(path) as sink:
            sink.write(content)
        return
    replace(url, [content])


def replace(url: str, chunks: Iterable[bytes]) -> None:
    """`replace_bytes` for what does not have to be in memory at once."""
    files, path = opened(url)
    folder, _, name = path.rpartition("/")
    files.create_dir(folder)
    temporary = f"{folder}/{_hidden(name)}"
    with files.open_output_stream(temporary) as sink:
        for chunk in chunks:
            sink.write(chunk)
    _put_in_place(files, temporary, path)


def _hidden(name: str) -> str:
    """What a file is called until it is whole, always the same, so that little is left behind.

    It begins with a dot, which every reader of folders takes for hidden; and it is short, since a
    file may have the longest name that there is.
    """
    return f".{sha256(name.encode(errors='surrogatepass')).hexdigest()[:32]}.new"


def _put_in_place(files: Any, temporary: str, path: str) -> None:
    is_synced = isinstance(files, fs.LocalFileSystem)
    if is_synced:
        _sync(temporary)
    files.move(temporary, path)
    if is_synced:
        _sync(path.rpartition("/")[0])


class Marked(NamedTuple):
    """What was in a file at one moment."""

    content: bytes
    mark: str
    """Stands for just this content there, for `replace_bytes_if`."""


def create_bytes(url: str, content: bytes) -> bool:
    """Put a file where there is none, whole or not at all; False where there is one, which stays.

    Of writers at the same time exactly one gets True, where `is_exclusive` holds of the storage;
    elsewhere only one may write at a time. A local file is on the disk when this returns. Of a file
    in an object store whose answer got lost, its own writer may be told False: look what is there.
    """
    files, path = opened(url)
    if isinstance(files, fs.LocalFileSystem):
        return _create_local(path, content)
    store, key = _conditional(url, files)
    if store is not None:
        return _put(store, key, content, "create")
    if files.get_file_info(path).type != fs.FileType.NotFound:
        return False
    replace_bytes(url, content)
    return True


def read_marked(url: str) -> Marked | None:
    """What is in a file and its mark; None where there is no file."""
    files, _ = opened(url)
    store, key = (None, "") if is_local(url) else _conditional(url, files)
    if store is None:
        content = read_bytes(url)
        return None if content is None else Marked(content, sha256(content).hexdigest())
    try:
        found = store.get(key)
    except FileNotFoundError:
        return None
    return Marked(bytes(found.bytes()), found.meta["e_tag"])


def replace_bytes_if(url: str, content: bytes, mark: str) -> bool:
    """Put a file in the place of the one that `read_marked` gave that mark; False where another is.

    Of writers at the same time exactly one gets True, where `is_exclusive` holds of the storage.
    """
    files, path = opened(url)
    store, key = (None, "") if is_local(url) else _conditional(url, files)
    if store is not None:
        return _put(store, key, content, {"e_tag": mark})
    with _alone_in(path.rpartition("/")[0], files):
        found = read_marked(url)
        if found is None or found.mark != mark:
            return False
        replace_bytes(url, content)
    return True


def is_exclusive(folder: str) -> bool:
    """Whether `create_bytes` and `replace_bytes_if` let one of many writers through there.

    Of an object store this is tried out, since some that speak the protocol ignore the condition;
    it leaves nothing behind. False too where `obstore` is not installed.
    """
    files, _ = opened(folder)
    if isinstance(files, fs.LocalFileSystem):
        return True
    if _conditional(folder, files)[0] is None:
        return False
    trial = f"{folder}/.trial-{uuid4().hex}"
    try:
        is_new, is_refused = create_bytes(trial, b"1"), not create_bytes(trial, b"2")
        found = read_marked(trial)
        if found is None or not (is_new and is_refused and found.content == b"1"):
            return False
        is_replaced = replace_bytes_if(trial, b"3", found.mark)
        return is_replaced and not replace_bytes_if(trial, b"4", found.mark)
    finally:
        with suppress(OSError):
            remove(trial)


def _create_local(path: str, content: bytes) -> bool:
    folder = path.rpartition("/")[0]
    Path(folder).mkdir(parents=True, exist_ok=True)
    temporary = f"{folder}/.{uuid4().hex}.new"
    try:
        with open(temporary, "xb") as sink:  # noqa: PTH123 - because of bytes that are no text
            sink.write(content)
        _sync(temporary)
        if not _link(temporary, path):
            return False
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)  # noqa: PTH108 - because of bytes that are no text
    _sync(folder)
    return True


def _link(temporary: str, path: str) -> bool:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A mounted share without links: whoever writes there holds the lock of the lake.
        if os.path.lexists(path):
            return False
        os.rename(temporary, path)  # noqa: PTH104 - because of bytes that are no text
    return True


@contextmanager
def _alone_in(folder: str, files: Any) -> Iterator[None]:
    """Hold the lock of a folder of this machine; of others there is none."""
    if not isinstance(files, fs.LocalFileSystem):
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _conditional(url: str, files: Any) -> tuple[Any, str]:
    """A client that can put on a condition, and the key in its bucket; None where there is none."""
    scheme, _, place = url.partition("://")
    if scheme not in _CONDITIONAL:
        return None, ""
    try:
        from obstore import store  # noqa: PLC0415 - because whoever has no such lake needs it not
    except ImportError:
        return None, ""
    bucket, _, key = place.partition("/")
    told = {} if getattr(files, "region", None) is None else {"region": files.region}
    name = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
    if scheme == "s3" and name:
        told["endpoint"] = name
    options = {"allow_http": name.startswith("http://")}
    return store.from_url(f"{scheme}://{bucket}", client_options=options, **told), key


def _put(store: Any, key: str, content: bytes, mode: Any) -> bool:
    from obstore import exceptions  # noqa: PLC0415 - because `_conditional` found it

    try:
        store.put(key, content, mode=mode, use_multipart=False)
    except (FileExistsError, exceptions.AlreadyExistsError, exceptions.PreconditionError):
        return False
    except (FileNotFoundError, exceptions.NotFoundError):
        if mode == "create":
            raise
        return False
    return True


def keep(folders: Iterable[str]) -> None:
    """Put folders with all that is in them on the disk, and their names; where they are local.

    A disk that this machine shares with those that wrote there keeps what they have closed.
    """
    for folder in folders:
        files, path = opened(folder)
        if not isinstance(files, fs.LocalFileSystem):
            continue
        for place, _, names in os.walk(path):
            for name in names:
                _sync(f"{place}/{name}")
            _sync(place)
        product = Path(path).parent
        _sync(str(product))
        _sync(str(product.parent))


def keep_names(folder: str) -> None:
    """Put the names of all that is in a folder on the disk; where it is local."""
    files, path = opened(folder)
    if isinstance(files, fs.LocalFileSystem):
        _sync(path)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def entries(url: str) -> list[Listed]:
    """Every file and folder in a folder, hidden ones too; none where there is no such folder."""
    files, root = opened(url)
    return sorted(map(_listed, files.get_file_info(fs.FileSelector(root, allow_not_found=True))))


def lay_flat(folder: str) -> None:
    """Move the files of folders such as `day=2026-11-25` up into theirs, as `2026-11-25-<name>`."""
    files, root = opened(folder)
    for part in folders(folder):
        for one in listed(f"{folder}/{part}"):
            name = f"{part.partition('=')[2]}-{one.name}"
            files.move(f"{root}/{part}/{one.name}", f"{root}/{name}")
        files.delete_dir(f"{root}/{part}")


def link_files(source: str, target: str, beginnings: Collection[str]) -> None:
    """Put the files of a folder whose names begin so into another one, without writing them again.

    By a link where the storage has links, else by a copy that it makes itself.
    """
    files, there = opened(source)
    _, here = opened(target)
    files.create_dir(here)
    for one in listed(source):
        if not one.name.startswith(tuple(beginnings)):
            continue
        old, new = f"{there}/{one.name}", f"{here}/{one.name}"
        if not isinstance(files, fs.LocalFileSystem):
            files.copy_file(old, new)
            continue
        try:
            os.link(old, new)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            files.copy_file(old, new)


def size(url: str) -> int:
    """Bytes in a folder and all folders in it."""
    files, root = opened(url)
    found = files.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=True))
    return sum(entry.size or 0 for entry in found)


def newest(url: str) -> int:
    """When the last file in a folder and all folders in it was written; 0 where nobody knows."""
    files, root = opened(url)
    found = files.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=True))
    return max((_listed(entry).modified_at for entry in found), default=0)


def remove(url: str) -> None:
    """Remove a file, or a folder and what is in it, if it is there."""
    files, path = opened(url)
    kind = files.get_file_info(path).type
    if kind == fs.FileType.Directory:
        files.delete_dir(path)
    elif kind == fs.FileType.File:
        files.delete_file(path)
