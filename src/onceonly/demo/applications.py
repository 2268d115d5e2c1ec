"""The two applications: each hands documents over and reads its inbox, whatever happens between.

Knows the application API as any program outside does (`onceonly.client`). Each thread is one
program: it repeats a call that found no gateway and remembers by itself how far it has read.
It must not know the link, the kills or the journal.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from threading import Event
from typing import TypeVar

from onceonly.api.inbox import InboxItem
from onceonly.client import Client, GatewayUnreachable
from onceonly.demo.documents import SampleDocument
from onceonly.demo.gateways import AGREEMENT_ID, DemoFailed, Site
from onceonly.demo.verdict import Delivery, Sent
from onceonly.message.errors import LocalError
from onceonly.protocol.sending import FINAL

UNSETTLED_MAX = 24
"""Messages handed over and not yet settled, per side: so that the kills meet submissions too."""

POLL_S = 0.03
UNREACHABLE_WAIT_S = 0.1
INBOX_WAIT_S = 1.0
INBOX_LIMIT = 100

T = TypeVar("T")


class Posting:
    """A document on its way into a message."""

    def __init__(self, message_id: str, document: SampleDocument, conversation: str) -> None:
        self.message_id = message_id
        self.document = document
        self.conversation = conversation


class Program(ABC):
    """A thread that works until it is done or told to stop; `check` raises what it ended with."""

    def __init__(self, name: str, stop: Event) -> None:
        self._name = name
        self._stop = stop
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._done: Future[None] | None = None
        self.unreachable = 0
        """Calls that found no gateway and were repeated."""

    def start(self) -> None:
        """Begin; once."""
        self._done = self._executor.submit(self.work)
        self._executor.shutdown(wait=False)

    @property
    def is_running(self) -> bool:
        """Whether it was started and still works."""
        return self._done is not None and not self._done.done()

    def check(self) -> None:
        """Raises `DemoFailed` if a gateway refused something of the program's."""
        if self._done is None or not self._done.done():
            return
        try:
            self._done.result()
        except LocalError as error:
            raise DemoFailed(f"{self._name}: {error.name}: {error}") from error

    @abstractmethod
    def work(self) -> None:
        """What the program does."""

    def _insist(self, call: Callable[[], T]) -> T | None:
        """The result of the call, repeated while the gateway is down; None when told to stop."""
        while not self._stop.is_set():
            try:
                return call()
            except GatewayUnreachable:
                self.unreachable += 1
                self._stop.wait(UNREACHABLE_WAIT_S)
        return None


class SenderApplication(Program):
    """Hands every document over under a MessageId of its own and waits for the verdicts."""

    def __init__(
        self, site: Site, partner: Site, postings: Sequence[Posting], action: str, stop: Event
    ) -> None:
        super().__init__(f"the {site.name}'s sending application", stop)
        self.planned = [
            Sent(posting.message_id, site.name, partner.name, (posting.document.digest,))
            for posting in postings
        ]
        """Every message that is to be handed over; one without a state never was."""
        self.states: dict[str, str] = {}
        self.resumed = 0
        """How often the sender, as an operator, resumed the pair."""
        self.settled = 0
        self._site = site
        self._partner = partner
        self._postings = postings
        self._action = action
        self._pending: deque[str] = deque()

    def work(self) -> None:
        """Submit, a bounded number ahead of the verdicts, until all are settled."""
        with Client(self._site.api) as client:
            for posting in self._postings:
                while len(self._pending) >= UNSETTLED_MAX and not self._stop.is_set():
                    self._settle_oldest(client)
                self._submit(client, posting)
            while self._pending and not self._stop.is_set():
                self._settle_oldest(client)

    def _submit(self, client: Client, posting: Posting) -> None:
        document = posting.document
        part = (document.source, document.content_type, document.name)
        receipt = self._insist(
            lambda: client.submit(
                [part],
                to=self._partner.party,
                service="urn:services:Ordering",
                action=self._action,
                message_id=posting.message_id,
                conversation=posting.conversation,
                agreement=AGREEMENT_ID,
            )
        )
        if receipt is not None:
            self._pending.append(posting.message_id)

    def _settle_oldest(self, client: Client) -> None:
        message_id = self._pending[0]
        view = self._insist(lambda: client.get(message_id))
        if view is None:
            return
        state = self.states[message_id] = view.state
        if state in FINAL:
            self._pending.popleft()
            self.settled += 1
            return
        if state == "in_doubt":
            self._resume(client)
        self._stop.wait(POLL_S)

    def _resume(self, client: Client) -> None:
        """What an operator does who knows that the partner is back."""
        if self._insist(lambda: client.resume(self._partner.party)) is not None:
            self.resumed += 1


class ReaderApplication(Program):
    """Reads the inbox by offset and fetches every payload.

    It keeps its offset itself, as the inbox expects of an application that must not see anything
    twice.
    """

    def __init__(self, site: Site, stop: Event, enough: Event) -> None:
        super().__init__(f"the {site.name}'s reading application", stop)
        self.seen: list[Delivery] = []
        self.is_replayable = False
        """Whether the inbox, read again from its start at the end, was the same."""
        self.received_bytes = 0
        self._site = site
        self._enough = enough

    def work(self) -> None:
        """Read until told that nothing more will come, then everything once more."""
        with Client(self._site.api) as client:
            after = 0
            while not self._stop.is_set():
                is_last = self._enough.is_set()
                items = self._inbox(client, after, 0.0 if is_last else INBOX_WAIT_S)
                if is_last and not items:
                    break
                for item in items:
                    after = self._take(client, item, after)
            self._replay(client)

    def _inbox(self, client: Client, after: int, wait_s: float) -> Sequence[InboxItem]:
        items = self._insist(lambda: client.inbox(after=after, limit=INBOX_LIMIT, wait_s=wait_s))
        return items or ()

    def _take(self, client: Client, item: InboxItem, after: int) -> int:
        """Fetch the item's payloads; the offset to go on from, the old one if told to stop."""
        digests = self._insist(lambda: self._digests(client, item))
        if digests is None:
            return after
        offset = item.offset
        self.seen.append(Delivery(item.message_id, self._site.name, offset, digests))
        return offset

    def _digests(self, client: Client, item: InboxItem) -> tuple[str, ...]:
        digests = []
        for payload in item.payloads:
            digest, size_bytes = sha256(), 0
            for piece in client.payload(item, payload.n):
                digest.update(piece)
                size_bytes += len(piece)
            digests.append(digest.hexdigest())
            self.received_bytes += size_bytes
        return tuple(digests)

    def _replay(self, client: Client) -> None:
        again: list[tuple[int, str]] = []
        while items := self._inbox(client, again[-1][0] if again else 0, 0.0):
            again += [(item.offset, item.message_id) for item in items]
        self.is_replayable = again == [(one.offset, one.message_id) for one in self.seen]
