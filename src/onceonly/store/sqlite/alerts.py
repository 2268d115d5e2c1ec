"""Alerts in the SQLite store: the contract's `alerts`.

Knows which named query answers which question; must not begin, commit or roll back.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in alerts.py

from collections.abc import Sequence

from msgspec.structs import astuple

from onceonly.store.contract.alerts import Alert, AlertChange, AlertLevel, AlertMute, AlertTold
from onceonly.store.sqlite.asking import SqliteQuestions
from onceonly.store.sqlite.later import SqliteLater


class SqliteAlertReading(SqliteQuestions):
    """Reads about alerts over one connection."""

    def list_alerts(self) -> Sequence[Alert]:
        return [
            Alert(rule, subject, AlertLevel(level), *rest)
            for rule, subject, level, *rest in self._list("list_alerts")
        ]

    def list_alert_changes(self, before: int, limit: int) -> Sequence[AlertChange]:
        return [
            AlertChange(number, rule, subject, level and AlertLevel(level), *rest)
            for number, rule, subject, level, *rest in self._list(
                "list_alert_changes", before, limit
            )
        ]

    def find_alert_look(self) -> int | None:
        found: int | None = self._get("find_alert_look")
        return found

    def list_mutes(self) -> Sequence[AlertMute]:
        return [AlertMute(*row) for row in self._list("list_mutes")]

    def list_told(self) -> Sequence[AlertTold]:
        return [
            AlertTold(way, rule, subject, AlertLevel(level), told_at)
            for way, rule, subject, level, told_at in self._list("list_told")
        ]


class SqliteAlertWriting(SqliteLater, SqliteAlertReading):
    """Writes about alerts, on the one writer connection."""

    def put_alert(self, alert: Alert) -> None:
        self._write("put_alert", *astuple(alert))

    def drop_alert(self, rule: str, subject: str) -> None:
        self._write("drop_alert", rule, subject)

    def add_alert_change(self, change: AlertChange, keep: int) -> None:
        self._write("add_alert_change", *astuple(change)[1:])
        self._write("forget_alert_changes", keep)

    def put_alert_look(self, at: int) -> None:
        self._write("put_alert_look", at)

    def put_mute(self, mute: AlertMute) -> None:
        self._write("put_mute", *astuple(mute))

    def drop_mute(self, rule: str) -> None:
        self._write("drop_mute", rule)

    def put_told(self, told: AlertTold) -> None:
        self._write("put_told", *astuple(told))

    def drop_told(self, way: str, rule: str, subject: str) -> None:
        self._write("drop_told", way, rule, subject)
