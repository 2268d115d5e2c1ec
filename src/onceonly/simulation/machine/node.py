"""One machine of a world: what outlives its processes, and the gateway process that runs on it.

The process is the real gateway, joined over a store, a clock, a transport and files that are this
machine's. It dies between any two calls of its loop, at a named point inside a call, or by itself
if its store fails.
"""

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine
from hashlib import blake2b
from random import Random
from typing import Any

from onceonly.gateway.chance import Chance
from onceonly.gateway.config import Configuration
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.life import Life
from onceonly.gateway.surroundings import Surroundings
from onceonly.gateway.wiring import join
from onceonly.message.errors import LocalError
from onceonly.protocol.events import Transmission
from onceonly.simulation.chance import stream
from onceonly.simulation.history import History
from onceonly.simulation.machine.clock import MachineClock
from onceonly.simulation.machine.loop import Killed, ProcessLoop, enter
from onceonly.simulation.machine.machine_store import MachineStore
from onceonly.simulation.network import Network
from onceonly.simulation.plan import USUAL_THREAD_MS
from onceonly.simulation.signing_keys import can_sign, identity
from onceonly.simulation.timeline import NS_PER_MS, Timeline
from onceonly.steps.signing import SigningIdentity
from onceonly.store.contract.conditions import StoreFailed, StoreFull, StoreRefused
from onceonly.store.contract.store import Snapshot
from onceonly.transport.transport import Answer, Outgoing, Request

RESTART_MS = 1000

SWEEP_S = 10
"""As a gateway does, but seldom: in most worlds nothing is overdue most of the time."""

Heard = Callable[[Any, BaseException | None], None]


class Unanswered(Exception):  # noqa: N818 - because it names what happened to a call
    """The process died before it answered, or was not there."""


class Slip(Exception):  # noqa: N818 - because it names what somebody made
    """A bug of ours in a conversation with a peer, planted by the world."""


class Node:
    """A machine. `start` boots a process; it may be killed at any time and started again."""

    def __init__(  # noqa: PLR0913 - because a machine has this many parts
        self,
        configuration: Configuration,
        *,
        name: str,
        seed: int,
        timeline: Timeline,
        network: Network,
        history: History,
        clock: MachineClock,
        thread_ms: float,
        store: MachineStore,
    ) -> None:
        self.name = name
        self.configuration = configuration
        self.seed = seed
        self.timeline = timeline
        self.network = network
        self.history = history
        self.clock = clock
        self.thread_ms = thread_ms
        self.store = store
        self.process: Process | None = None
        self.generation = 0
        self.restart_ms = RESTART_MS
        """After its end, somebody starts the process again so much later."""
        self.at_point: Callable[[str], None] | None = None
        """Called when the process reaches a named point; the process may die there."""
        self.slips_to: set[str] = set()
        """Machines of which no conversation ends in a value: each meets a bug of ours (R-43)."""
        self._buried: list[Process] = []
        """Dead processes: kept until the end, since collecting a coroutine runs code."""

    def listener(self) -> "Process | None":
        """The process, once it takes packages."""
        process = self.process
        return process if process is not None and process.is_listening else None

    @property
    def is_ready(self) -> bool:
        """Whether a process runs that has taken up everything."""
        return self.process is not None and self.process.is_ready

    def start(self) -> None:
        """Boot a process, unless one runs."""
        if self.process is not None:
            return
        self.generation += 1
        self.history.happen(self.timeline.now_ns, self.name, "started")
        self.process = process = Process(self)
        try:
            process.boot()
        except StoreRefused as error:
            if not self.store.is_full:
                raise
            # As a supervisor does with a program that cannot start yet.
            self.process = None
            what = type(error).__name__
            self.history.happen(self.timeline.now_ns, self.name, "stopped-itself", what)
            self.timeline.call_in(RESTART_MS * NS_PER_MS, self.start)

    def kill(self, what: str = "killed", detail: str = "") -> None:
        """End the process as hard as can be, if one runs."""
        process, self.process = self.process, None
        if process is None:
            return
        self.history.happen(self.timeline.now_ns, self.name, what, detail)
        self._buried.append(process)
        power = None
        if what == "power-cut":
            power = stream(self.seed, f"power/{self.name}/{self.generation}")
            self.clock.reboot()
        process.die(power)
        if what != "over":
            self.timeline.call_in(self.restart_ms * NS_PER_MS, self.start)

    def snapshot(self) -> Snapshot:
        """What is durable on this machine, whether or not a process runs."""
        return self.store.snapshot()

    def close(self) -> None:
        """The world is over: let go of every process, dead or alive."""
        self.kill("over")
        for process in self._buried:
            process.bury()
        self._buried.clear()


class Process:
    """One run of the gateway on its machine."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.number = node.generation
        self._threads = stream(node.seed, f"thread/{node.name}/{node.generation}")
        self._commits = stream(node.seed, f"commit/{node.name}/{node.generation}")
        node.store.quick = self._is_quick
        self.loop = ProcessLoop(  # type: ignore[abstract] # because gateways ask for no more of a loop
            node.timeline, thread_ns=self._thread_ns, on_bug=self._note_bug
        )
        self.is_listening = False
        self.is_ready = False
        self.armed: dict[str, int] = {}
        """Named points at which this process will be killed, by how often they are reached."""
        self._calls: dict[asyncio.Task[Any], Heard] = {}

    @property
    def is_at_work(self) -> bool:
        """Whether somebody waits for an answer of it, as for what a frozen process was brought."""
        return len(self._calls) > 1  # The first is its life.

    def boot(self) -> None:
        """Open the store, join the gateway and let it live."""
        node = self._node
        node.store.open()
        surroundings = Surroundings(
            clock=node.clock,
            chance=_SeededChance(f"{node.name}-{node.generation}"),
            failpoints=_Points(self),
            transport=_Wire(node, self),
            spool=node.store.open_spool(),
            read_identities=self._read_identities,
        )
        enter(self.loop)
        try:
            self.gateway = join(
                node.configuration,
                node.store,
                self._fail,
                on_bug=self._note_contained,
                surroundings=surroundings,
            )
        finally:
            enter(None)
        self.call(self._live(Life(self.gateway, sweep_s=SWEEP_S)), self._end)

    def _read_identities(self, configuration: Configuration) -> tuple[SigningIdentity, ...]:
        """That of the machine, if any of its agreements signs."""
        name = self._node.name
        is_used = any(agreement.signing.identities for agreement in configuration.agreements)
        return (identity(name),) if is_used and can_sign(name) else ()

    async def _live(self, life: Life) -> None:
        await life.start(self._listen)
        self.is_ready = True
        self._node.history.happen(self._node.timeline.now_ns, self._node.name, "ready")
        await life.live(asyncio.Event())

    async def _listen(self) -> None:
        self.is_listening = True

    def _end(self, result: object, error: BaseException | None) -> None:
        """End the process, since its life ended in an error, such as a full disk at the start."""
        del result
        if error is not None and not self.loop.is_dead:
            self._node.restart_ms = max(self._node.restart_ms, RESTART_MS)
            self._node.kill("stopped-itself", type(error).__name__)

    def call(self, work: Coroutine[Any, Any, Any], heard: Heard) -> None:
        """Run `work` here; `heard` gets its result or its error, once, `Unanswered` at our end."""
        task: asyncio.Task[Any] = self.loop.create_task(work)
        self._calls[task] = heard
        task.add_done_callback(self._note_end)

    def _note_end(self, task: "asyncio.Task[Any]") -> None:
        heard = self._calls.pop(task, None)
        if heard is None:
            return
        error = task.exception()
        if error is None:
            heard(task.result(), None)
            return
        if not isinstance(error, LocalError | StoreFull):
            self._note_error(error)
        heard(None, error)

    def receive(
        self,
        request: Request,
        chunks: AsyncIterator[bytes],
        answer: Callable[[Answer | None], None],
    ) -> None:
        """The network brings a package."""

        def heard(taken: Answer | None, error: BaseException | None) -> None:
            is_bug = error is not None and not isinstance(error, Unanswered)
            answer(_INTERNAL_ERROR if is_bug else taken)

        self.call(self.gateway.receiver.receive(request, chunks), heard)

    def die(self, power: Random | None) -> None:
        """Nothing of this process runs any more; who waited for an answer gets a broken line."""
        self.loop.kill()
        self.is_listening = self.is_ready = False
        self._node.store.crash(power)
        calls, self._calls = self._calls, {}
        for heard in calls.values():
            heard(None, Unanswered())

    def bury(self) -> None:
        """End the coroutines that were cut, on a loop where that changes nothing."""
        for task in self.loop.tasks:
            if not task.done():
                # Nothing must be logged about it; asyncio has this switch for that.
                setattr(task, "_log_destroy_pending", False)  # noqa: B010 - because types do not know it
                task.get_coro().close()

    def reach(self, point: str) -> None:
        """A named point of the gateway's code: perhaps the process dies here."""
        self._node.history.points[point] += 1
        if self._node.at_point is not None:
            self._node.at_point(point)
            if self.loop.is_dead:
                raise Killed
        left = self.armed.get(point)
        if left is None:
            return
        self.armed[point] = left - 1
        if left <= 1:
            self._node.history.points[f"killed at {point}"] += 1
            self._node.kill("killed", point)
            raise Killed

    def _thread_ns(self) -> int:
        return int(self._threads.random() * self._node.thread_ms * NS_PER_MS)

    def _is_quick(self) -> bool:
        """On a usual disk every second commit takes no time, so that worlds see both kinds."""
        return self._node.thread_ms <= USUAL_THREAD_MS and self._commits.random() < 1 / 2

    def _fail(self, error: BaseException) -> None:
        """Fail-stop, as the supervisor does it (R-22)."""
        if self.loop.is_dead:
            return
        if not (isinstance(error, StoreFailed) and self._node.store.has_failed):
            self._find_bug(error)
        self._node.kill("stopped-itself", type(error).__name__)

    def _note_contained(self, place: str, bug: BaseException) -> None:
        """A bug that was contained is a finding too (R-43), unless the world planted it."""
        del place
        if not (self.loop.is_dead or isinstance(bug, Slip)):
            self._find_bug(bug)

    def _note_error(self, error: BaseException) -> None:
        if self.loop.is_dead or isinstance(error, Killed):
            return
        if isinstance(error, StoreFailed):
            self._fail(error)
        else:
            self._find_bug(error)

    def _find_bug(self, error: BaseException) -> None:
        error = error.__cause__ or error
        frames = traceback.extract_tb(error.__traceback__)
        place = f" in {frames[-1].name}, {frames[-1].lineno}" if frames else ""
        text = f"{type(error).__name__}: {error}{place}"
        self._node.history.find_bug(self._node.timeline.now_ns, self._node.name, text)

    def _note_bug(self, context: dict[str, Any]) -> None:
        self._note_error(context.get("exception") or RuntimeError(context.get("message")))


_INTERNAL_ERROR = Answer(500, "InternalError")


class _Points(Failpoints):
    """The gateway's failpoints, in the hands of the world."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process

    def reach(self, point: str) -> None:
        self._process.reach(point)


class _SeededChance(Chance):
    """Digits that nobody has drawn before, in no order that a restore could rewind."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._count = 0

    def draw(self) -> str:
        self._count += 1
        return blake2b(f"{self._prefix}-{self._count}".encode(), digest_size=16).hexdigest()


class _Wire:
    """`Transport` over the world's network, for one process."""

    schemes = frozenset({"http", "https", "smtp", "smtps"})

    def __init__(self, node: Node, process: Process) -> None:
        self._node = node
        self._process = process

    def check(self, outgoing: Outgoing) -> None:
        """The network of a world carries everything."""

    async def send(self, outgoing: Outgoing) -> Transmission:
        """Transmit once, see `Transport.send`; but raise where the world has planted a bug."""
        node = self._node
        if node.slips_to and node.network.find_host(outgoing.endpoint) in node.slips_to:
            raise Slip(f"nobody had thought of {outgoing.endpoint}")
        return await self._node.network.send(self._node, outgoing, self._process.loop.create_future)

    async def close(self) -> None:
        """Nothing to close: a world ends by being let go."""
