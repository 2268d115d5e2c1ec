"""Errors about what came in and was refused, posted to an address of the agreement (R-26)."""

from onceonly.gateway.incoming.package_answers import answer_with
from onceonly.gateway.office import Office
from onceonly.gateway.outgoing.replies import IN_THE_ANSWER
from onceonly.message.agreement import Agreement
from onceonly.message.errors import ErrorCode, FaultCode, RemoteError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.message.package import Package
from onceonly.message.printable import printable
from onceonly.message.signals import SignalAction, SoapFault
from onceonly.message.word import changed
from onceonly.protocol.effects import Answer, Journal
from onceonly.steps import signals
from onceonly.steps.agreements import AdmittedMessage
from onceonly.steps.authority import Caller
from onceonly.steps.signals import whole
from onceonly.steps.transmission import error_endpoint_of
from onceonly.transport.transport import Answer as TransportAnswer
from onceonly.wire import names
from onceonly.wire.envelope import About, encode_fault
from onceonly.wire.registry import fault_of


class Errors:
    """Tells partners that a message was refused."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def send_error(self, admitted: AdmittedMessage, answer: Answer) -> None:
        """Tell the partner that a message of its agreement was refused."""
        key, hop = admitted.message.key, signals.hop_back(admitted)
        package = signals.error(self._office.ground(), hop, key.message_id, answer)
        await self._post_error(admitted.agreement, admitted.error_uri, key, package, answer)

    async def send_rejection(self, about: About, agreement: Agreement, error: RemoteError) -> None:
        """Tell the partner that its package could not be read as a message at all.

        By a fault of its own where the package deserves one, and the transport has no answer that
        could carry it (`ebms2.md` §14).
        """
        if error.fault is not None:
            await self._post_fault(error, error.fault, about, agreement)
            return
        key, answer = signals.key_of_rejection(about, agreement), signals.answer_of(error)
        hop = signals.hop_of_rejection(self._office.house, about, agreement)
        package = signals.error(self._office.ground(), hop, key.message_id, answer)
        await self._post_error(agreement, about.error_uri, key, package, answer)

    async def _post_fault(
        self, error: RemoteError, code: FaultCode, about: About, agreement: Agreement
    ) -> None:
        fault = SoapFault(code=code, code_text=code.value, text=printable(error.description))
        package, endpoint = encode_fault(fault, about.profile), error_endpoint_of(agreement)
        sent = await self._office.post(agreement, SignalAction.ERROR, package, endpoint)
        row = Journal(
            Event.FAULT_SENT,
            error_code=error.code.value,
            severity=error.severity,
            outcome=sent.outcome.value,
            status_code=sent.status_code,
            reason=error.description,
        )
        key = signals.key_of_rejection(about, agreement)
        await self._office.note(key, agreement, Direction.IN, row, endpoint=endpoint)

    async def answer_rejection(
        self, about: About, agreement: Agreement | None, error: RemoteError
    ) -> TransportAnswer:
        """The same as the answer of its transport, since its sender waits for that (SyncReply).

        Also where no agreement is known: the answer goes to whoever asked, and to nobody else.
        """
        assert about.message_id is not None, "only what has a MessageId is answered"
        answer, ground = signals.answer_of(error), self._office.ground()
        if agreement is None:
            hop = signals.hop_to_stranger(self._office.house, about)
        else:
            hop = signals.hop_of_rejection(self._office.house, about, agreement)
            key, sent = signals.key_of_rejection(about, agreement), IN_THE_ANSWER
            await self._office.note(key, agreement, Direction.IN, signals.error_sent(answer, sent))
        package = signals.error(ground, hop, about.message_id, answer)
        told = answer_with(agreement or hop.profile, SignalAction.ERROR, package)
        return changed(told, error=error.code.value, reason=error.description)

    async def _post_error(
        self,
        agreement: Agreement,
        error_uri: str | None,
        key: MessageKey,
        package: Package,
        answer: Answer,
    ) -> None:
        endpoint = await self._error_endpoint(agreement, error_uri)
        sent = signals.error_sent(
            answer, await self._office.post(agreement, SignalAction.ERROR, package, endpoint)
        )
        await self._office.note(key, agreement, Direction.IN, sent, endpoint=endpoint)

    async def _error_endpoint(self, agreement: Agreement, error_uri: str | None) -> str:
        """Ruling R-26: an ErrorURI counts only if the agreement has it."""
        if error_uri is None:
            return error_endpoint_of(agreement)
        if error_uri == agreement.send_to:
            return agreement.send_to
        if error_uri == agreement.error_to:
            return error_uri
        if error_uri != agreement.receiver_uri:
            reason = f"ErrorURI {error_uri!r} is not in agreement {agreement.id!r}"
            await self._office.write(self._office.about_gateway(Event.SECURITY_EVENT, reason))
        return agreement.send_to


def find_fault_answer(
    error: RemoteError, about: About | None, caller: Caller, *, has_address: bool
) -> TransportAnswer | None:
    """The answer of a form with faults, if no message can tell the refusal; None: one can.

    No message can if none could be read, or if nobody here knows where its sender listens.
    """
    code = error.fault
    if code is None and about is not None and about.message_type == names.NORMAL:
        is_told = has_address or awaits_error(about, caller, has_address=False)
        code = None if is_told else fault_of(about.profile)
    if code is None or not caller.awaits_an_answer:
        return None
    text = printable(error.description)
    fault = SoapFault(code=code, code_text=code.value, text=text)
    package = encode_fault(fault, None if about is None else about.profile)
    return TransportAnswer(
        500, error.code.value, package.content_type, whole(package), error.description
    )


def awaits_error(about: About, caller: Caller, *, has_address: bool) -> bool:
    """Whether a message in the answer can tell the sender of the refusal (SyncReply)."""
    is_readable = about.message_id is not None and (bool(about.from_ids) or has_address)
    is_message = about.message_type == names.NORMAL and is_readable
    return is_message and about.wants_sync_reply and caller.awaits_an_answer


def status_of(code: ErrorCode) -> int:
    """The HTTP status of a refusal that no message and no fault tells."""
    if code is ErrorCode.MESSAGE_TOO_LARGE:
        return 413
    return 415 if code is ErrorCode.NOT_SUPPORTED else 400
