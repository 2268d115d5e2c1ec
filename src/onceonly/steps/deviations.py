"""What a partner does in another way than was agreed, and is taken all the same.

An operator is told once a day of each agreement and kind, by an incident (`ebms2.md` §6, §9.3,
§14). The incident of the day before ends with it, so that one stays open as long as it goes on.
"""

from collections.abc import Iterator
from datetime import date
from enum import StrEnum

from onceonly.message.agreement import Agreement
from onceonly.message.identity import Pair
from onceonly.message.instant import to_datetime
from onceonly.message.printable import quoted
from onceonly.message.word import Word
from onceonly.steps.arrival import Received
from onceonly.steps.ground import Ground
from onceonly.steps.signing import Attested, Heard
from onceonly.steps.transmission import soap_action_of
from onceonly.store.contract.entries import Role
from onceonly.store.contract.store import Transaction


class DeviationKind(StrEnum):
    """Which kind, in the words of the incident."""

    HEADER = "a header asked for something else than was agreed, and was obeyed (check_header)"
    SHA1 = "a signature rests on SHA-1, which is broken, and was believed (accept_sha1)"
    SOAP_ACTION = "SOAPAction is another than was agreed (soap_action)"


class Deviation(Word):
    """One that was seen."""

    kind: DeviationKind
    agreement: Agreement
    seen: str
    """What it was, and what was expected."""


def deviations_of(received: Received) -> Iterator[Deviation]:
    """Those of a message that was just stored."""
    admitted = received.admitted
    agreement, message = admitted.agreement, admitted.message
    if admitted.deviation is not None:
        yield Deviation(DeviationKind.HEADER, agreement, admitted.deviation)
    yield from deviations_of_signature(received.attested, agreement)
    said = received.caller.soap_action
    agreed = soap_action_of(agreement, message.service, message.action)
    if agreed is not None and said is not None and said != agreed:
        text = f"it is {quoted(said)}; expected is {quoted(agreed)}, or none"
        yield Deviation(DeviationKind.SOAP_ACTION, agreement, text)


def deviations_of_signature(heard: Heard, agreement: Agreement) -> Iterator[Deviation]:
    """That of a signature which stands only since the agreement accepts SHA-1."""
    if isinstance(heard, Attested) and heard.rests_on_sha1:
        text = f"that of certificate {heard.signer[:16]}; expected is SHA-256, SHA-384 or SHA-512"
        yield Deviation(DeviationKind.SHA1, agreement, text)


def day_of(at: int) -> date:
    """The day, by UTC, of an instant in microseconds."""
    return to_datetime(at).date()


def note(txn: Transaction, ground: Ground, deviation: Deviation) -> None:
    """Open the incident of the day, unless it is open, and end that of an earlier day."""
    agreement, at = deviation.agreement, ground.now.at
    pair = Pair(agreement.their_party, agreement.our_party)
    about = f"agreement {quoted(agreement.id)}: {deviation.kind.value}"
    today = f"{day_of(at)}, {about}"
    for incident in txn.list_incidents(is_open=True):
        if incident.role is not Role.RECEIVER or incident.pair != pair:
            continue
        if incident.reason.startswith(today):
            return
        if about in incident.reason:
            txn.resolve_reason(Role.RECEIVER, pair, incident.reason, at=at)
    txn.open_incident(Role.RECEIVER, pair, f"{today}: {deviation.seen}", at=at)
