"""Instants and counts as people read them."""

from datetime import UTC, datetime

from markupsafe import Markup

from onceonly.message.measures import span


def moment(instant: str) -> datetime:
    """The API's text of an instant as a `datetime`."""
    return datetime.fromisoformat(instant)


def moment_of(at: int) -> datetime:
    """The instant of microseconds since 1970."""
    return datetime.fromtimestamp(at / 1_000_000, UTC)


def relative(instant: datetime, now: datetime) -> str:
    """How long ago, or in how long."""
    seconds = (now - instant).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"{span(seconds)} ago" if seconds > 0 else f"in {span(seconds)}"


def count(value: int) -> Markup:
    """A whole number with narrow spaces between its thousands.

    Markup of ours: in a text of somebody else such a space would be written as its escape.
    """
    return Markup(f"{value:,}".replace(",", "\u202f"))  # noqa: S704 - because it has digits alone
