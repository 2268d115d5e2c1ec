"""The blocks and body elements of one envelope, sorted by whom they are for.

Implements the processing rules of `ebms2.md` §5. Two blocks of one kind for one actor, an element
in the wrong place, and an element for the next MSH that speaks for the From Party are refused and
not skipped: another reader of the same bytes might take them for the real ones (attacks S1, S2).
What is for the next MSH is outside of every signature that has the filter, wherever it stands, so
that a block of the Header alone may say so (ruling R-32).
"""

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.message import Actor
from onceonly.message.printable import quoted
from onceonly.message.word import Word
from onceonly.wire.ebms2 import names as own
from onceonly.wire.elements import find_attribute
from onceonly.wire.names import EXTENSION
from onceonly.wire.soap import (
    ACTOR,
    NEXT_ACTOR,
    Block,
    SoapEnvelope,
    name_of,
    not_understood,
    refused,
)
from onceonly.wire.xml import WHITE_SPACE, Element

_END_ACTORS = (None, Actor.TO_PARTY_MSH.value)
_HOP_ACTORS = (Actor.NEXT_MSH.value, NEXT_ACTOR)
_OWN_PREFIX = own.own("")
_SIGNATURE = f"{{{own.SIGNATURE_NAMESPACE}}}Signature"
_VERSION = own.own("version")
_ELSEWHERE = frozenset(own.CHILDREN) | {
    name for children in own.CHILDREN.values() for (name,) in children
}


class Sections(Word):
    """What an envelope has for us, by name."""

    blocks: dict[str, Element]
    """For the MSH of the To Party, which we are."""
    hop_blocks: dict[str, Element]
    """For the next MSH, which we are too."""
    body: dict[str, Element]
    signature: Element | None


def sections_of(root: Element, envelope: SoapEnvelope) -> Sections:
    """The sections of the envelope under `root`. Raises `RemoteError` with a fault code."""
    _refuse_inner_actors(root, envelope)
    blocks: dict[str, Element] = {}
    hop_blocks: dict[str, Element] = {}
    signature: Element | None = None
    for block in envelope.blocks:
        element = block.element
        if block.actor not in (*_END_ACTORS, *_HOP_ACTORS):
            continue
        name = name_of(element)
        if element.tag == _SIGNATURE:
            if signature is not None:
                raise refused("two Signatures in the Header; expected is one at most")
            signature = element
        elif element.tag.startswith(_OWN_PREFIX) and name in _ELSEWHERE:
            _take(block, name, blocks, hop_blocks)
    return Sections(blocks, hop_blocks, _body_of(envelope.body), signature)


def refuse_not_understood(envelope: SoapEnvelope) -> None:
    """Raise `RemoteError` for a block that is for us, must be understood, and is not.

    Apart from `sections_of`, since the sender of such an envelope is known all the same.
    """
    for block in envelope.blocks:
        tag = block.element.tag
        is_ours = tag.startswith(_OWN_PREFIX) and name_of(block.element) in _ELSEWHERE
        is_known = is_ours or tag == _SIGNATURE or tag.startswith(f"{{{EXTENSION}}}")
        is_for_us = block.actor in (*_END_ACTORS, *_HOP_ACTORS)
        if is_for_us and block.must_understand and not is_known:
            raise not_understood(block)


def _refuse_inner_actors(root: Element, envelope: SoapEnvelope) -> None:
    """Refuse the actor of the next MSH on anything but a block of the Header."""
    blocks = {id(block.element) for block in envelope.blocks}
    for element in root.iter():
        actor = element.get(ACTOR)
        if actor is None or id(element) in blocks:
            continue
        if actor.strip(WHITE_SPACE) in _HOP_ACTORS:
            raise refused(
                f"{quoted(name_of(element))} is for the next MSH and no block of the Header;"
                " expected is that such blocks alone have this actor"
            )


def _take(
    block: Block, name: str, blocks: dict[str, Element], hop_blocks: dict[str, Element]
) -> None:
    if name not in own.HEADER_BLOCKS:
        raise refused(f"{name} is in the Header, where it does not belong")
    is_for_hop = block.actor in _HOP_ACTORS
    if is_for_hop and name not in own.HOP_BLOCKS:
        raise refused(
            f"{name} is for the next MSH, {quoted(str(block.actor))}; expected is one for the MSH"
            " of the To Party"
        )
    found = hop_blocks if is_for_hop else blocks
    if name in found:
        raise refused(f"two blocks {name} for one actor; expected is one at most")
    found[name] = block.element


def _body_of(body: Element) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in body:
        if not element.tag.startswith(_OWN_PREFIX):
            continue
        name = name_of(element)
        if name not in own.BODY_ELEMENTS:
            raise refused(
                f"{quoted(name)} is in the Body, where it does not belong; expected is"
                f" {' or '.join(own.BODY_ELEMENTS)}"
            )
        if name in found:
            raise refused(f"{name} twice in the Body; expected is one at most")
        found[name] = element
    return found


def check_versions(sections: Sections) -> None:
    """Raise `RemoteError` (Inconsistent) unless each section is of version 2.0."""
    for place, found in (
        ("Header", sections.blocks),
        ("Header", sections.hop_blocks),
        ("Body", sections.body),
    ):
        for name, element in found.items():
            version = find_attribute(element, _VERSION)
            if version != own.VERSION:
                said = "no version" if version is None else f"version {quoted(version)}"
                raise RemoteError(
                    ErrorCode.INCONSISTENT,
                    f"{name} has {said}; expected is eb:version {own.VERSION}",
                    location=f"//SOAP:{place}/eb:{name}/@eb:version",
                )
