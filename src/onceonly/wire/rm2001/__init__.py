"""The form of `rm-2001`: seed 001 on the envelope of `wire.md` Part A4."""

import re
from typing import Final

from onceonly.message.profile import Profile
from onceonly.wire.codec import Codec
from onceonly.wire.names import ROOT, SERVICE_STEM
from onceonly.wire.rm2001 import reading, writing
from onceonly.wire.rm2001.names import ACTIONS, VERSION, VERSION_ATTRIBUTE
from onceonly.wire.template import leaf_pattern

CODEC: Final = Codec(
    profile=Profile.RM_2001,
    version=VERSION,
    versions=re.compile(r"0\.9[0-9]"),
    version_attribute=VERSION_ATTRIBUTE,
    routing_header_path=(ROOT, "RoutingHeaderList", "RoutingHeader"),
    read=reading.read,
    salvage=reading.salvage,
    write=writing.write,
    write_routing_header=writing.write_routing_header,
    leaf=leaf_pattern({SERVICE_STEM, *(action for _, action in ACTIONS)}),
)
