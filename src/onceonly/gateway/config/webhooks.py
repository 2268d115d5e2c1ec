"""`[[webhook]]`: what the tables amount to, and what in them cannot work."""

from collections.abc import Sequence
from pathlib import Path

from onceonly.api.events import EventKind
from onceonly.gateway.config.file import Table
from onceonly.message.word import Word


class Webhook(Word):
    """Somebody who is told what happens."""

    id: str
    url: str
    kinds: tuple[EventKind, ...]
    secrets: tuple[bytes, ...]
    """The keys of its signatures."""
    trusted: Path | None
    timeout_s: int
    give_up_after_s: int


def webhooks_of(tables: Sequence[Table], directory: Path) -> tuple[Webhook, ...]:
    """The webhooks. Refuses ids that are there twice."""
    webhooks: list[Webhook] = []
    for table in tables:
        if any(one.id == table["id"] for one in webhooks):
            table.refuse("id", f"{table['id']!r} is there twice")
        webhooks.append(
            Webhook(
                id=table["id"],
                url=table["url"],
                kinds=table["kinds"],
                secrets=table["secret"],
                trusted=_path(directory, table["trusted"]),
                timeout_s=table["timeout"],
                give_up_after_s=table["give_up_after"],
            )
        )
    return tuple(webhooks)


def _path(directory: Path, path: str | None) -> Path | None:
    return None if path is None else directory / path
