"""What an operator probably does not want in an agreement, though a gateway starts with it."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from onceonly.gateway.config import Configuration
from onceonly.gateway.config.values import is_loopback
from onceonly.gateway.worst_case import misfits_of
from onceonly.message.agreement import Agreement, Route
from onceonly.message.instant import US_PER_S, to_datetime
from onceonly.message.measures import span

NOTICE_S: Final = 30 * 86_400
"""So long before its end an agreement is a finding: a new CPA takes weeks to agree on."""


def findings_of(configuration: Configuration, agreement: Agreement) -> Iterator[str]:
    """All of one agreement, a sentence each."""
    yield from findings_about_callers(agreement)
    if _is_reached(configuration) and _can_be_closed(agreement):
        yield (
            "without caller_certificate, whoever reaches listen can send wrong numbers in the "
            "partner's name, and so close the pair (R-11)"
        )
    yield from misfits_of(agreement)


def findings_in_time(agreement: Agreement, now_at: int) -> Iterator[str]:
    """What is better changed soon: an agreement that has ended, or is about to."""
    begins_at, ends_at = agreement.cpa.valid_from_at, agreement.cpa.valid_until_at
    if begins_at is not None and now_at < begins_at:
        yield f"it begins at {_instant(begins_at)}; until then nothing is sent or taken under it"
    if ends_at is None or now_at < ends_at - NOTICE_S * US_PER_S:
        return
    if now_at >= ends_at:
        yield f"it ended at {_instant(ends_at)}: nothing new is sent or taken under it"
    else:
        left = span((ends_at - now_at) / US_PER_S)
        yield f"it ends in {left}, at {_instant(ends_at)}; nothing new is sent or taken after that"


def _instant(at: int) -> str:
    return f"{to_datetime(at):%Y-%m-%d %H:%M} UTC"


def findings_about_callers(one: Agreement | Route) -> Iterator[str]:
    """Settings in which a required certificate proves less than it seems to (R-44)."""
    if one.caller_certificate and urlsplit(one.send_to).scheme == "http":
        yield (
            "caller_certificate binds who calls us, but send_to is http: whoever stands on that "
            "way can read and answer what we send"
        )


def _is_reached(configuration: Configuration) -> bool:
    """Whether other machines can post to us: at `listen`, or through a proxy at our `uri`."""
    ours = (configuration.listen, configuration.uri)
    return any(uri.startswith("http") and not is_loopback(uri) for uri in ours)


def _can_be_closed(agreement: Agreement) -> bool:
    return agreement.profile.is_numbered and not agreement.caller_certificate
