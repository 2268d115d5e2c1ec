"""What a Collaboration-Protocol Agreement says beside the delivery terms (`ebms-2.0`, CPA 2.0).

Agreements of profiles without such words have the values that stand here as defaults.
"""

from collections.abc import Iterable
from enum import StrEnum

from onceonly.message.word import Word


class CheckHeader(StrEnum):
    """What happens if a header asks for something else than was agreed."""

    STRICT = "strict"
    """The message is refused."""
    LENIENT = "lenient"
    """The header is obeyed."""


class Demand(StrEnum):
    """Whether headers must have an element (CPA 2.0, MessagingCharacteristics)."""

    ALWAYS = "always"
    NEVER = "never"
    PER_MESSAGE = "perMessage"


class AckActor(StrEnum):
    """Which MSHs are asked for an acknowledgement."""

    TO_PARTY_MSH = "toPartyMSH"
    NEXT_MSH = "nextMSH"
    BOTH = "both"


class MessageIdForm(StrEnum):
    """How a MessageId that we make looks."""

    DOMAIN = "local@domain"
    UPPER_CASE_UUID = "upper-case-uuid"


class ServiceBinding(Word, kw_only=True):
    """One service, and the actions that may be exchanged under it, each direction for itself."""

    id: str
    type: str | None = None
    send: tuple[str, ...] = ()
    """Actions of messages that we send."""
    receive: tuple[str, ...] = ()
    """Actions of messages that we receive."""


class CpaTerms(Word, kw_only=True):
    """What both parties agreed on in their CPA, as far as delivery terms do not say it."""

    cpa_id: str = ""
    """CPAId on the wire; empty: the agreement's own id. Several agreements may share it, if they
    are for different services or actions."""
    role: str | None = None
    """Our Role, and the partner's; None: none was agreed, and none is written."""
    partner_role: str | None = None
    services: tuple[ServiceBinding, ...] = ()
    """What may be exchanged; empty: anything."""
    check_header: CheckHeader = CheckHeader.STRICT
    ack_actor: AckActor = AckActor.TO_PARTY_MSH
    duplicate_elimination: Demand | None = None
    """What received headers must ask for; None: as the semantics have it."""
    signals_to: str | None = None
    """Address for acknowledgements, answers and questions; None: that of messages."""
    soap_action: str = "ebXML"
    """SOAPAction of what we send, without its quotes; it may name `{service}` and `{action}`."""
    answer_status: int = 204
    """Status of HTTP for a message that was accepted and is answered later."""
    is_plain_when_empty: bool = True
    """A message without payload is the SOAP document alone."""
    has_strict_parts: bool = False
    """Refuse a package with a part that its Manifest does not name."""
    valid_from_at: int | None = None
    """Before it no message is sent or taken."""
    valid_until_at: int | None = None
    """From then on no message is sent or taken; what is under way comes to its end."""
    retriable_faults: tuple[str, ...] = ()
    """Codes in a Fault's detail after which the message is sent again."""
    has_lenient_signal_parties: bool = False
    """Signals count although their PartyIds have another type than agreed."""
    has_roles_on_signals: bool = False
    has_extensions: bool = False
    """Both MSHs know our own words: AckStatus, the state of the processing, and the questions to
    cancel a message and to send a response again (`ebms2.md` §3)."""
    answers_inquiries: bool = True
    """Questions of the partner for a status are answered; otherwise UnAuthorized, always (§8)."""
    message_id_form: MessageIdForm = MessageIdForm.DOMAIN
    """Of the ids that we make under the agreement."""
    has_xml_first: bool = False
    """The payloads in XML come before the others."""
    names_in_requests: bool = False
    """A StatusRequest names its message in MessageData, too."""
    description: str = ""
    """Description of every message that we send."""

    def binding_of(self, service: str, service_type: str | None) -> ServiceBinding | None:
        """What was agreed about a service."""
        for binding in self.services:
            if (binding.id, binding.type) == (service, service_type):
                return binding
        return None

    def is_valid(self, at: int) -> bool:
        """Whether new messages may be exchanged at this instant."""
        begins_at, ends_at = self.valid_from_at, self.valid_until_at
        return (begins_at is None or begins_at <= at) and (ends_at is None or at < ends_at)


def overlapping(
    one: Iterable[ServiceBinding], other: Iterable[ServiceBinding]
) -> tuple[str, str | None] | None:
    """A service and action that both may exchange in the same direction; None: there is none.

    Where either side has no bindings it may exchange anything: then the action is None.
    """
    ours, theirs = tuple(one), tuple(other)
    if not ours or not theirs:
        return ("any service", None)
    for binding in ours:
        for second in theirs:
            if (binding.id, binding.type) != (second.id, second.type):
                continue
            for mine, yours in ((binding.send, second.send), (binding.receive, second.receive)):
                common = sorted(set(mine) & set(yours))
                if common:
                    return (binding.id, common[0])
    return None
