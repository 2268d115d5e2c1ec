"""Certificates and algorithms of a CPA (attack S37).

A blob is taken for a certificate only where it is one and nothing more, and OpenSSL reads it too.
Knows nothing of files; a name that `pem_name_of` gives comes from the certificate alone (S38).
"""

import base64
import binascii
import ssl
from typing import Final

from onceonly.gateway.certificate_file import Certificate, certificate_of
from onceonly.gateway.cpa.document import CpaError
from onceonly.gateway.cpa.model import NonRepudiation, Party
from onceonly.gateway.cpa.notes import Notes
from onceonly.message.printable import quoted
from onceonly.message.word import Word

CERTIFICATE_LENGTH_MAX: Final = 1 << 16
"""Of one in base64: a certificate has 1 to 4 KB."""
_CHAIN_MAX: Final = 16
"""Certificates of one KeyInfo."""

_ALGORITHMS: Final = {
    "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256": "rsa-sha256",
    "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384": "rsa-sha384",
    "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512": "rsa-sha512",
    "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256": "ecdsa-sha256",
    "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384": "ecdsa-sha384",
    "http://www.w3.org/2000/09/xmldsig#rsa-sha1": "rsa-sha1",
}
OLD_ALGORITHM: Final = "rsa-sha1"
_INSTEAD: Final = "rsa-sha256"


class Signer(Word, kw_only=True):
    """A certificate of the CPA, with its bytes."""

    certificate: Certificate
    der: bytes

    @property
    def pem(self) -> str:
        """As a file has it."""
        return ssl.DER_cert_to_PEM_cert(self.der)


def pem_name_of(signer: Signer) -> str:
    """The name of its file: a part of its fingerprint."""
    return f"partner-{signer.certificate.fingerprint[:16]}.pem"


def certificate_in(party: Party, name: str) -> Signer:
    """The leaf of the KeyInfo with this certId. Raises `CpaError`."""
    texts = party.certificates.get(name)
    if texts is None:
        raise CpaError(f"the certificate {quoted(name)} is not in the PartyInfo that names it")
    if not texts:
        raise CpaError(f"the certificate {quoted(name)} has no X509Certificate in its KeyInfo")
    if len(texts) > _CHAIN_MAX:
        raise CpaError(
            f"the certificate {quoted(name)} has {len(texts)} X509Certificates, at most "
            f"{_CHAIN_MAX} are read"
        )
    found = [_read(text, name) for text in texts]
    issuers = {one.certificate.issuer for one in found if not _is_own_issuer(one)}
    leaves = [one for one in found if one.certificate.subject not in issuers] or found
    # Of a chain with a gap its root seems to have issued nothing; a signer has an issuer there.
    return next((one for one in leaves if not _is_own_issuer(one)), leaves[0])


def _is_own_issuer(one: Signer) -> bool:
    return one.certificate.issuer == one.certificate.subject


def _read(text: str, name: str) -> Signer:
    what = f"the X509Certificate of {quoted(name)}"
    if len(text) > CERTIFICATE_LENGTH_MAX:
        raise CpaError(
            f"{what} has {len(text)} characters, at most {CERTIFICATE_LENGTH_MAX} are read"
        )
    try:
        der = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise CpaError(f"{what} is not base64: {error}") from error
    if not _is_one_value(der):
        raise CpaError(f"{what} is not one certificate in DER and nothing more")
    try:
        certificate = certificate_of(der)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=der)
    except (ValueError, IndexError, ssl.SSLError) as error:
        raise CpaError(f"{what} cannot be read as a certificate: {error}") from error
    return Signer(certificate=certificate, der=der)


def _is_one_value(der: bytes) -> bool:
    """Whether these are the bytes of one SEQUENCE in DER, whose length has two or three bytes."""
    if len(der) < 4 or der[0] != 0x30 or der[1] not in (0x81, 0x82, 0x83):
        return False
    count = der[1] & 0x7F
    return len(der) == 2 + count + int.from_bytes(der[2 : 2 + count])


def algorithm_of(signing: NonRepudiation, who: str, notes: Notes) -> str:
    """The signature algorithm of a party, as a word of the configuration. Raises `CpaError`."""
    known = []
    for given in signing.algorithms:
        word = given.lower()
        found = _ALGORITHMS.get(word) or (word if word in _ALGORITHMS.values() else None)
        if found is not None:
            known.append(found)
    if not known:
        raise CpaError(
            f"{who} signs with {', '.join(map(quoted, signing.algorithms)) or 'no algorithm'}, "
            f"expected is one of {', '.join(dict.fromkeys(_ALGORITHMS.values()))}"
        )
    best = next((one for one in known if one != OLD_ALGORITHM), None)
    if best is None:
        notes.warn(
            f"{who} signs with {OLD_ALGORITHM}, which is broken; {_INSTEAD} is written. Ask the "
            "partner: where they cannot, accept_sha1 = true is needed"
        )
        return OLD_ALGORITHM
    return best


def written_algorithm(found: str) -> str:
    """What is written for it: never SHA-1."""
    return _INSTEAD if found == OLD_ALGORITHM else found
