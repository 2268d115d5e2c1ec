"""What a probe looks at, and when it says that something is wrong: pure, over what the API said.

Every finding says what was seen, what was expected, and whose move it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from typing import Final

from onceonly.api.condition import Condition
from onceonly.api.history import JournalRow
from onceonly.api.operating import Health, PartnerPair
from onceonly.message.word import Word

OURS: Final = "yours"
PARTNERS: Final = "the partner's, then yours"
NOBODYS: Final = "nobody's"

SHOWN_MAX: Final = 5
"""Most partners or files that one line names."""


class Level(IntEnum):
    """How bad a finding is; the numbers are the exit codes of a Nagios plugin."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


class Finding(Word, kw_only=True):
    """One look, and what it found."""

    name: str
    level: Level
    seen: str
    expected: str
    move: str


class Seen(Word, kw_only=True):
    """What the API said, and when it was asked, in seconds since 1970."""

    now_s: float
    condition: Condition
    health: Health
    partners: Sequence[PartnerPair]
    unpublished: JournalRow | None
    """The first journal row that is not in the lake."""


class Thresholds(Word, kw_only=True):
    """From where on something is wrong; ages in seconds."""

    disk_warning_percent: float = 15.0
    disk_critical_percent: float = 5.0
    doubts: int = 0
    backlog_s: float = 900.0
    silence_s: float = 3_600.0
    certificate_warning_days: float = 30.0
    certificate_critical_days: float = 7.0
    clock_s: float = 30.0


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _finding(
    name: str, seen: str, expected: str, level: Level = Level.OK, move: str = OURS
) -> Finding:
    its = NOBODYS if level is Level.OK else move
    return Finding(name=name, level=level, seen=seen, expected=expected, move=its)


def _ready(seen: Seen, limits: Thresholds) -> Finding:
    del limits
    is_ready = seen.condition.ready
    words = "takes packages and submissions" if is_ready else "takes no packages and submissions"
    level = Level.OK if is_ready else Level.CRITICAL
    if seen.health.draining:
        words, level = f"{words}; partners are told to wait (draining)", max(level, Level.WARNING)
    return _finding("ready", words, "takes packages and submissions", level)


def _store(seen: Seen, limits: Thresholds) -> Finding:
    """A store that failed answers no call, so an answer is the finding."""
    del limits
    rows = f"journal up to row {seen.condition.last_seq}, epoch {seen.health.store_epoch}"
    return _finding("store", rows, "it can be read and has not failed")


def _disk(seen: Seen, limits: Thresholds) -> Finding:
    disk = seen.condition.disk
    percent = 100 * disk.free_bytes / max(1, disk.total_bytes)
    level = Level.OK
    if percent < limits.disk_critical_percent:
        level = Level.CRITICAL
    elif percent < limits.disk_warning_percent:
        level = Level.WARNING
    taken = f"store {_size(disk.store_bytes)}, log {_size(disk.log_bytes)}"
    spool = "" if disk.spool_bytes is None else f", payloads {_size(disk.spool_bytes)}"
    return _finding(
        "disk",
        f"{percent:.1f} % free ({_size(disk.free_bytes)}); {taken}{spool}",
        f"at least {limits.disk_warning_percent:g} % free",
        level,
    )


def _size(count: float) -> str:
    units = iter(("B", "KiB", "MiB", "GiB"))
    unit = next(units)
    while count >= 1024 and unit != "GiB":
        count, unit = count / 1024, next(units)
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"


def _pairs(seen: Seen, limits: Thresholds) -> Finding:
    del limits
    closed = [one for one in seen.partners if one.state != "open"]
    words = _named(f"{one.partner} {one.state} as {one.role}" for one in closed)
    level = Level.CRITICAL if closed else Level.OK
    return _finding("pairs", words or f"{len(seen.partners)} open", "every pair is open", level)


def _named(words: Iterator[str]) -> str:
    found = list(words)
    more = f" and {len(found) - SHOWN_MAX} more" if len(found) > SHOWN_MAX else ""
    return ", ".join(found[:SHOWN_MAX]) + more


def _doubts(seen: Seen, limits: Thresholds) -> Finding:
    count = seen.condition.messages.get("in_doubt", 0)
    since_at = seen.condition.oldest_doubt_at
    words = f"{count} in doubt" + (f", the oldest submitted {since_at}" if since_at else "")
    level = Level.WARNING if count > limits.doubts else Level.OK
    return _finding("doubts", words, f"at most {limits.doubts} in doubt", level)


def _backlog(seen: Seen, limits: Thresholds) -> Finding:
    messages = seen.condition.messages
    waiting = messages.get("queued", 0) + messages.get("sending", 0)
    since_at = seen.condition.oldest_waiting_at
    age_s = 0.0 if since_at is None else _seconds(seen.condition.now) - _seconds(since_at)
    words = f"{waiting} wait, the oldest for {age_s:.0f} s" if waiting else "nothing waits"
    level = Level.WARNING if age_s > limits.backlog_s else Level.OK
    return _finding("backlog", words, f"none waits longer than {limits.backlog_s:g} s", level)


def _silence(seen: Seen, limits: Thresholds) -> Finding:
    """Only of partners from whom something is awaited: others may have nothing to say."""
    now_s = _seconds(seen.condition.now)
    before_s = now_s - limits.silence_s
    silent = [
        one
        for one in seen.partners
        if one.oldest_waiting_at is not None
        and _seconds(one.oldest_waiting_at) < before_s
        and (one.last_contact_at is None or _seconds(one.last_contact_at) < before_s)
    ]
    words = _named(f"{one.partner} since {one.last_contact_at or 'ever'}" for one in silent)
    expected = f"who is waited for was heard in the last {limits.silence_s:g} s"
    level = Level.WARNING if silent else Level.OK
    return _finding("silence", words or "nobody is silent", expected, level, PARTNERS)


def _certificates(seen: Seen, limits: Thresholds) -> Finding:
    level, words = Level.OK, []
    for one in seen.condition.certificates:
        if one.ends_at is None:
            level = max(level, Level.WARNING)
            words.append(f"{one.file} cannot be read")
            continue
        days = (_seconds(one.ends_at) - seen.now_s) / 86_400
        words.append(f"{one.file} ends in {days:.0f} days")
        if days < limits.certificate_critical_days:
            level = Level.CRITICAL
        elif days < limits.certificate_warning_days:
            level = max(level, Level.WARNING)
    expected = f"none ends in the next {limits.certificate_warning_days:g} days"
    return _finding("certificates", _named(iter(words)) or "none are used", expected, level)


def _clock(seen: Seen, limits: Thresholds) -> Finding:
    theirs_s = _seconds(seen.condition.now)
    apart_s = theirs_s - seen.now_s
    words, level = f"{apart_s:+.1f} s against this machine", Level.OK
    last_at = seen.condition.last_row_at
    if last_at is not None and _seconds(last_at) - theirs_s > limits.clock_s:
        words, level = f"{words}; the last journal row is of {last_at}", Level.WARNING
    if abs(apart_s) > limits.clock_s:
        level = Level.WARNING
    expected = f"at most {limits.clock_s:g} s apart, and no row in the future"
    return _finding("clock", words, expected, level)


def _publication(seen: Seen, limits: Thresholds) -> Finding:
    del limits
    late_s = 2 * seen.condition.publish_interval_s + 60
    left = seen.condition.last_seq - (seen.condition.published_seq or 0)
    expected = f"no row waits longer than {late_s} s"
    if seen.unpublished is None:
        return _finding("publication", "every row is published", expected)
    age_s = _seconds(seen.condition.now) - _seconds(seen.unpublished.at)
    words = f"{left} rows are not published, the first for {max(0.0, age_s):.0f} s"
    level = Level.WARNING if age_s > late_s else Level.OK
    return _finding("publication", words, expected, level)


LOOKS: Final[Mapping[str, Callable[[Seen, Thresholds], Finding]]] = {
    "ready": _ready,
    "store": _store,
    "disk": _disk,
    "pairs": _pairs,
    "doubts": _doubts,
    "backlog": _backlog,
    "silence": _silence,
    "certificates": _certificates,
    "clock": _clock,
    "publication": _publication,
}
"""Every look by its name, in the order in which they are told."""
