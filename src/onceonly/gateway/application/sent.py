"""What was sent, for those who look at it: payloads, the header document, and what lies ahead.

Only reads. The header document is that of the first transmission: every resend has the same bytes
(R-04), so there is no other.
"""

from collections.abc import Iterator, Sequence

from onceonly.api.sent import HeaderElement
from onceonly.gateway.desk import Desk
from onceonly.message.errors import LocalError
from onceonly.message.message import Payload
from onceonly.message.word import Word
from onceonly.protocol.outlook import Outlook, outlook
from onceonly.steps.ground import Ground
from onceonly.steps.operating import WayOn, find_way_on
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.contract.evidence import KeptEnvelope
from onceonly.wire.evidence import document_of
from onceonly.wire.limits import DEFAULT
from onceonly.wire.xml import Element, in_utf_8, parse


class HeaderOfMessage(Word):
    """The header document of a message, and the type of the package around it."""

    content_type: str
    document: bytes

    @property
    def text(self) -> str:
        """The document as text."""
        return in_utf_8(self.document)[1].decode()

    def elements(self) -> Iterator[HeaderElement]:
        """Every element and attribute, in the order of the document."""
        return _elements(parse(self.document, None, DEFAULT), "")


class SentMessages:
    """Looks at the outbound messages of one gateway."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def describe(self, message_id: str) -> Sequence[Payload]:
        """What its payloads are; empty where there is no such message."""
        view = self._desk.snapshot().find_outbound_view(message_id)
        return () if view is None else view.message.payloads

    def payload(self, message_id: str, number: int) -> StoredPayload:
        """One payload, with its bytes unless they are in the spool.

        Raises `LocalError` (NotFound).
        """
        snapshot = self._desk.snapshot()
        if snapshot.find_outbound(message_id) is None:
            raise LocalError("NotFound", f"no outbound message {message_id!r}")
        payloads = snapshot.list_payloads(message_id)
        if number >= len(payloads):
            raise LocalError("NotFound", f"message {message_id!r} has {len(payloads)} payloads")
        return payloads[number]

    def header(self, message_id: str) -> HeaderOfMessage:
        """The header document. Raises `LocalError` (NotFound), also before it is first sent."""
        snapshot = self._desk.snapshot()
        if snapshot.find_outbound(message_id) is None:
            raise LocalError("NotFound", f"no outbound message {message_id!r}")
        try:
            package = snapshot.get_package(message_id)
        except KeyError:
            text = f"message {message_id!r} waits for its turn, and has no header document yet"
            raise LocalError("NotFound", text) from None
        return HeaderOfMessage(package.content_type, document_of(package))

    def evidence(self, message_id: str) -> Sequence[KeptEnvelope]:
        """What proves the message, and that its To Party has it. Raises `LocalError` (NotFound).

        Also of a message that came, and of one that is forgotten.
        """
        found = self._desk.snapshot().list_evidence(message_id)
        if not found:
            text = f"nothing is kept that proves message {message_id!r}"
            raise LocalError("NotFound", text)
        return found

    def outlook(self, message_id: str) -> Outlook | None:
        """What lies ahead of a message; None if there is none, or its agreement is gone."""
        entry = self._desk.snapshot().find_outbound(message_id)
        agreement = None if entry is None else self._desk.house.agreements.find(entry.agreement_id)
        if entry is None or agreement is None:
            return None
        due_ns = self._desk.find_due_ns(message_id)
        return outlook(entry.state, due_ns, agreement.terms, self._desk.clock.wall_at)

    def way_on(self, message_id: str) -> WayOn | None:
        """How its content can go out again, if it is in doubt. Raises `LocalError` (NotFound)."""
        # Without chance, which only the loop may draw: readers run in threads, and make no ids.
        ground = Ground(self._desk.house, self._desk.clock.now(), chance="")
        return find_way_on(self._desk.snapshot(), ground, message_id)


def _elements(element: Element, above: str) -> Iterator[HeaderElement]:
    path = f"{above}{_local(element.tag)}"
    text = (element.text or "").strip()
    yield HeaderElement(path=path, value=text if text or not len(element) else None)
    for name, value in element.attrib.items():
        yield HeaderElement(path=f"{path}/@{_local(name)}", value=value)
    for child in element:
        yield from _elements(child, f"{path}/")


def _local(name: str) -> str:
    return name.rpartition("}")[2]
