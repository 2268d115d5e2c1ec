"""The keys of `[[pickup]]`, whose files are sent, and `[[drop]]`, where messages become files."""

import re
from enum import StrEnum
from typing import Any

from onceonly.gateway.config import values as read
from onceonly.gateway.config.key import Key, listed, table_of


class Ready(StrEnum):
    """What says that a file in a pickup folder is whole."""

    MARKER = "marker"
    RENAMED = "renamed"
    SETTLED = "settled"


class Report(StrEnum):
    """What is reported of a message once its files are durable in a drop folder."""

    COMPLETE = "complete"
    IN_PROGRESS = "in-progress"


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def name(value: Any) -> str:
    """A name of ours: one plain word."""
    text = read.text(value)
    if not _NAME.fullmatch(text):
        raise read.Illegal(f"{text!r} is no such name")
    return text


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise read.Illegal(f"{value!r} is not a list of texts")
    return tuple(map(read.text, value))


NAME_TEXT = "up to 100 letters, digits, '_' and '-', beginning with a letter or digit"

PICKUP_KEYS = table_of(
    Key("id", name, NAME_TEXT, "Our name for the folder.", is_required=True, section="ours"),
    Key(
        "path",
        read.text,
        "a path",
        "The folder, relative to this file. Every file that is put there is sent once, and moved "
        "to `sent` or `failed` in it when the verdict is there.",
        is_required=True,
        section="ours",
    ),
    Key(
        "agreement",
        read.identifier,
        "the id of an [[agreement]]",
        "The agreement under which its files are sent.",
        is_required=True,
        section="ours",
    ),
    Key(
        "service",
        read.text,
        "a text",
        "Service of its messages, where a file's own header does not say it.",
        section="ours",
    ),
    Key(
        "action",
        read.text,
        "a text",
        "Action of its messages, where a file's own header does not say it.",
        section="ours",
    ),
    Key(
        "conversation",
        read.identifier,
        "an identifier",
        "ConversationId of its messages, where a file's own header does not say it.",
        default_text="a new one for each message",
        section="ours",
    ),
    Key(
        "content_type",
        read.text,
        "a media type",
        "Content-Type of every payload.",
        default_text="by the ending of the name: `.xml`, `.json`, `.txt`, `.csv`, `.pdf`; for "
        "others `application/octet-stream`",
        section="ours",
    ),
    Key(
        "ready",
        read.one_of(Ready),
        listed(Ready),
        "What says that `x.xml` is whole: `marker`, a file `x.xml.done` that is put there after "
        "it; `renamed`, its name alone, since it is written under another one (`.…`, `*.tmp`, "
        "`*.part`) or elsewhere, and renamed; `settled`, that nothing of it changed for `settle` "
        "seconds. The last is a guess: a writer that rests longer has half a file sent.",
        default="marker",
        default_text='`"marker"`',
        section="ours",
    ),
    Key(
        "settle",
        read.whole(1, 86_400),
        "whole seconds, 1 to 86400",
        'How long a file must not change; with `ready = "settled"` alone.',
        unit="seconds",
        section="ours",
    ),
    Key(
        "interval",
        read.whole(1, 86_400),
        "whole seconds, 1 to 86400",
        "Pause between two looks into the folder.",
        default=2,
        default_text="`2`",
        unit="seconds",
        section="ours",
    ),
)

DROP_KEYS = table_of(
    Key("id", name, NAME_TEXT, "Our name for the folder.", is_required=True, section="ours"),
    Key(
        "path",
        read.text,
        "a path",
        "The folder, relative to this file. Every received message becomes a folder in it, under "
        "a name of its own, with its payloads and `header.json`.",
        is_required=True,
        section="ours",
    ),
    Key(
        "agreements",
        _texts,
        "a list of ids of [[agreement]]",
        "Only messages under these agreements.",
        default_text="all",
        section="ours",
    ),
    Key(
        "services",
        _texts,
        "a list of texts",
        "Only messages of these services.",
        default_text="all",
        section="ours",
    ),
    Key(
        "actions",
        _texts,
        "a list of texts",
        "Only messages with these actions.",
        default_text="all",
        section="ours",
    ),
    Key(
        "report",
        read.one_of(Report),
        listed(Report),
        "The processing state that is reported once the files are durable. After `in-progress`, "
        "the application that takes the files reports `complete` itself.",
        default="complete",
        default_text='`"complete"`',
        section="ours",
    ),
)
