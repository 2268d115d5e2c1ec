"""Hard kills in the middle: whom, and when. The chance comes from the seed, the hour from here.

Knows the two processes and how far the exchange is. After everyone was killed once, a kill waits
until something was done since the last one, so that an exchange that needs longer than the
interval for one document still comes to an end.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from random import Random

from onceonly.demo.gateways import GatewayProcess

LOOK_EVERY_S = 0.02
EVERYONE_ONCE = 2
"""Kills that must come, one for each gateway."""


def victims(seed: int, count: int) -> Iterator[int]:
    """Who dies next, as indices below `count`: first everyone once, then by lot, without end."""
    random = Random(f"{seed}/kills")  # noqa: S311 - because a drill must be repeatable
    yield from random.sample(range(count), count)
    while True:
        yield random.randrange(count)


def is_due(
    *, done: int, total: int, kills: int, since_kill: int, waited_s: float, every_s: float
) -> bool:
    """Whether to kill now.

    `done` of `total` steps are done, `since_kill` of them since the last kill, `waited_s` ago.
    The first two kills come no later than at a third and two thirds, however short the exchange.
    """
    if done >= total:
        return False
    if kills < EVERYONE_ONCE:
        return waited_s >= every_s or done * 3 >= (kills + 1) * total
    return waited_s >= every_s and since_kill > 0


async def kill_again_and_again(
    gateways: Sequence[GatewayProcess],
    *,
    seed: int,
    every_s: float,
    total: int,
    done: Callable[[], int],
    is_over: Callable[[], bool],
) -> None:
    """Kill and start again until `is_over`, and ready again then; never where `every_s` is 0."""
    if every_s == 0:
        return
    clock = asyncio.get_running_loop().time
    kills, last_at, last_count = 0, clock(), 0
    for index in victims(seed, len(gateways)):
        while not is_due(
            done=done(),
            total=total,
            kills=kills,
            since_kill=done() - last_count,
            waited_s=clock() - last_at,
            every_s=every_s,
        ):
            if is_over():
                return
            await asyncio.sleep(LOOK_EVERY_S)
        await gateways[index].kill()
        await gateways[index].start()
        kills, last_at, last_count = kills + 1, clock(), done()
