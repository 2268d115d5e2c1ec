"""Calls about alerts."""

import asyncio

from onceonly.api import alert_operations as operations
from onceonly.api import alerts as shapes
from onceonly.api.operation import Nothing
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.reading import page_limit
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves


class AlertCalls:
    """The routes under /v1/alerts."""

    _served: Served

    @serves(operations.LIST_ALERTS)
    def list_alerts(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[shapes.AlertList]:
        """What is wrong now, and who is told."""
        del asked
        return Json(self._served.alerts.list_shapes())

    @serves(operations.LIST_ALERT_HISTORY)
    def list_alert_history(
        self, asked: Asked[Nothing, shapes.AlertHistoryQuery, Nothing]
    ) -> Answer[shapes.AlertHistory]:
        """What began and ended."""
        limit = page_limit(asked.query.limit)
        return Json(self._served.alerts.list_history(asked.query.before, limit))

    @serves(operations.MUTE_RULE)
    async def mute_rule(
        self, asked: Asked[shapes.RulePath, Nothing, shapes.MuteRule]
    ) -> Answer[shapes.AlertList]:
        """Tell nobody for some time."""
        body, alerts = asked.body, self._served.alerts
        await alerts.mute(asked.path.rule, for_s=body.for_s, reason=body.reason, by=asked.actor)
        return Json(await asyncio.to_thread(alerts.list_shapes))

    @serves(operations.UNMUTE_RULE)
    async def unmute_rule(
        self, asked: Asked[shapes.RulePath, Nothing, Nothing]
    ) -> Answer[shapes.AlertList]:
        """Tell it again."""
        await self._served.alerts.unmute(asked.path.rule)
        return Json(await asyncio.to_thread(self._served.alerts.list_shapes))

    @serves(operations.TEST_ALERT_WAY)
    async def test_alert_way(
        self, asked: Asked[shapes.WayPath, Nothing, Nothing]
    ) -> Answer[shapes.AlertWay]:
        """Tell a way a test."""
        return Json(await self._served.alerts.test(asked.path.way))
