"""A header document of the toy: a letter, its enclosures or faults, and the stages of its way."""

from onceonly.message.message import Message, RoutingHeader
from onceonly.message.signals import ErrorSignal
from onceonly.wire.document import Content, message_type_of
from onceonly.wire.names import NAMESPACE, ROOT
from onceonly.wire.timestamp import write_timestamp
from onceonly.wire.xml import escaped
from toy.profile import EDITION, EDITION_ATTRIBUTE


def write(content: Content, routing: RoutingHeader) -> str:
    lines = [
        f'<{ROOT} xmlns="{NAMESPACE}" {EDITION_ATTRIBUTE}="{EDITION}">\r\n',
        _letter(content),
    ]
    if isinstance(content, Message):
        lines += [
            _element("Enclosure", cid=part.content_id, label=part.name) for part in content.payloads
        ]
    if isinstance(content, ErrorSignal):
        lines += [
            _element("Fault", code=one.code, severity=one.severity, text=one.description)
            for one in content.errors
        ]
    return "".join([*lines, write_routing_header(routing), f"</{ROOT}>\r\n"])


def write_routing_header(routing: RoutingHeader) -> str:
    hop = _element(
        "Hop",
        sender=routing.sender_uri,
        receiver=routing.receiver_uri,
        error=routing.error_uri,
        at=write_timestamp(routing.timestamp_at),
    )
    return f"<Stage>{hop}</Stage>\r\n"


def _letter(content: Content) -> str:
    is_message = isinstance(content, Message)
    header = content if is_message else content.header
    return _element(
        "Letter",
        kind=message_type_of(content),
        id=header.message_id,
        sender=header.from_ids[0].value,
        receiver=header.to_ids[0].value,
        agreement=header.agreement_id,
        conversation=header.conversation_id,
        service=content.service if is_message else None,
        action=content.action if is_message else None,
        at=write_timestamp(header.timestamp_at),
        degree=content.semantics if is_message else None,
        about=header.ref_to_message_id,
    )


def _element(name: str, **attributes: str | None) -> str:
    given = {key: text for key, text in attributes.items() if text is not None}
    quoted = (f'"{text}"' for text in escaped(tuple(given.values())))
    pairs = zip(given, quoted, strict=True)
    return f"<{name}{''.join(f' {key}={text}' for key, text in pairs)}/>\r\n"
