"""The folder `reports`: that whoever may read reports can read nothing else of this gateway in it.

Every file below it is sent to a caller with the scope `read`. Knows paths as they are after links;
which files a gateway has, `configuration` says. What is published in the lake is no secret for such
a caller, who reads the same rows over the API: reports may lie in a lake, and around it.
"""

from collections.abc import Iterable
from pathlib import Path

from onceonly.gateway.config.file import Table


def spool_of(store: Path) -> Path:
    """Where the large payloads of a store are."""
    return store.with_name(f"{store.name}-spool")


def check_reports(
    gateway: Table,
    reports: Path,
    *,
    files: Iterable[tuple[str, Path]],
    folders: Iterable[tuple[str, Path]],
) -> None:
    """Refuse a folder with one of the files or folders in it, or that lies in such a folder.

    All by what they are, and where. Raises `ConfigurationError`.
    """
    shown = reports.resolve()
    for what, path in (*files, *folders):
        if path.resolve().is_relative_to(shown):
            _refuse(gateway, f"is {reports}, which holds {what} ({path})")
    for what, path in folders:
        if shown.is_relative_to(path.resolve()):
            _refuse(gateway, f"is {reports}, which lies in {what} ({path})")


def _refuse(gateway: Table, reason: str) -> None:
    gateway.refuse(
        "reports",
        f"{reason}: whoever may read reports would read that; legal: a folder for reports alone",
    )
