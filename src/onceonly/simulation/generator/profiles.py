"""Which profiles the worlds have."""

from typing import Final

from onceonly.message.profile import PROFILES

GENERATED: Final = PROFILES
"""The profiles whose worlds are generated."""

DIRECT: Final = (*PROFILES, *(one for one in PROFILES if not one.has_routing_headers))
"""Those of lines without intermediaries. Twice what fewer other lines can have, so that every
fourth world has it at least."""

ROUTED: Final = tuple(profile for profile in PROFILES if profile.has_routing_headers)
"""Those of scenes and hostile worlds with an intermediary: `ebms-2.0` has relays in others only."""

CANCELLING: Final = tuple(profile for profile in PROFILES if profile.has_cancels)
"""Those in which a partner can be asked to cancel a message, and about its processing."""
