"""Agreements as people look at them: what runs, what was noted of it before, what a file says.

Only reads: the configuration that runs, its file, and the store; for threads.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from typing import Any, Final

from onceonly.api import agreements as api
from onceonly.api.certificates import UsedCertificate
from onceonly.api.fields import NUMBER_MAX
from onceonly.gateway.agreement_findings import findings_in_time, findings_of
from onceonly.gateway.agreement_words import directions_of, longest_of, words_of
from onceonly.gateway.application.certificates import used_certificates
from onceonly.gateway.caller import Caller
from onceonly.gateway.config import Configuration
from onceonly.gateway.config.effective import effective
from onceonly.gateway.config.keys import AGREEMENT_KEYS
from onceonly.gateway.desk import Desk
from onceonly.gateway.reload import AgreementDifference, Reload
from onceonly.gateway.seen_certificates import SeenCertificates
from onceonly.gateway.shapes import text_of, word
from onceonly.gateway.worst_case import misfits_of, worst_case_of
from onceonly.message.agreement import Agreement
from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.protocol.sending import OutboundStatus
from onceonly.steps.agreement_history import TermChange, Terms, differences_of
from onceonly.store.contract.agreements import AgreementChange, AgreementSnapshot, AgreementStep
from onceonly.store.contract.entries import MessageFilter
from onceonly.store.contract.store import Snapshot

UNSETTLED: Final = (OutboundStatus.QUEUED, OutboundStatus.SENDING, OutboundStatus.IN_DOUBT)
"""A message in these has no end, or none that anybody is sure of."""

LOOKED_AT: Final = 20_000
"""Most messages without an end that a list counts, as many as any list reads."""


class KnownAgreements:
    """Everything that the API says of agreements and certificates."""

    def __init__(self, *, desk: Desk, reload: Reload, seen: SeenCertificates) -> None:
        self._desk = desk
        self._reload = reload
        self._seen = seen

    @property
    def _running(self) -> Configuration:
        return self._reload.loaded.configuration

    def find(self, agreement_id: str) -> Agreement | None:
        """The agreement that holds now, never a route."""
        return self._desk.house.agreements.find_ours(agreement_id)

    def names_owned(self, own: Collection[str]) -> frozenset[str]:
        """The names on the wire that only agreements of these ids have (R-35)."""
        return self._desk.house.agreements.names_owned(own)

    def certificates(self) -> tuple[UsedCertificate, ...]:
        """Every certificate that is used or expected."""
        return used_certificates(self._running, self._seen.by_fingerprint(), self._desk.clock.at())

    def page(self, query: api.AgreementsQuery, limit: int, caller: Caller) -> api.AgreementPage:
        """Agreements by their ids, those of the caller alone."""
        snapshot = self._desk.snapshot()
        last, counts = _last(snapshot), _unsettled(snapshot)
        running = {one.id: one for one in self._running.agreements}
        kept = {name for name in counts if name in last and not self._is_route(name)}
        names = sorted(
            name
            for name in running.keys() | kept
            if caller.owns(name)
            and name > (query.after or "")
            and (query.partner is None or query.partner in self._parties(name, running, last))
        )
        shown = tuple(
            api.AgreementSummary(
                **self._summary(name, last.get(name), counts.get(name, {})),
            )
            for name in names[:limit]
        )
        looked_at = sum(sum(one.values()) for one in counts.values())
        return api.AgreementPage(
            agreements=shown,
            next_after=names[limit - 1] if len(names) > limit else None,
            is_cut=looked_at >= LOOKED_AT,
        )

    def detail(self, agreement_id: str, caller: Caller) -> api.AgreementDetail:
        """One agreement, of its certificates what the caller may see of them.

        Raises `LocalError` (NotFound).
        """
        snapshot = self._desk.snapshot()
        one, last = self.find(agreement_id), _last_of(snapshot, agreement_id)
        if one is None and last is None:
            raise unknown_agreement(agreement_id)
        counts, is_cut = {}, False
        for status in UNSETTLED:
            wanted = MessageFilter(status=status, agreement_id=agreement_id)
            found = snapshot.count_messages(wanted)
            counts[status.value], is_cut = found.count, is_cut or found.is_more
        known = self._summary(agreement_id, last, counts)
        if one is None:
            assert last is not None, "one of them is known"
            return api.AgreementDetail(
                **known, **_nothing_running(last), terms=tuple(_terms(last.terms, {}))
            )
        table = self._running.agreement_tables.get(agreement_id)
        places = {} if table is None else table.places()
        return api.AgreementDetail(
            **known,
            our_ids=tuple(map(str, one.our_ids)),
            their_ids=tuple(map(str, one.their_ids)),
            words=words_of(one),
            worst_case=worst_case_shape(one),
            addresses=tuple(
                api.AgreementAddress(direction=direction, what=what, address=address)  # type: ignore[arg-type]  # because it is one of both words
                for direction, what, address in directions_of(one, self._desk.house.uris)
            ),
            certificates=tuple(self._certificates_of(agreement_id, caller)),
            checks=(
                *findings_of(self._running, one),
                *findings_in_time(one, self._desk.clock.at()),
            ),
            terms=tuple(_terms(effective(one, table), places)),
            is_cut=is_cut,
        )

    def _certificates_of(self, agreement_id: str, caller: Caller) -> Iterator[UsedCertificate]:
        """Those of one agreement; an application is told of no other use, and of no file."""
        for one in self.certificates():
            uses = tuple(use for use in one.uses if use.agreement == agreement_id)
            if uses:
                is_own = caller.agreement_ids is not None
                yield changed(one, file=None, uses=uses) if is_own else one

    def history(
        self, agreement_id: str, query: api.AgreementHistoryQuery, limit: int
    ) -> api.AgreementHistory:
        """What became of one agreement. Raises `LocalError` (NotFound)."""
        snapshot = self._desk.snapshot()
        rows: list[AgreementChange] = []
        if isinstance(snapshot, AgreementSnapshot):
            # One more, with which the last one of the page is compared.
            rows = [*snapshot.list_agreement_changes(agreement_id, query.before, limit + 1)]
        if not rows and self.find(agreement_id) is None:
            raise unknown_agreement(agreement_id)
        shown = [
            _past(row, before) for row, before in zip_longest(rows[:limit], rows[1 : limit + 1])
        ]
        return api.AgreementHistory(
            agreement=agreement_id,
            history=tuple(shown),
            next_before=shown[-1].number if len(rows) > limit else None,
        )

    def difference(self, agreement_id: str | None, caller: Caller) -> api.FileDifference:
        """What a reload would change.

        Raises `LocalError` (NotFound) for a name that is nowhere, or not the caller's.
        """
        if agreement_id is not None and not caller.owns(agreement_id):
            raise unknown_agreement(agreement_id)
        found = self._reload.look()
        own = tuple(
            _different(one, is_blocked=one.id in found.blocked)
            for one in found.agreements
            if caller.owns(one.id) and agreement_id in (None, one.id)
        )
        if agreement_id is not None and not own and self.find(agreement_id) is None:
            raise unknown_agreement(agreement_id)
        is_refused = bool(found.problem or found.needs_restart or found.blocked)
        if caller.agreement_ids is not None:
            problem = None if found.problem is None else "the file cannot be used"
            return api.FileDifference(
                is_different=bool(own),
                is_refused=is_refused,
                problem=problem,
                changed="",
                needs_restart=(),
                blocked=tuple(filter(caller.owns, found.blocked)),
                agreements=own,
            )
        is_about_one = agreement_id is not None
        others = bool(found.what or found.needs_restart)
        return api.FileDifference(
            is_different=bool(own) or (others and not is_about_one),
            is_refused=is_refused,
            problem=found.problem,
            changed="" if is_about_one else found.what,
            needs_restart=found.needs_restart,
            blocked=found.blocked,
            agreements=own,
        )

    def _is_route(self, name: str) -> bool:
        return any(route.id == name for route in self._running.routes)

    def _parties(
        self, name: str, running: Mapping[str, Agreement], last: Mapping[str, AgreementChange]
    ) -> tuple[str, ...]:
        if name in running:
            return tuple(map(str, running[name].their_ids))
        return tuple(last[name].terms["with"].split(", "))

    def _summary(
        self, name: str, last: AgreementChange | None, counts: Mapping[str, int]
    ) -> dict[str, Any]:
        """The members of `AgreementSummary`."""
        one, table = self.find(name), self._running.agreement_tables.get(name)
        is_noted = last is not None and (one is None) is (last.change is AgreementStep.REMOVED)
        return {
            "agreement": name,
            **(_from_configuration(self._running, one) if one is not None else _from_row(last)),
            "is_configured": one is not None,
            "place": None if table is None else table.place_of(None),
            "unsettled": {status.value: counts.get(status.value, 0) for status in UNSETTLED},
            "in_force_since": text_of(last.at) if last is not None and is_noted else None,
        }


def unknown_agreement(agreement_id: str) -> LocalError:
    """The refusal of a call about an agreement that is not there, or not the caller's."""
    return LocalError("NotFound", f"no agreement {agreement_id!r}")


def _last(snapshot: Snapshot) -> dict[str, AgreementChange]:
    if not isinstance(snapshot, AgreementSnapshot):
        return {}
    return {one.agreement_id: one for one in snapshot.list_last_agreement_changes()}


def _last_of(snapshot: Snapshot, agreement_id: str) -> AgreementChange | None:
    if not isinstance(snapshot, AgreementSnapshot):
        return None
    return next(iter(snapshot.list_agreement_changes(agreement_id, NUMBER_MAX, 1)), None)


def _unsettled(snapshot: Snapshot) -> Mapping[str, Mapping[str, int]]:
    return snapshot.count_unsettled(LOOKED_AT) if isinstance(snapshot, AgreementSnapshot) else {}


def _from_configuration(running: Configuration, one: Agreement) -> dict[str, Any]:
    return {
        "partner": one.their_party,
        "partner_name": one.name,
        "our_party": one.our_party,
        "profile": one.profile.name,
        "semantics": one.terms.semantics.value,
        "send_to": one.send_to,
        "within_s": worst_case_of(one).within_s,
        "findings": sum(1 for _ in findings_of(running, one)),
    }


def _from_row(last: AgreementChange | None) -> dict[str, Any]:
    assert last is not None, "whoever is not configured was noted"
    terms = last.terms
    return {
        "partner": terms["with"].split(", ")[0],
        "partner_name": terms["name"] or None,
        "our_party": terms["party"].split(", ")[0],
        "profile": terms["profile"],
        "semantics": terms["delivery_semantics"],
        "send_to": terms["send_to"],
        "within_s": None,
        "findings": 0,
    }


def _nothing_running(last: AgreementChange) -> dict[str, Any]:
    """What is not known of an agreement that left the configuration."""
    return {
        "our_ids": tuple(last.terms["party"].split(", ")),
        "their_ids": tuple(last.terms["with"].split(", ")),
        "words": (),
        "worst_case": None,
        "addresses": (),
        "certificates": (),
        "checks": (),
        "is_cut": False,
    }


def _terms(terms: Terms, places: Mapping[str, str]) -> Iterator[api.AgreementTerm]:
    for name, value in terms.items():
        key = AGREEMENT_KEYS.get(name)
        has_unit = key is not None and key.unit.isascii() and value.isdigit()
        yield api.AgreementTerm(
            key=name,
            value=value,
            unit=key.unit if key is not None and has_unit else None,
            place=places.get(name),
            meaning="" if key is None else key.meaning,
        )


def worst_case_shape(one: Agreement) -> api.WorstCaseTime:
    """The longest time of an agreement, as the API shows it."""
    found, begins_s = worst_case_of(one), 0
    waits = []
    for wait in found.waits:
        waits.append(
            api.AgreedWait(
                what=wait.key,  # type: ignore[arg-type]  # because it is one of these words
                times=wait.times,
                each_s=wait.each_s,
                begins_s=begins_s,
                by=wait.by or None,
            )
        )
        begins_s += wait.all_s
    return api.WorstCaseTime(
        words=longest_of(found),
        waits=tuple(waits),
        tries_s=found.tries_s,
        within_s=found.within_s,
        lives_s=found.lives_s,
        time_to_live_s=one.terms.time_to_live_s,
        persist_duration_s=one.terms.persist_duration_s,
        misfits=tuple(misfits_of(one)),
    )


def _past(row: AgreementChange, before: AgreementChange | None) -> api.PastAgreement:
    is_change = row.change is AgreementStep.CHANGED and before is not None
    terms = differences_of(before.terms, row.terms) if before is not None and is_change else ()
    return api.PastAgreement(
        number=row.number,
        change=word(row.change),
        at=text_of(row.at),
        by=row.by,
        digest=row.digest,
        terms=_changed(terms),
    )


def _different(one: AgreementDifference, *, is_blocked: bool) -> api.DifferentAgreement:
    return api.DifferentAgreement(
        agreement=one.id,
        change=word(one.change),
        is_blocked=is_blocked,
        terms=_changed(one.terms),
    )


def _changed(terms: tuple[TermChange, ...]) -> tuple[api.ChangedTerm, ...]:
    return tuple(api.ChangedTerm(key=one.key, was=one.was, now=one.now) for one in terms)
