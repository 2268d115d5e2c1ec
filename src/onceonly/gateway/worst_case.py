"""The longest time that an agreement gives a message until its end is known (R-06).

Counted from the first transmission, for a partner who says nothing: the waits that were agreed, and
what each transmission can take by itself. If the message expires earlier, that is the limit. What
intermediaries need on their own hops is theirs to say, and is in `round_trip` if it was agreed.
"""

from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

from onceonly.gateway.transports import longest_s
from onceonly.message.agreement import Agreement
from onceonly.message.word import Word


class Wait(Word):
    """Some waits of the same length, one after the other; `key` is the term that says how long."""

    key: str
    times: int
    each_s: int
    by: str = ""
    """The transport, where the wait is for a transmission."""

    @property
    def all_s(self) -> int:
        """Together."""
        return self.times * self.each_s


class WorstCase(Word, kw_only=True):
    """How long it can take, and of what that is made."""

    waits: tuple[Wait, ...] = ()
    """Empty where nothing is waited for, or for ever; until the message expires, where only that
    ends it."""
    agreed_s: int | None
    """Of these, the agreed waits; None: there is no bound (R-17)."""
    tries_s: int | None
    """All waits; None where only time ends the message."""
    lives_s: int
    """When the message expires, or is too old to be sent again."""

    @property
    def within_s(self) -> int | None:
        """When its end is known at the latest; None: never for sure, 0: at once."""
        if self.tries_s is None:
            return None if self.agreed_s is None else min(self.agreed_s, self.lives_s)
        return min(self.tries_s, self.lives_s)

    @property
    def is_ended_by_time(self) -> bool:
        """Whether the message can end because its time has passed, before its tries are used up."""
        return self.tries_s is None or self.lives_s < self.tries_s


def worst_case_of(agreement: Agreement) -> WorstCase:
    """What its terms and its addresses amount to."""
    terms = agreement.terms
    agreed_s = terms.verdict_after_s
    lives_s = min(terms.time_to_live_s or terms.persist_duration_s, terms.persist_duration_s)
    if agreed_s == 0:
        return WorstCase(agreed_s=0, tries_s=0, lives_s=lives_s)
    if agreed_s is None or not terms.is_acknowledged:
        return WorstCase(agreed_s=agreed_s, tries_s=None, lives_s=lives_s)
    if terms.retries is None:
        more = max(0, -((terms.timeout_s - lives_s) // terms.retry_interval_s))
        waits = _waits(agreement, more)
        return WorstCase(waits=tuple(waits), agreed_s=agreed_s, tries_s=None, lives_s=lives_s)
    waits = _waits(agreement, terms.retries)
    ways = [agreement.send_to, *[agreement.resend_to or agreement.send_to] * terms.retries]
    sent = Counter((urlsplit(way).scheme, longest_s(way)) for way in ways)
    waits += [Wait("transmission", times, each_s, way) for (way, each_s), times in sent.items()]
    tries_s = sum(wait.all_s for wait in waits)
    return WorstCase(waits=tuple(waits), agreed_s=agreed_s, tries_s=tries_s, lives_s=lives_s)


def _waits(agreement: Agreement, resends: int) -> list[Wait]:
    """The first wait, and those after resends; of one key where the profile has no Timeout."""
    terms = agreement.terms
    if not agreement.profile.has_timeout:
        return [Wait("retry_interval", resends + 1, terms.retry_interval_s)]
    again = [Wait("retry_interval", resends, terms.retry_interval_s)] if resends else []
    return [Wait("timeout", 1, terms.timeout_s), *again]


def verdict_of(agreement: Agreement) -> str:
    """How long after the first transmission a verdict can come, in one line."""
    found = worst_case_of(agreement)
    if found.agreed_s is None:
        return "a verdict as late as it takes"
    if not found.agreed_s:
        return "no acknowledgement"
    if found.is_ended_by_time:
        return f"a verdict within {found.within_s} s, when its time has passed"
    sent = [wait for wait in found.waits if wait.by]
    each = ", ".join(f"{wait.times} x {wait.each_s} s by {wait.by}" for wait in sent)
    return f"a verdict within {found.tries_s} s ({found.agreed_s} s as agreed, and up to {each})"


def misfits_of(agreement: Agreement) -> Iterator[str]:
    """Where these times do not fit each other, though none is refused."""
    found, terms = worst_case_of(agreement), agreement.terms
    if found.tries_s is not None and found.is_ended_by_time:
        key = "persist_duration" if terms.time_to_live_s is None else "time_to_live"
        yield (
            f"{key} ({found.lives_s} s) ends a message before all its tries can be made, which "
            f"take up to {found.tries_s} s with the time of the transmissions; make it longer, or "
            "retries fewer"
        )
