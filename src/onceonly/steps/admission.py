"""Who brings what, before anything of a payload is kept (R-44, R-45).

Asked when the header of a package was read: whether its caller may say such a thing, and whether
the message keeps to its agreement, or travels a route of ours.
"""

from collections.abc import Sequence
from typing import Final

from onceonly.message.agreement import Agreement, Route
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.message import Message, SyncReplyMode
from onceonly.message.printable import quoted
from onceonly.message.profile import Profile
from onceonly.message.signals import (
    Acknowledgment,
    ErrorSignal,
    Inquiry,
    InquiryKind,
    Report,
    Signal,
)
from onceonly.steps.agreements import AdmittedMessage
from onceonly.steps.authority import (
    ANSWERING,
    Caller,
    NotEntitled,
    is_entitled,
    may_bring,
    readings_by,
    speaks_of_its_exchange,
)
from onceonly.steps.checks import Check, Passed, unnoted
from onceonly.steps.cpa import HEADER
from onceonly.steps.ground import House
from onceonly.wire.envelope import Document


def admit(
    house: House, document: Document, caller: Caller, passed: Passed = unnoted
) -> AdmittedMessage | Route | None:
    """What holds for a message under its agreement, or the route that it travels.

    None for a signal that is for us: its caller is asked once more by the thing that it is about.
    Raises `NotEntitled` and `RemoteError`.
    """
    content = document.content
    if isinstance(content, Acknowledgment | ErrorSignal):
        may_speak = bool(readings_by(caller, content))
    else:
        may_speak = speaks_of_its_exchange(caller, content)
    if not may_speak:
        raise NotEntitled("speaks of something else than the message that it answers")
    passed(Check.EXCHANGE)
    route = _find_route(house, document)
    if route is not None:
        answered = None if caller.answered is None else caller.answered.agreement_id
        known = None if answered is None else house.routes.find(answered)
        if not may_bring(caller, route, known):
            raise NotEntitled(f"does not show what route {route.id!r} asks of its callers")
        passed(Check.CALLER)
        return route
    if not isinstance(content, Message):
        _admit_signal(house, content, caller)
        passed(Check.CALLER)
        return None
    agreement = house.agreements.find_for(content)
    if agreement is not None and not is_entitled(caller, agreement):
        raise NotEntitled(f"does not show what agreement {agreement.id!r} asks of its callers")
    passed(Check.CALLER)
    _refuse_unanswerable(content, document.profile, caller)
    return house.agreements.admit(
        content,
        document.routing,
        profile=document.profile,
        our_uris=house.uris,
        signature=document.signature,
        passed=passed,
    )


def _refuse_unanswerable(message: Message, profile: Profile, caller: Caller) -> None:
    """Raise `RemoteError` if the answer is wished where there is none (`ebms2.md` §14).

    What came in an answer of a partner has no answer either, but its header may say what is agreed
    for both ways.
    """
    is_wished = message.sync_reply_mode not in (None, SyncReplyMode.NONE)
    has_answer = caller.answered is not None or caller.transport in ANSWERING
    if is_wished and profile.answers_at_once and not has_answer:
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            f"SyncReply is there, and the message came by {caller.transport}, which has no answer;"
            " expected is a header without it, or the message by HTTP",
            location=f"{HEADER}SyncReply",
        )


def _find_route(house: House, document: Document) -> Route | None:
    """The route that a message travels, and a signal too where it goes from party to party."""
    content, profile = document.content, document.profile
    if isinstance(content, Message):
        route = house.routes.find_for(content)
    elif profile.has_routing_headers:
        return None
    else:
        route = house.routes.find_for(content.header)
    adds_hops = route is not None and route.profile.has_routing_headers
    if route is not None and adds_hops and not document.routing:
        raise RemoteError(
            ErrorCode.NOT_SUPPORTED,
            f"a message of profile {profile.name}, which has no RoutingHeaders, on route"
            f" {route.id!r}; expected is profile {route.profile.name}",
        )
    return route


def _refuse_extension(named: Sequence[Agreement], signal: Signal) -> None:
    """Raise `RemoteError` for a question, or an answer, that needs words of ours (§3)."""
    if not isinstance(signal, Inquiry | Report) or signal.kind in _OF_THE_STANDARD:
        return
    if not any(one.has_cancels for one in named):
        raise RemoteError(
            ErrorCode.NOT_SUPPORTED,
            f"a {signal.kind.value} under agreement {quoted(signal.header.agreement_id)}, which has"
            " no extensions; expected is a Ping or a StatusRequest",
            location=f"{HEADER}MessageHeader/eb:Action",
        )


_OF_THE_STANDARD: Final = (InquiryKind.PING, InquiryKind.STATUS)


def _admit_signal(house: House, signal: Signal, caller: Caller) -> None:
    name = signal.header.agreement_id
    named = house.agreements.named(name)
    if not named:
        return
    if any(is_entitled(caller, one) for one in named):
        _refuse_extension(named, signal)
        return
    if house.routes.find_beside(caller, name) is None:
        raise NotEntitled(f"does not show what agreement {name!r} asks of its callers")
