"""Worlds that are staged: few parties and messages, and everything that a rare event needs.

`scenes` only make something more probable in a random world; these worlds are built for it. The
rare event happens only if several things come together: which packages fail, which machine dies at
which point, and what is forgotten at what time. So these are chosen, and the rest is random. The
seed decides whether a world is staged; other worlds are not changed by it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from onceonly.message.message import AckRequested
from onceonly.message.profile import Profile
from onceonly.message.terms import (
    DeliveryTerms,
    Intermediary,
    OnExhausted,
    RecoveryTerms,
    Remedy,
)
from onceonly.message.word import changed
from onceonly.simulation.cast import ROUTE_RETRIES, line_id, party
from onceonly.simulation.chance import stream
from onceonly.simulation.generator.agreed import expiring
from onceonly.simulation.generator.profiles import CANCELLING, GENERATED
from onceonly.simulation.generator.sketch import PlannedMessage, Sketch
from onceonly.simulation.generator.traffic import LARGE_BYTES, submit
from onceonly.simulation.network import Fate, Weather
from onceonly.simulation.plan import Action, Habits, Line, Machine, Plan

PART = 0.13
"""Of all worlds."""

WAYS_PART = 0.02
"""Of all worlds: those of `_ways_on`, which have a stream of their own."""

AT_MS = 100
"""When the first message is handed over."""

END_MS = 2 * 3_600_000
"""From healing until everything must have its verdict, as in other worlds."""

_BAD = (Fate.LOST, Fate.BUSY, Fate.REFUSED, Fate.ANSWER_LOST)

_QUICK = (Fate.BUSY, Fate.GONE)
"""A byte left, nothing arrived, and its sender knows at once."""


@dataclass
class Stage:
    """A world while it is being set up: the sketch, and what a sketch does not have."""

    sketch: Sketch
    fates: dict[str, Fate]
    heal_ms: int = 40_000
    rest_ms: int = 0

    @property
    def chance(self) -> Random:
        """What everything is drawn from."""
        return self.sketch.chance

    def fate(self, link: str, first: int, last: int, *fates: Fate) -> None:
        """What becomes of these packages of the link, the first of them number 1."""
        fate = self.chance.choice(fates)
        for number in range(first, last + 1):
            self.fates[f"{link}#{number}"] = fate

    def soon(self, *within_ms: int) -> int:
        """Some time after the first message."""
        return AT_MS + self.chance.randrange(self.chance.choice(within_ms))

    def arm(self, node: str, *points: str, counts: tuple[int, ...] = (1,)) -> None:
        """Let the machine die where it comes by one of these points, for the count-th time."""
        point, down_ms = self.chance.choice(points), self.chance.choice((10, 300, 1_000, 8_000))
        count = self.chance.choice(counts)
        self.sketch.act(20, "arm", node, point=point, count=count, down_ms=down_ms)

    def kill(self, node: str, at_ms: int) -> None:
        """Let the machine die then."""
        self.sketch.act(at_ms, "kill", node, down_ms=self.chance.choice((10, 300, 1_000)))

    def operate(self, at_ms: int, what: str, **args: object) -> None:
        """The sender's operator does something about the first message."""
        letter = self.sketch.letters[0]
        self.sketch.act(
            at_ms, "operate", letter.source, what=what, message_id=letter.message_id, **args
        )

    def purges(self, interval_s: int) -> None:
        """Every machine forgets what is over, and goes on until it could."""
        for name in self.sketch.everybody:
            self.sketch.set(name, purge_interval_s=interval_s)
        terms = self.sketch.lines[0].terms
        keeps_s = terms.persist_duration_s + 2 * terms.msh_time_accuracy_s
        self.rest_ms = max(self.rest_ms, self.heal_ms + (keeps_s + 5 * interval_s) * 1000)


def plan_of(seed: int) -> Plan | None:
    """The world of the seed, if it is one of these."""
    chance = stream(seed, "ways on")
    if chance.random() < WAYS_PART:
        return _set_up(seed, chance, "ways-on", _ways_on)
    chance = stream(seed, "stage")
    if chance.random() >= PART:
        return None
    name = chance.choice(tuple(STAGED))
    return _set_up(seed, chance, name, STAGED[name])


def _set_up(seed: int, chance: Random, name: str, arrange: Callable[[Stage], None]) -> Plan:
    stage = Stage(Sketch(chance, ("A", "B"), ()), {})
    stage.sketch.tags.add(name)
    arrange(stage)
    return _plan(seed, stage)


def _plan(seed: int, stage: Stage) -> Plan:
    sketch, chance = stage.sketch, stage.chance
    delay_ms = chance.choice((1, 20, 20, 200))
    drawn = {chance.choice(_BAD): 0.1} if chance.random() < 0.2 else {}
    sketch.tags |= {line.profile.name for line in sketch.lines}
    sketch.tags |= {mode.value for line in sketch.lines for _, mode in line.through}
    actions = [one for one in sketch.actions if one.at_ms < stage.heal_ms]
    return Plan(
        seed=seed,
        machines=tuple(Machine(name, **sketch.machine.get(name, {})) for name in sketch.everybody),
        lines=tuple(changed(line, terms=expiring(line.terms)) for line in sketch.lines),
        weather=Weather(drawn, delay_ms=delay_ms, late_ms=8_000),
        actions=tuple(sorted(actions, key=_at)),
        fates=stage.fates,
        heal_ms=stage.heal_ms,
        rest_ms=stage.rest_ms,
        end_ms=stage.heal_ms + END_MS,
        tags=tuple(sorted(sketch.tags)),
    )


def _at(action: Action) -> int:
    return action.at_ms


# What they have in common.


def _terms(chance: Random, profile: Profile) -> DeliveryTerms:
    """Terms under which everything is soon over."""
    timeout_s, interval_s = chance.choice((1, 2, 3)), chance.choice((1, 2, 3))
    verdict_s = timeout_s + ROUTE_RETRIES * interval_s
    suspends = profile.is_numbered and chance.random() < 0.5
    terms = DeliveryTerms(
        is_numbered=profile.is_numbered,
        timeout_s=timeout_s,
        retries=chance.choice((0, 1, 2)),
        retry_interval_s=interval_s,
        persist_duration_s=verdict_s + chance.choice((0, 3, 20)),
        msh_time_accuracy_s=chance.choice((0, 1, 2)),
        on_exhausted=OnExhausted.SUSPEND if suspends else OnExhausted.FAIL,
        reports_processing=chance.random() < 0.5,
    )
    if not profile.has_timeout:
        terms = changed(
            terms,
            timeout_s=terms.retry_interval_s,
            acknowledges_on_request=True,
            persist_duration_s=max(terms.persist_duration_s, (ROUTE_RETRIES + 1) * interval_s),
            reports_processing=False,
        )
    if profile.is_numbered:
        return terms
    window = chance.choice((1, 3, 16))
    return changed(terms, window=window, ack_requested=AckRequested.UNSIGNED)


def _profile(chance: Random) -> Profile:
    return chance.choice(GENERATED)


def _tries(terms: DeliveryTerms) -> int:
    return (terms.retries or 0) + 1


def _write(stage: Stage, line: Line, *, count: int = 1, size: int = 100) -> None:
    """One line, and so many messages along it."""
    stage.sketch.lines = (line,)
    for number in range(count):
        at_ms = AT_MS + number * stage.chance.choice((1, 500, 4_000))
        letter = PlannedMessage(f"m{number}", line.one, line.other, line, at_ms)
        submit(stage.sketch, letter, size=size)
        stage.sketch.letters.append(letter)


def _read(stage: Stage, **habits: Any) -> None:
    """What B's application does; it looks into its inbox soon."""
    read_ms = stage.chance.choice((10, 100, 500))
    stage.sketch.set("B", habits=changed(Habits(read_ms=read_ms), **habits))


# Notices that machines owe each other (R-14, I37).


def _refused(stage: Stage) -> None:
    """An application refuses a message, and its machine dies, or its partner is out of reach."""
    terms = changed(_terms(stage.chance, Profile.RM_2001), notifies_failures=True)
    _write(stage, Line("A", "B", Profile.RM_2001, terms))
    _read(stage, refuses=1.0)
    _trouble_with_a_notice(stage, "B", "A")


def _trouble_with_a_notice(stage: Stage, node: str, to: str) -> None:
    """It comes after the acknowledgement, which is the first package of its link."""
    kind = stage.chance.choice(("dies", "dies", "unheard", "unheard", "both"))
    if kind != "unheard":
        stage.arm(node, "before-notice", "before-notice", "after-notice")
    if kind != "dies":
        last = 2 + stage.chance.choice((1, 2, 4))
        stage.fate(f"{node}>{to}", 2, last, Fate.BUSY, Fate.LOST, Fate.REFUSED)


def _given_up(stage: Stage) -> None:
    """An intermediary has accepted a message and cannot deliver it."""
    _in_custody(stage)
    last = ROUTE_RETRIES + stage.chance.choice((1, 6))
    stage.fate("R1>B", 1, last, Fate.REFUSED, *_QUICK)
    _trouble_with_a_notice(stage, "R1", "A")


def _accepted(stage: Stage) -> None:
    """An intermediary accepts a message that comes twice, dies, or is not heard."""
    _in_custody(stage)
    chance = stage.chance
    stage.fate("A>R1", 1, 1, Fate.TWICE, Fate.AGAIN_LATER, Fate.ANSWER_LOST)
    if chance.random() < 0.7:
        stage.fate("R1>A", 1, chance.choice((1, 2)), Fate.LOST, *_QUICK)
    if chance.random() < 0.5:
        stage.fate("R1>B", 1, chance.choice((1, 2, 3)), Fate.LOST, *_QUICK)
    if chance.random() < 0.5:
        stage.arm("R1", "before-commit", "after-commit", "before-transmit", "after-transmit")


def _in_custody(stage: Stage) -> None:
    stage.sketch.relays = ("R1",)
    terms = changed(_terms(stage.chance, Profile.RM_2001), notifies_failures=True)
    through = (("R1", Intermediary.ACCEPT),)
    _write(
        stage, Line("A", "B", Profile.RM_2001, terms, through), count=stage.chance.choice((1, 2))
    )
    stage.heal_ms = 60_000


# Taking messages back.


def _taken_back(stage: Stage) -> None:
    """A cancel is confirmed while a copy is under way, and the receiver dies before it comes."""
    chance = stage.chance
    profile = chance.choice(CANCELLING)
    terms = changed(_terms(chance, profile), persist_duration_s=60)
    _write(stage, Line("A", "B", profile, terms))
    _read(stage)
    stage.fates["A>B#1"] = Fate.LATE
    stage.operate(stage.soon(3_000, 15_000), "cancel", is_for_new_version=chance.random() < 0.3)
    if chance.random() < 0.8:
        stage.kill("B", AT_MS + chance.randrange(3_000, 20_000))
    if chance.random() < 0.5:
        stage.purges(2)


def _work_begun(stage: Stage) -> None:
    """A message is taken back that its application has, and perhaps works on."""
    chance = stage.chance
    profile = chance.choice(CANCELLING)
    terms = changed(_terms(chance, profile), retries=2, reports_processing=chance.random() < 0.7)
    _write(stage, Line("A", "B", profile, terms))
    _read(stage, reports=chance.choice((0.0, 1.0)), works_ms=chance.choice((1_000, 8_000)))
    stage.fate("B>A", 1, 4, Fate.LOST, *_QUICK)
    for _ in range(chance.choice((1, 2))):
        stage.operate(AT_MS + chance.randrange(500, 6_000), "cancel")
    if chance.random() < 0.5:
        stage.kill("B", AT_MS + chance.randrange(200, 5_000))


# What ended and goes out again.


def _ways_on(stage: Stage) -> None:
    """Nothing is acknowledged before messages are given up, and then they are sent again.

    By operators and applications: what never left, and what only seems so.
    """
    chance = stage.chance
    profile, count = _profile(chance), chance.choice((1, 2, 3))
    terms = changed(_terms(chance, profile), on_exhausted=OnExhausted.FAIL)
    lives_s = terms.timeout_s if chance.random() < 0.2 else None
    line = Line("A", "B", profile, changed(terms, time_to_live_s=lives_s))
    _write(stage, line, count=count)
    _read(stage)
    if chance.random() < 0.7:
        stage.fate("A>B", 1, count * _tries(terms), Fate.REFUSED, Fate.REFUSED, *_QUICK)
    else:
        stage.fate("B>A", 1, 40, Fate.LOST, *_QUICK)
    if chance.random() < 0.4:
        _under_keys(stage)
    stage.heal_ms = 60_000
    ended_ms = AT_MS + count * (terms.verdict_after_s or 0) * 1000
    for _ in range(chance.choice((1, 2, 3))):
        at_ms = ended_ms + chance.randrange(chance.choice((8_000, 30_000)))
        if chance.random() < 0.5:
            stage.operate(at_ms, "resend")
        else:
            partner = str(party("B"))
            stage.sketch.act(at_ms, "operate", "A", what="resend_unsent", partner=partner)
    if chance.random() < 0.4:
        stage.kill("A", ended_ms + chance.randrange(8_000))


def _under_keys(stage: Stage) -> None:
    """The first message has a business key, and its application comes again with it."""
    sketch = stage.sketch
    [*_, first] = (one for one in sketch.actions if one.kind == "submit" and one.args["id"] == "m0")
    keyed = changed(first, args={**first.args, "is_keyed": True})
    sketch.actions.remove(first)
    sketch.actions.append(keyed)
    for _ in range(stage.chance.choice((1, 2))):
        at_ms = stage.chance.randrange(stage.heal_ms // 2, stage.heal_ms)
        sketch.actions.append(changed(keyed, at_ms=at_ms))


# Questions about a message that was given up, or whose answer is late.


def _asked(stage: Stage) -> None:
    """A message is given up; the answers to what is asked are lost, or somebody dies."""
    terms = _recovers(stage)
    chance = stage.chance
    if chance.random() < 0.6:
        stage.fate("A>B", 1, _tries(terms), *_QUICK)
    else:
        stage.fate("B>A", 1, _tries(terms), Fate.LOST, *_QUICK)
    kind = chance.choice(("asker dies", "asker dies late", "unanswered", "answerer dies", "calm"))
    if kind == "asker dies":
        stage.arm("A", "before-inquire", "after-inquire")
    elif kind == "asker dies late":
        _asks_thrice(stage)
        stage.arm("A", "before-inquire", "after-inquire", counts=(2, 3, 3))
    elif kind == "answerer dies":
        stage.arm("B", "before-report", "after-report")
    elif kind == "unanswered":
        stage.fate("B>A", 1, _tries(terms) + chance.choice((2, 10)), *_QUICK)


def _asks_thrice(stage: Stage) -> None:
    """Every answer is lost."""
    line = stage.sketch.lines[0]
    terms = changed(line.terms, recovery=changed(line.terms.recovery, inquiries=3))
    stage.sketch.lines = (changed(line, terms=terms),)
    stage.fate("B>A", 1, _tries(terms) + 12, *_QUICK)


def _recovers(stage: Stage) -> DeliveryTerms:
    """A line with inquiries, and a message along it; the terms of both."""
    chance = stage.chance
    profile = chance.choice(CANCELLING)
    terms = _terms(chance, profile)
    remedies: tuple[Remedy, ...] = (Remedy.NEW_VERSION, Remedy.CANCEL, Remedy.WAIT)
    if not terms.is_numbered or terms.on_exhausted is OnExhausted.SUSPEND:
        remedies = (*3 * (Remedy.RESEND,), *remedies)
    recovery = RecoveryTerms(
        inquires=True,
        pings_before_inquiry=chance.random() < 0.2,
        when_not_received=chance.choice(remedies),
        inquiries=chance.choice((1, 2, 3)),
    )
    terms = changed(terms, recovery=recovery)
    _write(stage, Line("A", "B", profile, terms))
    _read(stage)
    return terms


def _lied_to(stage: Stage) -> None:
    """A machine that asks is answered by somebody else, or about something else."""
    terms = _recovers(stage)
    chance, letter = stage.chance, stage.sketch.letters[0]
    stage.fate("A>B", 1, _tries(terms), *_QUICK)
    stage.fate("B>A", 1, _tries(terms) + 6, *_QUICK)
    asks_ms = AT_MS + (terms.verdict_after_s or 0) * 1000
    of = {"agreement": line_id(letter.line), "of": letter.message_id}
    for kind in ("report-from-stranger", "report-about-another"):
        for _ in range(2):
            at_ms = asks_ms + chance.randrange(terms.recovery.inquiries * 2_000)
            stage.sketch.act(at_ms, "forge", "A", kind=kind, copies=1, **of)


def _forgotten(stage: Stage) -> None:
    """The receiver has processed the message and forgotten it before a question arrives.

    A machine forgets every ten seconds: after the first question, and before the third.
    """
    terms = _recovers(stage)
    chance, line = stage.chance, stage.sketch.lines[0]
    terms = changed(
        terms,
        timeout_s=5,
        retry_interval_s=5,
        retries=2,
        msh_time_accuracy_s=0,
        persist_duration_s=15,
        recovery=changed(terms.recovery, inquiries=3, pings_before_inquiry=False),
    )
    stage.sketch.lines = (changed(line, terms=terms),)
    stage.sketch.letters[0] = changed(stage.sketch.letters[0], line=stage.sketch.lines[0])
    _read(stage, reports=1.0, works_ms=10)
    stage.fate("B>A", 1, _tries(terms) + chance.choice((2, 2, 4)), *_QUICK)
    stage.purges(1)


def _awaited(stage: Stage) -> None:
    """A business response is late, or never comes, and everything else is soon forgotten."""
    chance = stage.chance
    profile = chance.choice(CANCELLING)
    recovery = RecoveryTerms(
        inquires=chance.random() < 0.5,
        response_within_s=chance.choice((5, 30)),
        when_not_received=Remedy.CANCEL,
        when_not_started=chance.choice((Remedy.CANCEL, Remedy.WAIT)),
        when_complete=chance.choice((Remedy.ASK_AGAIN, Remedy.WAIT)),
        inquiries=chance.choice((1, 2, 3)),
    )
    _write(stage, Line("A", "B", profile, changed(_terms(chance, profile), recovery=recovery)))
    thinks_ms, answers = chance.choice((0, 8_000)), chance.choice((0.0, 1.0))
    _read(stage, thinks_ms=thinks_ms, reports=1.0, works_ms=100, answers=answers)
    kind = chance.choice(("dies", "unheard", "calm"))
    if kind == "dies":
        stage.kill("A", stage.soon(5_000, 30_000))
    elif kind == "unheard":
        stage.fate("B>A", 2, chance.choice((4, 12)), Fate.LOST, *_QUICK)
    stage.purges(2)
    stage.rest_ms = max(stage.rest_ms, 80_000)


# What is forgotten, and what is not.


def _withheld(stage: Stage) -> None:
    """Acknowledgements certainly do not leave, until what was stored is past its time."""
    chance = stage.chance
    profile = chance.choice(CANCELLING)
    terms = changed(_terms(chance, profile), strict_release=True)
    _write(stage, Line("A", "B", profile, terms), count=chance.choice((1, 2)))
    _read(stage, reports=1.0)
    stage.fate("B>A", 1, 12, Fate.REFUSED)
    stage.purges(2)


def _idle(stage: Stage) -> None:
    """A pair is idle until its counter is dropped, and then there is one more message."""
    chance = stage.chance
    line = Line("A", "B", Profile.RM_2000, _terms(chance, Profile.RM_2000))
    _write(stage, line, count=chance.choice((1, 2)))
    _read(stage, reports=chance.choice((0.0, 1.0)))
    late = PlannedMessage("late", "A", "B", line, chance.randrange(12_000, 30_000))
    submit(stage.sketch, late)
    stage.sketch.letters.append(late)
    stage.purges(2)
    for name in stage.sketch.everybody:
        stage.sketch.set(name, forget_pair_after_s=3)


def _spooled(stage: Stage) -> None:
    """A payload is a file for seconds before a row tells of it, and purges look at files."""
    chance = stage.chance
    profile = _profile(chance)
    terms = changed(_terms(chance, profile), persist_duration_s=60)
    _write(stage, Line("A", "B", profile, terms), count=2, size=LARGE_BYTES)
    _read(stage)
    for name in stage.sketch.everybody:
        stage.sketch.set(name, purge_interval_s=1, thread_ms=chance.choice((1_000.0, 4_000.0)))


# A box on the way.


def _rewritten(stage: Stage) -> None:
    """Some copies of a message come with another Action, before or after one as it was written."""
    chance = stage.chance
    profile = _profile(chance)
    _write(stage, Line("A", "B", profile, _terms(chance, profile)), count=chance.choice((1, 2)))
    _read(stage)
    first, second = chance.choice(
        ((Fate.REWRITTEN, Fate.DELIVERED), (Fate.DELIVERED, Fate.REWRITTEN), 2 * (Fate.REWRITTEN,))
    )
    stage.fates |= {"A>B#1": first, "A>B#2": second}
    if chance.random() < 0.7:
        stage.fate("B>A", 1, 1, Fate.LOST, *_QUICK)


STAGED: dict[str, Callable[[Stage], None]] = {
    "application-refuses": _refused,
    "custody-given-up": _given_up,
    "custody-repeated": _accepted,
    "taken-back": _taken_back,
    "work-begun": _work_begun,
    "asked": _asked,
    "lied-to": _lied_to,
    "forgotten": _forgotten,
    "response-awaited": _awaited,
    "withheld-past-its-time": _withheld,
    "idle": _idle,
    "spooled": _spooled,
    "rewritten": _rewritten,
}
"""By tag. Each is as likely as the others."""
