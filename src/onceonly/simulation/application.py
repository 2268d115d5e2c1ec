"""The applications and operators of one machine: what they hand over, read, report and order.

They are programs of their own: they outlive the gateway's process, keep what they were told, and
call again where an answer never came. They see the gateway through the calls that its API makes.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from onceonly.gateway.sending.submit import Part, Submission
from onceonly.gateway.wiring import Gateway
from onceonly.message.errors import LocalError
from onceonly.message.identity import MessageKey
from onceonly.protocol.pairing import PairStatus
from onceonly.simulation.cast import party
from onceonly.simulation.history import Accepted, Delivered
from onceonly.simulation.node import Node, Unanswered
from onceonly.simulation.timeline import NS_PER_MS
from onceonly.store.store import InboxItem

AGAIN_MS = 2000
"""An application that got no answer, or was told to come again, does so after this time."""

READ_MS = 500
"""From a hand-over until the application looks into its inbox."""

PAGE = 100

COME_AGAIN = frozenset({"QueueFull"})
"""Refusals that end by themselves (R-27)."""

Call = Callable[[Gateway], Coroutine[Any, Any, None]]


class Application:
    """What stands behind one machine's API."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._history = node.history
        self._timeline = node.timeline
        self._open_calls = 0
        self._read_to = 0
        self._is_called = False
        self.is_away = False
        """It reads nothing from its inbox (fault A2)."""

    @property
    def is_at_rest(self) -> bool:
        """Whether every call had its answer."""
        return self._open_calls == 0

    # Calls that are made until they have an answer.

    def submit(
        self,
        *,
        to: str,
        id: str,  # noqa: A002 - because plans are read and written by people
        size: int = 100,
        parts: int = 1,
        ref: str | None = None,
        agreement: str | None = None,
    ) -> None:
        """Hand a message over, as often as it takes to get an answer."""
        content = tuple(content_of(id, number, size) for number in range(parts))
        message_id = f"{id}@{self._node.name}.example"

        async def call(gateway: Gateway) -> None:
            sinks = [gateway.spool.open_sink() for _ in content]
            for sink, body in zip(sinks, content, strict=True):
                sink.write(body)
                sink.close()
            submission = Submission(
                to=str(party(to)),
                service="Ordering",
                action="NewOrder",
                parts=[Part(sink, "application/xml", "order.xml") for sink in sinks],
                agreement_id=agreement,
                message_id=message_id,
                ref_to_message_id=ref,
            )
            receipt = await gateway.submissions.submit(submission)
            key = MessageKey(str(party(self._node.name)), str(party(to)), receipt.message_id)
            at_ns = self._timeline.now_ns
            order = self._history.next(at_ns, self._node.name, "accepted", key.message_id)
            self._history.accepted.append(
                Accepted(order, at_ns, self._node.name, key, content, ref)
            )

        self._call(call, is_repeated=True)

    def operate(self, what: str, **args: Any) -> None:
        """Call a method of `gateway.operations` once."""

        async def call(gateway: Gateway) -> None:
            await getattr(gateway.operations, what)(**args)

        self._call(call, is_repeated=False)

    def resume_everything(self) -> None:
        """An operator resumes every pair that is closed."""
        if not self._node.is_ready:
            return
        closed = {
            view.pair
            for view in self._node.snapshot().list_pairs()
            if view.status is not PairStatus.OPEN
        }
        ours = str(party(self._node.name))
        for pair in sorted(closed):
            partner = pair.to_party if pair.from_party == ours else pair.from_party
            self.operate("resume", partner=partner)

    # How a call is made, and made again.

    def _call(self, call: Call, *, is_repeated: bool) -> None:
        self._open_calls += 1
        self._try(call, is_repeated=is_repeated)

    def _try(self, call: Call, *, is_repeated: bool) -> None:
        heard = partial(self._heard, call, is_repeated=is_repeated)
        process = self._node.process
        if process is None or not process.is_ready:
            heard(None, Unanswered())
        else:
            process.call(call(process.gateway), heard)

    def _heard(
        self, call: Call, result: object, error: BaseException | None, *, is_repeated: bool
    ) -> None:
        del result
        if isinstance(error, LocalError) and error.name not in COME_AGAIN:
            order = self._history.next(self._timeline.now_ns, self._node.name, "no:", error.name)
            self._history.refused.append((order, self._node.name, error.name))
        elif error is not None and is_repeated:
            again = partial(self._try, call, is_repeated=True)
            self._timeline.call_in(AGAIN_MS * NS_PER_MS, again)
            return
        self._open_calls -= 1

    # The inbox.

    def look_soon(self) -> None:
        """Something may be new in the inbox."""
        if not self._is_called:
            self._is_called = True
            self._timeline.call_in(READ_MS * NS_PER_MS, self._read)

    def _read(self) -> None:
        self._is_called = False
        if not self._node.is_ready or self.is_away:
            self.look_soon()
            return
        for item in self._node.snapshot().list_inbox(self._read_to, PAGE):
            self._take(item)
            self._read_to = item.offset

    def _take(self, item: InboxItem) -> None:
        payloads = self._node.snapshot().list_inbox_payloads(item.offset)
        content = tuple(stored.body or b"" for stored in payloads)
        at_ns, name = self._timeline.now_ns, self._node.name
        order = self._history.next(at_ns, name, "delivered", item.message.message_id)
        self._history.delivered.append(
            Delivered(order, at_ns, name, item.offset, item.message.key, content)
        )


def content_of(name: str, number: int, size: int) -> bytes:
    """The payload of a message: no two have the same, and it says whose it is."""
    return f"<Order id='{name}' part='{number}'/>".encode().ljust(size)
