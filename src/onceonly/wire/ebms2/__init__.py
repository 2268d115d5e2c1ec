"""The form of `ebms-2.0`: OASIS ebXML Message Service 2.0 in SOAP with Attachments."""

import re
from typing import Final

from onceonly.message.profile import Profile
from onceonly.wire import soap
from onceonly.wire.codec import Codec
from onceonly.wire.ebms2 import hops, reading, signing, slots, writing
from onceonly.wire.ebms2.names import HEADER_TYPE, SERVICE

CODEC: Final = Codec(
    profile=Profile.EBMS_2_0,
    version=None,
    versions=re.compile(r"(?!)"),
    version_attribute="",
    routing_header_path=None,
    read=reading.read,
    salvage=reading.salvage,
    write=writing.write,
    write_routing_header=lambda _: "",
    header_type=HEADER_TYPE,
    signal_services=SERVICE,
    charset="UTF-8",
    reads_latin_1=True,
    stands_alone=True,
    drops_unnamed_parts=True,
    find_fault=soap.find_fault,
    write_fault=soap.write_fault,
    sign=signing.sign,
    references_over=signing.references_over,
    pass_on=hops.pass_on,
    leaf=slots.LEAF,
    said_twice=slots.SAID_TWICE,
    read_as=slots.read_as,
)
