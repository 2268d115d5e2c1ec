"""Files of this machine, listed as drivers of object stores list: once, until they are told."""

from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem


class CachedListings(LocalFileSystem):
    """`cached:///…`. What it writes itself it knows; what others write only in a new listing."""

    protocol = "cached"

    def ls(self, path: str, detail: bool = False, **options: Any) -> list[Any]:
        path = self._strip_protocol(path)
        if path not in self.dircache:
            self.dircache[path] = super().ls(path, detail=True, **options)
        found = self.dircache[path]
        return found if detail else [one["name"] for one in found]

    def info(self, path: Any, **options: Any) -> dict[str, Any]:
        if isinstance(path, str):
            path = self._strip_protocol(path)
            listed = self._ls_from_cache(path)
            found = next((one for one in listed or () if one["name"] == path), None)
            if found is not None:
                return found
        return super().info(path, **options)

    def invalidate_cache(self, path: str | None = None) -> None:
        self.dircache.clear()

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        self.invalidate_cache()
        super().makedirs(path, exist_ok=exist_ok)

    def mv(self, path1: str, path2: str, **options: Any) -> None:
        super().mv(path1, path2, **options)
        self.invalidate_cache()

    def rm(self, path: str, **options: Any) -> None:
        super().rm(path, **options)
        self.invalidate_cache()

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if "r" not in mode:
            self.invalidate_cache()
        return super()._open(path, mode, **options)


fsspec.register_implementation("cached", CachedListings, clobber=True)
