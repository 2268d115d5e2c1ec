"""Calls of the client about alerts.

Knows what is asked and what is answered; must not know how a call gets to the gateway.
"""

from abc import ABC, abstractmethod
from typing import Final

from onceonly.api import alert_operations as operations
from onceonly.api.alerts import (
    AlertHistory,
    AlertHistoryQuery,
    AlertList,
    AlertWay,
    MuteRule,
    RulePath,
    WayPath,
)
from onceonly.api.fields import NUMBER_MAX
from onceonly.api.operation import A, B, Nothing, Operation, P, Q

_NOTHING: Final = Nothing()


class AlertMethods(ABC):
    """What is wrong, and who is told."""

    @abstractmethod
    def _ask(self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None) -> A:
        """The answer to a call whose body, if it has one, is JSON."""

    def alerts(self) -> AlertList:
        """What is wrong now, what is muted, and how each way stands."""
        return self._ask(operations.LIST_ALERTS, _NOTHING, _NOTHING)

    def alert_history(self, *, before: int = NUMBER_MAX, limit: int = 100) -> AlertHistory:
        """What began and what ended below the number `before`, the latest first."""
        query = AlertHistoryQuery(before=before, limit=limit)
        return self._ask(operations.LIST_ALERT_HISTORY, _NOTHING, query)

    def mute_rule(self, rule: str, *, for_s: int, reason: str) -> AlertList:
        """Tell nobody of a rule for so many seconds; raises `LocalError` (NotFound)."""
        body = MuteRule(for_s=for_s, reason=reason)
        return self._ask(operations.MUTE_RULE, RulePath(rule=rule), _NOTHING, body)

    def unmute_rule(self, rule: str) -> AlertList:
        """Tell a rule again; raises `LocalError` (NotFound)."""
        return self._ask(operations.UNMUTE_RULE, RulePath(rule=rule), _NOTHING)

    def test_alert_way(self, way: str) -> AlertWay:
        """Tell a way a test now; its `trouble` says why it failed. Raises `LocalError`."""
        return self._ask(operations.TEST_ALERT_WAY, WayPath(way=way), _NOTHING)
