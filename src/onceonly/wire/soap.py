"""The envelope of SOAP 1.1: header blocks, body, fault. Nothing of ebXML.

Knows SOAP 1.1 §4 as far as a message needs it. The blocks are told by SOAP:actor whom they are for,
and by SOAP:mustUnderstand whether they may be skipped. Whatever makes the envelope none is refused
with a fault code, since nobody can be told by a message yet (`ebms2.md` §5). Attributes without a
namespace mean nothing, whatever their name.
"""

from typing import Final

from onceonly.message.errors import ErrorCode, FaultCode, RemoteError
from onceonly.message.identity import printable
from onceonly.message.printable import quoted
from onceonly.message.signals import SoapFault
from onceonly.message.word import Word
from onceonly.wire.xml import WHITE_SPACE, Element, escaped

NAMESPACE: Final = "http://schemas.xmlsoap.org/soap/envelope/"
NEXT_ACTOR: Final = "http://schemas.xmlsoap.org/soap/actor/next"
ACTOR: Final = f"{{{NAMESPACE}}}actor"
MUST_UNDERSTAND: Final = f"{{{NAMESPACE}}}mustUnderstand"

_ENVELOPE: Final = f"{{{NAMESPACE}}}Envelope"
_HEADER: Final = f"{{{NAMESPACE}}}Header"
_BODY: Final = f"{{{NAMESPACE}}}Body"
_FAULT: Final = f"{{{NAMESPACE}}}Fault"

# The schema allows 0 and 1 alone; `true` is met in the field (`wire.md` B2).
_BOOLEANS: Final = {"1": True, "true": True, "0": False, "false": False}

_FAULT_CODES: Final = {code.value: code for code in FaultCode}
FAULT_TEXT_LENGTH_MAX: Final = 4096
"""Longest text of a fault that is kept; the rest is cut off."""
FAULT_DETAILS_MAX: Final = 100
"""Most leaves of a fault's detail that are kept."""


class Block(Word):
    """A header block."""

    element: Element
    actor: str | None
    """The URI of whom it is for; None: of whoever is the last to get the message."""
    must_understand: bool


class SoapEnvelope(Word):
    """An envelope that was read."""

    header: Element | None
    blocks: tuple[Block, ...]
    body: Element


def refused(
    text: str, fault: FaultCode = FaultCode.CLIENT, *, code: ErrorCode = ErrorCode.OTHER_XML
) -> RemoteError:
    """The envelope is not what SOAP prescribes."""
    return RemoteError(code, text, fault=fault)


def read_envelope(root: Element) -> SoapEnvelope:
    """The blocks and the body under `root`. Raises `RemoteError` with a fault code."""
    if root.tag != _ENVELOPE:
        namespace, _, name = root.tag.removeprefix("{").rpartition("}")
        if name == "Envelope":
            raise refused(
                f"the Envelope is in {quoted(namespace)}; expected is SOAP 1.1, {NAMESPACE}",
                FaultCode.VERSION_MISMATCH,
                code=ErrorCode.NOT_SUPPORTED,
            )
        raise refused(f"the root element is {quoted(root.tag)}; expected is a SOAP Envelope")
    _refuse_text(root)
    headers = [child for child in root if child.tag == _HEADER]
    bodies = [child for child in root if child.tag == _BODY]
    if len(bodies) != 1 or len(headers) > 1:
        raise refused(
            f"the Envelope has {len(headers)} Header and {len(bodies)} Body; expected is one Header"
            " at most, and then one Body"
        )
    first = [*headers, *bodies]
    if list(root)[: len(first)] != first:
        raise refused(
            "the Envelope has something before its Header or its Body; expected is one Header at"
            " most, and then one Body"
        )
    _refuse_text(bodies[0])
    header = headers[0] if headers else None
    if header is not None:
        _refuse_text(header)
    return SoapEnvelope(header, tuple(map(_block, () if header is None else header)), bodies[0])


def _refuse_text(element: Element) -> None:
    texts = (element.text, *(child.tail for child in element))
    if any(text is not None and text.strip(WHITE_SPACE) for text in texts):
        raise refused(
            f"{name_of(element)} holds text between its elements; expected are elements alone"
        )


def name_of(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _block(element: Element) -> Block:
    actor = element.get(ACTOR)
    said = element.get(MUST_UNDERSTAND, "0").strip(WHITE_SPACE)
    must_understand = _BOOLEANS.get(said)
    if must_understand is None:
        raise refused(
            f"the block {name_of(element)} has mustUnderstand {quoted(said)}; expected is 0 or 1"
        )
    return Block(element, None if actor is None else actor.strip(WHITE_SPACE), must_understand)


def not_understood(block: Block) -> RemoteError:
    """The refusal of a block that must be understood and is not (SOAP 1.1 §4.4.1)."""
    return refused(
        f"the header block {quoted(block.element.tag)} must be understood and is not"
        " known here; expected is a message without it, or with mustUnderstand 0",
        FaultCode.MUST_UNDERSTAND,
        code=ErrorCode.NOT_SUPPORTED,
    )


# --- Faults -------------------------------------------------------------------------------------


def find_fault(root: Element) -> SoapFault | None:
    """The fault in the body of the envelope, if there is one.

    Raises `RemoteError` for what is no envelope, and for a fault without a code.
    """
    body = read_envelope(root).body
    faults = body.findall(_FAULT)
    if not faults:
        return None
    # Its children have no namespace in SOAP 1.1; some products write one.
    found = {name_of(child): child for child in reversed(faults[0])}
    code = _leaf(found.get("faultcode"))
    if not code:
        raise refused("a SOAP Fault has no faultcode; expected is one such as SOAP:Client")
    plain = code.rpartition(":")[2]
    detail = found.get("detail")
    leaves = () if detail is None else (one for one in detail.iter() if not len(one))
    texts = tuple(filter(None, map(_leaf, leaves)))
    return SoapFault(
        # A dot adds a finer code to that of SOAP (§4.4.1).
        code=_FAULT_CODES.get(plain.partition(".")[0]),
        code_text=plain,
        text=_leaf(found.get("faultstring")),
        actor=_leaf(found.get("faultactor")),
        details=texts[:FAULT_DETAILS_MAX],
    )


def _leaf(element: Element | None) -> str:
    text = "" if element is None else "".join(element.itertext())
    return printable(text, FAULT_TEXT_LENGTH_MAX).strip(WHITE_SPACE)


def write_fault(fault: SoapFault) -> str:
    """The document of a fault. Raises `LocalError` (InvalidText)."""
    assert fault.code is not None, "a fault of ours has a code of SOAP"
    text, actor = escaped((fault.text, fault.actor))
    if actor:
        actor = f"<faultactor>{actor}</faultactor>"
    leaves = "".join(
        f'<oo:Detail xmlns:oo="urn:onceonly:extension">{detail}</oo:Detail>'
        for detail in escaped(fault.details)
    )
    detail = f"<detail>{leaves}</detail>" if leaves else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\r\n'
        f'<SOAP:Envelope xmlns:SOAP="{NAMESPACE}"><SOAP:Body><SOAP:Fault>'
        f"<faultcode>SOAP:{fault.code.value}</faultcode><faultstring>{text}</faultstring>"
        f"{actor}{detail}</SOAP:Fault></SOAP:Body></SOAP:Envelope>\r\n"
    )
