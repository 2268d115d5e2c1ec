"""A world as data: who is there, under which terms, what is done to them, and when.

A plan is a pure function of a seed (`workload`), or read from JSON: a shrunk plan is a regression
test. Everything random in a run belongs to `seed` and to names in the plan, so that leaving out
an action leaves the rest as it was.
"""

from typing import Any, Self

from onceonly.message.profile import Profile
from onceonly.message.signing import Signed
from onceonly.message.terms import DeliveryTerms, Intermediary
from onceonly.message.word import Word, changed, field
from onceonly.simulation import plan_json
from onceonly.simulation.network import Fate, Weather

CALM = Weather()

FORMAT = 1
"""Raised when plans of old cannot be read any more."""


class Action(Word):
    """Something done to a node, at so many milliseconds from the beginning.

    `kind` is a method of `world.World` (`submit`, `kill`, `cut`, …), `args` are its arguments.
    """

    at_ms: int
    kind: str
    node: str
    args: dict[str, Any] = field(default_factory=dict)


class Habits(Word):
    """What the application of a machine does with its messages."""

    read_ms: int = 500
    """From a hand-over until it looks into its inbox."""
    thinks_ms: int = 0
    """From its reading of a message until it begins, or refuses."""
    works_ms: int = 1000
    """From the beginning of its work on a message to the end."""
    reports: float = 0.0
    """Part of the messages whose processing it reports, where nobody asked for that."""
    refuses: float = 0.0
    answers: float = 0.0
    """Part of the messages that it answers, with RefToMessageId."""
    falls_back: float = 0.0
    """Part of the messages whose processing it reports from its beginning once more."""


USUAL_THREAD_MS = 2.0
"""More is a disk that something is the matter with."""


class Machine(Word):
    """One node: a party, or an intermediary between parties."""

    name: str
    drift_ppm: int = 0
    offset_s: int = 0
    thread_ms: float = USUAL_THREAD_MS
    """What a commit takes, at most."""
    queued_max: int = 1000
    purge_interval_s: int = 3600
    forget_pair_after_s: int | None = None
    habits: Habits = Habits()


ACTION = "NewOrder"
"""Of messages of a line that has no Action of its own."""


class Line(Word):
    """What one pair of parties agreed, and over which intermediaries their messages go.

    Both directions have the same terms.
    """

    one: str
    other: str
    profile: Profile
    terms: DeliveryTerms
    through: tuple[tuple[str, Intermediary], ...] = ()
    scheme: str = "http"
    resend_scheme: str = ""
    """Where resends go, if that is elsewhere than the first transmission (S1-46)."""
    begin_number: int | None = None
    """SequenceNumber of the last message before the world began; near 999,999,999 it wraps."""
    name: str = ""
    """Where the parties have more than one agreement, what tells them apart."""
    is_certified: bool = False
    """Whoever calls under it must show the certificate of the neighbour on its way; by https."""
    signs: Signed = Signed.NONE
    """What both parties sign, and demand of each other (`ebms-2.0`)."""
    cpa_id: str = ""
    """The name on the wire, where several agreements have the same one (R-35)."""
    action: str = ACTION
    """Of its messages: by it agreements of one name are told apart."""


class Plan(Word, kw_only=True):
    """One world. Its faults end at `heal_ms`; by `end_ms` everything must have a verdict."""

    seed: int
    machines: tuple[Machine, ...]
    lines: tuple[Line, ...]
    weather: Weather = CALM
    actions: tuple[Action, ...] = ()
    fates: dict[str, Fate] = field(default_factory=dict)
    is_drawn: bool = True
    """Packages that `fates` lacks are drawn from the weather; else they are delivered."""
    heal_ms: int
    end_ms: int
    store: str = "memory"
    """`memory`, or `sqlite` on a simulated disk."""
    events_max: int = 200_000
    """Calls of the timeline that no world needs: more is a livelock (L5)."""
    rest_ms: int = 0
    """The world goes on at least until here, though nobody owes anything any more."""
    tags: tuple[str, ...] = ()
    """Which fault classes and knobs are on: for the matrix of combinations."""
    story: str = ""
    """Of a regression: what went wrong in this world once."""

    def without_chance(self, fates: dict[str, Fate]) -> Self:
        """The same world with the fates that were drawn written down."""
        return changed(self, fates=dict(fates), is_drawn=False)

    def to_json(self) -> str:
        """The plan as readable text, the same for the same plan."""
        return plan_json.write(self, version=FORMAT)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The plan that `to_json` wrote. Raises `ValueError` where it is none of this format."""
        return plan_json.read(cls, text, version=FORMAT)
