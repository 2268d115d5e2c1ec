"""From the tree of a CPA to the values of `model`.

Knows the elements and attributes of CPA 2.0 and what refers to what by id: a reference to nothing
is refused here (attack S39). What is agreed by all that, `terms` and `tables` say.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from onceonly.gateway.cpa.document import SIGNATURE_NAMESPACE, CpaError, Node, read_document
from onceonly.gateway.cpa.duration import seconds_of
from onceonly.gateway.cpa.model import (
    Binding,
    Channel,
    Characteristics,
    Cpa,
    Direction,
    DocExchange,
    MessageBinding,
    NonRepudiation,
    Party,
    PersistenceLevel,
    ReliableMessaging,
    Transport,
)
from onceonly.message.errors import RemoteError
from onceonly.message.printable import quoted
from onceonly.message.word import changed
from onceonly.wire.timestamp import read_timestamp

_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}
_PER_MESSAGE: Final = ("always", "never", "perMessage")
_SYNC_REPLY_MODES: Final = (
    "none",
    "mshSignalsOnly",
    "signalsOnly",
    "responseOnly",
    "signalsAndResponse",
)
_LEVELS: Final = tuple(level.value for level in PersistenceLevel)
_STATUSES: Final = ("agreed", "signed", "proposed")
_ACTORS: Final = {
    "urn:oasis:names:tc:ebxml-msg:actor:toPartyMSH": "toPartyMSH",
    "urn:oasis:names:tc:ebxml-msg:actor:nextMSH": "nextMSH",
}
_RETRIES_MAX: Final = 1_000_000
"""As the key `retries` has it."""
_UNREAD: Final = {
    "ConversationConstraints": "how many conversations there may be is not limited",
    "Comment": "a comment is not carried over",
    "Packaging": "how parts are put together is not checked: the application orders them",
    "SimplePart": "media types of parts are not checked",
}
"""Elements of the document without a meaning for a gateway, and what that means."""


def read_cpa(document: bytes) -> Cpa:
    """The whole file. Raises `CpaError`."""
    root = read_document(document)
    parties = root.all("PartyInfo")
    if len(parties) != 2:
        raise CpaError(f"it has {len(parties)} PartyInfo elements, expected are two")
    first, second = map(_party, parties)
    return Cpa(
        cpa_id=root.attribute("cpaid"),
        version=root.attribute("version"),
        status=root.get("Status").word("value", _STATUSES, "proposed"),
        start_at=_instant(root.get("Start")),
        end_at=_instant(root.get("End")),
        parties=(first, second),
        has_signature=any(one.name == "Signature" for one in root.children),
        unread=tuple(_unread(root)),
    )


def _unread(root: Node) -> Iterator[str]:
    for name, words in _UNREAD.items():
        found = root.all(name)
        if found:
            yield f"{name} (line {found[0].line}): {words}"
    for party in root.all("PartyInfo"):
        for details in party.all("SecurityDetails"):
            if details.all("TrustAnchors"):
                yield (
                    f"TrustAnchors (line {details.line}): certificates are held to their "
                    "fingerprint, not to an authority"
                )


def _instant(node: Node) -> int:
    try:
        return read_timestamp(node.value(), node.name)
    except RemoteError as error:
        raise CpaError(f"line {node.line}: {error.description}") from error


def _party(node: Node) -> Party:
    transports = _by_id(node.all("Transport"), "transportId")
    exchanges = _by_id(node.all("DocExchange"), "docExchangeId")
    channels = {
        name: _channel(one, transports, exchanges)
        for name, one in _by_id(node.all("DeliveryChannel"), "channelId").items()
    }
    bindings = _each_once(_bindings(node))
    for one in bindings:
        for channel in one.channel_ids:
            _known(channel, channels, "ChannelId", one.line)
    default = node.attribute("defaultMshChannelId")
    _known(default, channels, "PartyInfo/@defaultMshChannelId", node.line)
    overrides = {}
    for override in node.all("OverrideMshActionBinding"):
        name = override.attribute("channelId")
        overrides[override.attribute("action")] = name
        _known(name, channels, "OverrideMshActionBinding", override.line)
    party_ids = tuple((one.value(), one.find_attribute("type")) for one in node.all("PartyId"))
    if not party_ids:
        raise CpaError(f"line {node.line}: PartyInfo has no PartyId, which it must have")
    return Party(
        name=node.find_attribute("partyName") or "",
        ids=party_ids,
        bindings=bindings,
        channels=channels,
        default_channel_id=default,
        override_channel_ids=overrides,
        certificates={
            name: tuple(_certificates(one))
            for name, one in _by_id(node.all("Certificate"), "certId").items()
        },
    )


def _each_once(bindings: Iterable[Binding]) -> tuple[Binding, ...]:
    """By their ids. Some tools write a binding twice; two of one id that differ are refused."""
    found: dict[str, Binding] = {}
    for one in bindings:
        first = found.setdefault(one.id, one)
        if changed(first, line=one.line) != one:
            raise CpaError(
                f"line {one.line}: the id {quoted(one.id)} is there twice, and the first, in line "
                f"{first.line}, is another binding"
            )
    return tuple(found.values())


def _by_id(nodes: Iterable[Node], attribute: str) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for node in nodes:
        name = node.attribute(attribute)
        if name in found:
            raise CpaError(
                f"line {node.line}: {node.name}/@{attribute} {quoted(name)} is there twice"
            )
        found[name] = node
    return found


def _known(name: str, known: Iterable[str], what: str, line: int) -> None:
    if name not in known:
        raise CpaError(
            f"line {line}: {what} names {quoted(name)}, which this party has not; expected is one "
            f"of {', '.join(map(quoted, known)) or 'those that it has'}"
        )


def _bindings(party: Node) -> Iterator[Binding]:
    for collaboration in party.all("CollaborationRole"):
        role = collaboration.get("Role").attribute("name")
        for service in collaboration.all("ServiceBinding"):
            for direction in Direction:
                for node in service.all(direction.value):
                    yield from _binding(node, direction, role, service.get("Service"), None)


def _binding(
    node: Node, direction: Direction, role: str, service: Node, within_id: str | None
) -> Iterator[Binding]:
    this = node.get("ThisPartyActionBinding")
    other = node.find("OtherPartyActionBinding")
    channels = tuple(one.value() for one in this.all("ChannelId"))
    if not channels:
        raise CpaError(f"line {this.line}: ThisPartyActionBinding has no ChannelId")
    found = Binding(
        id=this.attribute("id"),
        line=this.line,
        direction=direction,
        role=role,
        service=service.value(),
        service_type=service.find_attribute("type"),
        action=this.attribute("action"),
        characteristics=_characteristics(this.find("BusinessTransactionCharacteristics")),
        channel_ids=channels,
        other_id=None if other is None else other.value(),
        within_id=within_id,
    )
    yield found
    for inner in node.all(direction.opposite.value):
        yield from _binding(inner, direction.opposite, role, service, found.id)


def _characteristics(node: Node | None) -> Characteristics:
    if node is None:
        return Characteristics()
    return Characteristics(
        is_non_repudiation_required=_flag(node, "isNonRepudiationRequired"),
        is_non_repudiation_receipt_required=_flag(node, "isNonRepudiationReceiptRequired"),
        is_confidential=_level(node, "isConfidential"),
        is_authenticated=_level(node, "isAuthenticated"),
        is_tamper_proof=_level(node, "isTamperProof"),
        is_intelligible_check_required=_flag(node, "isIntelligibleCheckRequired"),
        time_to_perform=node.find_attribute("timeToPerform"),
        time_to_acknowledge_receipt=node.find_attribute("timeToAcknowledgeReceipt"),
        retry_count=node.find_attribute("retryCount"),
    )


def _flag(node: Node, name: str) -> bool:
    return _BOOLEANS[node.word(name, tuple(_BOOLEANS), "false")]


def _level(node: Node, name: str) -> PersistenceLevel:
    # Older tools write the boolean of CPA 1.0, whose `true` meant the way.
    found = node.word(name, (*_LEVELS, *_BOOLEANS), "none")
    if found in _BOOLEANS:
        return PersistenceLevel.TRANSIENT if _BOOLEANS[found] else PersistenceLevel.NONE
    return PersistenceLevel(found)


def _channel(node: Node, transports: dict[str, Node], exchanges: dict[str, Node]) -> Channel:
    transport_id, exchange_id = node.attribute("transportId"), node.attribute("docExchangeId")
    _known(transport_id, transports, "DeliveryChannel/@transportId", node.line)
    _known(exchange_id, exchanges, "DeliveryChannel/@docExchangeId", node.line)
    found = node.get("MessagingCharacteristics")
    actor = found.word("actor", tuple(_ACTORS), "") or None
    return Channel(
        id=node.attribute("channelId"),
        line=node.line,
        transport=_transport(transports[transport_id]),
        exchange=_exchange(exchanges[exchange_id]),
        sync_reply_mode=found.word("syncReplyMode", _SYNC_REPLY_MODES, "none"),
        ack_requested=found.word("ackRequested", _PER_MESSAGE, "perMessage"),
        ack_signature_requested=found.word("ackSignatureRequested", _PER_MESSAGE, "perMessage"),
        duplicate_elimination=found.word("duplicateElimination", _PER_MESSAGE, "perMessage"),
        actor=None if actor is None else _ACTORS[actor],
    )


def _transport(node: Node) -> Transport:
    sender, receiver = node.find("TransportSender"), node.find("TransportReceiver")
    return Transport(
        id=node.attribute("transportId"),
        line=node.line,
        sends_by=None if sender is None else sender.get("TransportProtocol").value(),
        receives_by=None if receiver is None else receiver.get("TransportProtocol").value(),
        endpoints=()
        if receiver is None
        else tuple(
            (one.find_attribute("type") or "allPurpose", one.attribute("uri"))
            for one in receiver.all("Endpoint")
        ),
        asks_for_password=receiver is not None and bool(receiver.all("AccessAuthentication")),
        shows_password=sender is not None and bool(sender.all("AccessAuthentication")),
        client_certificate_id=_reference(sender, "TransportClientSecurity", "ClientCertificateRef"),
        server_certificate_id=_reference(
            receiver, "TransportServerSecurity", "ServerCertificateRef"
        ),
    )


def _reference(node: Node | None, security: str, name: str) -> str | None:
    inside = None if node is None else node.find(security)
    found = None if inside is None else inside.find(name)
    return None if found is None else found.attribute("certId")


def _exchange(node: Node) -> DocExchange:
    return DocExchange(
        id=node.attribute("docExchangeId"),
        sender=_message_binding(node.find("ebXMLSenderBinding")),
        receiver=_message_binding(node.find("ebXMLReceiverBinding")),
    )


def _message_binding(node: Node | None) -> MessageBinding:
    if node is None:
        return MessageBinding()
    reliable, persist = node.find("ReliableMessaging"), node.find("PersistDuration")
    envelopes = (*node.all("SenderDigitalEnvelope"), *node.all("ReceiverDigitalEnvelope"))
    return MessageBinding(
        reliable_messaging=None if reliable is None else _reliable_messaging(reliable),
        persist_duration_s=None if persist is None else _seconds(persist),
        non_repudiation=_non_repudiation(node.find("SenderNonRepudiation")),
        has_envelope=bool(envelopes),
    )


def _reliable_messaging(node: Node) -> ReliableMessaging:
    retries, interval = node.find("Retries"), node.find("RetryInterval")
    order = node.find("MessageOrderSemantics")
    return ReliableMessaging(
        retries=None if retries is None else _count(retries),
        retry_interval_s=None if interval is None else max(1, _seconds(interval)),
        is_ordered=order is not None and order.value() == "Guaranteed",
    )


def _seconds(node: Node) -> int:
    return seconds_of(node.value(), node.name, node.line)


def _count(node: Node) -> int:
    text = node.value()
    if not (text.isascii() and text.isdigit() and len(text) <= 7 and int(text) <= _RETRIES_MAX):
        raise CpaError(
            f"line {node.line}: {node.name} is {quoted(text)}, expected is a count up to "
            f"{_RETRIES_MAX}"
        )
    return int(text)


def _non_repudiation(node: Node | None) -> NonRepudiation | None:
    if node is None:
        return None
    hash_function = node.find("HashFunction")
    return NonRepudiation(
        certificate_id=node.get("SigningCertificateRef").attribute("certId"),
        algorithms=tuple(
            one.find_attribute("w3c") or one.value() for one in node.all("SignatureAlgorithm")
        ),
        hash_function=None if hash_function is None else hash_function.value(),
    )


def _certificates(node: Node) -> Iterator[str]:
    for one in node.walk():
        if one.name == "X509Certificate" and one.namespace == SIGNATURE_NAMESPACE:
            yield one.text
