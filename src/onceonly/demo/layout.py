"""Where everything of a demonstration lies on disk, and what may be removed of it.

    OUT/report.html  OUT/report.json     the results
    OUT/lake/buyer   OUT/lake/seller     both journals as Parquet, and what the lake made of them
    OUT/buyer  OUT/seller                configurations, keys, stores, logs; gone without --keep

Only a directory that a demonstration made, or an empty one, is ever cleared.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from onceonly.demo.gateways import Site, free_ports
from onceonly.demo.options import DemoOptions
from onceonly.message.errors import LocalError
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.lock import StoreLock

BUYER_PARTY = "urn:duns:111111111"
SELLER_PARTY = "urn:duns:222222222"
_MARK = ".onceonly-demo"


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of one demonstration, all absolute."""

    out: Path

    @property
    def html(self) -> Path:
        """The report for people."""
        return self.out / "report.html"

    @property
    def json(self) -> Path:
        """The report for scripts."""
        return self.out / "report.json"

    @property
    def lake(self) -> Path:
        """Parent of both lake directories."""
        return self.out / "lake"

    def site_directory(self, name: str) -> Path:
        """Where the gateway of that name has its files."""
        return self.out / name


def prepare(options: DemoOptions) -> tuple[Layout, Site, Site]:
    """A cleared place for the demonstration, its buyer and its seller, on free ports.

    Raises `LocalError` (BadOption) where clearing could hit what is not ours.
    """
    layout = Layout(options.out.absolute())
    _check_apart(layout, options.documents)
    _clear(layout)
    ports = free_ports(4)
    buyer = _site(layout, "buyer", BUYER_PARTY, ports[0], ports[1])
    seller = _site(layout, "seller", SELLER_PARTY, ports[2], ports[3])
    return layout, buyer, seller


def tidy(*sites: Site) -> None:
    """Remove the gateways' own files; results and lakes stay."""
    for site in sites:
        shutil.rmtree(site.directory)


def _site(layout: Layout, name: str, party: str, msh_port: int, api_port: int) -> Site:
    site = Site(
        name=name,
        party=party,
        directory=layout.site_directory(name),
        lake=layout.lake / name,
        msh_port=msh_port,
        api_port=api_port,
    )
    site.directory.mkdir()
    site.lake.mkdir(parents=True)
    return site


def _check_apart(layout: Layout, documents: Path | None) -> None:
    if documents is None:
        return
    out, source = layout.out.resolve(), documents.resolve()
    if out.is_relative_to(source) or source.is_relative_to(out):
        raise LocalError("BadOption", f"{out} and {source} lie in each other; choose another --out")


def _clear(layout: Layout) -> None:
    out = layout.out
    if out.exists() and not out.is_dir():
        raise LocalError("BadOption", f"{out} is not a directory")
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()) and not (out / _MARK).exists():
        raise LocalError("BadOption", f"{out} has files that are none of a demonstration's")
    sites = layout.site_directory("buyer"), layout.site_directory("seller")
    for directory in sites:
        _check_nobody_runs(directory)
    (out / _MARK).touch()
    for directory in (*sites, layout.lake):
        if directory.exists():
            shutil.rmtree(directory)
    for file in (layout.html, layout.json):
        file.unlink(missing_ok=True)


def _check_nobody_runs(directory: Path) -> None:
    """A gateway outlives a demonstration that was killed, and would publish into the next one's."""
    for lock in directory.glob("*.lock"):
        try:
            StoreLock(lock).release()
        except StoreRefused as error:
            raise LocalError(
                "BadOption",
                f"{error}: a demonstration runs there, or was killed and left its gateway behind; "
                "end that process, or choose another --out",
            ) from error
