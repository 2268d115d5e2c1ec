"""A SOAP Fault in the answer to a transmission of ours: about that transmission alone (R-36).

Client, MustUnderstand and VersionMismatch refuse the message, as an error message would. Server,
codes that SOAP does not have, and those that an agreement names as retriable leave it to the next
transmission. Whoever stands in the way can answer with a fault, so it shows nothing of the partner
(`ebms2.md` §7).
"""

from collections.abc import Collection

from onceonly.message.agreement import Agreement
from onceonly.message.errors import ErrorCode, FaultCode, Severity
from onceonly.message.event import Event
from onceonly.message.signals import SoapFault
from onceonly.message.word import Word, changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import ErrorReceived, Outcome, Transmission, Transmitted
from onceonly.protocol.pairing import TroubleMet
from onceonly.steps import sending
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Leaving
from onceonly.steps.verdicts import row_to_partner
from onceonly.steps.work import MessageWork, PairWork, Work
from onceonly.store.contract.store import Transaction

_REFUSING = frozenset({FaultCode.CLIENT, FaultCode.MUST_UNDERSTAND, FaultCode.VERSION_MISMATCH})


class Faulted(Word):
    """A transmission that was answered with a fault."""

    message_id: str
    attempt: int
    transmission: Transmission
    fault: SoapFault
    is_repeated: bool
    """The transmission before it under this agreement, of another message, was refused by a fault,
    too."""


def refuses(fault: SoapFault, retriable: Collection[str]) -> bool:
    """Whether the same message would be refused again, as far as a fault can tell.

    `retriable`: texts in the detail by which the partner's product says "later" (§11,
    `retriable_faults`).
    """
    return fault.code in _REFUSING and not set(fault.details) & set(retriable)


def refused_by(transmission: Transmission, fault: SoapFault) -> Transmission:
    """The transmission as the fault shows it: its receiver did not take it."""
    return changed(transmission, outcome=Outcome.REFUSED, detail=words_of(fault))


def words_of(fault: SoapFault) -> str:
    """The fault in a sentence for people."""
    said = f"SOAP Fault {fault.code_text}"
    details = ", ".join(fault.details)
    return ": ".join(part for part in (said, fault.text, details) if part)[:_WORDS_MAX]


_WORDS_MAX = 500
"""Longest text of a fault in a row: a partner's product may quote the whole message in it."""


def take(txn: Transaction, ground: Ground, faulted: Faulted) -> Leaving:
    """End the transmission, and the message with it if the fault refuses it."""
    entry = txn.find_outbound(faulted.message_id)
    if entry is None:
        return sending.run(txn, ground, ())
    agreement = ground.house.agreement(entry.agreement_id)
    fault, words = faulted.fault, words_of(faulted.fault)
    sent = refused_by(faulted.transmission, fault)
    work: list[Work] = [MessageWork(entry.message_id, Transmitted(faulted.attempt, sent))]
    if refuses(fault, agreement.cpa.retriable_faults):
        error = ErrorReceived(ErrorCode.UNKNOWN, Severity.ERROR, description=words, is_fault=True)
        work.append(MessageWork(entry.message_id, error))
        if faulted.is_repeated:
            work.append(PairWork(entry.pair, TroubleMet(f"{TWICE}: {words}")))
    else:
        row = Journal(Event.FAULT_RECEIVED, attempt=faulted.attempt, reason=words)
        txn.append((row_to_partner(ground, agreement, entry.message_id, row),))
    return sending.run(txn, ground, work, entry=entry)


TWICE = "a SOAP Fault refused two messages in a row; a wrong address or a proxy answers so, too"
"""Why an operator is told."""


class FaultRuns:
    """Which message of each agreement a fault refused last, until a transmission is taken.

    Not durable: after a start the next fault is the first one.
    """

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def taken(self, agreement: Agreement) -> None:
        """A transmission was not answered with a fault."""
        self._last.pop(agreement.id, None)

    def refused(self, agreement: Agreement, message_id: str) -> bool:
        """A fault refused the message; whether the one before was refused so, too."""
        before = self._last.get(agreement.id, message_id)
        self._last[agreement.id] = message_id
        return before != message_id
