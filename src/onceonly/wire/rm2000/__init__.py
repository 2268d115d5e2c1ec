"""The form of `rm-2000`: seed 000 on the envelope of `wire.md` Part A2."""

import re
from typing import Final

from onceonly.message.profile import Profile
from onceonly.wire.codec import Codec
from onceonly.wire.fields import SEMANTICS
from onceonly.wire.names import ROOT
from onceonly.wire.rm2000 import reading, writing
from onceonly.wire.rm2000.names import VERSION, VERSION_ATTRIBUTE
from onceonly.wire.template import leaf_pattern

CODEC: Final = Codec(
    profile=Profile.RM_2000,
    version=VERSION,
    # All but 0.90 to 0.99, which are the drafts of the other text.
    versions=re.compile(r"0\.(?:[0-9]|[0-8][0-9]|[0-9]{3,4})"),
    version_attribute=VERSION_ATTRIBUTE,
    routing_header_path=(ROOT, "RoutingHeader"),
    read=reading.read,
    salvage=reading.salvage,
    write=writing.write,
    write_routing_header=writing.write_routing_header,
    leaf=leaf_pattern(SEMANTICS),
)
