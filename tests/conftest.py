"""What holds for every test."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "conformance")]

# No deadline per example: on a shared machine a pause is no bug, and no test here is timed.
settings.register_profile("onceonly", deadline=None)
settings.load_profile("onceonly")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--conformance`: see `make conformance`."""
    text = "write build/conformance.json and the page of the statements"
    parser.addoption("--conformance", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--conformance"):
        from conformance_run import ConformanceRun  # noqa: PLC0415 - because others never need it

        config.pluginmanager.register(ConformanceRun())
