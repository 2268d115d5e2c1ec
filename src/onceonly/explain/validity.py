"""An old capture, whose certificates are looked at as of another instant than its Timestamp.

A gateway counts a signature only where its certificate was valid at the Timestamp. Whoever looks
into an old capture, or into one whose clock was wrong, may want to know the rest.
"""

import dataclasses
from typing import Final

from onceonly.gateway.config import Configuration
from onceonly.message.agreement import Agreement
from onceonly.message.signing import PinnedCertificate
from onceonly.message.word import changed

_EVER: Final = 1 << 62
"""Beyond every instant that a message may have, in both directions."""


def with_certificates_at(configuration: Configuration, at: int) -> Configuration:
    """The configuration in which the certificates that were valid at `at` always are.

    The others never are.
    """
    agreements = tuple(_agreement(one, at) for one in configuration.agreements)
    return dataclasses.replace(configuration, agreements=agreements)


def _agreement(agreement: Agreement, at: int) -> Agreement:
    pinned = tuple(_certificate(one, at) for one in agreement.signing.partner_certificates)
    return changed(agreement, signing=changed(agreement.signing, partner_certificates=pinned))


def _certificate(one: PinnedCertificate, at: int) -> PinnedCertificate:
    if one.was_valid(at):
        return changed(one, from_at=-_EVER, until_at=_EVER)
    return changed(one, from_at=_EVER, until_at=_EVER)
