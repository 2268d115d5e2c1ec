"""`format("onceonly")` beside a bare client of the gateway's API, in turn, in several rounds.

Sink: rows are staged and dropped again; the bare client makes the same calls, from as many
processes as Spark has tasks, with rows that are at hand. Source: an inbox is read with its
payloads. Ratios are medians of the ratios within a round: `python -m bench.dataframes` writes
`build/bench-dataframes.json`, and a line per case to stdout.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.client import Client
from onceonly.demo.gateways import free_ports
from onceonly.lake import runner
from onceonly.message.identity import PartyId
from onceonly.message.message import DeliverySemantics, Message, Payload
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.contract.store import Transaction
from onceonly.store.sqlite.store import open_sqlite

TASKS: Final = 2
ROWS_PER_REQUEST: Final = 500
OURS, THEIRS = "urn:duns:111111111", "urn:duns:222222222"
BODY: Final = "x" * 1_000
PAGE_ROWS: Final = 1_000
READY_S: Final = 60.0

# With `queued_max` reached nothing moves from the jobs into the queues: sending has no part in it.
CONFIGURATION = """
[gateway]
party = ["{ours}"]
listen = "http://127.0.0.1:{msh}/msh"
api = "http://127.0.0.1:{api}"
store = "gateway.db"
queued_max = 1
[[agreement]]
id = "tpa"
with = ["{theirs}"]
send_to = "http://127.0.0.1:{nobody}/msh"
"""


@contextmanager
def gateway(folder: Path, inbox_rows: int) -> Iterator[str]:
    """The API of a gateway whose inbox has so many messages; its partner is not there."""
    msh, api, nobody = free_ports(3)
    text = CONFIGURATION.format(ours=OURS, theirs=THEIRS, msh=msh, api=api, nobody=nobody)
    (folder / "gateway.toml").write_text(text)
    fill_inbox(folder / "gateway.db", inbox_rows)
    command = [sys.executable, "-m", "onceonly", "serve", "-c", str(folder / "gateway.toml")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{api}"
    try:
        with Client(address) as client:
            deadline = time.monotonic() + READY_S
            while not client.is_ready():
                assert time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait(READY_S)


def fill_inbox(path: Path, count: int) -> None:
    """Hand over so many messages, straight in the store: how they arrive is not measured here."""
    store = open_sqlite(path, party=OURS, clock_at=lambda: time.time_ns() // 1000)
    for start in range(0, count, PAGE_ROWS):
        transaction = store.begin()
        for number in range(start, min(start + PAGE_ROWS, count)):
            _hand_over(transaction, number)
        store.commit()
    store.close()


def _hand_over(transaction: Transaction, number: int) -> None:
    body = f"<Order id='{number}'>{BODY}</Order>".encode()
    digest = sha256(body).hexdigest()
    payload = Payload(f"order-{number}", "application/xml", len(body), digest, "order.xml")
    message = Message(
        message_id=f"in-{number}",
        from_ids=(PartyId(THEIRS),),
        to_ids=(PartyId(OURS),),
        agreement_id="tpa",
        conversation_id=f"c-{number}",
        service="Ordering",
        action="NewOrder",
        timestamp_at=1,
        semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
        payloads=(payload,),
    )
    stored = [StoredPayload(payload, body)]
    transaction.add_inbound(message, stored, None, digest=digest, received_at=1)
    transaction.hand_over(message.key, at=1)


def stage_bare(api: str, job: str, task: int, count: int) -> int:
    """What one process of a bare client does for its share of the rows."""
    header = {"to": THEIRS, "service": "Ordering", "action": "NewOrder"}
    first = task << 32
    rows = [
        {
            "row": first + n,
            "message_id": f"{job}-{task}-{n}",
            **header,
            "content_type": "application/xml",
            "payload": f"<Order id='{n}'>{BODY}</Order>",
        }
        for n in range(count)
    ]
    with Client(api) as client:
        return sum(
            len(client.stage(job, rows[start : start + ROWS_PER_REQUEST]))
            for start in range(0, count, ROWS_PER_REQUEST)
        )


def read_bare(api: str, after: int, up_to: int) -> int:
    """The same for a range of the inbox."""
    found = 0
    with Client(api) as client:
        while after < up_to:
            with pa.ipc.open_stream(client.inbox_stream(after, up_to)) as reader:
                table = reader.read_all()
            found += table.num_rows
            after = int((table.schema.metadata or {}).get(b"next_after", up_to))
    return found


def frame_of(spark: SparkSession, job: str, count: int) -> DataFrame:
    name = F.concat(F.lit(f"{job}-"), F.col("id").cast("string"))
    payload = F.format_string(f"<Order id='%d'>{BODY}</Order>", "id")
    return spark.range(0, count, 1, TASKS).select(name.alias("order_id"), payload.alias("payload"))


def stage_spark(spark: SparkSession, api: str, job: str, count: int) -> None:
    frame_of(spark, job, count).write.format("onceonly").mode("append").options(
        api=api,
        to=THEIRS,
        service="Ordering",
        action="NewOrder",
        content_type="application/xml",
        message_id_column="order_id",
        job=job,
        rows_per_request=ROWS_PER_REQUEST,
    ).save()


def read_spark(spark: SparkSession, api: str, count: int) -> None:
    frame = spark.read.format("onceonly").options(
        api=api, up_to=count, rows_per_partition=count // TASKS
    )
    frame.load().write.format("noop").mode("append").save()


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def round_of(
    spark: SparkSession, pool: ProcessPoolExecutor, api: str, name: str, count: int
) -> dict[str, float]:
    """Rows per second of every contestant, in turn."""
    share = count // TASKS

    def bare_sink() -> None:
        tasks = [pool.submit(stage_bare, api, f"bare-{name}", t, share) for t in range(TASKS)]
        assert sum(task.result() for task in tasks) == share * TASKS
        with Client(api) as client:
            client.release(f"bare-{name}")

    def bare_source() -> None:
        tasks = [pool.submit(read_bare, api, t * share, (t + 1) * share) for t in range(TASKS)]
        assert sum(task.result() for task in tasks) == share * TASKS

    cases = {
        "bare_sink": bare_sink,
        "sink": lambda: stage_spark(spark, api, f"spark-{name}", count),
        "bare_source": bare_source,
        "source": lambda: read_spark(spark, api, count),
    }
    return {case: count / timed(work) for case, work in cases.items()}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=20_000)
    options.add_argument("--rounds", type=int, default=3)
    asked = options.parse_args()
    spark = runner.session(f"local[{TASKS}]", "onceonly bench")
    rounds = []
    with (
        tempfile.TemporaryDirectory() as folder,
        gateway(Path(folder), asked.rows) as api,
        _pool() as pool,
    ):
        round_of(spark, pool, api, "warm", min(2_000, asked.rows))
        for number in range(asked.rounds):
            rounds.append(round_of(spark, pool, api, str(number), asked.rows))
            print({case: round(rate) for case, rate in rounds[-1].items()}, file=sys.stderr)
    ratios = {
        case: round(median(one[case] / one[f"bare_{case}"] for one in rounds), 2)
        for case in ("sink", "source")
    }
    rates = {case: round(median(one[case] for one in rounds)) for case in rounds[0]}
    found = {"rows": asked.rows, "rounds": asked.rounds, "rows_per_s": rates, "ratios": ratios}
    path = Path("build/bench-dataframes.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=2))
    print(json.dumps(found, indent=2))


def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(TASKS, mp_context=get_context("spawn"))


if __name__ == "__main__":
    main()
