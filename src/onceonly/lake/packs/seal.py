"""Digests of a pack's files, in the words of `sha256sum`, and a signature over those.

Knows files and keys. `sha256sum -c SHA256SUMS` checks a pack without this program, and
`openssl` its signature.
"""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from onceonly.message.errors import LocalError

DIGESTS: Final = "SHA256SUMS"
SIGNATURE: Final = "SHA256SUMS.sig"
_BYTES_AT_ONCE: Final = 1 << 20


def files(pack: Path) -> list[str]:
    """Every file of the pack but the seal, by its path in it."""
    found = [path.relative_to(pack).as_posix() for path in pack.rglob("*") if path.is_file()]
    return sorted(name for name in found if name not in (DIGESTS, SIGNATURE))


def tidy(pack: Path) -> None:
    """Remove what Spark leaves beside its files for itself."""
    for path in list(pack.rglob("*")):
        if path.name.endswith(".crc") or path.name == "_SUCCESS":
            path.unlink()


def close(pack: Path, *, sign: Callable[[bytes], bytes] | None) -> None:
    """Write the digests of all files, and the signature where there is a key."""
    lines = [f"{digest(pack / name)}  {name}\n" for name in files(pack)]
    content = "".join(lines).encode()
    (pack / DIGESTS).write_bytes(content)
    if sign is not None:
        (pack / SIGNATURE).write_bytes(sign(content))


def digest(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    found = sha256()
    with path.open("rb") as file:
        while chunk := file.read(_BYTES_AT_ONCE):
            found.update(chunk)
    return found.hexdigest()


def broken(pack: Path) -> list[str]:
    """What does not agree with the digests."""
    if not (pack / DIGESTS).is_file():
        return [f"{DIGESTS} is missing: the pack was never finished, or is none"]
    claimed: dict[str, str] = {}
    for line in (pack / DIGESTS).read_text(errors="replace").splitlines():
        found, _, name = line.partition("  ")
        claimed[name] = found
    there = files(pack)
    return [
        *(f"{name} is missing" for name in sorted(claimed) if name not in there),
        *(f"{name} is in no digest" for name in there if name not in claimed),
        *(
            f"{name} does not give its digest"
            for name in there
            if name in claimed and digest(pack / name) != claimed[name]
        ),
    ]


def signer(key: Path) -> Callable[[bytes], bytes]:
    """What signs with a private key in PEM: Ed25519, Ed448, ECDSA or RSA, with SHA-256.

    It has signed once when this returns: whether a key can, its kind and its length say, and a pack
    is ready to be signed only after Spark's work. Raises `LocalError` (BadKey, NoCryptography).
    """
    parts = _cryptography()
    try:
        private = parts.serialization.load_pem_private_key(key.read_bytes(), password=None)
        how = _how(private)
        private.sign(b"", *how)
    except (OSError, ValueError, TypeError, parts.UnsupportedAlgorithm) as error:
        raise LocalError("BadKey", f"{key} is no private key to sign with: {error}") from error
    return lambda content: bytes(private.sign(content, *how))


def is_signed(pack: Path) -> bool:
    """Whether there is a signature, right or wrong."""
    return (pack / SIGNATURE).is_file()


def is_signed_by(pack: Path, key: Path) -> bool:
    """Whether the digests are signed by the owner of a public key or certificate in PEM.

    Raises `LocalError` (BadKey, NoCryptography).
    """
    parts = _cryptography()
    try:
        pem = key.read_bytes()
        public = (
            parts.x509.load_pem_x509_certificate(pem).public_key()
            if b"CERTIFICATE" in pem
            else parts.serialization.load_pem_public_key(pem)
        )
        how = _how(public)
    except (OSError, ValueError, parts.UnsupportedAlgorithm) as error:
        raise LocalError("BadKey", f"{key} is no public key to verify with: {error}") from error
    if not is_signed(pack) or not (pack / DIGESTS).is_file():
        return False
    try:
        public.verify((pack / SIGNATURE).read_bytes(), (pack / DIGESTS).read_bytes(), *how)
    except parts.InvalidSignature:
        return False
    return True


def _how(key: Any) -> tuple[Any, ...]:
    """What else the key's kind wants to be told. Raises `ValueError` for one that never signs."""
    parts = _cryptography()
    kind = type(key).__name__
    if "RSA" in kind:
        return parts.padding.PKCS1v15(), parts.hashes.SHA256()
    if "EllipticCurve" in kind or kind.startswith("EC"):
        return (parts.ec.ECDSA(parts.hashes.SHA256()),)
    if kind.startswith("Ed") or "Ed25519" in kind or "Ed448" in kind:
        return ()
    raise ValueError(f"with a key of the kind {kind} nothing is signed")


class _Parts:
    """The corners of `cryptography` that are used here."""

    def __init__(self) -> None:
        from cryptography import x509  # noqa: PLC0415 - because only signed packs need it
        from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm  # noqa: PLC0415 - because only signing needs it
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - because only signing needs it
        from cryptography.hazmat.primitives.asymmetric import ec, padding  # noqa: PLC0415 - because only signing needs it

        self.x509, self.InvalidSignature = x509, InvalidSignature
        self.UnsupportedAlgorithm = UnsupportedAlgorithm
        self.hashes, self.serialization = hashes, serialization
        self.ec, self.padding = ec, padding


def _cryptography() -> _Parts:
    try:
        return _Parts()
    except ImportError as error:
        raise LocalError(
            "NoCryptography", "signatures need `pip install 'onceonly[spark]'`"
        ) from error
