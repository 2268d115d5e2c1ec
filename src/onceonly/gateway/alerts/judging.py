"""What changed since the look before, and what a way is to be told: pure decisions."""

from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256

from onceonly.api.looks import Finding, Level
from onceonly.gateway.config.alerts import AlertWay
from onceonly.message.instant import US_PER_S
from onceonly.message.word import Word
from onceonly.store.contract.alerts import Alert, AlertChange, AlertLevel, AlertTold

SUBJECTS_MAX = 200
"""Most alerts of one rule: a gateway without a network has one for each partner."""

SEEN_LENGTH_MAX = 500

LEVEL_OF = {Level.WARNING: AlertLevel.WARNING, Level.CRITICAL: AlertLevel.CRITICAL}

_RANK = {AlertLevel.WARNING: 1, AlertLevel.CRITICAL: 2}


class Owed(Word):
    """What a way is to be told in one message."""

    begun: tuple[Alert, ...]
    """New to it, or worse than it was told."""
    lasting: tuple[Alert, ...]
    """Told before, and once more because they last."""
    ended: tuple[AlertTold, ...]

    def __bool__(self) -> bool:
        return bool(self.begun or self.lasting or self.ended)


def alerts_of(findings: Sequence[Finding], before: Sequence[Alert], at: int) -> list[Alert]:
    """What is wrong now; `since_at` is when its subject began to be wrong."""
    known = {one.key: one.since_at for one in before}
    found = []
    for finding in findings:
        for one in finding.troubles[:SUBJECTS_MAX]:
            since_at = known.get((finding.name, one.subject), at)
            level, seen = LEVEL_OF[one.level], one.seen[:SEEN_LENGTH_MAX]
            found.append(
                Alert(
                    finding.name, one.subject, level, since_at, seen, finding.expected, finding.move
                )
            )
    return found


def changes_of(before: Sequence[Alert], now: Sequence[Alert], at: int) -> Iterator[AlertChange]:
    """What began, became better or worse, and ended."""
    were, are = ({one.key: one for one in alerts} for alerts in (before, now))
    for key, alert in are.items():
        if key not in were or were[key].level is not alert.level:
            yield AlertChange(0, *key, alert.level, at, alert.seen)
    for key, alert in were.items():
        if key not in are:
            yield AlertChange(0, *key, None, at, alert.seen)


def owed_to(
    way: AlertWay,
    alerts: Sequence[Alert],
    told: Sequence[AlertTold],
    muted: Collection[str],
    at: int,
) -> Owed:
    """What the way is to be told at the instant `at`. Nothing of a rule that is muted.

    What ended before the way was told of it is in the history alone.
    """
    wanted = {one.key: one for one in alerts if _is_wanted(way, one)}
    known = {one.key: one for one in told if one.way == addressee_of(way)}
    begun, lasting = [], []
    for key, alert in wanted.items():
        if alert.rule in muted:
            continue
        if key not in known or _RANK[alert.level] > _RANK[known[key].level]:
            begun.append(alert)
        elif way.repeat_s and at - known[key].told_at >= way.repeat_s * US_PER_S:
            lasting.append(alert)
    ended = [one for key, one in known.items() if key not in wanted and one.rule not in muted]
    return Owed(tuple(begun), tuple(lasting), tuple(ended))


def told_of(way: AlertWay, owed: Owed, at: int) -> list[AlertTold]:
    """What to note after the way was told."""
    return [
        AlertTold(addressee_of(way), one.rule, one.subject, one.level, at)
        for one in (*owed.begun, *owed.lasting)
    ]


def addressee_of(way: AlertWay) -> str:
    """Under which name it is noted what was told: somebody else by the same id knows nothing yet.

    A url may have a password in it, so it is a digest.
    """
    whom = repr((way.mail, way.url, way.command))
    return f"{way.id} {sha256(whom.encode()).hexdigest()[:16]}"


def _is_wanted(way: AlertWay, alert: Alert) -> bool:
    return alert.rule in way.rules and _RANK[alert.level] >= _RANK[way.severity]
