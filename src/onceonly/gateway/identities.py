"""Our keys that sign: read at start, at a reload and by `check`, and known to nobody else.

A key file that others may read is refused, a passphrase is never asked for, and no text of a
refusal has anything of a key in it.
"""

import os
import stat
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from onceonly.gateway.certificate_file import certificates_in
from onceonly.gateway.config import Configuration
from onceonly.gateway.config.signing import IdentityFiles
from onceonly.gateway.open_files import OTHERS
from onceonly.message.errors import LocalError
from onceonly.message.signing import SignatureAlgorithm
from onceonly.steps.signing import SigningIdentity
from onceonly.wire.proof import ECDSA, RSA, PrivateKey, signer_of

_RSA: Final = "rsa-sha256"
_BY_CURVE: Final = {256: "ecdsa-sha256", 384: "ecdsa-sha384", 521: "ecdsa-sha384"}
"""The usual algorithm by the bits of the curve: the hash has no more bits than the curve."""

_BYTES_MAX: Final = 1 << 20
"""Most bytes that are read of such a file."""


def read_identities(configuration: Configuration) -> tuple[SigningIdentity, ...]:
    """All identities, with their keys. Raises `OSError` for one that cannot be used."""
    found = tuple(map(_identity, configuration.identities))
    for agreement in configuration.agreements:
        algorithm = agreement.signing.algorithm
        for one in found:
            if one.id in agreement.signing.identities and algorithm not in (None, *one.signers):
                raise OSError(
                    f"identity {one.id!r} cannot sign with signature_algorithm {algorithm} of"
                    f" agreement {agreement.id!r}; expected is one of {', '.join(one.signers)}"
                )
    return found


def _identity(files: IdentityFiles) -> SigningIdentity:
    certificate = _certificate(files)
    key = _key(files)
    names = RSA if isinstance(key, rsa.RSAPrivateKey) else ECDSA
    offered = {one.value for one in SignatureAlgorithm}
    signers = {}
    try:
        for uri in names:
            name = uri.rpartition("#")[2]
            if name in offered:
                signers[name] = signer_of(key, certificate, uri)
    except LocalError as error:
        raise OSError(f"identity {files.id!r}: {error} ({_files(files)})") from error
    read = certificates_in(files.certificate)[0]
    usual = _RSA if isinstance(key, rsa.RSAPrivateKey) else _BY_CURVE[key.curve.key_size]
    return SigningIdentity(
        id=files.id,
        begins_at=read.from_at if files.begins_at is None else files.begins_at,
        until_at=read.until_at,
        fingerprint=read.fingerprint,
        usual_method=usual,
        signers=signers,
    )


def _files(files: IdentityFiles) -> str:
    return f"certificate {files.certificate} with key {files.key}"


def _certificate(files: IdentityFiles) -> x509.Certificate:
    content = _content(files.id, files.certificate)
    try:
        return x509.load_pem_x509_certificate(content)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise OSError(
            f"identity {files.id!r}: {files.certificate} does not begin with a certificate in PEM"
        ) from error


def _key(files: IdentityFiles) -> PrivateKey:
    content = _content(files.id, files.key, is_secret=True)
    try:
        # Without a password `cryptography` asks nobody for one.
        key = load_pem_private_key(content, password=None)
    except TypeError:
        raise OSError(
            f"identity {files.id!r}: key {files.key} has a passphrase; expected is one without"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        # Not "from" the error: what stands in a key file is shown to nobody.
        raise OSError(
            f"identity {files.id!r}: {files.key} is no private key in PEM that can be read"
        ) from None
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise OSError(
            f"identity {files.id!r}: key {files.key} is of another kind; expected is RSA, or ECDSA"
            " on P-256, P-384 or P-521"
        )
    return key


def _content(name: str, path: Path, *, is_secret: bool = False) -> bytes:
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(_BYTES_MAX)
    except OSError as error:
        raise OSError(f"identity {name!r}: {path} cannot be read: {error.strerror}") from error
    if is_secret and mode & OTHERS:
        raise OSError(
            f"identity {name!r}: key {path} can be read by others (mode {mode:04o}):"
            f" chmod o-rwx {path}"
        )
    return content
