"""When what happens to a message that nobody answers, by the agreed terms alone.

Counted for transmissions that take no time, as both parties reckon when they agree; `worst_case`
adds what transmissions take.
"""

from onceonly.message.instant import US_PER_S, Now
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import Word
from onceonly.protocol import schedule

_START = Now(0, 0)


class Times(Word, kw_only=True):
    """Seconds, each since the first transmission, which is when the message was made."""

    last_resend_s: int | None
    """The last copy leaves; None: it is never sent again."""
    verdict_s: int
    """The end is known."""
    expires_s: int | None
    """The partner refuses it from then on; None: it does not expire."""
    forgotten_s: int | None
    """The partner may forget its id, if it came at once; None: never."""


def times_of(terms: DeliveryTerms) -> Times | None:
    """What the terms amount to; None where no number of tries ends a message."""
    verdict_s = terms.verdict_after_s
    if verdict_s is None or terms.retries is None or not terms.is_acknowledged:
        return None
    expires_at = schedule.time_to_live_at(0, terms)
    forgotten_at = schedule.forgettable_at(0, _START, terms)
    return Times(
        last_resend_s=schedule.waits_so_far_s(terms.retries, terms) if terms.retries else None,
        verdict_s=verdict_s,
        expires_s=None if expires_at is None else expires_at // US_PER_S,
        forgotten_s=None if forgotten_at is None else forgotten_at // US_PER_S,
    )
