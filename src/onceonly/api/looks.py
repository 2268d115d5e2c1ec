"""What a probe and the alerts look at, and when something is wrong: pure, over what the API says.

Every finding says what was seen, what was expected, and whose move it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from typing import Final

from onceonly.api.condition import Condition
from onceonly.api.fields import Instant
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


class Trouble(Word):
    """One thing that is wrong; `subject` says whose it is, where a look has several."""

    subject: str
    level: Level
    seen: str


class Finding(Word, kw_only=True):
    """One look, and what it found."""

    name: str
    level: Level
    seen: str
    expected: str
    move: str
    troubles: tuple[Trouble, ...] = ()
    """Each thing that is wrong; none if all is well."""


class Seen(Word, kw_only=True):
    """What the API said, and when it was asked, in seconds since 1970."""

    now_s: float
    condition: Condition
    health: Health
    partners: Sequence[PartnerPair]
    unpublished: JournalRow | None
    """The first journal row that is not in the lake."""
    store_trouble: str | None = None
    """Why the store took no write, where the gateway itself looks."""


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
    is_by_agreement: bool = False
    """Whether a message may wait at least as long as its agreement allows all those of its turn."""


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _finding(
    name: str,
    seen: str,
    expected: str,
    level: Level = Level.OK,
    move: str = OURS,
    troubles: Sequence[Trouble] = (),
) -> Finding:
    """`troubles` where a look has several subjects; otherwise the finding is the trouble."""
    its = NOBODYS if level is Level.OK else move
    found = tuple(troubles) or (Trouble("", level, seen),)
    if level is Level.OK:
        found = ()
    return Finding(name=name, level=level, seen=seen, expected=expected, move=its, troubles=found)


def patience_s(pair: PartnerPair, least_s: float, limits: Thresholds) -> float:
    """How long a message of the pair may wait before that is a finding.

    With `is_by_agreement` each message that waits may need the agreement's whole time, one after
    the other as many times as the window needs: with a window of 1, a long queue is usual.
    """
    if not limits.is_by_agreement or pair.verdict_after_s is None:
        return least_s
    waiting = pair.queued + len(pair.in_flight)
    turns = -(-waiting // (pair.window or 1))
    return max(least_s, float(pair.verdict_after_s * max(1, turns)))


def _ready(seen: Seen, limits: Thresholds) -> Finding:
    del limits
    is_ready = seen.condition.ready
    words = "takes packages and submissions" if is_ready else "takes no packages and submissions"
    level = Level.OK if is_ready else Level.CRITICAL
    if seen.health.draining:
        words, level = f"{words}; partners are told to wait (draining)", max(level, Level.WARNING)
    return _finding("ready", words, "takes packages and submissions", level)


def _store(seen: Seen, limits: Thresholds) -> Finding:
    """A store that failed answers no call, so an answer is the finding; a disk may be full."""
    del limits
    if seen.store_trouble is not None:
        return _finding("store", seen.store_trouble, "it takes what is written", Level.CRITICAL)
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
    words = _named(f"{_called(one)} {one.state} as {one.role}" for one in closed)
    level = Level.CRITICAL if closed else Level.OK
    troubles = [
        Trouble(
            f"{one.partner} as {one.role}",
            level,
            f"{_prefix(one)}{one.state}: {one.reason or 'no reason'}",
        )
        for one in closed
    ]
    words = words or f"{len(seen.partners)} open"
    return _finding("pairs", words, "every pair is open", level, OURS, troubles)


def _called(pair: PartnerPair) -> str:
    """A partner for people; the subject of a trouble is its PartyId, which does not change."""
    return pair.partner if pair.partner_name is None else f"{pair.partner_name} ({pair.partner})"


def _prefix(pair: PartnerPair) -> str:
    return "" if pair.partner_name is None else f"{pair.partner_name}: "


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
    late = [
        Trouble(one.partner, Level.WARNING, said)
        for one in seen.partners
        if (said := _late(one, seen, limits)) is not None
    ]
    is_late = bool(late) if limits.is_by_agreement else age_s > limits.backlog_s
    level = Level.WARNING if is_late else Level.OK
    expected = f"none waits longer than {limits.backlog_s:g} s"
    return _finding("backlog", words, expected, level, OURS, late)


def _late(pair: PartnerPair, seen: Seen, limits: Thresholds) -> str | None:
    """How long the oldest message waits, if that is too long."""
    if pair.oldest_waiting_at is None:
        return None
    age_s = _seconds(seen.condition.now) - _seconds(pair.oldest_waiting_at)
    most_s = patience_s(pair, limits.backlog_s, limits)
    count = pair.queued + len(pair.in_flight)
    words = f"{_prefix(pair)}{count} wait, the oldest for {age_s:.0f} s, above {most_s:.0f} s"
    return words if age_s > most_s else None


def _silence(seen: Seen, limits: Thresholds) -> Finding:
    """Only of partners from whom something is awaited: others may have nothing to say."""
    now_s = _seconds(seen.condition.now)
    silent = [
        one
        for one in seen.partners
        if one.oldest_waiting_at is not None
        and _is_silent(one, one.oldest_waiting_at, now_s - _silence_s(one, limits))
    ]
    words = _named(f"{_called(one)} since {one.last_contact_at or 'ever'}" for one in silent)
    span = f"the last {limits.silence_s:g} s"
    if limits.is_by_agreement:
        span = "half of the time after which its message is given up"
    expected = f"who is waited for was heard in {span}"
    level = Level.WARNING if silent else Level.OK
    troubles = [
        Trouble(
            one.partner,
            level,
            f"{_prefix(one)}last heard {one.last_contact_at or 'never'}; a message waits since "
            f"{one.oldest_waiting_at}",
        )
        for one in silent
    ]
    return _finding("silence", words or "nobody is silent", expected, level, PARTNERS, troubles)


def _silence_s(pair: PartnerPair, limits: Thresholds) -> float:
    """Half of the time in which the agreement gives a message up, so that there is time to act.

    A queue does not count, since a partner is heard with each message of it.
    """
    if not limits.is_by_agreement or pair.verdict_after_s is None:
        return limits.silence_s
    return pair.verdict_after_s / 2


def _is_silent(pair: PartnerPair, waiting_at: str, before_s: float) -> bool:
    heard_at = pair.last_contact_at
    return _seconds(waiting_at) < before_s and (heard_at is None or _seconds(heard_at) < before_s)


def certificate_level(
    begins_at: Instant | None, ends_at: Instant, now_s: float, limits: Thresholds
) -> Level:
    """How bad the times of a certificate are, in seconds since 1970 now.

    Critical before its begin, too: whoever is shown it refuses it.
    """
    days = (_seconds(ends_at) - now_s) / 86_400
    is_early = begins_at is not None and _seconds(begins_at) > now_s
    if is_early or days < limits.certificate_critical_days:
        return Level.CRITICAL
    return Level.WARNING if days < limits.certificate_warning_days else Level.OK


def _certificates(seen: Seen, limits: Thresholds) -> Finding:
    words, troubles = [], []
    for one in seen.condition.certificates:
        if one.ends_at is None:
            words.append(f"{one.file} cannot be read")
            troubles.append(Trouble(one.file, Level.WARNING, words[-1]))
            continue
        days = (_seconds(one.ends_at) - seen.now_s) / 86_400
        words.append(f"{one.file} ends in {days:.0f} days")
        if one.begins_at is not None and _seconds(one.begins_at) > seen.now_s:
            words[-1] = f"{one.file} is valid only from {one.begins_at} on"
        its = certificate_level(one.begins_at, one.ends_at, seen.now_s, limits)
        if its is not Level.OK:
            troubles.append(Trouble(one.file, its, words[-1]))
        if days < 1:
            # A trouble of its own, so that who was told a week before is told once more.
            troubles.append(Trouble(f"{one.file}, its last day", Level.CRITICAL, words[-1]))
    level = max((one.level for one in troubles), default=Level.OK)
    expected = f"all are valid, now and for {limits.certificate_warning_days:g} days"
    shown = _named(iter(words)) or "none are used"
    return _finding("certificates", shown, expected, level, OURS, troubles)


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


def _conversations(seen: Seen, limits: Thresholds) -> Finding:
    """Ordered conversations that do not go on by themselves (R-34)."""
    del limits
    blocked, gaps = seen.condition.conversations_blocked, seen.condition.conversations_with_gap
    words = f"{blocked} blocked, {gaps} with a gap"
    level = Level.WARNING if blocked or gaps else Level.OK
    return _finding("conversations", words, "none is blocked, and none has a gap", level)


LOOKS: Final[Mapping[str, Callable[[Seen, Thresholds], Finding]]] = {
    "ready": _ready,
    "store": _store,
    "disk": _disk,
    "pairs": _pairs,
    "doubts": _doubts,
    "backlog": _backlog,
    "silence": _silence,
    "conversations": _conversations,
    "certificates": _certificates,
    "clock": _clock,
    "publication": _publication,
}
"""Every look by its name, in the order in which they are told."""


def _incidents(seen: Seen, limits: Thresholds) -> Finding:
    del limits
    count = seen.condition.incidents_open
    level = Level.WARNING if count else Level.OK
    return _finding("incidents", f"{count} open", "none is open", level)


RULES: Final[Mapping[str, Callable[[Seen, Thresholds], Finding]]] = {
    **LOOKS,
    "incidents": _incidents,
}
"""What alerts are about: all looks, and the open incidents, which a probe leaves to their list."""

ALERT_THRESHOLDS: Final = Thresholds(is_by_agreement=True)
"""Right for both profiles: with stop-and-wait a queue is usual, with a window it is shorter."""
