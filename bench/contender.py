"""One process of a measurement: a side of the floor or a side of a pair of real gateways.

Started by `run.py`; talks to it by one JSON line on stdout when ready and one when done. The
gateways are the product's own parts, joined as `onceonly serve` joins them, without the API: the
workload submits in the process, as an embedding application would.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop

from bench import floor
from onceonly.gateway.collector import look_seldom
from onceonly.gateway.config import read_configuration
from onceonly.gateway.sending.submit import Part, Submission
from onceonly.gateway.wiring import clock_of, join, open_store
from onceonly.transport.http_server import serve_http

BODY_BYTES = 4096
PACKAGE_BYTES = 6000
"""A 4 KB body in its rm-2000 package, as measured on the gateway's own encoding."""
ACK_BYTES = 1500
POLL_S = 0.01


def tell(**said: Any) -> None:
    print(json.dumps(said), flush=True)


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def run_floor(task: dict[str, Any]) -> None:
    log = floor.GroupLog(Path(task["directory"]) / f"{task['side']}.log")
    if task["side"] == "receiver":
        ack = b"a" * ACK_BYTES
        await floor.receive_for(task["port"], task["their_port"], ack, log)
        await wait_for_stop()
        return
    tell(ready=True)
    sys.stdin.readline()
    began, cpu_began = time.perf_counter(), cpu_s()
    package = b"p" * PACKAGE_BYTES
    lanes, per_lane = task["pairs"] * task["writers"], task["per_pair"] // task["writers"]
    await floor.send_all(task["port"], task["their_port"], package, lanes, per_lane, log)
    tell(elapsed_s=time.perf_counter() - began, cpu_s=cpu_s() - cpu_began)


async def wait_for_stop(is_done: Callable[[], bool] = lambda: True) -> None:
    """Ready; then, told to stop, come to the end and say what it cost."""
    began = cpu_s()
    tell(ready=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    while not is_done():  # noqa: ASYNC110 - because the store tells nobody
        await asyncio.sleep(POLL_S)
    tell(cpu_s=cpu_s() - began)


async def run_gateway(task: dict[str, Any]) -> None:
    configuration = read_configuration(Path(task["config"]))
    store = open_store(configuration, clock_of(configuration))
    gateway = join(configuration, store, fail)
    server = await serve_http(configuration.listen, gateway.receiver.receive)
    look_seldom()
    messages = task["pairs"] * task["per_pair"]
    if task["side"] == "receiver":
        await wait_for_stop(lambda: store.snapshot().last_offset() >= messages)
    else:
        tell(ready=True)
        sys.stdin.readline()
        began, cpu_began = time.perf_counter(), cpu_s()
        parties = [agreement.their_party for agreement in configuration.agreements]
        writers = parties * task["writers"]
        each = task["per_pair"] // task["writers"]
        await asyncio.gather(*(submit_all(gateway, to, each) for to in writers))
        while store.snapshot().count_by_status().get("acknowledged", 0) < messages:  # noqa: ASYNC110 - because the store tells nobody
            await asyncio.sleep(POLL_S)
        tell(elapsed_s=time.perf_counter() - began, cpu_s=cpu_s() - cpu_began)
    gateway.dispatch.drain()
    await server.close(0)
    await gateway.tasks.end(1)
    await gateway.transport.close()
    await gateway.group.drain()
    store.close()


def fail(error: BaseException) -> None:
    raise SystemExit(f"the gateway failed: {error!r}")


async def submit_all(gateway: Any, to: str, count: int) -> None:
    body = b"x" * BODY_BYTES
    for _ in range(count):
        sink = gateway.spool.open_sink()
        sink.write(body)
        part = Part(sink, "application/xml", "order.xml")
        await gateway.submissions.submit(Submission(to, "Ordering", "NewOrder", (part,)))


def main() -> None:
    task = json.loads(sys.argv[1])
    work = run_floor if task["kind"] == "floor" else run_gateway
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work(task))


if __name__ == "__main__":
    main()
