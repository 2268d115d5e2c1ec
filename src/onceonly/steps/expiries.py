"""Certificates that sign, ours and the partners', whose last one under an agreement ends soon.

An operator is told 30 days before by an incident (`ebms2.md` §9.6): a new certificate takes weeks,
since the partner has to pin it first. The incident ends when another one takes over.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from onceonly.message.agreement import Agreement
from onceonly.message.identity import Pair
from onceonly.message.instant import US_PER_S, to_datetime
from onceonly.message.printable import quoted
from onceonly.steps.ground import Ground, House
from onceonly.store.contract.entries import Role
from onceonly.store.contract.store import Transaction

NOTICE_US: Final = 30 * 86_400 * US_PER_S
"""So long before the end."""

_OURS: Final = "the last certificate with which we sign"
_THEIRS: Final = "the last certificate of partner_certificates"
_MOVES: Final = {
    _OURS: "make an [[identity]] with a new one, and give it to the partner",
    _THEIRS: "ask the partner for the next one",
}


def ending(house: House, now_at: int) -> Iterator[tuple[Agreement, str]]:
    """Each agreement with what ends under it, in words that stay the same from day to day."""
    for agreement in house.agreements:
        for what, ends in _ends_of(house, agreement):
            if ends and max(ends) - NOTICE_US <= now_at:
                day = f"{to_datetime(max(ends)):%Y-%m-%d %H:%M} UTC"
                yield agreement, f"{_begin(agreement, what)} ends at {day}: {_MOVES[what]}"


def has_signers(house: House) -> bool:
    """Whether anything is signed under any agreement."""
    return bool(house.identities) or any(
        one.signing.partner_certificates for one in house.agreements
    )


def _ends_of(house: House, agreement: Agreement) -> Iterator[tuple[str, Sequence[int]]]:
    signing = agreement.signing
    used = [one.until_at for one in house.identities if one.id in signing.identities]
    yield _OURS, used
    yield _THEIRS, [one.until_at for one in signing.partner_certificates]


def _begin(agreement: Agreement, what: str) -> str:
    return f"agreement {quoted(agreement.id)}: {what}"


def note(txn: Transaction, ground: Ground) -> None:
    """Open an incident for each that ends soon, and end those of which that is true no more."""
    at = ground.now.at
    wanted = {
        (Pair(agreement.their_party, agreement.our_party), reason)
        for agreement, reason in ending(ground.house, at)
    }
    for incident in txn.list_incidents(is_open=True):
        is_told = any(f": {what} ends at " in incident.reason for what in _MOVES)
        if is_told and incident.role is Role.RECEIVER:
            if (incident.pair, incident.reason) in wanted:
                wanted.remove((incident.pair, incident.reason))
            else:
                txn.resolve_reason(Role.RECEIVER, incident.pair, incident.reason, at=at)
    for pair, reason in sorted(wanted):
        txn.open_incident(Role.RECEIVER, pair, reason, at=at)
