"""One world: machines, a network and applications under a plan, run from its beginning to its end.

First come the plan's actions, with every fault that it has. Then the world heals: the network
carries everything, every machine runs, operators resume what was closed; and by the end of the
plan everything must have its verdict. `run` gives the history, which `checkers` judge.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

from onceonly.gateway.config import Configuration
from onceonly.journal.record import Record
from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.message.instant import US_PER_S
from onceonly.message.word import changed
from onceonly.protocol.events import Settlement
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import ReceivingPair
from onceonly.simulation.cast import (
    configurations,
    line_id,
    name_of,
    pair_of,
    party,
    path_of,
    uri,
    with_terms,
)
from onceonly.simulation.forgery import ForgerView, forge
from onceonly.simulation.history import History
from onceonly.simulation.imposture import OWN, Pose, impostor, speak
from onceonly.simulation.knocking import STRANGER, Knock, knock
from onceonly.simulation.machine.application import Application
from onceonly.simulation.machine.clock import MachineClock
from onceonly.simulation.machine.machine_store import MachineStore
from onceonly.simulation.machine.node import Node, Process
from onceonly.simulation.machine.silence import silence
from onceonly.simulation.network import FALSE_ANSWER, Network, Packet, certificate
from onceonly.simulation.packing import FORGER, Forged
from onceonly.simulation.plan import Action, Line, Plan
from onceonly.simulation.timeline import NS_PER_MS, Timeline
from onceonly.store.contract.entries import InboundEntry
from onceonly.store.contract.store import Transaction
from onceonly.transport.transport import Answer, Request

LOOK_MS, LOOK_MS_MAX = 1_000, 20_000
"""Between looks whether everything has come to rest, once the world has healed: at first, and in
the end, when only a TimeToLive is waited for."""


class World:
    """The world of one plan; `run` it once."""

    def __init__(self, plan: Plan, *, keeps_trace: bool = False) -> None:
        self.plan = plan
        self.timeline = Timeline()
        self.history = History(keeps_trace=keeps_trace)
        self.network = Network(
            self.timeline,
            seed=plan.seed,
            weather=plan.weather,
            fates=plan.fates,
            is_drawn=plan.is_drawn,
            seen=self.history.send,
            arrived=self._arrived,
            replied=self._replied,
        )
        self.nodes: dict[str, Node] = {}
        self.applications: dict[str, Application] = {}
        for name, configuration in configurations(plan).items():
            self._add(name, configuration)
        for line in plan.lines:
            self._begin_numbers(line)
        self.is_livelocked = False
        self._look_ms = LOOK_MS

    def _add(self, name: str, configuration: Configuration) -> None:
        machine = next(one for one in self.plan.machines if one.name == name)
        clock = MachineClock(
            self.timeline, drift_ppm=machine.drift_ppm, offset_us=machine.offset_s * US_PER_S
        )
        store = MachineStore(
            party=str(party(name)),
            clock=clock,
            engine=self.plan.store,
            told=partial(self._committed, name),
        )
        node = Node(
            configuration,
            name=name,
            seed=self.plan.seed,
            timeline=self.timeline,
            network=self.network,
            history=self.history,
            clock=clock,
            thread_ms=machine.thread_ms,
            store=store,
        )
        self.nodes[name] = node
        for scheme in ("http", "https", "smtp"):
            self.network.add(uri(name, scheme), node)
        self.applications[name] = Application(node, machine.habits)

    def _committed(self, name: str, records: Sequence[Record]) -> None:
        self.history.commit(self.timeline.now_ns, name, records)
        if any(record.event is Event.HANDED_OVER for record in records):
            self.applications[name].clerk.look_soon()

    def _arrived(self, packet: Packet, body: bytes, is_whole: bool) -> None:  # noqa: FBT001 - because the network has one fact more to tell
        self.history.arrive(self.timeline.now_ns, packet, body, is_whole)

    def _replied(self, packet: Packet, body: bytes, back_ns: int | None) -> None:
        self.history.reply(self.timeline.now_ns, packet, body, back_ns)

    def _begin_numbers(self, line: Line) -> None:
        """Let the numbers of the line begin after one that was stored before the world began."""
        number = line.begin_number
        if number is None:
            return
        there = pair_of(line)
        for pair in (there, Pair(there.to_party, there.from_party)):
            sender, receiver = map(name_of, pair)
            state = SendingPair(sequence_number=number)
            self.nodes[sender].store.prepare(partial(_put_sending, pair, state))
            self.nodes[receiver].store.prepare(
                partial(_put_receiving, pair, ReceivingPair(sequence_number=number))
            )

    def run(self) -> History:
        """Run the plan to its end, or until everything is at rest after the world has healed."""
        with silence():
            return self._run()

    def _run(self) -> History:
        for node in self.nodes.values():
            node.start()
        for action in self.plan.actions:
            self.timeline.call_at(action.at_ms * NS_PER_MS, partial(self._do, action))
        self.timeline.call_at(self.plan.heal_ms * NS_PER_MS, self._heal)
        self.is_livelocked = not self.timeline.run_until(
            self.plan.end_ms * NS_PER_MS, events_max=self.plan.events_max
        )
        return self.history

    def close(self) -> None:
        """Let go of everything that the world holds; what is durable stays readable."""
        for node in self.nodes.values():
            node.close()

    def _do(self, action: Action) -> None:
        getattr(self, f"do_{action.kind}")(self.nodes[action.node], **action.args)

    # What can be done to a node: the kinds of `Action`.

    def do_submit(self, node: Node, **submission: Any) -> None:
        """The application hands a message over."""
        self.applications[node.name].submit(**submission)

    def do_kill(self, node: Node, *, down_ms: int = 1000) -> None:
        """End the process as `kill -9` does, and start it again after the given time."""
        node.restart_ms = down_ms
        node.kill()

    def do_power_cut(self, node: Node, *, down_ms: int = 5000) -> None:
        """The whole machine loses its power: what was not synced is gone."""
        node.restart_ms = down_ms
        node.kill("power-cut")

    def do_arm_disk(
        self, node: Node, *, operations: int, is_power_cut: bool = False, down_ms: int = 1000
    ) -> None:
        """Let the machine die instead of the disk's n-th operation from now."""
        node.restart_ms = down_ms
        what = "power-cut" if is_power_cut else "killed"
        node.store.arm(operations, partial(node.kill, what, "disk"))

    def do_arm(self, node: Node, *, point: str, count: int, down_ms: int = 1000) -> None:
        """Kill the process when it reaches the named point for the count-th time from now."""
        if node.process is not None:
            node.process.armed[point] = count
            node.restart_ms = down_ms

    def do_freeze(self, node: Node, *, ms: int) -> None:
        """SIGSTOP, and SIGCONT so much later."""
        process = node.process
        if process is None:
            return
        self.history.happen(self.timeline.now_ns, node.name, "frozen")
        process.loop.freeze()
        self.timeline.call_in(ms * NS_PER_MS, partial(self._thaw, node, process))

    def _thaw(self, node: Node, process: Process) -> None:
        if process.loop.is_frozen and not process.loop.is_dead:
            self.history.happen(self.timeline.now_ns, node.name, "thawed")
            process.loop.thaw()

    def do_jump(self, node: Node, *, offset_ms: int) -> None:
        """The wall clock jumps."""
        self.history.happen(self.timeline.now_ns, node.name, "jumped", str(offset_ms))
        node.clock.offset_us += offset_ms * 1000

    def do_fill(self, node: Node, *, ms: int) -> None:
        """The disk is full for so long."""
        self.history.happen(self.timeline.now_ns, node.name, "full")
        node.store.is_full = True
        self.timeline.call_in(ms * NS_PER_MS, partial(self._empty, node))

    def _empty(self, node: Node) -> None:
        node.store.is_full = False

    def do_break(self, node: Node, *, down_ms: int = 5000) -> None:
        """The next commit meets an I/O error; the process stops itself and is started later."""
        self.history.happen(self.timeline.now_ns, node.name, "broken")
        node.store.is_broken = True
        node.restart_ms = down_ms

    def do_cut(self, node: Node, *, to: str, ms: int) -> None:
        """Nothing gets through from this node to the other for so long."""
        link = f"{node.name}>{to}"
        self.network.cut_links.add(link)
        self.timeline.call_in(ms * NS_PER_MS, partial(self.network.cut_links.discard, link))

    def do_operate(self, node: Node, *, what: str, **args: Any) -> None:
        """An operator calls `gateway.operations`."""
        self.applications[node.name].operate(what, **args)

    def do_settle(self, node: Node, *, word: str) -> None:
        """An operator has asked by telephone, and ends every doubt of this machine."""
        self.applications[node.name].settle_doubts(Settlement(word))

    def do_order(self, node: Node, *, what: str, partner: str, conversation: str) -> None:
        """An operator resets an ordered conversation, or releases or drops what waits in it."""
        self.applications[node.name].order(what, partner=partner, conversation=conversation)

    def do_stay_away(self, node: Node, *, ms: int) -> None:
        """The application reads nothing from its inbox for so long (fault A2)."""
        self.history.happen(self.timeline.now_ns, node.name, "away")
        self.applications[node.name].clerk.stay_away(self.timeline.now_ns + ms * NS_PER_MS)

    def do_kill_starting(self, node: Node, *, down_ms: int, after_us: int) -> None:
        """Kill the process, and the next one while it takes up what is owed (fault C2)."""
        self.do_kill(node, down_ms=down_ms)
        at_ns = self.timeline.now_ns + down_ms * NS_PER_MS + after_us * 1000
        self.timeline.call_at(at_ns, partial(self._kill_starting, node))

    def _kill_starting(self, node: Node) -> None:
        if node.process is not None and not node.is_ready:
            node.kill("killed", "starting")

    def do_reconfigure(self, node: Node, *, agreement: str, down_ms: int, **terms: Any) -> None:
        """The machine's next process has other terms in its configuration (fault C9)."""
        told = f"{agreement} {sorted(terms.items())}"
        self.history.happen(self.timeline.now_ns, node.name, "reconfigured", told)
        node.configuration = with_terms(node.configuration, agreement, terms)
        self.do_kill(node, down_ms=down_ms)

    def do_back_up(self, node: Node) -> None:
        """Somebody copies the store, to put it back some day."""
        if node.process is not None:
            node.store.back_up()
            self.applications[node.name].clerk.mark()

    def do_restore(self, node: Node, *, down_ms: int = 5000) -> None:
        """The process ends and finds the old copy of its store instead of its own (fault C7)."""
        self.do_kill(node, down_ms=down_ms)
        if node.process is None and node.store.restore():
            self.history.happen(self.timeline.now_ns, node.name, "restored")
            self.applications[node.name].clerk.set_back()

    def do_forget_numbers(self, node: Node, *, down_ms: int = 5000) -> None:
        """The process ends, and its table of sequence numbers is empty (fault C6)."""
        self.do_kill(node, down_ms=down_ms)
        self.history.happen(self.timeline.now_ns, node.name, "numbers-lost")
        for line in self.plan.lines:
            there = pair_of(line)
            for pair in (there, Pair(there.to_party, there.from_party)):
                node.store.prepare(partial(_forget_numbers, pair))

    def do_forge(self, node: Node, *, kind: str, agreement: str, of: str, copies: int = 1) -> None:
        """Somebody from outside brings a package that nobody of the world sent."""
        listener = node.listener()
        if listener is None:
            return
        line = next(one for one in self.plan.lines if line_id(one) == agreement)
        heard, said = self._heard(node), self._said(node)
        scene = ForgerView(
            node.name, line, node.snapshot(), node.clock.at(), self.history.order, of, heard, said
        )
        forged = forge(kind, scene)
        if forged is not None:
            self.history.happen(self.timeline.now_ns, node.name, "forged", f"{kind} {of}")
            # What comes again from a true neighbour is his own package.
            shows = forged.source if forged.source in self.nodes else None
            for copy in range(copies):
                name = f"{FORGER}>{node.name}#{scene.number}.{copy}"
                self._bring(node, listener, name, forged, shows=shows)

    def do_pose(  # noqa: PLR0913 - because these are the ways to lie about oneself
        self,
        node: Node,
        *,
        by: str,
        kind: str,
        agreement: str,
        of: str,
        under: str = OWN,
        is_partner: bool = False,
        has_certificate: bool = True,
        is_answer: bool = False,
        copies: int = 1,
    ) -> None:
        """A hostile partner speaks in another's name, or about another's message.

        `is_answer`: in the answer to what the machine sends him next, where one may carry it.
        """
        own = next(
            (
                one
                for one in self.plan.lines
                if {by, node.name} <= set(path_of(one)) and line_id(one) != agreement
            ),
            None,
        )
        line = next((one for one in self.plan.lines if line_id(one) == agreement), None)
        if own is None or line is None:
            return  # A smaller plan has left one of them out.

        def pose() -> Forged | None:
            heard = [one for one in self._heard(node) if one.source in path_of(line)]
            place = by, node.name, line, own, under, is_partner, of
            known = node.snapshot(), node.clock.at(), self.history.order
            return speak(kind, Pose(*place, *known, heard, self._said(node)))

        told = partial(self.history.happen, node=node.name, what="posed", detail=f"{kind} {of}")
        if is_answer:
            waiting = self.network.false_answers.setdefault(f"{node.name}>{by}", deque())
            waiting.append(partial(self._answer_falsely, by, pose, told))
            return
        listener = node.listener()
        forged = None if listener is None else pose()
        if listener is None or forged is None:
            return
        told(self.timeline.now_ns)
        for _ in range(copies):
            name = f"{impostor(by)}>{node.name}#{self.history.order}"
            self._bring(node, listener, name, forged, shows=by if has_certificate else None)

    def _answer_falsely(
        self,
        by: str,
        pose: Callable[[], Forged | None],
        told: Callable[[int], None],
        asked: Packet,
    ) -> Answer | None:
        forged = None if self.nodes[asked.source].listener() is None else pose()
        if forged is None:
            return None
        told(self.timeline.now_ns)
        answer = changed(
            asked,
            name=f"{FALSE_ANSWER}{asked.name}",
            source=impostor(by),
            target=asked.source,
            content_type=forged.content_type,
            body=forged.body,
            certificate=certificate(by) if asked.transport == "https" else None,
        )
        self.network.arrived(answer, forged.body, True)  # noqa: FBT003 - because the network says it so
        return Answer(200, None, forged.content_type, forged.body)

    def do_knock(
        self, node: Node, *, kind: str, agreement: str, of: str, is_named: bool, copies: int = 1
    ) -> None:
        """A stranger brings packages, each another one; he has no certificate to show."""
        listener = node.listener()
        line = next((one for one in self.plan.lines if line_id(one) == agreement), None)
        if listener is None or line is None:
            return
        number = self.history.order
        self.history.happen(self.timeline.now_ns, node.name, "knocked", kind)
        for copy in range(copies):
            door = Knock(node.name, line, is_named, of, node.clock.at(), number, copy)
            name = f"{STRANGER}>{node.name}#{number}.{copy}"
            self._bring(node, listener, name, knock(kind, door), shows=None)

    def do_slip(self, node: Node, *, to: str, ms: int) -> None:
        """For so long whatever the machine has to tell the other meets a bug of ours."""
        self.history.happen(self.timeline.now_ns, node.name, "slip", to)
        node.slips_to.add(to)
        self.timeline.call_in(ms * NS_PER_MS, partial(node.slips_to.discard, to))

    def _heard(self, node: Node) -> list[Forged]:
        """What the machine was sent as its senders wrote it, the oldest first."""
        return [
            Forged(one.packet.content_type, one.body, one.packet.source)
            for one in self.history.arrived
            if one.packet.target == node.name
            and one.packet.source in self.nodes
            and one.is_whole
            and one.body == one.packet.body
        ]

    def _said(self, node: Node) -> list[bytes]:
        """What the machine sent, the oldest first."""
        return [one.packet.body for one in self.history.sent if one.packet.source == node.name]

    def _bring(
        self, node: Node, listener: Process, name: str, forged: Forged, *, shows: str | None
    ) -> None:
        content_type, body, source = forged.content_type, forged.body, forged.source
        at_ns, endpoint = self.timeline.now_ns, uri(node.name)
        scheme = "http" if node.configuration.tls is None else "https"
        shown = certificate(shows) if scheme == "https" and shows is not None else None
        packet = Packet(name, source, node.name, endpoint, scheme, content_type, body, at_ns, shown)
        self.network.arrived(packet, body, True)  # noqa: FBT003 - because the network says it so
        request = Request(content_type, len(body), source, scheme, shown)
        listener.receive(request, _whole(body), partial(self._hear_as_forger, packet))

    def _hear_as_forger(self, packet: Packet, answer: Answer | None) -> None:
        """Whoever brings a package gets the answer of its transport, too."""
        if answer is not None and answer.body:
            self.network.replied(packet, answer.body, 0)

    def _heal(self) -> None:
        self.network.is_healed = True
        self.network.cut_links.clear()
        for node in self.nodes.values():
            node.slips_to.clear()
            node.store.is_full = node.store.is_broken = False
            node.store.disarm()
            self._set_right(node)
            if node.process is not None:
                node.process.armed.clear()
                self._thaw(node, node.process)
            node.start()
        self.history.happen(self.timeline.now_ns, "", "healed")
        self._look()

    def _set_right(self, node: Node) -> None:
        """Somebody sees that a clock has jumped."""
        machine = next(one for one in self.plan.machines if one.name == node.name)
        offset_us = machine.offset_s * US_PER_S
        if node.clock.offset_us != offset_us:
            self.history.happen(self.timeline.now_ns, node.name, "clock set right")
            node.clock.offset_us = offset_us

    def _look(self) -> None:
        """Resume what is closed; stop the world once nothing is owed by anybody."""
        for application in self.applications.values():
            application.resume_everything()
        is_early = self.timeline.now_ns < self.plan.rest_ms * NS_PER_MS
        if not is_early and all(map(self._rests, self.nodes)):
            self.timeline.stop()
        self.timeline.call_in(self._look_ms * NS_PER_MS, self._look)
        self._look_ms = min(self._look_ms * 5 // 4, LOOK_MS_MAX)

    def _rests(self, name: str) -> bool:
        """Whether a machine owes nothing to anybody."""
        node = self.nodes[name]
        process = node.process
        if process is None or not process.is_ready or process.is_at_work:
            return False
        if not self.applications[name].is_at_rest:
            return False
        snapshot = node.snapshot()
        counts = snapshot.count_by_status()
        return not (
            any(counts[status] for status in ("queued", "sending", "in_doubt"))
            or any(map(self._is_owed, snapshot.list_stored()))
            or snapshot.list_recovering()
            or snapshot.list_forwarding()
            or snapshot.list_owed_notices()
        )

    def _is_owed(self, entry: InboundEntry) -> bool:
        """Whether a stored message will be handed over yet.

        Under strict_release a message whose acknowledgement certainly never left stays withheld
        after its sender has given up: nobody asks for it any more (R-12). Messages that wait for
        their turn to be acknowledged get it, one after the other.
        """
        line = next(one for one in self.plan.lines if line_id(one) == entry.agreement_id)
        return not (line.terms.strict_release and entry.is_withheld)


async def _whole(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _forget_numbers(pair: Pair, txn: Transaction) -> None:
    """The numbers are gone; whose turn it is stands with the messages."""
    sending = txn.get_sending_pair(pair)
    if sending.sequence_number is not None:
        txn.put_sending_pair(pair, changed(sending, sequence_number=None), at=0)
    receiving = txn.get_receiving_pair(pair)
    if receiving.sequence_number is not None:
        txn.put_receiving_pair(pair, changed(receiving, sequence_number=None))


def _put_sending(pair: Pair, state: SendingPair, txn: Transaction) -> None:
    txn.put_sending_pair(pair, state, at=0)


def _put_receiving(pair: Pair, state: ReceivingPair, txn: Transaction) -> None:
    txn.put_receiving_pair(pair, state)
