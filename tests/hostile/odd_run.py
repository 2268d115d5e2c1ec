"""Which odd packages are tried, and what is made of what they show.

Every choice comes from a seed, so a run is the same everywhere. Cases of one role share a stage; a
stage on which something went wrong is taken down and its cases are tried one by one, each on a
stage of its own, so that a finding names the one package that is enough for it.
"""

import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from odd_packages import KINDS, fields_of, values_for
from odd_stage import ROLES, Case, Role, Trouble, case_of, staged
from odd_values import TEXTS, WORDS

KEPT: Final = Path(__file__).parent / "odd_kept.jsonl"
"""What once went wrong, one case a line, replayed before everything else."""

STAGE_CASES: Final = 40
"""More would hide one case's poison behind another's; fewer would pay for many starts."""

MIXED_UP_EVERY: Final = 5
"""For so many values that are made for a field, one that is made for any other."""

PAIRS: Final = 0.15
"""The share of cases with two odd fields."""

SHOWN_BYTES_MAX: Final = 3_000


class Finding(NamedTuple):
    """A case, or some that do it only together, and what it did."""

    cases: Sequence[Case]
    troubles: Sequence[Trouble]
    package: bytes

    def __str__(self) -> str:
        said = "\n".join(f"  {one.what}: {one.error}\n    {one.where}" for one in self.troubles)
        lines = "\n".join(f"  {case.line}" for case in self.cases)
        return f"{lines}\n{said}\n  {self.package[:SHOWN_BYTES_MAX]!r}"


def kinds_for(role: Role) -> list[str]:
    """What the role sends: a hop of a route sends less than a partner does."""
    kinds = [name for name, kind in KINDS.items() if kind.profile == role.profile]
    if role.name.startswith("next hop"):
        # Of either profile: a signal says by itself what it is about.
        words = ("acknowledgement", "receipt", "error", "failure")
        return [name for name in KINDS if name.endswith(words)]
    if "origin" in role.name:
        return [name for name in kinds if name.endswith(("message", "response", "request"))]
    return kinds


def ways() -> list[tuple[str, str, str]]:
    """Every entrance, role and kind that go together."""
    found = []
    for role in ROLES.values():
        if role.name.startswith("answerer"):
            entrances = ["answer"]
        elif role.name.endswith(" partner"):
            entrances = [role.name.split()[0]]
        elif role.route:
            entrances = ["http"]
        else:
            entrances = ["http", "mail"]
        found += [(one, role.name, kind) for one in entrances for kind in kinds_for(role)]
    return found


def cases(seed: int, rounds: int, *, entrances: Sequence[str]) -> list[Case]:
    """In each round every field of every kind has every value that is made for it, and some others.

    By which of the ways, and what else is odd, is chance's; so is the order.
    """
    chance = random.Random(seed)
    by_kind: dict[str, list[tuple[str, str]]] = {}
    for entrance, role, kind in ways():
        if entrance in entrances:
            by_kind.setdefault(kind, []).append((entrance, role))
    found = []
    for _ in range(rounds):
        for kind, senders in by_kind.items():
            for field in fields_of(kind, senders[0][0]):
                made = values_for(field)
                count = 0 if field == "charset" else len(made) // MIXED_UP_EVERY + 1
                others = chance.sample((*TEXTS, *WORDS), count)
                for value in (*made, *others):
                    changes = {**_beside(chance, kind), field: value}
                    found.append(Case(*chance.choice(senders), kind, changes))
    chance.shuffle(found)
    return found


def _beside(chance: random.Random, kind: str) -> dict[str, str]:
    """Seldom, another field that is odd too."""
    if chance.random() >= PAIRS:
        return {}
    other = chance.choice(list(KINDS[kind].fields))
    return {other: chance.choice(values_for(other))}


def kept() -> list[Case]:
    """The table of what once went wrong."""
    return [case_of(line) for line in KEPT.read_text("utf-8").splitlines() if line]


async def findings(
    directory: Path, chosen: Sequence[Case], broker_uri: str | None = None
) -> AsyncIterator[Finding]:
    """What the cases show; nothing, when all is well."""
    by_role: dict[str, list[Case]] = {}
    for case in chosen:
        by_role.setdefault(case.role, []).append(case)
    stages = Stages(directory, broker_uri)
    for of_role in by_role.values():
        for at in range(0, len(of_role), STAGE_CASES):
            async for finding in stages.look_at(of_role[at : at + STAGE_CASES]):
                yield finding


class Stages:
    """Stages one after the other, each in a directory of its own."""

    def __init__(self, directory: Path, broker_uri: str | None) -> None:
        self._directory = directory
        self._broker_uri = broker_uri
        self._count = 0

    async def look_at(self, batch: Sequence[Case]) -> AsyncIterator[Finding]:
        """The findings among the cases, each as small as it can be."""
        while batch:
            together = await self._try(batch)
            if together is None:
                return
            if len(together.cases) < len(batch):
                # It was seen at once, so that the last case is enough, or all of them are needed.
                yield await self._try(together.cases[-1:]) or together
                batch = batch[len(together.cases) :]
                continue
            alone = [found for case in batch if (found := await self._try([case]))]
            for finding in alone or [together]:
                yield finding
            return

    async def _try(self, batch: Sequence[Case]) -> Finding | None:
        self._count += 1
        directory = self._directory / f"stage-{self._count}"
        directory.mkdir()
        async with staged(directory, self._broker_uri) as stage:
            for index, case in enumerate(batch):
                await stage.bring(case)
                if stage.troubles():
                    return Finding(batch[: index + 1], await stage.look_again(), stage.shown())
            if troubles := await stage.look():
                return Finding(batch, troubles, stage.shown())
        return None
