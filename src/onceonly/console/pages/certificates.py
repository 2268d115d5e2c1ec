"""Certificates: a calendar of their ends, and a list in which the next one to end is first."""

import calendar
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from onceonly.api.certificates import LIST_CERTIFICATES, UsedCertificate
from onceonly.console import spans
from onceonly.console.calls import NOTHING, twin_of
from onceonly.console.page import Shown, Visit
from onceonly.message.word import Word

MONTHS: Final = 13
"""What the calendar shows: this month and twelve more, all of one width."""
WIDE: Final = 1_000


class Month(Word, kw_only=True):
    """Where a month begins in the calendar, and its name."""

    x: float
    name: str


class CertificateMark(Word, kw_only=True):
    """The end of one certificate in the calendar."""

    x: float
    level: str
    label: str


async def certificates(visit: Visit) -> Shown:
    """Every certificate that is used or expected."""
    found = (await visit.calls.ask(LIST_CERTIFICATES, NOTHING, NOTHING)).certificates
    ends = tuple(ends_of(found, visit.now))
    counts = {
        level: sum(one.level == level for one in found)
        for level in ("critical", "warning", "ok", "unknown")
    }
    return Shown(
        template="certificates.html",
        title="Certificates",
        values={
            "certificates": found,
            "counts": counts,
            "months": months_of(visit.now),
            "today": place_of(visit.now, visit.now),
            "ends": ends,
            "later": sum(one.valid_until is not None for one in found) - len(ends),
        },
        twin=twin_of(LIST_CERTIFICATES, NOTHING, NOTHING),
        command="onceonly certificate list",
    )


def months_of(now: datetime) -> tuple[Month, ...]:
    """The month of today, and those to come."""
    return tuple(
        Month(
            x=round(WIDE * number / MONTHS, 1),
            name=calendar.month_abbr[(now.month - 1 + number) % 12 + 1],
        )
        for number in range(MONTHS)
    )


def place_of(moment: datetime, now: datetime) -> float | None:
    """Where an instant is in the calendar; what is past is today, what is after it is nowhere."""
    moment = max(moment, now)
    months = 12 * (moment.year - now.year) + moment.month - now.month
    if months >= MONTHS:
        return None
    days = calendar.monthrange(moment.year, moment.month)[1]
    return round(WIDE * (months + (moment.day - 0.5) / days) / MONTHS, 1)


def ends_of(found: tuple[UsedCertificate, ...], now: datetime) -> Iterator[CertificateMark]:
    """Every end that is in the calendar."""
    for one in found:
        if one.valid_until is not None:
            x = place_of(spans.moment(one.valid_until), now)
            if x is not None:
                label = f"{one.subject}, {one.valid_until[:10]}"
                yield CertificateMark(x=x, level=one.level, label=label)
