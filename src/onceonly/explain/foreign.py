"""What is of another specification, and by what that can be told.

Knows names only: namespaces, media types and header fields. Nothing here is read as a message.
"""

import re
from typing import Final

from onceonly.explain.capture import Capture
from onceonly.message.profile import Profile
from onceonly.message.word import Word


class Foreign(Word):
    """A package that is not one of our profiles."""

    name: str
    by: str
    """What gives it away."""


_NAMESPACES: Final = (
    (
        "an agreement of CPPA 2.0",
        b"http://www.oasis-open.org/committees/ebxml-cppa/schema/cpp-cpa-2_0.xsd",
    ),
    (
        "ebMS 3.0, of which AS4 is a profile",
        b"http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/",
    ),
)
_OURS: Final = b"http://www.oasis-open.org/committees/ebxml-msg/schema/msg-header-2_0.xsd"
_HEADER: Final = b"http://www.ebxml.org/namespaces/messageHeader"
_SOAP: Final = (
    ("SOAP 1.1", b"http://schemas.xmlsoap.org/soap/envelope/"),
    ("SOAP 1.2", b"http://www.w3.org/2003/05/soap-envelope"),
)
_AS2_FIELDS: Final = ("as2-from", "as2-to", "as2-version")
_AS2_TYPES: Final = re.compile(
    r"\s*(?:application/(?:x-)?pkcs7-(?:mime|signature)|multipart/signed)", re.IGNORECASE
)


def find_foreign(capture: Capture, root: bytes) -> Foreign | None:
    """Of which other specification it is; `root` is the beginning of its first part or document."""
    return None if is_ours(root) else _by_namespace(_text_of(root)) or _by_field(capture)


def is_ours(root: bytes) -> bool:
    """Whether it is of profile `ebms-2.0`, whatever is wrong with it; `root` as above."""
    return _OURS in _text_of(root)


def _text_of(root: bytes) -> bytes:
    return root.replace(b"\0", b"") if root[:2] in (b"\xff\xfe", b"\xfe\xff") else root


def _by_namespace(text: bytes) -> Foreign | None:
    soap = next((word for word, namespace in _SOAP if namespace in text), None)
    for name, namespace in _NAMESPACES:
        if namespace in text:
            inside = f", in an envelope of {soap}" if soap else ""
            return Foreign(name, f"the namespace {namespace.decode()}{inside}")
    if soap is not None and _HEADER in text:
        return Foreign("ebMS 1.0", f"the namespace {_HEADER.decode()} in an envelope of {soap}")
    return None if soap is None else Foreign("SOAP", f"an envelope of {soap}")


def _by_field(capture: Capture) -> Foreign | None:
    for field in _AS2_FIELDS:
        if capture.find(field) is not None:
            return Foreign("AS2", f"the header field {field}")
    if _AS2_TYPES.match(capture.content_type):
        return Foreign("S/MIME, as AS1 and AS2 use it", f"the type {capture.content_type.strip()}")
    action = capture.find("soapaction")
    if action is not None and action.strip('" ') != Profile.EBMS_2_0.soap_action:
        return Foreign("SOAP", "the header field soapaction")
    return None
