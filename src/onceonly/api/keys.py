"""Keys of the API: what each allows, who made it, and, once, the key itself."""

from typing import Annotated, Final

from msgspec import Meta

from onceonly.api.fields import Instant, Name
from onceonly.api.words import Scope
from onceonly.message.word import Word

KEY_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"

CERTIFICATE: Final = "onceonly.certificate"
"""Where the ASGI scope has the certificate that the caller showed.

No header field is ever looked at for it: the server that shook hands puts it there.
"""

FINGERPRINT: Final = r"^[0-9a-f]{64}$"

Fingerprint = Annotated[
    str,
    Meta(
        description="SHA-256 of the certificate, 64 hexadecimal digits in lower case",
        pattern=FINGERPRINT,
    ),
]

KeyName = Annotated[
    str, Meta(description="letters, digits, _ and -; it is in the journal", pattern=KEY_NAME)
]


class KeyPath(Word, kw_only=True):
    """The key that a call is about."""

    name: KeyName


class NewKey(Word, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A key to be made; with an `application`, for what is under these agreements alone."""

    name: KeyName
    scopes: Annotated[tuple[Scope, ...], Meta(min_length=1)]
    application: KeyName | None = None
    agreements: tuple[Name, ...] = ()
    certificate: Fingerprint | None = None
    """A certificate of the caller's that stands for the key, where `[api_tls]` asks for one."""


class Key(Word, kw_only=True):
    """A key, without the secret; `last_used_at` is exact to about a minute."""

    name: str
    scopes: tuple[Scope, ...]
    application: str | None
    agreements: tuple[str, ...]
    made_at: Instant
    made_by: str
    revoked_at: Instant | None
    last_used_at: Instant | None
    certificate: str | None = None


class MadeKey(Key, kw_only=True):
    """A key that was just made, with the secret, which is shown only here."""

    key: str


class KeyList(Word, kw_only=True):
    """Every key that there ever was, by name."""

    keys: tuple[Key, ...]
