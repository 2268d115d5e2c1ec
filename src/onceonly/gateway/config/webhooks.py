"""`[[webhook]]`: what the tables amount to, and what in them cannot work."""

from collections.abc import Sequence
from pathlib import Path

from onceonly.api.events import EventKind
from onceonly.gateway.config.file import Table
from onceonly.gateway.config.values import Illegal
from onceonly.gateway.config.webhook_keys import keys_of
from onceonly.message.word import Word


class Webhook(Word):
    """Somebody who is told what happens."""

    id: str
    url: str
    kinds: tuple[EventKind, ...]
    secrets: tuple[bytes, ...]
    """Empty where they are in `secret_file`."""
    secret_file: Path | None
    trusted: Path | None
    timeout_s: int
    give_up_after_s: int

    def keys(self) -> tuple[bytes, ...]:
        """The keys of its signatures; reads the file. Raises `OSError`, also for a wrong file."""
        if self.secret_file is None:
            return self.secrets
        try:
            return keys_of(self.secret_file.read_text("ascii").split())
        except (UnicodeDecodeError, Illegal) as error:
            raise OSError(f"secret_file {self.secret_file} cannot be used: {error}") from error


def webhooks_of(tables: Sequence[Table], directory: Path) -> tuple[Webhook, ...]:
    """The webhooks. Refuses ids that are there twice, and one without a secret."""
    webhooks: list[Webhook] = []
    for table in tables:
        if any(one.id == table["id"] for one in webhooks):
            table.refuse("id", f"{table['id']!r} is there twice")
        if table["secret"] is None and table["secret_file"] is None:
            table.refuse(None, "lacks a secret: set secret or secret_file")
        if table["secret"] is not None and table["secret_file"] is not None:
            table.refuse("secret_file", "is given beside secret: legal is one of them")
        webhooks.append(
            Webhook(
                id=table["id"],
                url=table["url"],
                kinds=table["kinds"],
                secrets=table["secret"] or (),
                secret_file=_path(directory, table["secret_file"]),
                trusted=_path(directory, table["trusted"]),
                timeout_s=table["timeout"],
                give_up_after_s=table["give_up_after"],
            )
        )
    return tuple(webhooks)


def _path(directory: Path, path: str | None) -> Path | None:
    return None if path is None else directory / path
