"""What an operator probably does not want in an agreement, though a gateway starts with it."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from onceonly.gateway.config import Configuration
from onceonly.gateway.config.values import is_loopback
from onceonly.gateway.worst_case import misfits_of
from onceonly.message.agreement import Agreement, Route


def findings_of(configuration: Configuration, agreement: Agreement) -> Iterator[str]:
    """All of one agreement, a sentence each."""
    yield from findings_about_callers(agreement)
    if _is_reached(configuration) and _can_be_closed(agreement):
        yield (
            "without caller_certificate, whoever reaches listen can send wrong numbers in the "
            "partner's name, and so close the pair (R-11)"
        )
    yield from misfits_of(agreement)


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
