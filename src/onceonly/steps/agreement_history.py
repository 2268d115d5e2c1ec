"""The step that notes which agreements are other ones than before.

It is asked at every start and reload. A crash between a reload and this step loses nothing: the
next start notes the difference.
"""

from collections.abc import Iterator, Mapping

from onceonly.message.word import Word
from onceonly.steps.ground import Ground
from onceonly.store.contract.agreements import (
    AgreementChange,
    AgreementStep,
    AgreementTransaction,
)
from onceonly.store.contract.store import Transaction

CHANGES_KEPT = 50
"""Changes that the history has of one agreement: some years of them, at one a month."""

Terms = Mapping[str, str]


class TermChange(Word):
    """One key that is another now; an empty text where there is no value."""

    key: str
    was: str
    now: str


def differences_of(was: Terms, now: Terms) -> tuple[TermChange, ...]:
    """Which terms differ, of the keys that both have: a newer program may know more of them."""
    return tuple(
        TermChange(key, was[key], value)
        for key, value in now.items()
        if key in was and was[key] != value
    )


def note_agreements(
    txn: Transaction, ground: Ground, agreed: Mapping[str, Terms], *, by: str, digest: str
) -> None:
    """Note each agreement that is new, gone, or other than what was last noted of it.

    Nothing is written where nothing changed, or where the store remembers no agreements.
    """
    if not isinstance(txn, AgreementTransaction):
        return
    last = {one.agreement_id: one for one in txn.list_last_agreement_changes()}
    for name, change, terms in _changes(last, agreed):
        txn.add_agreement_change(
            AgreementChange(
                agreement_id=name,
                change=change,
                at=ground.now.at,
                by=by,
                digest=digest,
                terms=terms,
            ),
            CHANGES_KEPT,
        )


def _changes(
    last: Mapping[str, AgreementChange], agreed: Mapping[str, Terms]
) -> Iterator[tuple[str, AgreementStep, Terms]]:
    for name, terms in agreed.items():
        before = last.get(name)
        if before is None or before.change is AgreementStep.REMOVED:
            yield name, AgreementStep.ADDED, terms
        elif differences_of(before.terms, terms):
            yield name, AgreementStep.CHANGED, terms
    for name, before in last.items():
        if name not in agreed and before.change is not AgreementStep.REMOVED:
            yield name, AgreementStep.REMOVED, before.terms
