"""The header blocks of a SOAP envelope, and for whom each is."""

from collections.abc import Iterator
from typing import Final

from onceonly.message.errors import RemoteError
from onceonly.message.message import Actor
from onceonly.message.printable import printable, quoted
from onceonly.wire.soap import NEXT_ACTOR, name_of, read_envelope
from onceonly.wire.xml import Element

_WHOM: Final = {
    None: "the MSH of the To Party",
    Actor.TO_PARTY_MSH.value: "the MSH of the To Party",
    Actor.NEXT_MSH.value: "the next MSH",
    NEXT_ACTOR: "the next SOAP node",
}
BLOCKS_MAX: Final = 50
"""Most blocks that are told one by one."""


def sentences_of_envelope(root: Element) -> Iterator[str]:
    """One for each block of the Header: its name, whom it is for, and whether it may be skipped."""
    try:
        blocks = read_envelope(root).blocks
    except RemoteError:
        return
    for block in blocks[:BLOCKS_MAX]:
        whom = _WHOM.get(block.actor, f"{quoted(block.actor or '')}, which is nobody here")
        skipped = "must be understood" if block.must_understand else "may be skipped"
        yield f"block {printable(name_of(block.element))}: for {whom}; {skipped}"
    if len(blocks) > BLOCKS_MAX:
        yield f"{len(blocks) - BLOCKS_MAX} more blocks"
