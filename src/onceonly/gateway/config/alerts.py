"""`[[alert]]`: what the tables amount to, and what in them cannot work."""

from collections.abc import Sequence
from pathlib import Path

from onceonly.gateway.config.file import Table
from onceonly.gateway.config.transports import Smtp
from onceonly.message.word import Word
from onceonly.store.contract.alerts import AlertLevel

_WAYS = ("mail", "url", "command")


class AlertWay(Word):
    """Somebody who is told when something is wrong: by exactly one of mail, url and command."""

    id: str
    mail: str | None
    url: str | None
    command: tuple[str, ...] | None
    secrets: tuple[bytes, ...]
    """Of the signature, where it has a url."""
    trusted: Path | None
    rules: tuple[str, ...]
    severity: AlertLevel
    repeat_s: int | None
    timeout_s: int


def alert_ways_of(
    tables: Sequence[Table], directory: Path, smtp: Smtp | None
) -> tuple[AlertWay, ...]:
    """Who is told. Refuses ids that are there twice, and a table that names no way or several."""
    ways: list[AlertWay] = []
    for table in tables:
        if any(one.id == table["id"] for one in ways):
            table.refuse("id", f"{table['id']!r} is there twice")
        given = [key for key in _WAYS if table[key] is not None]
        if len(given) != 1:
            table.refuse(given[1] if given else None, "needs one of mail, url and command")
        if (table["url"] is None) != (table["secret"] is None):
            table.refuse("url" if table["url"] else "secret", "url and secret belong together")
        has_relay = smtp is not None and smtp.relay is not None
        if table["mail"] is not None and not has_relay:
            table.refuse("mail", "is a mailbox: legal with relay in [smtp]")
        trusted = table["trusted"]
        ways.append(
            AlertWay(
                id=table["id"],
                mail=table["mail"],
                url=table["url"],
                command=table["command"],
                secrets=table["secret"] or (),
                trusted=None if trusted is None else directory / trusted,
                rules=table["rules"],
                severity=table["severity"],
                repeat_s=table["repeat"],
                timeout_s=table["timeout"],
            )
        )
    return tuple(ways)
