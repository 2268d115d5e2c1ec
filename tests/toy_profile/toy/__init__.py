"""A profile that nobody uses: all that the house has to be told of one more."""

import re

from onceonly.wire.codec import Codec
from onceonly.wire.names import ROOT
from toy import reading, writing
from toy.profile import EDITION, EDITION_ATTRIBUTE, TOY

CODEC = Codec(
    profile=TOY,
    version=EDITION,
    versions=re.compile(r"7\.[0-9]"),
    version_attribute=EDITION_ATTRIBUTE,
    routing_header_path=(ROOT, "Stage"),
    read=reading.read,
    salvage=reading.salvage,
    write=writing.write,
    write_routing_header=writing.write_routing_header,
)
