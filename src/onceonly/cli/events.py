"""What happens, as lines on a terminal or as JSON, one event in each."""

from typing import Any, Final, get_args

import click

from onceonly.api.events import EventKind, HappenedEvent
from onceonly.cli.output import print_rows, put
from onceonly.message.printable import printable

KINDS: Final[tuple[EventKind, ...]] = get_args(EventKind)


def kinds_of(context: Any, option: Any, text: str | None) -> tuple[EventKind, ...] | None:
    """The kinds that an option names, with commas between them; click calls this."""
    del context, option
    if text is None:
        return None
    named = [one.strip() for one in text.split(",")]
    unknown = [one for one in named if one not in KINDS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in named)


def print_event(event: HappenedEvent, output: str) -> None:
    """One event in one line, at once, also into a pipe."""
    if output == "json":
        print_rows([event], (), "jsonl")
        return
    said = (event.outcome, event.status_code, event.error_code, event.reason)
    cells = (event.seq, event.at, event.event, _parties(event), event.message_id, *said)
    put("  ".join(printable(str(cell)) for cell in cells if cell is not None))


def _parties(event: HappenedEvent) -> str | None:
    if event.from_party is None or event.to_party is None:
        return None
    return f"{event.from_party} > {event.to_party}"
