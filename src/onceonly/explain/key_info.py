"""What the KeyInfo of a signature says: hints for the choice of a key, and no proof of anything.

A gateway looks at the certificates in it alone, and at those only to try the one that it knows
first. Here the rest is told too, since a product may write any of it and no certificate.
"""

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Iterator
from typing import Final

from cryptography.hazmat.primitives.asymmetric import rsa

from onceonly.message.printable import quoted
from onceonly.wire.proof import PublicKey
from onceonly.wire.signature import NAMESPACE, VALUE_BYTES_MAX
from onceonly.wire.soap import NAMESPACE as SOAP
from onceonly.wire.xml import Element

HINTS_MAX: Final = 10
"""Most hints that are told one by one."""

_HINTS: Final = (
    "KeyName",
    "X509IssuerName",
    "X509SerialNumber",
    "X509SKI",
    "X509SubjectName",
    "RetrievalMethod",
    "KeyValue",
)


def _key_info(root: Element) -> Element | None:
    path = (f"{{{SOAP}}}Header", f"{{{NAMESPACE}}}Signature", f"{{{NAMESPACE}}}KeyInfo")
    return root.find("/".join(path))


def sentences_of_hints(root: Element) -> Iterator[str]:
    """What the signature in the envelope under `root` says of its key beside certificates."""
    found = _key_info(root)
    if found is None:
        yield "it has no KeyInfo, so that it does not say by which key it is"
        return
    hints: list[str] = []
    for element in found.iter():
        name = element.tag.removeprefix(f"{{{NAMESPACE}}}")
        if name in _HINTS and len(hints) < HINTS_MAX:
            text = " ".join((element.text or element.get("URI") or "").split())
            hints.append(name if name == "KeyValue" or not text else f"{name} {quoted(text)}")
    if hints:
        yield f"its KeyInfo is a hint and no proof; it says {', '.join(hints)}"


def key_value_of(root: Element) -> PublicKey | None:
    """The key of RSA that stands in KeyValue itself, if one can be read there."""
    found = _key_info(root)
    value = None
    if found is not None:
        value = found.find(f"{{{NAMESPACE}}}KeyValue/{{{NAMESPACE}}}RSAKeyValue")
    if value is None:
        return None
    try:
        modulus, exponent = (
            _number(value.findtext(f"{{{NAMESPACE}}}{name}")) for name in ("Modulus", "Exponent")
        )
        return rsa.RSAPublicNumbers(exponent, modulus).public_key()
    except (ValueError, Base64Error):
        return None


def _number(text: str | None) -> int:
    """A number in base64; no longer than that of any key that is looked at."""
    value = a2b_base64("".join((text or "").split()).encode(), strict_mode=True)
    if len(value) > VALUE_BYTES_MAX:
        raise ValueError("longer than any key")
    return int.from_bytes(value)
