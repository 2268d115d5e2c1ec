"""What the texts of a document are read as that came by the short way (`wire.template`).

Only where `ebms-2.0` has fields that the older profiles do not have, or reads them in another way.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from onceonly.message.identity import checked_identifier, checked_text, printable
from onceonly.message.message import AcknowledgmentElement, Message, MessageOrder
from onceonly.message.word import Word
from onceonly.wire.ebms2 import names as own
from onceonly.wire.ebms2.reading import checked_order_number
from onceonly.wire.fields import DESCRIPTION_LENGTH_MAX, checked_uri
from onceonly.wire.template import leaf_pattern
from onceonly.wire.xml import WHITE_SPACE

LEAF: Final = leaf_pattern({own.SERVICE, *own.ACTIONS})
SAID_TWICE: Final = frozenset({"RefToMessageId"})
"""In MessageData and in an Acknowledgment; a signal that names two messages is refused."""

_Reading = Mapping[str, Callable[[str], object]]

_ROLES: Final[_Reading] = {
    # Names with blanks are legal; they are checked when a message or a signal is made of them.
    "agreement_id": str,
    "conversation_id": str,
    "from_role": partial(checked_text, name="Role"),
    "to_role": partial(checked_text, name="Role"),
}


def _read_description(text: str) -> str:
    return printable(text.strip(WHITE_SPACE), DESCRIPTION_LENGTH_MAX).strip(WHITE_SPACE)


_OF_MESSAGE: Final[_Reading] = {**_ROLES, "description": _read_description}
_OF_ELEMENT: Final = {"ref_to_message_id": partial(checked_identifier, name="RefToMessageId")}
_OF_UNTYPED: Final[_Reading] = {**_OF_MESSAGE, "service": partial(checked_uri, name="Service")}


def read_as(word: Word) -> _Reading:
    """What reads the text of a slot, by the field of this word (`Codec.read_as`)."""
    match word:
        case Message():
            return _OF_UNTYPED if word.service_type is None else _OF_MESSAGE
        case AcknowledgmentElement():
            return _OF_ELEMENT
        case MessageOrder():
            return {"number": checked_order_number}
    return _ROLES
