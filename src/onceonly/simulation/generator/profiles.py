"""Which profiles the worlds have."""

from typing import Final

from onceonly.message.profile import PROFILES

GENERATED: Final = tuple(profile for profile in PROFILES if profile.has_routing_headers)
"""The profiles whose worlds are generated."""
