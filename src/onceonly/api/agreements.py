"""Agreements over the API: what was agreed, what it means, since when, and what would change."""

from typing import Literal

from onceonly.api.certificates import UsedCertificate
from onceonly.api.fields import NUMBER_MAX, Digest, Identifier, Instant, Limit, Name, Number
from onceonly.message.word import Word, field

AgreementStep = Literal["added", "changed", "removed"]
Unsettled = Literal["queued", "sending", "in_doubt"]


class AgreementPath(Word, kw_only=True):
    """The agreement that a call is about, by its id."""

    agreement: Name


class AgreementsQuery(Word, kw_only=True, omit_defaults=True):
    """Which agreements, and which page: those whose id comes after `after` in the alphabet."""

    partner: str | None = None
    """PartyId of the partner, or its name."""
    after: str | None = None
    limit: Limit = 100


class AgreementSummary(Word, kw_only=True):
    """One agreement in a list.

    `is_configured` is false for one that left the configuration while messages without an end need
    it. `within_s` is when the end of a message is known at the latest, in seconds after the first
    transmission: null if nobody can say, 0 if nothing is waited for. `unsettled` are messages that
    are queued, sending or in doubt. `in_force_since` is the last start or reload that changed it.
    """

    agreement: str
    partner: str
    partner_name: str | None
    our_party: str
    profile: str
    semantics: str
    send_to: str
    is_configured: bool
    place: str | None
    """`FILE:LINE` of its table."""
    within_s: int | None
    findings: int
    unsettled: dict[str, int]
    in_force_since: Instant | None


class AgreementPage(Word, kw_only=True):
    """A page of agreements by their ids; `next_after` is null on the last page.

    `is_cut`: not all messages without an end were counted.
    """

    agreements: tuple[AgreementSummary, ...]
    next_after: str | None
    is_cut: bool


class AgreementTerm(Word, kw_only=True):
    """One key of an agreement and the value that holds; empty if there is none.

    `place` is `FILE:LINE` where the file says so, and null where it is a default.
    """

    key: str
    value: str
    unit: str | None
    place: str | None
    meaning: str


class AgreementAddress(Word, kw_only=True):
    """An address of one direction: `out` is where we send, `in` is where the partner calls us."""

    direction: Literal["out", "in"]
    what: str
    address: str


class AgreedWait(Word, kw_only=True):
    """Some waits of one length: the times of the agreement, or what transmissions can take."""

    what: Literal["timeout", "retry_interval", "transmission"]
    times: int
    each_s: int
    begins_s: int
    """After how many seconds the first of them begins, if all come one after the other."""
    by: str | None
    """Scheme of the address, of transmissions."""


class WorstCaseTime(Word, kw_only=True):
    """How long it takes at most until the end of a message is known, and what that is made of.

    Counted from the first transmission, for a partner who says nothing. `tries_s` is null where
    only time ends a message; `within_s` is the lesser of it and `lives_s`, after which the message
    is too old. `misfits` says where these times do not fit each other.
    """

    words: str
    waits: tuple[AgreedWait, ...]
    tries_s: int | None
    within_s: int | None
    lives_s: int
    time_to_live_s: int | None
    persist_duration_s: int
    misfits: tuple[str, ...]


class AgreementDetail(AgreementSummary, kw_only=True):
    """One agreement: what it says, what that means, and how it stands.

    Terms are those in effect; of one that left the configuration they are what was noted last, and
    there are no `words`. `checks` are the findings of `onceonly check`, a sentence each. A number
    of `unsettled` that is `is_cut` may be greater.
    """

    our_ids: tuple[str, ...]
    their_ids: tuple[str, ...]
    words: tuple[str, ...]
    worst_case: WorstCaseTime | None
    addresses: tuple[AgreementAddress, ...]
    certificates: tuple[UsedCertificate, ...]
    checks: tuple[str, ...]
    terms: tuple[AgreementTerm, ...]
    is_cut: bool


class ChangedTerm(Word, kw_only=True):
    """A key whose value is another one; empty where there is none."""

    key: str
    was: str
    now: str


class AgreementHistoryQuery(Word, kw_only=True, omit_defaults=True):
    """Which page: what is below the number `before`, the latest first."""

    before: Number = NUMBER_MAX
    limit: Limit = 50


class PastAgreement(Word, kw_only=True):
    """An agreement as it was from an instant on: by whom the file was read, and what it changed."""

    number: int
    change: AgreementStep
    at: Instant
    by: str
    digest: Digest
    """Of the configuration that was read."""
    terms: tuple[ChangedTerm, ...]
    """What differs from before, of a change."""


class AgreementHistory(Word, kw_only=True):
    """What became of one agreement, the latest first; `next_before` is null on the last page."""

    agreement: str
    history: tuple[PastAgreement, ...]
    next_before: int | None


class DifferenceQuery(Word, kw_only=True, omit_defaults=True):
    """About which agreement; all, if it is not given."""

    agreement: Identifier | None = None


class DifferentAgreement(Word, kw_only=True):
    """An agreement that a reload would change.

    `is_blocked`: a reload would be refused, since messages without a verdict need it as it is.
    """

    agreement: str
    change: AgreementStep
    is_blocked: bool
    terms: tuple[ChangedTerm, ...]


class FileDifference(Word, kw_only=True):
    """What the file says otherwise than what runs: what a reload would do now.

    `changed` says in words what it would take over, and is empty if nothing. With `problem` the
    file cannot be used; `needs_restart` are keys for which it would be refused as a whole, and
    `blocked` are agreements and routes for which it would be, since messages without a verdict need
    them as they are. An application sees its own agreements alone.
    """

    is_different: bool
    is_refused: bool
    """Whether a reload would be refused."""
    problem: str | None
    changed: str
    needs_restart: tuple[str, ...]
    blocked: tuple[str, ...] = ()
    agreements: tuple[DifferentAgreement, ...] = field(default_factory=tuple)
