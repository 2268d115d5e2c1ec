"""What the runs against a foreign partner have in common, and the record that is kept of them."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "gateway"))
sys.path.insert(0, str(Path(__file__).parents[1] / "wire"))
sys.path.insert(0, str(Path(__file__).parents[1] / "wire" / "ebms2"))

import kept_packages
from interop_record import Exchange, keep, write_record

DONE = pytest.StashKey[list[Exchange]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Known only where this directory is named on the command line."""
    text = "Write docs/proof/interop.json, and packages of the partner that are not kept yet."
    parser.addoption("--keep-exchanges", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """A test that exchanges something says what."""
    config.stash[DONE] = []
    text = "exchange(what, quirk='', key=''): a row of the scorecard"
    config.addinivalue_line("markers", text)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They start processes."""
    for item in items:
        if Path(__file__).parent in item.path.parents and item.get_closest_marker("exchange"):
            item.add_marker(pytest.mark.process)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
    """Remember how each exchange went."""
    report = yield
    marker = item.get_closest_marker("exchange")
    if marker is not None and (report.when == "call" or (report.when == "setup" and call.excinfo)):
        case = getattr(item, "callspec", None)
        done = Exchange(
            what=marker.args[0],
            case=case.id if case else "",
            test=item.nodeid.split("[")[0].rsplit("/", 1)[-1],
            result=report.outcome,
            quirk=marker.kwargs.get("quirk", ""),
            key=marker.kwargs.get("key", ""),
        )
        item.config.stash[DONE].append(done)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("keep_exchanges", default=False):
        try:
            write_record(session.config.stash[DONE])
        except ValueError as error:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            session.config.get_terminal_writer().line(f"\n{error}", red=True)
        else:
            keep(kept_packages.seen)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop on which the product runs."""
    return "asyncio", {"use_uvloop": True}
