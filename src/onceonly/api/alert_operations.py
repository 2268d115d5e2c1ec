"""The calls about alerts."""

from typing import Final

from onceonly.api import alerts
from onceonly.api.operation import Nothing, Operation

LIST_ALERTS: Final = Operation(
    name="listAlerts",
    method="get",
    path="/v1/alerts",
    summary="What is wrong now, what is muted, and who is told",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=alerts.AlertList,
)
LIST_ALERT_HISTORY: Final = Operation(
    name="listAlertHistory",
    method="get",
    path="/v1/alerts/history",
    summary="What began and what ended, the latest first",
    path_type=Nothing,
    query_type=alerts.AlertHistoryQuery,
    body_type=Nothing,
    answer_type=alerts.AlertHistory,
)
MUTE_RULE: Final = Operation(
    name="muteRule",
    method="post",
    path="/v1/alerts/{rule}/mute",
    summary="Tell nobody of a rule for some time; a mute that it has is replaced",
    path_type=alerts.RulePath,
    query_type=Nothing,
    body_type=alerts.MuteRule,
    answer_type=alerts.AlertList,
    refusals=("NotFound", "StoreFull"),
)
UNMUTE_RULE: Final = Operation(
    name="unmuteRule",
    method="post",
    path="/v1/alerts/{rule}/unmute",
    summary="Tell a rule again",
    path_type=alerts.RulePath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=alerts.AlertList,
    refusals=("NotFound", "StoreFull"),
)
TEST_ALERT_WAY: Final = Operation(
    name="testAlertWay",
    method="post",
    path="/v1/alerts/{way}/test",
    summary="Tell a way a test now; `trouble` says why it failed",
    path_type=alerts.WayPath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=alerts.AlertWay,
    refusals=("NotFound",),
)
ALERT_OPERATIONS: Final = (
    LIST_ALERTS,
    LIST_ALERT_HISTORY,
    MUTE_RULE,
    UNMUTE_RULE,
    TEST_ALERT_WAY,
)
