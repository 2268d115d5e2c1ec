"""From a plan that breaks an invariant to a small one that breaks the same invariant.

First chance is removed: everything that the network did by chance is written into the plan
(`Plan.without_chance`). This leaves a list of events, actions and fates, from which delta debugging
(ddmin) removes everything that is not needed; then the settings get their default values. A plan is
kept only if its run breaks the same invariant, so the result is a small world with only what the
violation needs. Deterministic: limited by a number of runs, not by time.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from inspect import Parameter, signature
from typing import Any

from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import Word, changed
from onceonly.simulation.campaign.worlds import judged
from onceonly.simulation.machine.application import Application
from onceonly.simulation.network import Fate
from onceonly.simulation.plan import CALM, Action, Line, Machine, Plan
from onceonly.simulation.plan_json import defaults_of
from onceonly.simulation.world import World

RUNS_MAX = 600
"""Worlds that shrinking may cost: some seconds."""

Event = Action | tuple[str, Fate]
"""One entry of the explicit schedule."""


class Unbroken(Exception):  # noqa: N818 - because it names what the plan is
    """The plan does not break that invariant, so there is nothing to shrink."""


class Shrunk(Word):
    """A small plan, and what it cost to find it."""

    plan: Plan
    runs: int


def shrink(plan: Plan, invariant: str) -> Plan:
    """The smallest plan found that breaks `invariant`. Raises `Unbroken`."""
    return shrink_counted(plan, invariant).plan


def shrink_counted(plan: Plan, invariant: str) -> Shrunk:
    """The same, with the number of worlds that were run for it. Raises `Unbroken`."""

    def breaks(world: World) -> bool:
        violations, _ = judged(world)
        return any(violation.invariant == invariant for violation in violations)

    try:
        return shrink_to(plan, breaks)
    except Unbroken:
        raise Unbroken(f"the plan of seed {plan.seed} does not break {invariant}") from None


def shrink_to(plan: Plan, shows: Callable[[World], bool]) -> Shrunk:
    """The smallest plan found whose world, run by `shows`, shows this. Raises `Unbroken`."""
    search = _Search(shows)
    explicit = search.explicit(plan)
    found, is_smaller = explicit, True
    while is_smaller:
        before = found
        found = search.fewer_events(found)
        found = search.lower_knobs(found)
        is_smaller = found != before
    return Shrunk(found, search.runs)


def size_of(plan: Plan) -> int:
    """Events of the explicit schedule."""
    return len(plan.actions) + len(plan.fates)


class _Search:
    """Tries plans, and remembers how many."""

    def __init__(self, shows: Callable[[World], bool]) -> None:
        self._shows = shows
        self.runs = 0
        self._known: dict[str, bool] = {}

    def breaks(self, plan: Plan) -> bool:
        """Whether a world of the plan shows it; False once the runs are used up."""
        text = repr(plan)
        known = self._known.get(text)
        if known is None:
            if self.runs >= RUNS_MAX:
                return False
            known = self._known[text] = self._run(plan)[0]
        return known

    def _run(self, plan: Plan) -> tuple[bool, dict[str, Fate]]:
        self.runs += 1
        world = World(plan)
        shows = self._shows(world)
        world.close()
        return shows, world.network.told

    def explicit(self, plan: Plan) -> Plan:
        """The plan without chance, if it still breaks then; else as it is. Raises `Unbroken`."""
        shows, told = self._run(plan)
        if not shows:
            raise Unbroken(f"the world of seed {plan.seed} does not show it")
        written = plan.without_chance(told)
        return written if self.breaks(written) else plan

    def fewer_events(self, plan: Plan) -> Plan:
        """Delta debugging over the events: no single one of those left can be taken out."""
        events: list[Event] = [*plan.actions, *plan.fates.items()]

        def is_enough(chosen: Sequence[Event]) -> bool:
            return self.breaks(_with_events(plan, chosen))

        return _with_events(plan, _ddmin(events, is_enough))

    def lower_knobs(self, plan: Plan) -> Plan:
        """Every knob at its default, as far as the invariant still breaks."""
        for edit in _edits(plan):
            candidate = edit(plan)
            if candidate != plan and self.breaks(candidate):
                plan = candidate
        return plan


def _with_events(plan: Plan, events: Sequence[Event]) -> Plan:
    actions = tuple(event for event in events if isinstance(event, Action))
    fates = dict(event for event in events if not isinstance(event, Action))
    return changed(plan, actions=actions, fates=fates)


def _ddmin(events: list[Event], is_enough: Callable[[Sequence[Event]], bool]) -> list[Event]:
    """Zeller's algorithm: take out chunks, ever smaller ones."""
    if is_enough([]):
        return []
    size = max(1, len(events) // 2)
    while True:
        at, was_smaller = 0, False
        while at < len(events):
            rest = events[:at] + events[at + size :]
            if len(rest) < len(events) and rest and is_enough(rest):
                events, was_smaller = rest, True
            else:
                at += size
        if size == 1 and not was_smaller:
            return events
        size = max(1, size // 2)


# Settings. Each is a change of a plan, so that a setting that was lowered before stays lowered.

Edit = Callable[[Plan], Plan]

_FREE_TERMS = (
    "recovery",
    "reports_processing",
    "fails_on_network_error",
    "strict_release",
    "response_choice",
    "notifies_failures",
    "sync_reply_mode",
    "delivery_receipt_requested",
    "delivery_receipt_provided",
    "transient_retries",
    "ack_status",
)
"""Terms that may have their defaults whatever the others are; in an order that keeps them legal."""

_HEALED_BEHIND_MS = (1000, 10_000, 60_000)
"""The least time after the last action at which the world may heal."""


def _edits(plan: Plan) -> Iterator[Edit]:
    """Everything that might be simpler about the plan."""
    yield partial(changed, weather=CALM)
    yield partial(changed, weather=CALM, is_drawn=False)
    yield partial(changed, tags=())
    yield partial(changed, store="memory")
    for line in plan.lines:
        yield partial(_without_line, ends=(line.one, line.other))
    for behind_ms in _HEALED_BEHIND_MS:
        yield partial(_healed_sooner, behind_ms=behind_ms)
    usual = defaults_of(Machine)
    for machine in plan.machines:
        yield partial(_with_machine, name=machine.name, knobs=usual)
        for knob, default in usual.items():
            yield partial(_with_machine, name=machine.name, knobs={knob: default})
    for line in plan.lines:
        ends = (line.one, line.other)
        for knob, default in defaults_of(Line).items():
            yield partial(_with_line, ends=ends, knobs={knob: default})
        for knob in _FREE_TERMS:
            yield partial(_with_term, ends=ends, knob=knob)
    for action in plan.actions:
        for word in _optional_words(action):
            yield partial(_without_word, action=action, word=word)


def _without_line(plan: Plan, *, ends: tuple[str, str]) -> Plan:
    """Without the line, the machines that no other line needs, and what was done to them."""
    lines = tuple(line for line in plan.lines if (line.one, line.other) != ends)
    if not lines:
        return plan
    needed = {
        name
        for line in lines
        for name in (line.one, line.other, *(relay for relay, _ in line.through))
    }
    return changed(
        plan,
        lines=lines,
        machines=tuple(machine for machine in plan.machines if machine.name in needed),
        actions=tuple(action for action in plan.actions if action.node in needed),
    )


def _healed_sooner(plan: Plan, *, behind_ms: int) -> Plan:
    last_ms = max((action.at_ms for action in plan.actions), default=0)
    return changed(plan, heal_ms=min(plan.heal_ms, last_ms + behind_ms))


def _with_machine(plan: Plan, *, name: str, knobs: dict[str, Any]) -> Plan:
    machines = (changed(one, **knobs) if one.name == name else one for one in plan.machines)
    return changed(plan, machines=tuple(machines))


def _with_line(plan: Plan, *, ends: tuple[str, str], knobs: dict[str, Any]) -> Plan:
    lines = (
        changed(line, **knobs) if (line.one, line.other) == ends else line for line in plan.lines
    )
    return changed(plan, lines=tuple(lines))


def _with_term(plan: Plan, *, ends: tuple[str, str], knob: str) -> Plan:
    default = getattr(DeliveryTerms(), knob)
    lines = (
        changed(line, terms=changed(line.terms, **{knob: default}))
        if (line.one, line.other) == ends
        else line
        for line in plan.lines
    )
    return changed(plan, lines=tuple(lines))


def _optional_words(action: Action) -> list[str]:
    """Arguments of the action that it has a default for."""
    takes = Application.submit if action.kind == "submit" else getattr(World, f"do_{action.kind}")
    parameters = signature(takes).parameters
    return [
        word
        for word in action.args
        if word in parameters and parameters[word].default is not Parameter.empty
    ]


def _without_word(plan: Plan, *, action: Action, word: str) -> Plan:
    args = {name: value for name, value in action.args.items() if name != word}
    lowered = changed(action, args=args)
    return changed(plan, actions=tuple(lowered if one == action else one for one in plan.actions))
