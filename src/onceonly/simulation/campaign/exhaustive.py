"""Small worlds without chance: every fate of the first packages x every crash, each run once.

Two messages go from A to B. Everything that the world leaves open is a *decision*: what happens to
each of the first packages, whether a machine dies at a named point or at a commit, which one dies,
and whether the commit under way becomes durable. The tree of decisions is walked depth first. Each
leaf is one execution, and a decision that does not occur is not made, so no two executions are the
same, and none is left out. Random worlds reach deeper; these leave no gap within their reach.
"""

import gc
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zlib import crc32

from msgspec.structs import asdict

from onceonly.message.message import AckRequested
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms, Intermediary, OnExhausted
from onceonly.message.word import Word, changed
from onceonly.simulation import checkers
from onceonly.simulation.campaign.code import code_digest
from onceonly.simulation.campaign.local import pool
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import History
from onceonly.simulation.machine.node import Node
from onceonly.simulation.network import CLIENT_WAIT_NS, Fate, Weather
from onceonly.simulation.plan import Action, Line, Machine, Plan
from onceonly.simulation.timeline import NS_PER_MS, Timeline
from onceonly.simulation.world import World

FATES = (Fate.DELIVERED, Fate.LOST, Fate.TWICE, Fate.ANSWER_LOST, Fate.LATE)
"""What may become of each of the first packages, messages and acknowledgements alike."""

DEPTH = 5
"""Packages of the deepest space whose fate is open; two parties send four if nothing goes wrong."""

_INSIDE_A_STEP = frozenset({"before-commit", "before-verdict", "before-purge"})
"""Points at which the transaction is still being written: it cannot be durable."""

_SPLIT_AT = 2
"""Shards share the tree out at the second package's fate: few enough branches to look at all of
them, enough to be even."""

SHARDS = 24
"""Parts that processes take one after the other: minutes of work each, so that none waits long."""

_VIOLATIONS_MAX = 100
"""More of them say nothing new."""


class Space(Word):
    """One tree of executions."""

    name: str
    plan: Plan
    packages: int
    """How many packages have an open fate."""


class Counterexample(Word):
    """An execution in which an invariant did not hold; `replay` runs it again."""

    space: str
    path: tuple[int, ...]
    story: tuple[str, ...]
    violation: Violation


class WalkResult(Word):
    """What a walk, or a shard of one, came to."""

    executed: Counter[str]
    """Executions by space."""
    stated: Counter[str]
    """Leaves that the tree has, counted from the branches that were seen."""
    violations: tuple[Counterexample, ...]
    events: int
    seconds: float
    """Of all processes together."""
    digest: str
    """Over the traces of all executions: the same for two runs of one shard."""

    @property
    def is_complete(self) -> bool:
        """Whether every execution of the space was run."""
        return self.executed == self.stated


class Choices:
    """One path from the root of the tree to a leaf: `path` first, then the first of everything."""

    def __init__(self, path: tuple[int, ...] = ()) -> None:
        self._path = path
        self.taken: list[int] = []
        self.widths: list[int] = []
        self.fates_at: list[int] = []
        """Which of the decisions were about a package."""
        self.story: list[str] = []
        """What was decided, in words; decisions that change nothing are left out."""

    def choose(self, *options: str) -> str:
        """One of the options; the first is the calm one."""
        at = len(self.taken)
        number = self._path[at] if at < len(self._path) else 0
        self.taken.append(number)
        self.widths.append(len(options))
        if number:
            self.story.append(options[number])
        return options[number]

    def choose_fate(self, name: str) -> Fate:
        """What becomes of the package."""
        self.fates_at.append(len(self.taken))
        chosen = self.choose(*(f"{fate} {name}" for fate in FATES))
        return Fate(chosen.partition(" ")[0])


class _OpenFates(dict[str, Fate]):
    """What becomes of packages, decided when each is sent: the first ones, then all arrive."""

    def __init__(self, packages: int, choices: Choices) -> None:
        super().__init__()
        self._left = packages
        self._choices = choices
        self.timeline: Timeline | None = None
        self.quiet_ns = 0
        """By this instant whatever was sent has arrived, and its answer too."""

    def get(self, name: str, default: Any = None) -> Any:
        """The fate of the package; `Network` asks once, when it is sent."""
        del default
        fate = Fate.DELIVERED
        if self._left:
            self._left -= 1
            fate = self._choices.choose_fate(name)
        assert self.timeline is not None, "the world has begun"
        under_way_ns = CLIENT_WAIT_NS + LATE_MS * NS_PER_MS if fate is Fate.LATE else 0
        self.quiet_ns = max(self.quiet_ns, self.timeline.now_ns + under_way_ns + QUIET_NS)
        return fate


class TinyWorld(World):
    """A world whose open decisions are taken by `choices`, and which ends as soon as it rests."""

    def __init__(self, space: Space, choices: Choices, *, keeps_trace: bool = False) -> None:
        fates = _OpenFates(space.packages, choices)
        super().__init__(changed(space.plan, fates=fates), keeps_trace=keeps_trace)
        self._fates = fates
        fates.timeline = self.timeline
        self._choices = choices
        self._has_crashed = False
        self._marks: dict[str, object] = {}
        """The state of the world when each machine could last have died."""
        for node in self.nodes.values():
            node.at_point = partial(self._at_point, node)
            node.store.at_commit = partial(self._at_commit, node)

    def _at_point(self, node: Node, point: str) -> None:
        if not self._has_crashed:
            stepping = node if point in _INSIDE_A_STEP else None
            self._perhaps_crash(node, point, stepping)

    def _at_commit(self, node: Node) -> None:
        if not self._has_crashed:
            self._perhaps_crash(node, "commit", None)

    def _perhaps_crash(self, node: Node, where: str, stepping: Node | None) -> None:
        mark = (self.timeline.mark, self.history.order)
        if self._marks.get(node.name) == mark:
            return  # Nothing outside the process has changed: to die here is to have died there.
        self._marks[node.name] = mark
        calm, alone, everybody = (
            "",
            f"{node.name} dies at {where}",
            f"all die at {node.name}'s {where}",
        )
        chosen = self._choices.choose(calm, alone, everybody)
        if chosen == calm:
            return
        self._has_crashed = True
        for one in (node,) if chosen == alone else tuple(self.nodes.values()):
            self._end_commit(one, is_under_way=one.store.is_writing and one is not stepping)
            one.kill("killed", where)

    def _end_commit(self, node: Node, *, is_under_way: bool) -> None:
        """The commit under way is lost or durable as a whole, and no caller gets an answer."""
        if (
            is_under_way
            and self._choices.choose("torn", f"{node.name}'s commit is whole") != "torn"
        ):
            node.store.commit()

    def _look(self) -> None:
        """Looks only when everything that is under way has arrived."""
        if self.timeline.now_ns < self._fates.quiet_ns:
            self.timeline.call_at(self._fates.quiet_ns, self._look)
        else:
            super()._look()


def spaces(depth: int = DEPTH) -> tuple[Space, ...]:
    """Both profiles between two parties, and both kinds of intermediaries between them."""
    return (
        Space("rm-2000", _plan(_NUMBERED), depth),
        Space("rm-2001", _plan(_UNNUMBERED), max(0, depth - 1)),
        Space("relay", _plan(_RELAYED), max(0, depth - 2)),
        Space("accept", _plan(_ACCEPTED), max(0, depth - 2)),
    )


def _plan(line: Line) -> Plan:
    names = (line.one, line.other, *(name for name, _ in line.through))
    return Plan(
        seed=0,
        machines=tuple(Machine(name, thread_ms=1) for name in names),
        lines=(line,),
        weather=Weather(delay_ms=DELAY_MS, late_ms=LATE_MS),
        actions=tuple(
            Action(SUBMIT_MS, "submit", line.one, {"to": line.other, "id": name})
            for name in ("m1", "m2")
        ),
        is_drawn=False,
        heal_ms=HEAL_MS,
        end_ms=END_MS,
        tags=("exhaustive",),
    )


SUBMIT_MS = 100
"""Submissions come at this time, long after all processes are ready."""

DELAY_MS = 4
LATE_MS = 2_000
QUIET_NS = 1_000 * NS_PER_MS
"""Longest time from the arrival of a package until all its effects are sent or read."""

HEAL_MS = 1_000
"""From this time on the operator resumes closed pairs, and the world checks whether it rests."""

END_MS = 900_000
"""Much longer than the longest path, on which every package is lost and waited for."""

_TERMS = DeliveryTerms(timeout_s=1, retries=2, retry_interval_s=1, msh_time_accuracy_s=1)
_NUMBERED = Line("A", "B", Profile.RM_2000, _TERMS)
_UNNUMBERED = Line(
    "A",
    "B",
    Profile.RM_2001,
    changed(
        _TERMS,
        is_numbered=False,
        window=2,
        on_exhausted=OnExhausted.FAIL,
        time_to_live_s=120,
        ack_requested=AckRequested.UNSIGNED,
    ),
)
_RELAYED = changed(_NUMBERED, through=(("R", Intermediary.RELAY),))
_ACCEPTED = changed(_UNNUMBERED, through=(("R", Intermediary.ACCEPT),))


class Execution(Word):
    """One leaf of a tree, run."""

    choices: Choices
    history: History
    violations: list[Violation]
    events: int


def replay(space: Space, path: tuple[int, ...], *, keeps_trace: bool = False) -> Execution:
    """Run one execution: that of `path`, and of the first choice wherever `path` ends."""
    choices = Choices(path)
    world = TinyWorld(space, choices, keeps_trace=keeps_trace)
    history = world.run()
    violations = checkers.check(world)
    world.close()
    return Execution(choices, history, violations, world.timeline.events)


def walk(space: Space, shard: tuple[int, int] = (0, 1)) -> Iterator[tuple[Execution, int]]:
    """Every execution of the shard, each with the number of leaves that it shows to be there.

    A new leaf counts itself and, at each new decision on its path, the other branches of that
    decision; so the numbers of a complete walk add up to its length.
    """
    path: tuple[int, ...] = ()
    known = 0
    while True:
        execution = replay(space, path)
        choices = execution.choices
        split = _split(choices)
        end = len(choices.taken)
        if crc32(bytes(choices.taken[:split])) % shard[1] == shard[0]:
            is_first = known <= split
            new = range(max(known, split), end)
            yield execution, is_first + sum(choices.widths[at] - 1 for at in new)
        else:
            end = split
        turn = _last_open(choices, end)
        if turn is None:
            return
        path = (*choices.taken[:turn], choices.taken[turn] + 1)
        known = turn + 1


def _split(choices: Choices) -> int:
    """How many decisions say whose shard the path is: up to the fate of the second package."""
    fates = choices.fates_at[:_SPLIT_AT]
    return fates[-1] + 1 if fates else len(choices.taken)


def _last_open(choices: Choices, end: int) -> int | None:
    """The last decision before `end` that has another option left."""
    for at in range(end - 1, -1, -1):
        if choices.taken[at] + 1 < choices.widths[at]:
            return at
    return None


def run(depth: int = DEPTH, shard: tuple[int, int] = (0, 1)) -> WalkResult:
    """Run every execution of all spaces, or the `shard[0]`-th part of `shard[1]` of them."""
    began = time.monotonic()
    # Worlds have many cycles and live shortly: collecting less often saves a quarter of the time.
    gc.set_threshold(20_000, 50, 100)
    executed: Counter[str] = Counter()
    stated: Counter[str] = Counter()
    found: list[Counterexample] = []
    digest = blake2b(digest_size=16)
    events = 0
    for space in spaces(depth):
        for execution, leaves in walk(space, shard):
            executed[space.name] += 1
            stated[space.name] += leaves
            events += execution.events
            digest.update(execution.history.trace_hash.encode())
            choices = execution.choices
            at, story = tuple(choices.taken), tuple(choices.story)
            new = execution.violations[: _VIOLATIONS_MAX - len(found)]
            found += (Counterexample(space.name, at, story, one) for one in new)
    seconds = time.monotonic() - began
    return WalkResult(executed, stated, tuple(found), events, seconds, digest.hexdigest())


def merge(reports: tuple[WalkResult, ...]) -> WalkResult:
    """The reports of all shards, in their order, as one."""
    return WalkResult(
        sum((one.executed for one in reports), Counter()),
        sum((one.stated for one in reports), Counter()),
        tuple(found for one in reports for found in one.violations),
        sum(one.events for one in reports),
        sum(one.seconds for one in reports),
        blake2b("".join(one.digest for one in reports).encode(), digest_size=16).hexdigest(),
    )


def run_on(
    processes: int,
    depth: int = DEPTH,
    *,
    shards: int = SHARDS,
    kept: Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> WalkResult:
    """`run` in so many processes of its own, and their reports as one.

    With a folder `kept` every part that is done is written down there, and a part that this code
    has done is read instead of run. `progress` hears how many of the `shards` are done. Only
    the seconds in the report depend on `processes`.
    """
    reports: list[WalkResult] = []
    with pool(processes) as workers:
        for report in workers.map(partial(_run_or_read, depth, shards, kept), range(shards)):
            reports.append(report)
            if progress is not None:
                progress(len(reports))
    return merge(tuple(reports))


def _run_or_read(depth: int, shards: int, kept: Path | None, number: int) -> WalkResult:
    if kept is None:
        return run(depth, (number, shards))
    file = kept / f"exhaustive-{code_digest()[:16]}-{depth}-{number:02}-{shards}.json"
    if file.exists():
        return from_json(file.read_text("utf-8"))
    report = run(depth, (number, shards))
    kept.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".tmp")
    unfinished.write_text(to_json(report), "utf-8")
    unfinished.replace(file)
    return report


def to_json(report: WalkResult) -> str:
    """The report as text, for `from_json`."""
    violations = [asdict(one) | {"violation": asdict(one.violation)} for one in report.violations]
    return json.dumps(asdict(report) | {"violations": violations})


def from_json(text: str) -> WalkResult:
    """The report that `to_json` wrote."""
    read = json.loads(text)
    violations = (
        Counterexample(
            one["space"],
            tuple(one["path"]),
            tuple(one["story"]),
            Violation(**one["violation"]),
        )
        for one in read["violations"]
    )
    counted = {name: Counter(read[name]) for name in ("executed", "stated")}
    return WalkResult(**read | counted | {"violations": tuple(violations)})
