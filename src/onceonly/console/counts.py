"""Counts that the gateway keeps, read from its metrics: they cost the store nothing to ask for."""

import re
from collections.abc import Mapping
from typing import Final

_MESSAGES: Final = re.compile(
    r'^onceonly_messages\{status="([a-z_]+)"\} ([0-9.e+]+)$', re.MULTILINE
)


def messages_by_state(metrics: str) -> Mapping[str, int]:
    """How many messages there are in each state."""
    return {found[1]: round(float(found[2])) for found in _MESSAGES.finditer(metrics)}
