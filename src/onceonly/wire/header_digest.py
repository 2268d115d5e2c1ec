"""The digest of everything that a From Party said, except the bytes of the payloads (R-37).

Together with `message.digest.content_digest` it tells whether two packages bring the same message.
It is computed from values, not from bytes. It leaves out the spelling, the hops, the
SequenceNumber, Content-IDs, and values that may be new in each transmission. Both parties write it
into their journals, so it must never change for a message; golden values pin it.
"""

from functools import lru_cache
from hashlib import sha256

from onceonly.journal.record import as_text
from onceonly.message.digest import Digests, content_digest
from onceonly.message.identity import PartyId
from onceonly.message.message import Message
from onceonly.message.profile import Profile
from onceonly.wire.mime import parse_media_type


def digests_of(message: Message, profile: Profile) -> Digests:
    """Both digests of a message, which is as its header has it (`header_digest`)."""
    return Digests(content_digest(message.payloads), header_digest(message, profile))


def header_digest(message: Message, profile: Profile) -> str:
    """Hexadecimal SHA-256 of the message's canonical header.

    `message` has the names of its header: every PartyId in it, and not yet the names of an
    agreement.
    """
    parties = _parties(profile.name, message.from_ids, message.to_ids)
    said = (
        message.agreement_id,
        message.conversation_id,
        message.service_type,
        message.service,
        message.action,
        message.message_id,
        message.ref_to_message_id,
        "" if message.leaves_semantics or not profile.header_names_semantics else message.semantics,
        len(message.payloads),
        *[_media_type(payload.content_type) for payload in message.payloads],
    )
    return sha256(f"{parties}|{as_text(said)}".encode()).hexdigest()


@lru_cache(maxsize=1024)
def _parties(profile: str, from_ids: tuple[PartyId, ...], to_ids: tuple[PartyId, ...]) -> str:
    """What the text of a header begins with; kept, since an agreement has one for ever."""
    said: list[object] = [profile]
    for ids in (from_ids, to_ids):
        said.append(len(ids))
        for party in ids:
            said += (party.type, party.value)
    return as_text(said)


@lru_cache(maxsize=256)
def _media_type(content_type: str) -> str:
    """A payload's type in one spelling, without `name`, which is only a label."""
    media = parse_media_type(content_type)
    parameters = sorted(media.parameters.items())
    kept = (f"; {name}={value}" for name, value in parameters if name != "name")
    return media.essence + "".join(kept)
