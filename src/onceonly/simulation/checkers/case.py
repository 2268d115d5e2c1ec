"""One world as the checkers see it: what was observed, sorted by machine and message.

Reads the history once. A *course* is everything about one message at one machine: its rows, the
copies that came and left, and what was said of it. Must not judge.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

from onceonly.message.event import Direction, Event
from onceonly.message.instant import NS_PER_S, US_PER_S
from onceonly.message.terms import DeliveryTerms, Intermediary
from onceonly.simulation.cast import line_id, name_of, party, path_of
from onceonly.simulation.checkers.course import (
    Coming,
    Course,
    Going,
    Key,
    Parties,
    is_repeated,
)
from onceonly.simulation.checkers.letter import Letter, LetterKind, read
from onceonly.simulation.checkers.outside import Outside, is_unproven
from onceonly.simulation.checkers.shared_names import SharedNames
from onceonly.simulation.history import (
    Happening,
    PackageSent,
    Replied,
    Row,
)
from onceonly.simulation.imposture import unmasked
from onceonly.simulation.network import CLIENT_WAIT_NS, TAMPERED, Fate, certificate
from onceonly.simulation.timeline import NS_PER_MS
from onceonly.simulation.world import World
from onceonly.store.contract.entries import Notice

PAIR_EVENTS = frozenset(
    {
        Event.PAIR_SUSPENDED,
        Event.PAIR_RESUMED,
        Event.PAIR_QUARANTINED,
        Event.SEQUENCE_RESET,
    }
)
"""Rows about a pair, whichever message they name."""

DEATHS = frozenset({"killed", "power-cut", "stopped-itself"})

_ALL = 1 << 30
"""More than any world has of anything."""

ANSWERED = frozenset({Fate.DELIVERED, Fate.TWICE, Fate.AGAIN_LATER, *TAMPERED})
"""What is sent so is answered to whoever waits for it."""

FROZEN_NS = 120 * NS_PER_S
"""Longer than anybody is frozen."""

STORING_NS = 10 * NS_PER_S
"""From the arrival of a package until the commit that stores it, on the slowest disk."""

NEVER = 1 << 62
"""A place in the order after everything."""


def _order(letter: Going | Coming) -> int:
    return letter.order


class WorldCase:
    """The evidence of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.plan = world.plan
        self.history = world.history
        self.end_order = world.history.order
        self.end_ns = world.timeline.now_ns
        self.lines = {line_id(line): line for line in self.plan.lines}
        self.machines = {machine.name: machine for machine in self.plan.machines}
        self.outside = Outside(self.plan, self.history)
        self._names = SharedNames(self.plan)
        self.terms: dict[tuple[str, str], DeliveryTerms] = {}
        """By machine and the id of an agreement or route."""
        self._about: dict[tuple[str, str, str], Parties] = {}
        """Whose message a signal is about: by agreement, its source and its target."""
        self._agree()
        self.courses: dict[tuple[str, Key], Course] = {}
        self.of_key: dict[Key, list[Course]] = {}
        self.pair_rows: dict[tuple[str, Parties, Direction], list[Row]] = {}
        self.own_rows: dict[str, list[Row]] = {name: [] for name in world.nodes}
        self.rows_of: dict[str, list[Row]] = {name: [] for name in world.nodes}
        self.signals: list[Going] = []
        """Everything that left and is no business message."""
        self.heard: list[Coming] = []
        """Everything that came and is no business message."""
        self.strays: list[Coming] = []
        """What came damaged, as it was read."""
        self._notices: dict[str, dict[str, list[Notice]]] = {}
        self._live()
        self._file_rows()
        self._file_letters()
        self._file_applications()

    def _agree(self) -> None:
        for name, line in self.lines.items():
            path = [line.one, *(relay for relay, _ in line.through), line.other]
            there = str(party(line.one)), str(party(line.other))
            back = there[1], there[0]
            for here, after in pairwise(path):
                self._about[name, after, here] = there
                self._about[name, here, after] = back
        for node, one in self.world.nodes.items():
            for agreement in one.configuration.agreements:
                self.terms[node, agreement.id] = agreement.terms
            for route in one.configuration.routes:
                self.terms[node, route.id] = route.terms
                if route.agreement_id is not None:
                    self.lines[route.id] = self.lines[route.agreement_id]

    # Lives and clocks of the machines.

    def _live(self) -> None:
        self.happenings: dict[str, list[Happening]] = {name: [] for name in self.world.nodes}
        for happening in self.history.happenings:
            self.happenings.get(happening.node, []).append(happening)
        self._deaths = {
            name: [one.order for one in happened if one.what in DEATHS]
            for name, happened in self.happenings.items()
        }
        self.healed_order = next(
            (one.order for one in self.history.happenings if one.what == "healed"), NEVER
        )

    def next_death(self, node: str, order: int) -> int:
        """When the process that ran at `order` died; `NEVER` if it did not."""
        deaths = self._deaths[node]
        at = bisect_right(deaths, order)
        return deaths[at] if at < len(deaths) else NEVER

    def was_recovered(self, row: Row) -> bool:
        """Whether a start found the row: its process had died before it heard of the commit."""
        return any(one.at_ns == row.at_ns for one in self.happened(row.node, "started"))

    def death_of(self, row: Row) -> int:
        """When the process died that wrote the row; `NEVER` if it did not.

        A commit that an I/O error broke may be durable all the same: the next start finds the row,
        and whatever waited in the memory of its process is gone.
        """
        return row.order if self.was_recovered(row) else self.next_death(row.node, row.order)

    def is_alive(self, node: str, order: int) -> bool:
        """Whether a process of the machine ran at that place in the order."""
        ends = [one for one in self.happenings[node] if one.order < order]
        last = next((one for one in reversed(ends) if one.what in DEATHS | {"started"}), None)
        return last is not None and last.what == "started"

    def awake_from(self, node: str, at_ns: int, within_ns: int) -> int:
        """From when the machine's process was awake for `within_ns`, of what it had at `at_ns`.

        A frozen process (SIGSTOP, fault C3) goes on where it stopped when it is continued.
        """
        frozen_ns: int | None = None
        for one in self.happened(node, "frozen", "thawed"):
            if one.what == "frozen":
                frozen_ns = one.at_ns if frozen_ns is None else frozen_ns
            elif frozen_ns is not None:
                if frozen_ns <= at_ns + within_ns and one.at_ns >= at_ns:
                    at_ns = one.at_ns
                frozen_ns = None
        return at_ns

    def deaths_between(self, node: str, first: int, last: int) -> int:
        """How often the machine's process died between two places in the order."""
        deaths = self._deaths[node]
        return bisect_right(deaths, last) - bisect_right(deaths, first)

    def happened(self, node: str, *whats: str) -> list[Happening]:
        """What of these was done to the machine."""
        return [one for one in self.happenings[node] if one.what in whats]

    @cached_property
    def _offsets(self) -> dict[str, tuple[float, float]]:
        """Least and greatest deviation of each machine's wall clock, in microseconds."""
        found = {}
        end_us = self.end_ns / 1000
        for name, machine in self.machines.items():
            offset = float(machine.offset_s * US_PER_S)
            least = greatest = offset
            for one in self.happened(name, "jumped"):
                offset += int(one.detail) * 1000
                least, greatest = min(least, offset), max(greatest, offset)
            drifted = end_us * machine.drift_ppm / 1_000_000
            found[name] = (least + min(0.0, drifted), greatest + max(0.0, drifted))
        return found

    def clocks_fit(self, terms: DeliveryTerms, *nodes: str) -> bool:
        """Whether the wall clocks of these never differed by more than mshTimeAccuracy (I40).

        Two readings of one clock count as well: a jump between them is a difference.
        """
        offsets = [self._offsets[node] for node in nodes]
        spread = max(high for _, high in offsets) - min(low for low, _ in offsets)
        return spread <= terms.msh_time_accuracy_s * US_PER_S

    def is_set_back(self, *nodes: str) -> bool:
        """Whether the store of any of these machines lost what was durable, on purpose.

        After a restored backup (fault C7) what follows is listed, not prevented, and invariants
        about the past of that machine do not hold (I13, I35).
        """
        return any(self.happened(node, "restored") for node in nodes)

    def was_set_back(self, node: str, first: int, last: int) -> bool:
        """Whether an old copy of the machine's store was put back between two places."""
        return any(first < one.order < last for one in self.happened(node, "restored"))

    # Filing.

    def course(self, node: str, key: Key, agreement_id: str | None) -> Course:
        """The course of the message at the machine.

        Its line is one between its parties, whatever a package in their names says: a copy under
        the agreement of another line is refused, and the terms of that line do not apply to it.
        """
        found = self.courses.get((node, key))
        if found is None:
            found = self.courses[node, key] = Course(node, key, None)
            self.of_key.setdefault(key, []).append(found)
        if found.line is None and self.is_between(agreement_id or "", key[:2]):
            found.line = self.lines[agreement_id or ""]
        return found

    def _file_rows(self) -> None:
        for row in map(self._names.row, self.history.rows):
            record = row.record
            self.rows_of[row.node].append(row)
            if record.from_party is None or record.to_party is None:
                self.own_rows[row.node].append(row)
                continue
            parties, direction = (record.from_party, record.to_party), record.direction
            if is_repeated(record):
                key = (*parties, record.message_id or "")
                self.course(row.node, key, record.agreement_id).repeated.append(row)
                continue
            if direction is not None:
                self.pair_rows.setdefault((row.node, parties, direction), []).append(row)
            if record.message_id is None or record.event in PAIR_EVENTS:
                continue
            key = (*parties, record.message_id)
            course = self.course(row.node, key, record.agreement_id)
            (course.out if direction is Direction.OUT else course.into).append(row)

    def _file_letters(self) -> None:
        for sent in self.history.sent:
            packet = sent.packet
            letter = self._read(packet.body)
            place = sent.order, packet.at_ns, packet.source, packet.target, letter, packet.body
            self._file_leaving(Going(*place, packet.name, sent.fate))
        for arrived in self.history.arrived:
            if arrived.is_whole:
                packet, body = arrived.packet, arrived.body
                letter = self._read(body)
                place = arrived.order, arrived.at_ns, packet.source, packet.target, letter, body
                is_damaged = body != packet.body
                self._file_coming(Coming(*place, packet.name, is_damaged, packet.certificate))
        self._file_replies()

    def _read(self, body: bytes) -> Letter:
        return self._names.letter(read(body))

    def _file_replies(self) -> None:
        """What goes back in an answer leaves at once, and comes where the line still holds."""
        asked = {sent.packet.name: sent for sent in self.history.sent}
        answered: set[str] = set()
        for reply in self.history.replied:
            # What is told to somebody who speaks for a machine is told to its owner.
            source, target = reply.packet.target, unmasked(reply.packet.source)
            letter, name = self._read(reply.body), f"answer to {reply.packet.name}"
            place = reply.order, reply.at_ns, source, target, letter, reply.body, name
            self._file_leaving(Going(*place, Fate.DELIVERED))
            question = asked.get(reply.packet.name)
            is_first = reply.back_ns is not None and reply.packet.name not in answered
            if is_first:
                answered.add(reply.packet.name)
            if is_first and question is not None and self._is_heard(question, reply):
                # The called machine has shown its certificate before.
                self._file_coming(Coming(*place, is_damaged=False, certificate=certificate(source)))
        if self.history.replied:
            for course in self.courses.values():
                for letters in (
                    course.sent,
                    course.taken,
                    course.said,
                    course.heard,
                    course.responses,
                ):
                    letters.sort(key=_order)

    def _is_heard(self, question: PackageSent, reply: Replied) -> bool:
        """Whether the process that asked still waits at the other end of the line."""
        comes_ns = reply.at_ns + (reply.back_ns or 0)
        died = any(
            question.order < one.order and one.at_ns <= comes_ns
            for one in self.happened(question.packet.source, *DEATHS)
        )
        waits = comes_ns < question.packet.at_ns + CLIENT_WAIT_NS
        is_true = question.packet.name not in self.outside.falsified
        return question.fate in ANSWERED and waits and is_true and not died

    def _file_leaving(self, leaving: Going) -> None:
        letter = leaving.letter
        if letter.kind is LetterKind.MESSAGE:
            key = letter.from_party, letter.to_party, letter.message_id
            self.course(leaving.source, key, letter.agreement_id).sent.append(leaving)
            if letter.ref:
                about = letter.to_party, letter.from_party, letter.ref
                course = self.course(leaving.source, about, letter.agreement_id)
                course.responses.append(leaving)
            return
        self.signals.append(leaving)
        subject = self._subject(letter, leaving.source, leaving.target)
        if subject is not None:
            self.course(leaving.source, subject, letter.agreement_id).said.append(leaving)

    def _file_coming(self, coming: Coming) -> None:
        letter = coming.letter
        if coming.is_damaged:
            self.strays.append(coming)
        if letter.kind is LetterKind.MESSAGE:
            key = letter.from_party, letter.to_party, letter.message_id
            self.course(coming.target, key, letter.agreement_id).taken.append(coming)
            if letter.ref and coming.source in self.machines:
                about = letter.to_party, letter.from_party, letter.ref
                self.course(coming.target, about, letter.agreement_id).heard.append(coming)
            return
        self.heard.append(coming)
        subject = self._subject(letter, coming.source, coming.target)
        if subject is not None:
            self.course(coming.target, subject, letter.agreement_id).heard.append(coming)

    def _subject(self, letter: Letter, source: str, target: str) -> Key | None:
        """The message that the signal of `source` to `target` is about; None where it is none."""
        parties = self._about.get((letter.agreement_id, source, target))
        ref = letter.said("about") if letter.kind is LetterKind.REPORT else letter.ref
        if parties is None or not ref or letter.kind is LetterKind.INQUIRY:
            return None
        return (*parties, ref)

    def _file_applications(self) -> None:
        for delivered in self.history.delivered:
            self.course(delivered.node, delivered.key, None).delivered.append(delivered)
        for worked in self.history.worked:
            self.course(worked.node, worked.key, None).worked.append(worked)

    # Questions about agreements.

    def path(self, course: Course) -> list[str]:
        """The machines that the message passes, its From Party's first."""
        line = course.line
        if line is None:
            return [name_of(course.key[0]), name_of(course.key[1])]
        path = [line.one, *(relay for relay, _ in line.through), line.other]
        return path if name_of(course.key[0]) == line.one else path[::-1]

    def is_between(self, agreement_id: str, parties: Parties) -> bool:
        """Whether the agreement is one of these two parties, or of a route between them."""
        line = self.lines.get(agreement_id)
        return line is not None and {line.one, line.other} == set(map(name_of, parties))

    def modes(self, course: Course) -> dict[str, Intermediary]:
        """How each intermediary of the line carries messages."""
        return {} if course.line is None else dict(course.line.through)

    def terms_out(self, course: Course) -> DeliveryTerms | None:
        """Under which terms this machine sends the message, None where it does not."""
        for row in course.out:
            agreement_id = row.record.agreement_id
            if agreement_id is not None and (course.node, agreement_id) in self.terms:
                return self.terms[course.node, agreement_id]
        return None

    def at(self, node: str, key: Key) -> Course | None:
        """The course of the message at that machine, if it was ever there."""
        return self.courses.get((node, key))

    def sending(self) -> Iterator[tuple[Course, DeliveryTerms]]:
        """Courses at machines that send the message under terms of their own."""
        for course in self.courses.values():
            if course.out and not self._is_transit(course):
                terms = self.terms_out(course)
                if terms is not None:
                    yield course, terms

    def _is_transit(self, course: Course) -> bool:
        """Whether an intermediary only relays it."""
        return not course.is_origin and not any(
            row.record.event is Event.TRANSMITTING for row in course.out
        )

    # Questions about what happened.

    @cached_property
    def arrived_packets(self) -> frozenset[str]:
        """Names of the packages of which some copy arrived, whole or not."""
        return frozenset(arrived.packet.name for arrived in self.history.arrived)

    def has_incident(self, course: Course) -> bool:
        """Whether an operator was told of the sending pair of the message, once at least.

        Trouble with a partner counts only if it closed the pair: it says nothing about a single
        message (R-40).
        """
        closing = {
            row.record.reason
            for row in self.rows_of[course.node]
            if row.record.event is Event.PAIR_SUSPENDED
        }
        incidents = self.world.nodes[course.node].snapshot().list_incidents(is_open=False)
        return any(
            tuple(one.pair) == course.key[:2] and (not one.is_trouble or one.reason in closing)
            for one in incidents
        )

    def was_resumed(self, course: Course, first: int, last: int) -> bool:
        """Whether the sending pair of the message was resumed between two places in the order."""
        return any(
            first < order < last for order in self._resumed.get((course.node, course.key[:2]), ())
        )

    @cached_property
    def _resumed(self) -> dict[tuple[str, Parties], list[int]]:
        found: dict[tuple[str, Parties], list[int]] = {}
        for (node, parties, direction), rows in self.pair_rows.items():
            if direction is Direction.OUT:
                orders = [row.order for row in rows if row.record.event is Event.PAIR_RESUMED]
                if orders:
                    found[node, parties] = orders
        return found

    def min_retry_s(self, course: Course, order: int) -> int | None:
        """MinRetrySecs of the last TransientError about the message that came before."""
        said = None
        for coming in course.heard:
            if coming.order > order:
                break
            if ("TransientError", "Warning") in coming.letter.errors:
                said = coming.letter.min_retry_s
        return said

    def made_at(self, course: Course) -> int | None:
        """Timestamp of the message, by its package; where none left, not after it.

        Not by what an impostor brought in its name.
        """
        for letters in (course.sent, self._brought(course) or course.taken):
            if letters:
                return letters[0].letter.timestamp_at
        row = course.first_out(Event.SUBMITTED)
        calls = [one.called_at for one in self.history.accepted if one.key == course.key]
        return None if row is None else min([row.record.at, *calls])

    def copy_made_at(self, course: Course, row: Row) -> int | None:
        """Timestamp of the copy that a receiver's row is about: the last that had come before it.

        Where the sender's store was set back, the message may have been submitted again since its
        first copy came, with another Timestamp (C7).
        """
        return self.copies_made_at(course, row)[-1]

    def copies_made_at(self, course: Course, row: Row) -> list[int | None]:
        """Timestamps of all copies that had come before a receiver's row.

        A process that paused may take several at once, one of them altered on its way.
        """
        before = [one for one in self._brought(course) if one.order < row.order]
        return [one.letter.timestamp_at for one in before] or [self.made_at(course)]

    def _brought(self, course: Course) -> list[Coming]:
        """The copies that came from machines of the world."""
        return [one for one in course.taken if one.source in self.machines]

    def is_held(self, course: Course, order: int) -> bool:
        """Whether somebody further on had stored the message for good before `order`.

        The To Party, or an intermediary that accepts; R(k) of the invariants.
        """
        modes = self.modes(course)
        for other in self.of_key[course.key]:
            if other is course or modes.get(other.node) is Intermediary.RELAY:
                continue
            stored = other.first_into(Event.STORED)
            if stored is not None and stored.order < order:
                return True
        return False

    def notices(self, node: str) -> dict[str, list[Notice]]:
        """The notification inbox of the machine, by MessageId."""
        found = self._notices.get(node)
        if found is None:
            found = self._notices[node] = {}
            for _, notice in self.world.nodes[node].snapshot().list_notices(0, _ALL):
                found.setdefault(notice.message_id, []).append(notice)
        return found

    def nodes_between(self, parties: Parties) -> list[str]:
        """The machines of the lines between two parties."""
        ends = {name_of(one) for one in parties}
        found = set(ends)
        for line in self.plan.lines:
            if {line.one, line.other} == ends:
                found.update(relay for relay, _ in line.through)
        return sorted(found & self.machines.keys())

    def has_forgotten(self, node: str, order: int) -> bool:
        """Whether the machine had purged anything before: forgotten_at may be of any pair."""
        return any(
            row.record.event is Event.PURGED and row.order < order for row in self.own_rows[node]
        )

    def answers_a_repeat(self, coming: Coming) -> bool:
        """Whether it may be the answer to a copy that the network made: nobody waits for that."""
        asked = coming.packet.removeprefix("answer to ")
        copies = sum(
            one.packet.name == asked and one.order < coming.order for one in self.history.arrived
        )
        return asked != coming.packet and copies > 1

    def is_misaddressed(self, copy: Coming) -> bool:
        """Whether the package is not what its sender wrote: then it is refused under no name."""
        line = self.lines.get(copy.letter.agreement_id)
        is_no_ones = line is None or copy.source in self.outside.sources
        is_another = is_unproven(line, copy.target, copy.certificate)
        return copy.is_damaged or is_no_ones or is_another

    def comes_from_outside(self, course: Course) -> bool:
        """Whether a copy was damaged or forged: such may be refused for anything, in silence.

        Odd ones may be read by a gateway under another name than by `letter`. What a hostile
        partner says under his own name may have come to an intermediary, who sends it on as it is.
        """
        if not course.taken and course.node in self.outside.visited:
            return True
        if any(one.is_damaged or one.source not in self.machines for one in course.taken):
            return True
        return self.is_his_own(course) and any(
            one.source in self.outside.sources
            for place in self.of_key[course.key]
            for one in place.taken
        )

    def is_his_own(self, course: Course) -> bool:
        """Whether a hostile partner is responsible: he sent it under his own name.

        Or it was sent on a line on which he is a hop: about it he may say what he likes.
        """
        on_its_way = () if course.line is None else path_of(course.line)
        return bool(self.outside.hostile & {name_of(course.key[0]), *on_its_way})

    def is_full(self, node: str, at_ns: int) -> bool:
        """Whether the disk may have had no room when what came then was to be stored.

        It is refused as if it had not come: at once, after other work, or when a process thaws.
        """
        last_ns = at_ns + (FROZEN_NS if self.happened(node, "frozen") else STORING_NS)
        return any(
            action.kind == "fill"
            and action.node == node
            and action.at_ms * NS_PER_MS <= last_ns
            and at_ns <= (action.at_ms + action.args["ms"]) * NS_PER_MS
            for action in self.plan.actions
        )

    def has_jumped(self, node: str, first_ns: int, last_ns: int) -> bool:
        """Whether the machine's wall clock was moved in this time, also to where it belongs."""
        moves = self.happened(node, "jumped", "clock set right")
        return any(first_ns <= one.at_ns <= last_ns for one in moves)

    @cached_property
    def healed_ns(self) -> int:
        """When the faults ended."""
        return next((one.at_ns for one in self.history.happenings if one.what == "healed"), NEVER)

    def is_reconfigured(self, course: Course) -> bool:
        """Whether the terms of the message were changed at this machine (fault C9)."""
        line = course.line
        return line is not None and any(
            one.detail.startswith(f"{line_id(line)} ")
            for one in self.happened(course.node, "reconfigured")
        )

    def suspensions(self, node: str) -> list[str]:
        """The reasons that operators of the machine gave for suspending a pair."""
        return [
            action.args.get("reason", "")
            for action in self.plan.actions
            if (action.kind, action.node, action.args.get("what")) == ("operate", node, "suspend")
        ]
