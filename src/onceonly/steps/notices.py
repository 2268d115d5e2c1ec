"""DeliveryFailure notices to the From Party that are owed (seed 001 §1.6, ruling R-14).

A notice is owed durably from the step that found the message undeliverable. It is owed until the
transport took it, or all its retries are used up, or there is a newer notice about the message.
"""

from onceonly.message.agreement import Agreement
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import Outcome, Transmission
from onceonly.steps.ground import Ground, House
from onceonly.steps.routes import as_previous_hop
from onceonly.store.contract.entries import OwedNotice, Role
from onceonly.store.contract.store import Snapshot, Transaction

RETRIES_MAX = 60
"""Most retries of a notice, whatever Retries of its message is, since nothing is sent about the
message after it. With the default RetryInterval they last an hour, more than a restart of the
partner takes."""


def are_sent(profile: Profile, terms: DeliveryTerms) -> bool:
    """Whether notices go over the network at all: never under strict release."""
    return terms.notifies_failures and not terms.strict_release and profile.has_failure_notices


def tells_refusals(profile: Profile, terms: DeliveryTerms) -> bool:
    """Whether the From Party hears that our application refused what was acknowledged.

    In a profile with a CPA it is an error message of its own, which has to be agreed (`ebms2.md`
    §7); in the others it is a DeliveryFailure notice like all others.
    """
    if profile.has_cpa:
        return terms.reports_refusals and not terms.strict_release
    return are_sent(profile, terms)


def code_of(house: House, notice: OwedNotice) -> ErrorCode:
    """What the notice says: of the To Party, a certain one is the refusal of its application."""
    agreement = house.agreements.find_ours(notice.agreement_id)
    is_told = agreement is not None and agreement.terms.reports_refusals
    is_refusal = is_told and notice.severity is Severity.ERROR
    return ErrorCode.UNKNOWN if is_refusal else ErrorCode.DELIVERY_FAILURE


def agreement_of(snapshot: Snapshot, house: House, notice: OwedNotice) -> Agreement | None:
    """The agreement with the From Party, or the way back to it along a route."""
    route = house.routes.find(notice.agreement_id)
    if route is None:
        return house.agreements.find(notice.agreement_id)
    entry = snapshot.find_inbound(notice.key)
    agreement_id = route.id if entry is None else entry.agreement_id
    return as_previous_hop(route, agreement_id, house.uri)


def park(txn: Transaction, ground: Ground, notice: OwedNotice, reason: str) -> None:
    """The notice met a bug of ours: it is not owed any more, and an operator is told (R-43)."""
    if txn.find_owed_notice(notice.key) is None:
        return
    key, now = notice.key, ground.now
    txn.remove_owed_notice(key)
    text = f"{reason} ({key.message_id})"
    txn.open_incident(Role.RECEIVER, key.pair, text, at=now.at, message_id=key.message_id)
    row = ground.house.rows.about_gateway(Event.PARKED, now, reason)
    txn.append((changed(row, message_id=key.message_id),))


def note_posted(
    txn: Transaction,
    ground: Ground,
    notice: OwedNotice,
    agreement: Agreement,
    transmission: Transmission,
) -> bool:
    """Note that the notice was posted once more; returns whether it is still owed."""
    tried = notice.attempts + 1
    is_over = transmission.outcome is Outcome.ACCEPTED or tried > RETRIES_MAX
    # A newer notice about the message, which became owed in between, stays owed.
    is_latest = txn.find_owed_notice(notice.key) == notice
    if is_latest and is_over:
        txn.remove_owed_notice(notice.key)
    elif is_latest:
        txn.put_owed_notice(changed(notice, attempts=tried))
    sent = Journal(
        Event.FAILURE_NOTICE_SENT,
        attempt=tried,
        outcome=transmission.outcome.value,
        status_code=transmission.status_code,
        severity=notice.severity,
        reason=notice.reason,
    )
    row = ground.house.rows.about_message(
        notice.key, agreement, Direction.IN, sent, ground.now, endpoint=agreement.send_to
    )
    txn.append((row,))
    return is_latest and not is_over
