"""What gateways log goes nowhere while a world runs: everything that matters is in its history."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

_SILENT = structlog.make_filtering_bound_logger(logging.CRITICAL)
"""No gateway logs anything at this level."""


@contextmanager
def silence() -> Iterator[None]:
    """Nobody logs while it lasts; afterwards logging is as it was."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=_SILENT)
    try:
        yield
    finally:
        structlog.configure(**before)
