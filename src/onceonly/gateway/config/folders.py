"""`[[pickup]]` and `[[drop]]`: what the tables amount to, and what in them cannot work."""

from collections.abc import Collection, Sequence
from pathlib import Path

from onceonly.gateway.config.file import Table
from onceonly.gateway.config.folder_keys import Ready, Report
from onceonly.message.word import Word


class Pickup(Word):
    """A folder whose files are sent."""

    id: str
    path: Path
    agreement: str
    service: str | None = None
    action: str | None = None
    conversation: str | None = None
    content_type: str | None = None
    ready: Ready = Ready.MARKER
    settle_s: int = 0
    interval_s: int = 2


class Drop(Word):
    """A folder that received messages are written to; None as a criterion means any."""

    id: str
    path: Path
    agreements: tuple[str, ...] | None = None
    services: tuple[str, ...] | None = None
    actions: tuple[str, ...] | None = None
    report: Report = Report.COMPLETE


def pickups_of(
    tables: Sequence[Table], directory: Path, agreements: Collection[str]
) -> tuple[Pickup, ...]:
    """The pickup folders. Refuses unknown agreements, ids and paths that are there twice."""
    pickups: list[Pickup] = []
    for table in tables:
        if table["agreement"] not in agreements:
            table.refuse("agreement", f"{table['agreement']!r} is the id of no [[agreement]]")
        is_settled = table["ready"] == Ready.SETTLED
        if is_settled and table["settle"] is None:
            table.refuse("ready", "is a guess about time: say how long, in settle")
        if not is_settled and table["settle"] is not None:
            table.refuse("settle", 'has a meaning only with ready = "settled"')
        pickup = Pickup(
            id=table["id"],
            path=directory / table["path"],
            agreement=table["agreement"],
            service=table["service"],
            action=table["action"],
            conversation=table["conversation"],
            content_type=table["content_type"],
            ready=Ready(table["ready"]),
            settle_s=table["settle"] or 0,
            interval_s=table["interval"],
        )
        _check_other(table, pickup, pickups)
        pickups.append(pickup)
    return tuple(pickups)


def drops_of(
    tables: Sequence[Table], directory: Path, agreements: Collection[str], pickups: Sequence[Pickup]
) -> tuple[Drop, ...]:
    """The drop folders. Refuses unknown agreements, ids and paths that are there twice."""
    drops: list[Drop] = []
    for table in tables:
        for name in table["agreements"] or ():
            if name not in agreements:
                table.refuse("agreements", f"{name!r} is the id of no [[agreement]]")
        drop = Drop(
            id=table["id"],
            path=directory / table["path"],
            agreements=table["agreements"],
            services=table["services"],
            actions=table["actions"],
            report=Report(table["report"]),
        )
        _check_other(table, drop, [*pickups, *drops])
        drops.append(drop)
    return tuple(drops)


def _check_other(table: Table, one: Pickup | Drop, others: Sequence[Pickup | Drop]) -> None:
    for other in others:
        if other.id == one.id:
            table.refuse("id", f"{one.id!r} is there twice")
        if other.path.resolve() == one.path.resolve():
            table.refuse("path", f"is the folder of {other.id!r} already")
