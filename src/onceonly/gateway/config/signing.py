"""Signatures as configured: our identities, and what an agreement says of signing.

Certificates of partners are read here, since they are part of what was agreed. A private key is
read only by a gateway that starts, and by `check` (`gateway.identities`).
"""

import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onceonly.gateway.certificate_file import certificate_of, pem_certificates
from onceonly.gateway.config.file import Table
from onceonly.message.agreement import Agreement
from onceonly.message.message import AckRequested
from onceonly.message.signing import (
    Canonicalization,
    PinnedCertificate,
    SignatureAlgorithm,
    Signed,
    SigningTerms,
)
from onceonly.message.word import changed

_OF_SIGNING: Final = (
    "sign",
    "require_signature",
    "identities",
    "partner_certificates",
    "signature_algorithm",
    "canonicalization",
    "accept_sha1",
    "xml_part_transforms",
)
CERTIFICATES_MAX: Final = 100
"""Most certificates of one partner: each may be tried for every message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityFiles:
    """One `[[identity]]`; paths are absolute."""

    id: str
    certificate: Path
    key: Path
    begins_at: int | None
    """Microseconds UTC; None: with its certificate."""


def identities_of(tables: Sequence[Table], directory: Path) -> tuple[IdentityFiles, ...]:
    """All identities. Raises `ConfigurationError`."""
    found: dict[str, IdentityFiles] = {}
    for table in tables:
        if table["id"] in found:
            table.refuse("id", f"{table['id']!r} is there twice")
        found[table["id"]] = IdentityFiles(
            id=table["id"],
            certificate=directory / table["certificate"],
            key=directory / table["key"],
            begins_at=table["from"],
        )
    return tuple(found.values())


def with_signing(
    agreements: Sequence[Agreement],
    tables: Mapping[str, Table],
    identities: Sequence[IdentityFiles],
    directory: Path,
) -> tuple[Agreement, ...]:
    """The agreements with what their tables say of signing. Raises `ConfigurationError`."""
    ids = tuple(one.id for one in identities)
    return tuple(
        changed(one, signing=_signing_of(one, tables[one.id], ids, directory)) for one in agreements
    )


def _signing_of(
    agreement: Agreement, table: Table, ids: tuple[str, ...], directory: Path
) -> SigningTerms:
    if not agreement.profile.has_signatures:
        for key in _OF_SIGNING:
            if table.is_given(key):
                table.refuse(key, f"is not for {agreement.profile.name}, which has no signatures")
        return SigningTerms()
    for name in table["identities"] or ():
        if name not in ids:
            legal = ", ".join(ids) or "not given, since there is no [[identity]]"
            table.refuse("identities", f"names {name!r}; legal: {legal}")
    signs = Signed(table["sign"])
    terms = SigningTerms(
        signs=signs,
        requires=Signed(table["require_signature"] or signs),
        identities=table["identities"] or ids,
        partner_certificates=tuple(_pinned(table, directory)),
        algorithm=_algorithm(table),
        canonicalization=Canonicalization(table["canonicalization"]),
        accepts_sha1=table["accept_sha1"],
        accepts_part_transforms=table["xml_part_transforms"],
    )
    _check(table, terms, agreement.terms.ack_requested is AckRequested.SIGNED)
    return terms


def _algorithm(table: Table) -> SignatureAlgorithm | None:
    said = table["signature_algorithm"]
    return None if said is None else SignatureAlgorithm(said)


def _check(table: Table, terms: SigningTerms, asks_for_signed: bool) -> None:  # noqa: FBT001 - because it has one caller
    if not terms.identities:
        if terms.signs is not Signed.NONE:
            table.refuse("sign", "needs an [[identity]], whose key signs; legal without: none")
        if asks_for_signed:
            table.refuse(
                "ack_requested",
                "is Signed, so ours are signed, too: that needs an [[identity]]; legal without: "
                "None, Unsigned",
            )
    if terms.partner_certificates:
        return
    if terms.requires is not Signed.NONE:
        key = "require_signature" if table.is_given("require_signature") else "sign"
        table.refuse(
            key,
            "requires signatures of the partner: that needs partner_certificates; legal without: "
            'require_signature = "none"',
        )
    if asks_for_signed:
        table.refuse(
            "ack_requested",
            "is Signed: that needs partner_certificates, with which acknowledgements are verified; "
            "legal without: None, Unsigned",
        )


def _pinned(table: Table, directory: Path) -> Iterator[PinnedCertificate]:
    count = 0
    for name in table["partner_certificates"] or ():
        path = directory / name
        try:
            found = list(pem_certificates(path.read_text("ascii", errors="replace")))
        except OSError as error:
            table.refuse("partner_certificates", f"{path} cannot be read: {error.strerror}")
        if not found:
            table.refuse("partner_certificates", f"{path} has no certificate in PEM")
        for text in found:
            count += 1
            if count > CERTIFICATES_MAX:
                table.refuse("partner_certificates", f"are more than {CERTIFICATES_MAX}")
            yield _pinned_of(table, path, text)


def _pinned_of(table: Table, path: Path, text: str) -> PinnedCertificate:
    try:
        der = ssl.PEM_cert_to_DER_cert(text)
        one = certificate_of(der)
    except (ValueError, IndexError) as error:
        reason = f"{path} has a certificate that cannot be read: {error}"
        table.refuse("partner_certificates", reason)
    return PinnedCertificate(
        der=der, fingerprint=one.fingerprint, from_at=one.from_at, until_at=one.until_at
    )
