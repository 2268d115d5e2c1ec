"""The keys of `[[webhook]]`: who is told what happens."""

import binascii
import re
from base64 import b64decode
from typing import Any

from onceonly.api.events import KIND_OF, USUAL_KINDS, EventKind
from onceonly.gateway.config import values as read
from onceonly.gateway.config.folder_keys import NAME_TEXT, name
from onceonly.gateway.config.key import Key, table_of

KINDS = tuple(dict.fromkeys(KIND_OF.values()))

SECRET_BYTES = range(24, 65)
"""Length of a key, by the specification of Standard Webhooks."""

SECRETS_MAX = 3

_WRITTEN = re.compile(r"whsec_[A-Za-z0-9+/]+={0,2}")

_LEGAL = "whsec_ and 24 to 64 bytes in base64"


def _key_of(secret: str) -> bytes:
    try:
        key = b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error as error:
        raise read.Illegal("it is no base64") from error
    if _WRITTEN.fullmatch(secret) is None or len(key) not in SECRET_BYTES:
        raise read.Illegal(f"it is not {_LEGAL}")
    return key


def keys_of(value: Any) -> tuple[bytes, ...]:
    """The keys of a list, or of a text with blanks between them. Raises `Illegal`."""
    texts = value.split() if isinstance(value, str) else value
    is_list = isinstance(texts, list) and all(isinstance(one, str) for one in texts)
    if not is_list or not 0 < len(texts) <= SECRETS_MAX:
        raise read.Illegal(f"it is not one secret, or up to {SECRETS_MAX}")
    return tuple(map(_key_of, texts))


def _kinds(value: Any) -> tuple[EventKind, ...]:
    if not isinstance(value, list) or not value or len(set(map(str, value))) < len(value):
        raise read.Illegal(f"{value!r} is not a list of kinds, each once")
    for one in value:
        if one not in KINDS:
            raise read.Illegal(f"{one!r} is no kind of event")
    return tuple(value)


WEBHOOK_KEYS = table_of(
    Key("id", name, NAME_TEXT, "Our name for it.", is_required=True, section="ours"),
    Key(
        "url",
        read.http_uri,
        "an http or https URI",
        "Where events are posted; nowhere else, since no redirect is followed.",
        is_required=True,
        section="ours",
    ),
    Key(
        "kinds",
        _kinds,
        "a list of " + ", ".join(KINDS),
        "Which events.",
        default=USUAL_KINDS,
        default_text="all but `traffic`, which is several events for each message",
        section="ours",
    ),
    Key(
        "secret",
        keys_of,
        f'{_LEGAL}, a list of up to {SECRETS_MAX}, {{file = "PATH"}} or {{env = "NAME"}}, where '
        "blanks separate them",
        "The key of the signature. With several, each signs, so that a key can be exchanged.",
        is_secret=True,
        is_required=True,
        section="ours",
    ),
    Key(
        "trusted",
        read.text,
        "a path",
        "PEM file with the certificates that the receiver's must chain to.",
        default_text="the system's",
        section="ours",
    ),
    Key(
        "timeout",
        read.whole(1, 300),
        "whole seconds, 1 to 300",
        "How long one attempt may take until the answer.",
        default=10,
        default_text="`10`",
        unit="seconds",
        section="ours",
    ),
    Key(
        "give_up_after",
        read.duration_s,
        "an ISO 8601 duration such as P3D",
        "How long one event is tried; then it is dead, which is an incident, and the next one "
        "has its turn.",
        default=3 * 86_400,
        default_text='`"P3D"`',
        unit="duration",
        section="ours",
    ),
)
