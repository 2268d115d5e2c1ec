"""What holds for every test."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage
from hypothesis import settings

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "conformance")]

# No deadline per example: on a shared machine a pause is no bug, and no test here is timed.
settings.register_profile("onceonly", deadline=None)
settings.load_profile("onceonly")


def share_of(names: list[str], share: int, commit: str) -> set[str]:
    """Every `share`-th of the names: each is in one of the shares, and the commit chooses one."""
    first = int(commit, 16) % share
    return set(sorted(names)[first::share])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`--long-share`: leave out long tests that are others' turn."""
    share = config.getoption("--long-share")
    long = [item.nodeid for item in items if item.get_closest_marker("long")]
    if share == 1 or not long:
        return
    chosen = share_of(long, share, _commit())
    left_out = [item for item in items if item.nodeid in {*long} - chosen]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """`--unmeasured-properties`: chance chooses what such a test enters, so it covers nothing."""
    measured = None
    if item.config.getoption("--unmeasured-properties") and _is_of_a_property(item):
        measured = Coverage.current()
    if measured is not None:
        measured.stop()
    try:
        return (yield)
    finally:
        if measured is not None:
            measured.start()


def _is_of_a_property(item: pytest.Item) -> bool:
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


def _commit() -> str:
    """The commit that is tried, in hexadecimal; 0 where this is no checkout."""
    git = shutil.which("git")
    if git is None:
        return "0"
    asked = subprocess.run(
        [git, "-C", str(Path(__file__).parent), "rev-parse", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() or "0"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--conformance`: see `make conformance`."""
    text = "write build/conformance.json and the page of the statements"
    parser.addoption("--conformance", action="store_true", help=text)
    text = "of the tests that are marked long, run every N-th; which ones, the commit decides"
    parser.addoption("--long-share", type=int, default=1, metavar="N", help=text)
    text = "measure no coverage in tests of properties"
    parser.addoption("--unmeasured-properties", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--conformance"):
        from conformance_run import ConformanceRun  # noqa: PLC0415 - because others never need it

        config.pluginmanager.register(ConformanceRun())
