"""The applications and operators of one machine: what they hand over, ask for and order.

They are programs of their own: they go on when the gateway's process dies, remember what they were
told, and call again if no answer came. They use the same functions as the gateway's API. `clerk`
knows what they do with the messages that they get.
"""

import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from onceonly.gateway.application.submissions import Part, Submission
from onceonly.gateway.wiring import Gateway
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.message.identity import ConversationKey, MessageKey, Pair
from onceonly.protocol.events import Settlement
from onceonly.protocol.outbound import OutboundStatus
from onceonly.protocol.pairing import PairStatus
from onceonly.simulation.cast import SERVICE, party
from onceonly.simulation.history import Accepted, Operated
from onceonly.simulation.machine.clerk import Clerk
from onceonly.simulation.machine.node import Node, Unanswered
from onceonly.simulation.plan import ACTION, Habits
from onceonly.simulation.timeline import NS_PER_MS
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.entries import MessageFilter

AGAIN_MS = 2000
"""An application that got no answer, or was told to come again, does so after this time."""

COME_AGAIN = frozenset({"QueueFull"})
"""Refusals that end by themselves (R-27)."""

_MANY = 1_000

OPERATOR = "an operator"

Call = Callable[[Gateway], Coroutine[Any, Any, None]]


class Application:
    """The applications that call one machine's API."""

    def __init__(self, node: Node, habits: Habits) -> None:
        self._node = node
        self._history = node.history
        self._timeline = node.timeline
        self._open_calls = 0
        self._accepted: set[tuple[MessageKey, tuple[bytes, ...]]] = set()
        self.clerk = Clerk(node, habits, call=self.call, submit=self.submit)

    @property
    def is_answered(self) -> bool:
        """Whether every call had its answer."""
        return self._open_calls == 0

    @property
    def is_at_rest(self) -> bool:
        """Whether every call had its answer, and nothing in the inbox waits."""
        return self.is_answered and self.clerk.is_at_rest

    def submit(  # noqa: PLR0913 - because these are the fields of a submission
        self,
        *,
        to: str,
        id: str,  # noqa: A002 - because plans are read and written by people
        size: int = 100,
        parts: int = 1,
        ref: str | None = None,
        agreement: str | None = None,
        like: str | None = None,
        is_keyed: bool = False,
        conversation: str | None = None,
    ) -> None:
        """Hand a message over, as often as it takes to get an answer.

        `like` names another message whose content this one has. With `is_keyed` the MessageId is
        left to the gateway, and an Idempotency-Key tells the submission from others.
        """
        content = tuple(content_of(like or id, number, size) for number in range(parts))
        name = message_id_of(id, self._node.name)
        key = MessageKey(str(party(self._node.name)), str(party(to)), name)
        called_at: list[int] = []

        async def call(gateway: Gateway) -> None:
            called_at.append(self._node.clock.at())
            if self._may_be_used_up(name):
                return
            sinks = [gateway.spool.open_sink() for _ in content]
            for sink, body in zip(sinks, content, strict=True):
                sink.write(body)
                sink.close()
            submission = Submission(
                to=key.to_party,
                service=SERVICE,
                action=self._action_of(agreement),
                parts=[Part(sink, "application/xml", "order.xml") for sink in sinks],
                agreement_id=agreement,
                message_id=None if is_keyed else name,
                idempotency_key=name if is_keyed else None,
                ref_to_message_id=ref,
                conversation_id=conversation,
            )
            try:
                receipt = await gateway.submissions.submit(submission)
            finally:
                for sink in sinks:
                    sink.discard()
            given = MessageKey(*key.pair, receipt.message_id)
            self._note_accepted(given, content, ref, name, called_at[0])

        self.call(call, is_repeated=True)

    def _action_of(self, agreement_id: str | None) -> str:
        """What its agreement is for, where that was agreed."""
        for agreement in self._node.configuration.agreements:
            if agreement.id == agreement_id and agreement.cpa.services:
                return agreement.cpa.services[0].send[0]
        return ACTION

    def _may_be_used_up(self, message_id: str) -> bool:
        """Given once and forgotten since (R-19): who keeps to its times uses no such id again."""
        was_given = any(key.message_id == message_id for key, _ in self._accepted)
        if not was_given or self._node.snapshot().find_outbound(message_id) is not None:
            return False
        return any(
            row.record.event is Event.PURGED and row.node == self._node.name
            for row in self._history.rows
        )

    def _note_accepted(
        self,
        key: MessageKey,
        content: tuple[bytes, ...],
        ref: str | None,
        submission: str,
        called_at: int,
    ) -> None:
        """The same submission again returns the first one, which is accepted already."""
        if (key, content) in self._accepted:
            return
        self._accepted.add((key, content))
        at_ns, name = self._timeline.now_ns, self._node.name
        order = self._history.next(at_ns, name, "accepted", key.message_id)
        self._history.accepted.append(
            Accepted(order, at_ns, name, key, content, ref, submission, called_at)
        )

    def operate(self, what: str, **args: Any) -> None:
        """Call a method of `gateway.operations` once, or have a message handed over once more."""

        async def call(gateway: Gateway) -> None:
            if what == "redeliver":
                await self._redeliver(gateway, **args)
                return
            result = getattr(gateway.operations, what)(**args)
            if inspect.isawaitable(result):
                await result

        ended = partial(self._note_operated, what, args.get("message_id", ""))
        self.call(call, is_repeated=False, ended=ended)

    def settle_doubts(self, word: Settlement) -> None:
        """An operator ends every doubt of this machine with the same word (R-49)."""
        process = self._node.process
        if process is None or not process.is_ready:
            return
        in_doubt = MessageFilter(status=OutboundStatus.IN_DOUBT)
        for view in self._node.snapshot().list_messages(in_doubt).messages:
            name = view.message.message_id
            self.operate("settle", message_id=name, word=word, reason="their operator says so")

    def order(self, what: str, *, partner: str, conversation: str) -> None:
        """An operator resets an ordered conversation, or releases or drops what waits in it."""

        async def call(gateway: Gateway) -> None:
            words = {"actor": OPERATOR, "reason": "their operator says so"}
            if what == "reset":
                words["anyway"] = self._blocking(partner, conversation)
            await getattr(gateway.conversations, what)(partner, conversation, **words)

        self.call(call, is_repeated=False, ended=partial(self._note_operated, what, ""))

    def _blocking(self, partner: str, conversation: str) -> str:
        pair = Pair(str(party(self._node.name)), partner)
        state = self._node.snapshot().get_sending_order(ConversationKey(pair, conversation))
        return state.in_turn or ""

    def open_conversations(self) -> None:
        """An operator lets every conversation go on that a message blocks, or a gap holds up."""
        snapshot = self._node.snapshot()
        for one in snapshot.list_blocked_orders(_MANY):
            conversation = one.conversation
            partner = conversation.pair.to_party
            self.order("reset", partner=partner, conversation=conversation.conversation_id)
        for gap in snapshot.list_gaps(_MANY):
            conversation = gap.conversation
            partner = conversation.pair.from_party
            self.order("release", partner=partner, conversation=conversation.conversation_id)

    async def _redeliver(self, gateway: Gateway, message_id: str) -> None:
        """By the last hand-over that is there: as good a name of the message as the first."""
        offsets = self._node.snapshot().list_inbox_offsets(message_id, _MANY)
        offset = offsets[-1] if offsets else None
        await gateway.inbox.hand_over_again(
            message_id, offset, actor=OPERATOR, reason="its application lost it"
        )

    def _note_operated(self, what: str, message_id: str, error: BaseException | None) -> None:
        if error is None:
            at_ns, name = self._timeline.now_ns, self._node.name
            order = self._history.next(at_ns, name, "operated", what, message_id)
            self._history.operated.append(Operated(order, at_ns, name, what, message_id))

    def resume_everything(self) -> None:
        """An operator resumes every pair that is closed, and ends a drain that was forgotten.

        A partner that asks first waits for the end of the drain, without bound if the agreement
        has none (R-17).
        """
        process = self._node.process
        if process is None or not process.is_ready:
            return
        if process.gateway.operations.health().draining:
            self.operate("set_draining", is_draining=False)
        closed = {
            view.pair
            for view in self._node.snapshot().list_pairs()
            if view.status is not PairStatus.OPEN
        }
        ours = str(party(self._node.name))
        for pair in sorted(closed):
            partner = pair.to_party if pair.from_party == ours else pair.from_party
            self.operate("resume", partner=partner)
        self.open_conversations()

    def call(
        self,
        call: Call,
        *,
        is_repeated: bool,
        ended: Callable[[BaseException | None], None] | None = None,
    ) -> None:
        """Call the gateway, if `is_repeated` until it answers; `ended` hears how it went."""
        self._open_calls += 1
        self._try(call, is_repeated=is_repeated, ended=ended)

    def _try(
        self,
        call: Call,
        *,
        is_repeated: bool,
        ended: Callable[[BaseException | None], None] | None,
    ) -> None:
        heard = partial(self._heard, call, is_repeated=is_repeated, ended=ended)
        process = self._node.process
        if process is None or not process.is_ready:
            heard(None, Unanswered())
        else:
            process.call(call(process.gateway), heard)

    def _heard(
        self,
        call: Call,
        result: object,
        error: BaseException | None,
        *,
        is_repeated: bool,
        ended: Callable[[BaseException | None], None] | None,
    ) -> None:
        del result
        if isinstance(error, LocalError | StoreFull):
            name = error.name if isinstance(error, LocalError) else "StoreFull"
            order = self._history.next(self._timeline.now_ns, self._node.name, "no:", name)
            self._history.refused.append((order, self._node.name, name))
        is_final = isinstance(error, LocalError) and error.name not in COME_AGAIN
        if error is not None and is_repeated and not is_final:
            again = partial(self._try, call, is_repeated=True, ended=ended)
            self._timeline.call_in(AGAIN_MS * NS_PER_MS, again)
            return
        self._open_calls -= 1
        if ended is not None:
            ended(error)


def message_id_of(name: str, node: str) -> str:
    """MessageId of the message that a plan calls by this name."""
    return f"{name}@{node}.example"


def content_of(name: str, number: int, size: int) -> bytes:
    """The payload of a message: no two have the same, and it says whose it is; empty of size 0."""
    return f"<Order id='{name}' part='{number}'/>".encode().ljust(size) if size else b""
