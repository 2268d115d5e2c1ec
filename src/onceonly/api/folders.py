"""Folders that files are sent from and messages are written to, as files and calls show them."""

from typing import Annotated, Literal

from msgspec import Meta

from onceonly.api.fields import Choice, Digest, FullLine, Identifier, Instant
from onceonly.api.messages import Sent
from onceonly.message.word import Word


class FileHeader(Word, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`x.xml.header.json`: the header of `x.xml`; what it leaves out, the configuration says.

    The members are those of a submission. `to` and `agreement` must be the folder's own.
    """

    to: Annotated[str, Meta(min_length=1)] | None = None
    service: FullLine | None = None
    action: FullLine | None = None
    agreement: str | None = None
    message_id: Choice | None = None
    key: FullLine | None = None
    conversation: Choice | None = None
    ref: Identifier | None = None


class FileResult(Word, kw_only=True):
    """`x.xml.result.json`: what became of `x.xml`.

    `state` is that of the message; `refused`, without a `message_id`, where the file cannot be
    sent; `forgotten` where the message ended so long ago that the gateway forgot it.
    """

    file: str
    message_id: str | None
    state: str
    error: str | None
    """Name of the refusal or code of the error."""
    reason: str | None
    claimed_at: Instant
    settled_at: Instant | None


class DroppedPayload(Word, kw_only=True):
    """One payload of a message in a drop folder; `file` is the name of its file."""

    file: str
    name: str
    content_type: str
    size_bytes: int
    digest: Digest


class DroppedHeader(Sent, kw_only=True):
    """`header.json` of a message in a drop folder."""

    offset: int
    received_at: Instant
    handed_over_again: int
    """0, or which repetition it is: somebody asked for one more hand-over of the message."""
    first_offset: int | None
    first_handed_over_at: Instant | None
    """Of a repetition: where the message was first, and when."""
    payloads: tuple[DroppedPayload, ...]


class Folder(Word, kw_only=True):
    """One folder; counts are since the start of the gateway.

    `waiting` are the documents, or messages, that were there at the last look and not taken yet,
    `under_way` the documents without a verdict. `trouble` says why nothing is done at the moment.
    """

    id: str
    kind: Literal["pickup", "drop"]
    path: str
    waiting: int
    under_way: int
    done: int
    failed: int
    last_at: Instant | None
    trouble: str | None


class FolderList(Word, kw_only=True):
    """The folders of the configuration, in its order."""

    folders: tuple[Folder, ...]
