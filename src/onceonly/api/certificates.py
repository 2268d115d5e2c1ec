"""Certificates over the API: every one that the gateway uses or expects, and when it ends."""

from typing import Final, Literal

from onceonly.api.fields import Digest, Instant
from onceonly.api.operation import Nothing, Operation
from onceonly.message.word import Word

CertificateKind = Literal["own", "trusted", "partner"]
CertificateLevel = Literal["ok", "warning", "critical", "unknown"]


class CertificateUse(Word, kw_only=True):
    """For what one is used; `agreement` and `partner` where it is a partner's."""

    what: str
    agreement: str | None = None
    partner: str | None = None
    partner_name: str | None = None


class UsedCertificate(Word, kw_only=True):
    """One certificate, or a file that holds none that can be read.

    Of a partner's, the configuration has the fingerprint alone: what else it says is known once the
    partner has shown it (`seen_at`, since the start of the gateway), or if it is in a trusted file.
    """

    kind: CertificateKind
    level: CertificateLevel
    """As `onceonly probe` judges it: a warning 30 days before its end, critical 7 days before."""
    fingerprint: Digest | None
    subject: str | None
    issuer: str | None
    valid_from: Instant | None
    valid_until: Instant | None
    days_left: int | None
    """Whole days until its end; below 0 after it."""
    seen_at: Instant | None
    file: str | None
    uses: tuple[CertificateUse, ...]


class CertificateList(Word, kw_only=True):
    """Those that end first come first, and those whose end is not known come last."""

    certificates: tuple[UsedCertificate, ...]


LIST_CERTIFICATES: Final = Operation(
    name="listCertificates",
    method="get",
    path="/v1/certificates",
    summary="Every certificate that the gateway uses or expects: whose it is, who uses it, and "
    "when it ends; the next one to end first",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=CertificateList,
)
