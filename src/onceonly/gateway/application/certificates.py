"""Every certificate that a configuration uses or expects, each once. Reads files; for threads."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from onceonly.api.certificates import (
    CertificateKind,
    CertificateLevel,
    CertificateUse,
    UsedCertificate,
)
from onceonly.api.looks import Level, Thresholds, certificate_level
from onceonly.gateway.certificate_file import Certificate, certificate_of, certificates_in
from onceonly.gateway.config import Configuration
from onceonly.gateway.seen_certificates import SeenCertificate
from onceonly.gateway.shapes import instant, text_of
from onceonly.message.instant import US_PER_S
from onceonly.message.signing import PinnedCertificate
from onceonly.message.word import Word, changed

US_PER_DAY: Final = 86_400 * US_PER_S
_LIMITS: Final = Thresholds()
_LEVELS: Final[Mapping[Level, CertificateLevel]] = {
    Level.OK: "ok",
    Level.WARNING: "warning",
    Level.CRITICAL: "critical",
}
_OWN: Final[CertificateKind] = "own"
_TRUSTED: Final[CertificateKind] = "trusted"


class UsedFile(Word):
    """A file of certificates, and for what it is used."""

    path: Path
    kind: CertificateKind
    what: str


def files_of(running: Configuration) -> Iterator[UsedFile]:
    """Every file of certificates that the configuration names, each use once."""
    tables = (
        (running.tls, "[tls]", "shown to partners", "partners' must chain to it"),
        (running.api_tls, "[api_tls]", "shown by the API", "callers' must chain to it"),
    )
    for tls, table, own, trusted in tables:
        if tls is not None and tls.certificate is not None:
            yield UsedFile(tls.certificate, _OWN, f"{table} certificate: {own}")
        if tls is not None and tls.trusted is not None:
            yield UsedFile(tls.trusted, _TRUSTED, f"{table} trusted: {trusted}")
    for identity in running.identities:
        what = f"[[identity]] {identity.id}: in our signatures"
        yield UsedFile(identity.certificate, _OWN, what)
    others = [(f"[[webhook]] {one.id}", one.trusted) for one in running.webhooks]
    others += [(f"[[alert]] {one.id}", one.trusted) for one in running.alerts]
    for named, file in others:
        if file is not None:
            yield UsedFile(file, _TRUSTED, f"{named} trusted")


def used_certificates(
    running: Configuration, seen: Mapping[str, SeenCertificate], now_at: int
) -> tuple[UsedCertificate, ...]:
    """All of them, those that end first at the begin."""
    found: dict[str, UsedCertificate] = {}
    for file in files_of(running):
        for one in _in_file(file, seen, now_at):
            _add(found, one.fingerprint or f"{file.path}", one)
    for signer, use in _signers(running):
        _add(found, signer.fingerprint, _pinned_signer(signer, use, now_at))
    for fingerprint, use in _pinned(running):
        one = found.setdefault(fingerprint, _partners(fingerprint, seen, now_at))
        found[fingerprint] = changed(one, kind="partner", uses=(*one.uses, use))
    return tuple(sorted(found.values(), key=_worst_first))


def _add(found: dict[str, UsedCertificate], key: str, one: UsedCertificate) -> None:
    before = found.get(key)
    uses = () if before is None else before.uses
    found[key] = changed(before or one, uses=(*uses, *(u for u in one.uses if u not in uses)))


def _worst_first(one: UsedCertificate) -> tuple[bool, str, bool, str]:
    is_unreadable = one.fingerprint is None
    return (
        one.valid_until is None and not is_unreadable,
        one.valid_until or "",
        one.kind == _TRUSTED,
        one.fingerprint or one.file or "",
    )


def _in_file(
    file: UsedFile, seen: Mapping[str, SeenCertificate], now_at: int
) -> Iterator[UsedCertificate]:
    use = CertificateUse(what=file.what)
    try:
        certificates = certificates_in(file.path)
    except OSError:
        certificates = ()
    for one in certificates:
        shown = _shown(file.kind, one, seen.get(one.fingerprint), now_at)
        yield changed(shown, file=str(file.path), uses=(use,))
    if not certificates:
        yield changed(_shown(file.kind, None, None, now_at), file=str(file.path), uses=(use,))


def _signers(running: Configuration) -> Iterator[tuple[PinnedCertificate, CertificateUse]]:
    """Certificates that partners sign with, and under which agreement."""
    for one in running.agreements:
        use = CertificateUse(
            what="partner_certificates: the partner signs with it",
            agreement=one.id,
            partner=one.their_party,
            partner_name=one.name,
        )
        for signer in one.signing.partner_certificates:
            yield signer, use


def _pinned_signer(signer: PinnedCertificate, use: CertificateUse, now_at: int) -> UsedCertificate:
    """All of it is in the configuration; that a partner signed with it is in the journal alone."""
    return changed(_shown("partner", certificate_of(signer.der), None, now_at), uses=(use,))


def _partners(
    fingerprint: str, seen: Mapping[str, SeenCertificate], now_at: int
) -> UsedCertificate:
    known = seen.get(fingerprint)
    shown = _shown("partner", None if known is None else known.certificate, known, now_at)
    return changed(shown, fingerprint=fingerprint)


def _shown(
    kind: CertificateKind, one: Certificate | None, seen: SeenCertificate | None, now_at: int
) -> UsedCertificate:
    return UsedCertificate(
        kind=kind,
        level="unknown" if one is None else _level(one, now_at),
        fingerprint=None if one is None else one.fingerprint,
        subject=None if one is None else one.subject,
        issuer=None if one is None else one.issuer,
        valid_from=instant(None if one is None else one.from_at),
        valid_until=instant(None if one is None else one.until_at),
        days_left=None if one is None else (one.until_at - now_at) // US_PER_DAY,
        seen_at=instant(None if seen is None else seen.at),
        file=None,
        uses=(),
    )


def _level(one: Certificate, now_at: int) -> CertificateLevel:
    ends_at = text_of(one.until_at)
    found = certificate_level(text_of(one.from_at), ends_at, now_at / US_PER_S, _LIMITS)
    return _LEVELS[found]


def _pinned(running: Configuration) -> Iterator[tuple[str, CertificateUse]]:
    """Fingerprints that callers must show, and under what."""
    for one in running.agreements:
        use = CertificateUse(
            what="caller_certificate: the partner calls us with it",
            agreement=one.id,
            partner=one.their_party,
            partner_name=one.name,
        )
        for fingerprint in one.caller_certificate:
            yield fingerprint, use
    for route in running.routes:
        for key in ("caller_certificate", "next_hop_certificate"):
            use = CertificateUse(what=f"[[route]] {route.id} {key}: a neighbour calls us with it")
            for fingerprint in getattr(route, key):
                yield fingerprint, use
