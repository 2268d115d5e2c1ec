"""The exchange itself: two gateways, two links, four programs, and somebody who kills.

Brings the parts together and waits for a verdict on every message. It must not judge: it returns
what was seen.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from threading import Event

from onceonly.demo.applications import Posting, Program, ReaderApplication, SenderApplication
from onceonly.demo.display import Display, Tally
from onceonly.demo.gateways import DemoFailed, GatewayProcess, Site, configuration
from onceonly.demo.kills import kill_again_and_again
from onceonly.demo.link import Fault, FaultyLink
from onceonly.demo.options import DemoOptions
from onceonly.demo.receipts import proven
from onceonly.demo.signers import make_signers
from onceonly.demo.verdict import Delivery, Sent

LOOK_EVERY_S = 0.1
STALL_S = 150.0
"""Without a new delivery or verdict for so long, nothing more is waited for: longer than all
retries of one message, so that a suspended pair has been resumed by then."""

LAST_DELIVERY_S = 20.0
"""An acknowledged message is handed over at once; so long a silence means that it is lost."""

READ_REST_S = 60.0
"""Longest reading of what is left in the inboxes, and of all of it once more."""

LEAVE_S = 10.0
"""Longest wait for a program to notice that it should stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What the two applications saw, and what was done to them."""

    sent: tuple[Sent, ...]
    states: dict[str, str]
    seen: tuple[Delivery, ...]
    inbox_is_replayable: bool
    """Reading the inboxes again from the start gave the same messages under the same offsets."""
    received_bytes: int
    kills: dict[str, int]
    faults: Counter[Fault]
    requests: int
    gateway_down: int
    """Requests that the link could not deliver because the gateway at its end was dead."""
    resumed: int
    repeated_calls: int
    """API calls that found no gateway and were made again."""
    elapsed_s: float
    proven: frozenset[str] = frozenset()
    """Ids of the messages with evidence of receipt that verifies; none where nothing is signed."""


@dataclass(frozen=True, slots=True)
class Side:
    """One party: where it is and what its application hands over."""

    site: Site
    action: str
    postings: Sequence[Posting]


async def exchange(
    options: DemoOptions, seed: int, sides: tuple[Side, Side], display: Display
) -> Observations:
    """Carry it out. Raises `DemoFailed`; leaves no process and no thread behind."""
    async with AsyncExitStack() as stack:
        links = [
            await stack.enter_async_context(
                FaultyLink(
                    f"to-{side.site.name}",
                    ("127.0.0.1", side.site.msh_port),
                    seed=seed,
                    loss=options.loss,
                )
            )
            for side in sides
        ]
        signers = make_signers(*(side.site for side in sides)) if options.is_signed else {}
        _configure(sides, links, options)
        killing = partial(kill_again_and_again, seed=seed, every_s=options.kill_every)
        run = _Run(sides, links, killing, display, signers)
        try:
            return await run.observations()
        finally:
            await run.clean_up()


def _configure(sides: tuple[Side, Side], links: list[FaultyLink], options: DemoOptions) -> None:
    for ours in (0, 1):
        theirs = 1 - ours
        site = sides[ours].site
        site.configuration.write_text(
            configuration(
                site,
                announced_port=links[ours].port,
                theirs=sides[theirs].site,
                send_to_port=links[theirs].port,
                profile=options.profile,
                is_signed=options.is_signed,
            ),
            encoding="utf-8",
        )


class _Run:
    def __init__(
        self,
        sides: tuple[Side, Side],
        links: list[FaultyLink],
        killing: Callable[..., Coroutine[None, None, None]],
        display: Display,
        signers: Mapping[str, str],
    ) -> None:
        self._sides = sides
        self._signers = signers
        self._killing = killing
        self._links = links
        self._display = display
        self._gateways = [GatewayProcess(side.site) for side in sides]
        self._no_more = Event()
        self._enough = Event()
        self._abort = Event()
        first, second = sides
        self._senders = [
            SenderApplication(ours.site, theirs.site, ours.postings, ours.action, self._no_more)
            for ours, theirs in ((first, second), (second, first))
        ]
        self._readers = [ReaderApplication(side.site, self._abort, self._enough) for side in sides]
        self._total = sum(len(side.postings) for side in sides)
        self._is_over = False
        self._killer: asyncio.Task[None] | None = None

    async def observations(self) -> Observations:
        await asyncio.gather(*(gateway.start() for gateway in self._gateways))
        clock = asyncio.get_running_loop().time
        started = clock()
        self._killer = asyncio.create_task(self._kill())
        for program in self._programs:
            program.start()
        with self._display.exchange(self._total):
            await self._wait_for_verdicts()
        self._is_over = True
        await self._killer
        await asyncio.gather(*(link.settle() for link in self._links))
        await self._read_the_rest()
        elapsed_s = clock() - started
        proven = await self._verified_receipts()
        self._display.tell(f"{self._tally}; both gateways stop and publish their journals")
        await asyncio.gather(*(gateway.stop() for gateway in self._gateways))
        return self._observed(elapsed_s, proven)

    async def clean_up(self) -> None:
        for stop in (self._no_more, self._enough, self._abort):
            stop.set()
        for gateway in self._gateways:
            gateway.send_kill()
        if self._killer is not None:
            self._killer.cancel()
            await asyncio.gather(self._killer, return_exceptions=True)
        # Once more, since the killer may have been starting one.
        for gateway in self._gateways:
            await gateway.destroy()
        deadline = asyncio.get_running_loop().time() + LEAVE_S
        running = [program for program in self._programs if program.is_running]
        while any(program.is_running for program in running) and _before(deadline):  # noqa: ASYNC110 - because threads end without telling the loop
            await asyncio.sleep(LOOK_EVERY_S)

    async def _kill(self) -> None:
        await self._killing(
            self._gateways,
            # Two steps for each message: settled at its sender, seen by its receiver.
            total=2 * self._total,
            done=lambda: self._settled + self._handed_over,
            is_over=lambda: self._is_over,
        )

    async def _wait_for_verdicts(self) -> None:
        """Until every message is settled and, if acknowledged, seen; or nothing moves any more."""
        clock = asyncio.get_running_loop().time
        mark, moved_at = (-1, -1), clock()
        while True:
            await self._look()
            settled, handed_over = self._settled, self._handed_over
            if (settled, handed_over) != mark:
                mark, moved_at = (settled, handed_over), clock()
            is_sending = any(sender.is_running for sender in self._senders)
            if not is_sending and handed_over >= settled:
                return
            if clock() - moved_at > (STALL_S if is_sending else LAST_DELIVERY_S):
                self._display.tell(f"nothing moves any more: {self._tally}")
                self._no_more.set()
                return

    async def _read_the_rest(self) -> None:
        """After the last late copy: whatever is in an inbox by now is all there will ever be."""
        self._enough.set()
        deadline = asyncio.get_running_loop().time() + READ_REST_S
        while any(program.is_running for program in self._programs):
            await self._look()
            if not _before(deadline):
                raise DemoFailed("the applications cannot read their inboxes to the end")
        for program in self._programs:
            program.check()

    async def _verified_receipts(self) -> frozenset[str]:
        """Each sender's gateway is asked, while both are up, and nothing is under way any more."""
        if not self._signers:
            return frozenset()
        self._display.tell("evidence of receipt is fetched and verified")
        found = [
            await asyncio.to_thread(proven, side.site, sender.planned, self._signers)
            for side, sender in zip(self._sides, self._senders, strict=True)
        ]
        return frozenset().union(*found)

    async def _look(self) -> None:
        for program in self._programs:
            program.check()
        for gateway in self._gateways:
            gateway.check()
        assert self._killer is not None, "the killer was started before the programs"
        if self._killer.done():
            self._killer.result()
        self._display.show(self._tally)
        await asyncio.sleep(LOOK_EVERY_S)

    @property
    def _programs(self) -> list[Program]:
        return [*self._senders, *self._readers]

    @property
    def _settled(self) -> int:
        return sum(sender.settled for sender in self._senders)

    @property
    def _handed_over(self) -> int:
        return sum(len(reader.seen) for reader in self._readers)

    @property
    def _tally(self) -> Tally:
        return Tally(
            total=self._total,
            handed_over=self._handed_over,
            settled=self._settled,
            kills=sum(gateway.kills for gateway in self._gateways),
            faults=sum(link.faults.total() for link in self._links),
        )

    def _observed(self, elapsed_s: float, proven: frozenset[str]) -> Observations:
        states: dict[str, str] = {}
        for sender in self._senders:
            states |= sender.states
        return Observations(
            sent=tuple(sent for sender in self._senders for sent in sender.planned),
            states=states,
            seen=tuple(delivery for reader in self._readers for delivery in reader.seen),
            inbox_is_replayable=all(reader.is_replayable for reader in self._readers),
            received_bytes=sum(reader.received_bytes for reader in self._readers),
            kills={gateway.site.name: gateway.kills for gateway in self._gateways},
            faults=sum((link.faults for link in self._links), Counter()),
            requests=sum(link.requests for link in self._links),
            gateway_down=sum(link.unreachable for link in self._links),
            resumed=sum(sender.resumed for sender in self._senders),
            repeated_calls=sum(program.unreachable for program in self._programs),
            elapsed_s=elapsed_s,
            proven=proven,
        )


def _before(deadline: float) -> bool:
    return asyncio.get_running_loop().time() < deadline
