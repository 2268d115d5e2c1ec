"""What two parties agreed about signatures (`ebms2.md` §9.6 and §11).

Values only: which of our keys sign, and which certificates the partner signs with. Whoever makes
them has read the files; a private key is never in them.
"""

from enum import StrEnum

from onceonly.message.word import Word


class Signed(StrEnum):
    """Which messages have a signature."""

    NONE = "none"
    MESSAGES = "messages"
    """Business messages."""
    ALL = "all"
    """Those, and acknowledgements, errors, pings and questions for the status."""


class SignatureAlgorithm(StrEnum):
    """How the value of a signature is made."""

    RSA_SHA256 = "rsa-sha256"
    RSA_SHA384 = "rsa-sha384"
    RSA_SHA512 = "rsa-sha512"
    ECDSA_SHA256 = "ecdsa-sha256"
    ECDSA_SHA384 = "ecdsa-sha384"
    RSA_SHA1 = "rsa-sha1"
    """Broken; only for a partner that knows no other."""


class Canonicalization(StrEnum):
    """By which canonical form we sign."""

    INCLUSIVE = "inclusive"
    EXCLUSIVE = "exclusive"


class PinnedCertificate(Word, kw_only=True):
    """A certificate that the partner may sign with; instants are in microseconds UTC."""

    der: bytes
    fingerprint: str
    """Hexadecimal SHA-256 of `der`."""
    from_at: int
    until_at: int

    def was_valid(self, at: int) -> bool:
        """Whether the instant is in its time."""
        return self.from_at <= at <= self.until_at


class SigningTerms(Word, kw_only=True):
    """What we sign, what the partner must sign, and with which keys."""

    signs: Signed = Signed.NONE
    requires: Signed = Signed.NONE
    """A message of the partner without such a signature is refused."""
    identities: tuple[str, ...] = ()
    """The identities that may sign here, by id; empty: we cannot sign."""
    partner_certificates: tuple[PinnedCertificate, ...] = ()
    algorithm: SignatureAlgorithm | None = None
    """None: the usual one of the key."""
    canonicalization: Canonicalization = Canonicalization.INCLUSIVE
    accepts_sha1: bool = False
    accepts_part_transforms: bool = False
    """A payload in XML may be signed in canonical form, and not byte for byte."""

    @property
    def is_believed_unsigned(self) -> bool:
        """Whether a message of the partner may be believed without a signature (R-30)."""
        return self.requires is Signed.NONE
