"""Alerts: what is wrong now and was, who is told, and what a way is told."""

from typing import Annotated, Literal

from msgspec import Meta

from onceonly.api.fields import NUMBER_MAX, FullLine, Instant, Limit, Name, Number
from onceonly.message.word import Word

MUTE_S_MAX = 366 * 86_400
"""Longest mute: what is muted for ever is better left out of a way's `rules`."""

Level = Literal["warning", "critical"]


class ToldAlert(Word, kw_only=True):
    """One alert in what a way is told; `since` is when it began, or was last told once it ended."""

    state: Literal["begun", "lasts", "ended", "test"]
    rule: str
    subject: str
    level: Level
    since: Instant
    seen: str
    expected: str
    move: str


class AlertBody(Word, kw_only=True):
    """What a program reads and a webhook is posted."""

    type: Literal["alerts"] = "alerts"
    gateway: str
    at: Instant
    alerts: tuple[ToldAlert, ...]


class Alert(Word, kw_only=True):
    """Something that is wrong; `subject` is empty where the rule has only one."""

    rule: str
    subject: str
    level: Level
    since: Instant
    seen: str
    expected: str
    move: str
    muted_until: Instant | None


class Mute(Word, kw_only=True):
    """Nobody is told of the rule until then."""

    rule: str
    until: Instant
    reason: str
    by: str


class AlertWay(Word, kw_only=True):
    """Who is told, and why not at the moment."""

    id: str
    kind: Literal["mail", "webhook", "command"]
    rules: tuple[str, ...]
    severity: Level
    repeat_s: int | None
    attempts: Annotated[int, Meta(description="failed ones since the last that was none")]
    trouble: str | None
    told_at: Annotated[Instant | None, Meta(description="since the gateway started")]


class AlertList(Word, kw_only=True):
    """What is wrong, what is muted and who is told; `looked_at` is null before the first look."""

    looked_at: Instant | None
    alerts: tuple[Alert, ...]
    mutes: tuple[Mute, ...]
    ways: tuple[AlertWay, ...]


class AlertChange(Word, kw_only=True):
    """An alert that began or changed; `level` is null where it ended."""

    number: int
    at: Instant
    rule: str
    subject: str
    level: Level | None
    seen: str


class AlertHistory(Word, kw_only=True):
    """A page of changes, the latest first; `next_before` is null on the last."""

    changes: tuple[AlertChange, ...]
    next_before: int | None


class AlertHistoryQuery(Word, kw_only=True, omit_defaults=True):
    """Which page."""

    before: Number = NUMBER_MAX
    limit: Limit = 100


class RulePath(Word, kw_only=True):
    """The rule that a call is about."""

    rule: Name


class WayPath(Word, kw_only=True):
    """The way that a call is about."""

    way: Name


class MuteRule(Word, kw_only=True, forbid_unknown_fields=True):
    """For how long, and why."""

    for_s: Annotated[int, Meta(ge=1, le=MUTE_S_MAX, description="seconds")]
    reason: FullLine
