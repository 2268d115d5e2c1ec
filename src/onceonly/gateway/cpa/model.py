"""What a CPA says, as values: parties with their bindings, channels, transports and exchanges.

The names are the standard's (ebXML CPPA 2.0). Nothing here knows our configuration.
"""

from enum import StrEnum

from onceonly.message.word import Word


class Direction(StrEnum):
    """What a party can do with an action."""

    SEND = "CanSend"
    RECEIVE = "CanReceive"

    @property
    def opposite(self) -> "Direction":
        """What the other party can do with it."""
        return Direction.RECEIVE if self is Direction.SEND else Direction.SEND


class PersistenceLevel(StrEnum):
    """Where a document is protected: on its way, in its envelope, or both."""

    NONE = "none"
    TRANSIENT = "transient"
    PERSISTENT = "persistent"
    BOTH = "transient-and-persistent"

    @property
    def is_transient(self) -> bool:
        """The transport has to do it."""
        return self in (PersistenceLevel.TRANSIENT, PersistenceLevel.BOTH)

    @property
    def is_persistent(self) -> bool:
        """The message has to do it."""
        return self in (PersistenceLevel.PERSISTENT, PersistenceLevel.BOTH)


class Characteristics(Word, kw_only=True):
    """BusinessTransactionCharacteristics: what the business needs of an action."""

    is_non_repudiation_required: bool = False
    is_non_repudiation_receipt_required: bool = False
    is_confidential: PersistenceLevel = PersistenceLevel.NONE
    is_authenticated: PersistenceLevel = PersistenceLevel.NONE
    is_tamper_proof: PersistenceLevel = PersistenceLevel.NONE
    is_intelligible_check_required: bool = False
    time_to_perform: str | None = None
    time_to_acknowledge_receipt: str | None = None
    retry_count: str | None = None


class Binding(Word, kw_only=True):
    """One ThisPartyActionBinding: an action that a party sends or receives, and by what."""

    id: str
    line: int
    direction: Direction
    role: str
    service: str
    service_type: str | None
    action: str
    characteristics: Characteristics
    channel_ids: tuple[str, ...]
    other_id: str | None
    """The partner's binding, where OtherPartyActionBinding names it."""
    within_id: str | None = None
    """The binding whose answer this is, in a synchronous exchange."""


class NonRepudiation(Word, kw_only=True):
    """SenderNonRepudiation: with which certificate and how a party signs."""

    certificate_id: str
    algorithms: tuple[str, ...]
    hash_function: str | None


class ReliableMessaging(Word, kw_only=True):
    """Retries, RetryInterval and the order of messages; None where the element is absent."""

    retries: int | None
    retry_interval_s: int | None
    is_ordered: bool

    @property
    def plan_s(self) -> int:
        """The longest time that these two allow; 0 where one of them is absent."""
        if self.retries is None or self.retry_interval_s is None:
            return 0
        return (self.retries + 1) * self.retry_interval_s


class MessageBinding(Word, kw_only=True):
    """ebXMLSenderBinding or ebXMLReceiverBinding."""

    reliable_messaging: ReliableMessaging | None = None
    persist_duration_s: int | None = None
    non_repudiation: NonRepudiation | None = None
    """Of a sender alone."""
    has_envelope: bool = False
    """It has a digital envelope: parts are encrypted."""


class DocExchange(Word, kw_only=True):
    """How a party makes and reads messages on a channel."""

    id: str
    sender: MessageBinding = MessageBinding()
    receiver: MessageBinding = MessageBinding()


class Transport(Word, kw_only=True):
    """How a party sends and receives on a channel."""

    id: str
    line: int
    sends_by: str | None
    receives_by: str | None
    endpoints: tuple[tuple[str, str], ...]
    """The type and the URI of each, in the order of the file."""
    asks_for_password: bool
    """Whoever posts to it has to show a user and a password."""
    shows_password: bool
    """It shows them where it posts to."""
    client_certificate_id: str | None
    server_certificate_id: str | None


class Channel(Word, kw_only=True):
    """A DeliveryChannel with its MessagingCharacteristics."""

    id: str
    line: int
    transport: Transport
    exchange: DocExchange
    sync_reply_mode: str
    ack_requested: str
    ack_signature_requested: str
    duplicate_elimination: str
    actor: str | None


class Party(Word, kw_only=True):
    """One PartyInfo. `certificates` has each X509Certificate of a KeyInfo in base64, by certId."""

    name: str
    ids: tuple[tuple[str, str | None], ...]
    bindings: tuple[Binding, ...]
    channels: dict[str, Channel]
    default_channel_id: str
    override_channel_ids: dict[str, str]
    certificates: dict[str, tuple[str, ...]]


class Cpa(Word, kw_only=True):
    """The whole document. Instants are in microseconds UTC."""

    cpa_id: str
    version: str
    status: str
    start_at: int
    end_at: int
    parties: tuple[Party, Party]
    has_signature: bool
    unread: tuple[str, ...]
    """Elements that have no meaning for a gateway, in words."""
