"""A store that remembers alerts, and who was told of them; not every one does.

An alert is about one `subject` of one `rule`; the subject is empty where the rule has only one.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

from onceonly.message.word import Word


class AlertLevel(StrEnum):
    """How bad it is."""

    WARNING = "warning"
    CRITICAL = "critical"


class Alert(Word):
    """Something that is wrong now; `since_at` is in microseconds UTC, as all instants here."""

    rule: str
    subject: str
    level: AlertLevel
    since_at: int
    seen: str
    expected: str
    move: str

    @property
    def key(self) -> tuple[str, str]:
        """What it is about."""
        return self.rule, self.subject


class AlertChange(Word):
    """An alert that began, became better or worse, or ended (`level` is None)."""

    number: int
    rule: str
    subject: str
    level: AlertLevel | None
    at: int
    seen: str


class AlertMute(Word):
    """Nobody is told of a rule until then."""

    rule: str
    until_at: int
    reason: str
    by: str


class AlertTold(Word):
    """A way was told of an alert, last at `told_at`."""

    way: str
    rule: str
    subject: str
    level: AlertLevel
    told_at: int

    @property
    def key(self) -> tuple[str, str]:
        """What it is about."""
        return self.rule, self.subject


@runtime_checkable
class AlertSnapshot(Protocol):
    """Reads about alerts."""

    def list_alerts(self) -> Sequence[Alert]:
        """What is wrong, by rule and subject."""
        ...

    def list_alert_changes(self, before: int, limit: int) -> Sequence[AlertChange]:
        """What began and ended below the number `before`, the latest first."""
        ...

    def find_alert_look(self) -> int | None:
        """When somebody last looked; None if nobody ever did."""
        ...

    def list_mutes(self) -> Sequence[AlertMute]:
        """Rules that are muted, also those whose time is over."""
        ...

    def list_told(self) -> Sequence[AlertTold]:
        """Who was told of what, and not yet of its end."""
        ...


@runtime_checkable
class AlertTransaction(AlertSnapshot, Protocol):
    """Writes about alerts, in the transaction that does them."""

    def put_alert(self, alert: Alert) -> None:
        """Note or replace what is known of its subject."""
        ...

    def drop_alert(self, rule: str, subject: str) -> None:
        """It is over."""
        ...

    def add_alert_change(self, change: AlertChange, keep: int) -> None:
        """Note it under the next number, not its own, and forget all but the last `keep`."""
        ...

    def put_alert_look(self, at: int) -> None:
        """Note when somebody looked."""
        ...

    def put_mute(self, mute: AlertMute) -> None:
        """Mute the rule, or mute it until another time."""
        ...

    def drop_mute(self, rule: str) -> None:
        """The rule is told again."""
        ...

    def put_told(self, told: AlertTold) -> None:
        """Note who was told."""
        ...

    def drop_told(self, way: str, rule: str, subject: str) -> None:
        """The way was told that it is over."""
        ...
