"""What gold holds: by day the folder of its lives, and which batches of which journal are in them.

One small file per set of lakes that are judged together, replaced by a rename: readers see the days
of before or those of after, never a mixture. Knows names, and starts nothing.

A life stays under the UTC day under which it was first published, whatever earlier or later rows of
it come; so a day is written again only if some row of one of its messages came. The index tells the
day of a message by a hash of its key. Keys with one hash stay under one day, so that it need not
tell them apart. Most messages have all their rows on that one day; of the astray ones, which have
rows of other days too, there is a list, so that the day of a row is known without the index.

Who judges by other rules gets folders of his own, and those of before stay for a while.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final, NamedTuple

from onceonly.lake import manifest, storage
from onceonly.lake.manifest import Retired, Shelf
from onceonly.lake.storage import lake_url
from onceonly.lake.verdicts import Policy

FOLDER: Final = "gold"
LIVES, SUMS, STAGING = "lives", "sums", "staging"
INDEX, ASTRAY, TERMS = "index", "astray", "terms"
_VERSION: Final = 2
_FILE: Final = "gold.json"

BY_DAY: Final = "published_on"
"""The column by which lives are laid in folders."""
OTHERS_MAX: Final = 2
"""By so many other rules lives stay judged beside the last ones: a schedule's, and a page's."""
OTHERS_S: Final = 7 * 86_400.0
"""So long after other rules took their place."""


class Day(NamedTuple):
    """The lives of one day, judged."""

    folder: str
    """Relative to gold's own folder."""
    lives: int
    basis: str
    """Mark of the rules and the policy by which it was judged."""
    turned_at: int
    """The last turn (`verdicts.turns`) before the judgement, microseconds UTC."""
    turns_at: int
    """The next one; the verdicts hold for an instant after `turned_at` and not after this."""

    @property
    def sums(self) -> str:
        """The folder of what is counted of its lives, and of others that were judged with it."""
        return f"{SUMS}/{self.folder.split('/')[1]}"

    def holds(self, as_of: int, basis: str) -> bool:
        """Whether a judgement at that instant finds the same verdicts."""
        return self.basis == basis and self.turned_at < as_of <= self.turns_at


class RowsOfDay(NamedTuple):
    """The journal rows that belong to one day, whichever journal they are in."""

    mark: str
    """Another one whenever a row came."""
    first_at: int
    """The first instant of any of them, microseconds UTC."""
    last_at: int


class Stretches(NamedTuple):
    """Stretches of one journal's numbers (`stretches.ROWS_AT_ONCE`), the last one included."""

    first: int
    last: int
    mark: str
    """Another one whenever a row came."""


class KeptDays(NamedTuple):
    """What is kept by day, for those who read it. Days are UTC, as in `2026-11-25`."""

    lives: Mapping[str, str]
    """The folder of the judged lives of each day."""
    sums: Mapping[str, str]
    """The folder of what is counted of the lives of each day, among others."""
    rows: Mapping[str, RowsOfDay]
    index_folders: Sequence[str]
    astray_folders: Sequence[str]
    """Of the entries of the index of which some row is of another day."""
    stretches: Mapping[str, Sequence[Stretches]]
    """By the party of the rows: its journal in stretches, which have nothing to do with days."""
    number: int
    """How many lives there are."""


class Included(NamedTuple):
    """How far a journal is folded in."""

    lineage: str
    batch: int
    rows: int


class JudgedDays(NamedTuple):
    """Lives that were judged by other rules than the last ones."""

    policy: Policy
    witnesses: Mapping[str, str]
    """As `Gold.witnesses`."""
    days: Mapping[str, Day]
    """Those for whose messages no row came since."""
    until: int
    """When other rules took its place, microseconds UTC."""


@dataclass(frozen=True, slots=True)
class Gold:
    """Everything that gold's file says."""

    folds: str = ""
    """Mark of the folds by which the lives were made."""
    included: Mapping[str, Included] = field(default_factory=dict)
    """By the name of the journal (`journal_name`)."""
    days: Mapping[str, Day] = field(default_factory=dict)
    """By UTC day, as in `2026-11-25`."""
    rows: Mapping[str, RowsOfDay] = field(default_factory=dict)
    """By UTC day, also of days that no life is kept under."""
    stretches: Mapping[str, Sequence[Stretches]] = field(default_factory=dict)
    """By the party of the rows."""
    index: tuple[str, ...] = ()
    astray: tuple[str, ...] = ()
    """Folders of the entries of the index of which some row is of another day."""
    terms: tuple[str, ...] = ()
    """Folders of what the numbers of terms stand for (`model.terms`)."""
    policy: Policy = field(default_factory=Policy)
    """By which it was judged last."""
    witnesses: Mapping[str, str] = field(default_factory=dict)
    """Whose journal told the deeds of each party then (`verdicts.witnesses`)."""
    others: tuple[JudgedDays, ...] = ()
    """By other rules, the latest first, so that two who judge differently need not do it again."""
    retired: tuple[Retired, ...] = ()

    @property
    def folders(self) -> list[str]:
        """Where all lives are, judged by `policy`."""
        return [day.folder for day in self.days.values()]

    @property
    def folders_of_others(self) -> set[str]:
        """Where lives are that were judged by other rules."""
        return {day.folder for other in self.others for day in other.days.values()}

    def by_rules(self, policy: Policy, now: int) -> "Gold":
        """With what is judged by these rules, if anything is; else with days to judge again.

        What was judged by other rules stays beside it: of `OTHERS_MAX` of them, for `OTHERS_S`.
        """
        others = [one for one in self.others if one.until > now - int(OTHERS_S * 1_000_000)]
        found = replace(self, others=tuple(others))
        if policy != self.policy and self.days:
            # Days that are not judged by these rules yet stay those of before, and do not hold.
            none = JudgedDays(policy, self.witnesses, {}, now)
            mine = next((one for one in others if one.policy == policy), none)
            here = JudgedDays(self.policy, self.witnesses, self.days, now)
            rest = [one for one in others if one.policy != policy]
            found = replace(
                self,
                days={**self.days, **mine.days},
                witnesses=mine.witnesses,
                others=(here, *rest)[:OTHERS_MAX],
            )
        return found.retiring(self.folders_of_others - set(found.folders), now)

    def with_days(self, days: Mapping[str, Day], now: int) -> "Gold":
        """With these days in the place of those before; their folders retire."""
        gone = [self.days[name].folder for name in days if name in self.days]
        now_kept = dict(sorted({**self.days, **days}.items()))
        return replace(self, days=now_kept).retiring(gone, now)

    def without_others(self, names: Collection[str], now: int) -> "Gold":
        """Without what was judged of these days by other rules: rows came for their messages."""
        others = tuple(
            one._replace(days={name: day for name, day in one.days.items() if name not in names})
            for one in self.others
        )
        before = self.folders_of_others - set(self.folders)
        return replace(self, others=others).retiring(before, now)

    def with_rows(self, spans: Mapping[str, tuple[int, int]], mark: str) -> "Gold":
        """With more rows of these days, from the first instant to the last."""
        rows = dict(self.rows)
        for day, (first, last) in spans.items():
            known = rows.get(day, RowsOfDay(mark, first, last))
            rows[day] = RowsOfDay(mark, min(first, known.first_at), max(last, known.last_at))
        return replace(self, rows=dict(sorted(rows.items())))

    def with_index(self, folder: str, instead_of: Sequence[str], now: int) -> "Gold":
        """With one more folder of the index; those that it replaces retire."""
        kept = _others(self.index, instead_of)
        return replace(self.retiring(instead_of, now), index=(*kept, folder))

    def with_astray(self, folder: str, instead_of: Sequence[str], now: int) -> "Gold":
        """With one more folder of those astray; those that it replaces retire."""
        kept = _others(self.astray, instead_of)
        return replace(self.retiring(instead_of, now), astray=(*kept, folder))

    def with_terms(self, folder: str, instead_of: Sequence[str], now: int) -> "Gold":
        """With one more folder of terms; those that it replaces retire."""
        kept = _others(self.terms, instead_of)
        return replace(self.retiring(instead_of, now), terms=(*kept, folder))

    def all_retired(self, now: int) -> "Gold":
        """Nothing but what readers may still hold."""
        gone = {*self.folders, *self.folders_of_others, *self.small}
        return Gold(retired=self.retired).retiring(gone, now)

    @property
    def small(self) -> tuple[str, ...]:
        """The folders that are not of a day."""
        return (*self.index, *self.astray, *self.terms)

    def retiring(self, folders: Collection[str], now: int) -> "Gold":
        """With these folders for nobody but readers of before; others' judgements keep theirs."""
        gone = sorted({*folders} - self.folders_of_others)
        return replace(self, retired=(*self.retired, *(Retired(one, now) for one in gone)))


def _others(folders: Sequence[str], than: Sequence[str]) -> tuple[str, ...]:
    return tuple(one for one in folders if one not in than)


def place(lakes: Sequence[str]) -> str:
    """Where gold of these lakes is: in the first of them.

    What is judged from one lake alone moves with it; other sets have a place each.
    """
    urls = list(dict.fromkeys(map(lake_url, lakes)))
    others = sorted(urls[1:])
    name = "alone" if not others else f"with-{sha256(repr(others).encode()).hexdigest()[:12]}"
    return f"{urls[0]}/{FOLDER}/{name}"


def journal_name(lakes: Sequence[str], shelf: Shelf) -> str:
    """How gold calls the journal of a party in a lake; in the first lake without a place."""
    return shelf.folder if shelf.lake == lake_url(lakes[0]) else f"{shelf.lake}/{shelf.folder}"


def load(where: str) -> Gold:
    """What gold says; nothing where there is none, or one that this version does not read.

    All that is in it can be made again from the journals.
    """
    content = storage.read_bytes(f"{where}/{_FILE}")
    try:
        return Gold() if content is None else _parsed(json.loads(content))
    except (ValueError, KeyError, TypeError):
        return Gold()


def publish(where: str, gold: Gold) -> None:
    """Replace what gold says: from now on readers see that."""
    said = {
        "version": _VERSION,
        "folds": gold.folds,
        "included": gold.included,
        "days": gold.days,
        "rows": gold.rows,
        "stretches": gold.stretches,
        "index": gold.index,
        "astray": gold.astray,
        "terms": gold.terms,
        "policy": gold.policy,
        "witnesses": gold.witnesses,
        "others": gold.others,
        "retired": gold.retired,
    }
    storage.replace_bytes(f"{where}/{_FILE}", json.dumps(said, indent=1).encode())


def _parsed(read: dict[str, Any]) -> Gold:
    if read["version"] != _VERSION:
        return Gold()
    return Gold(
        folds=read["folds"],
        included={name: Included(*one) for name, one in read["included"].items()},
        days=_days(read["days"]),
        rows={name: RowsOfDay(*one) for name, one in read["rows"].items()},
        stretches={
            party: tuple(Stretches(*one) for one in spans)
            for party, spans in read["stretches"].items()
        },
        index=tuple(read["index"]),
        astray=tuple(read["astray"]),
        terms=tuple(read["terms"]),
        policy=Policy(*read["policy"]),
        witnesses=read["witnesses"],
        others=tuple(
            JudgedDays(Policy(*policy), witnesses, _days(days), until)
            for policy, witnesses, days, until in read["others"]
        ),
        retired=tuple(Retired(*one) for one in read["retired"]),
    )


def _days(read: Mapping[str, Sequence[Any]]) -> dict[str, Day]:
    return {name: Day(*one) for name, one in read.items()}


def fresh(product: str) -> str:
    """A new folder's name for a product of gold."""
    return f"{product}/{manifest.fresh_name()}"


def sweep(where: str, gold: Gold, before: int) -> Gold:
    """Remove what retired before an instant, microseconds UTC; returns what is to be said now."""
    gone = [one for one in gold.retired if one.retired_at < before]
    for one in gone:
        storage.remove(f"{where}/{one.folder}")
    kept = replace(gold, retired=tuple(one for one in gold.retired if one.retired_at >= before))
    for_readers = (one.folder for one in kept.retired)
    named = [*kept.folders, *kept.folders_of_others, *kept.small, *for_readers]
    in_use = {"/".join(one.split("/")[:2]) for one in named}
    in_use |= {one.replace(LIVES, SUMS, 1) for one in in_use if one.startswith(f"{LIVES}/")}
    for product in (LIVES, SUMS, INDEX, ASTRAY, TERMS, STAGING):
        for entry in storage.entries(f"{where}/{product}"):
            name = f"{product}/{entry.name}"
            written_at = entry.modified_at or storage.newest(f"{where}/{name}")
            if name not in in_use and 0 < written_at * 1_000 < before:
                storage.remove(f"{where}/{name}")
    return kept
