"""A DataFrame through two gateways that are killed, over a link with faults, compared row for row.

The suite runs a thousand rows; `python tests/pyspark_onceonly/faulty_run.py --rows 100000` runs
as many as you like and prints what it saw as JSON. Everything is a process but the link.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "nemesis"))

from msgspec import to_builtins
from nemesis_gateways import Exchange, build_exchange, insist, until
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from sessions import session

from onceonly.demo.link import FaultyLink

JOB = "faulty"
PATIENCE_S = 3_600.0


@contextmanager
def linked(
    exchange: Exchange, *, loss: float, seed: int
) -> Iterator[tuple[FaultyLink, FaultyLink]]:
    """Both directions of a link that loses, doubles, delays and resets, in a loop of their own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)

    there, back = (
        FaultyLink(name, ("127.0.0.1", site.msh_port), seed=seed, loss=loss)
        for name, site in (("there", exchange.receiver.site), ("back", exchange.sender.site))
    )
    for link in (there, back):
        run(link.__aenter__())
    try:
        yield there, back
    finally:
        for link in (there, back):
            run(link.__aexit__())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


def configure(exchange: Exchange, there: FaultyLink, back: FaultyLink) -> None:
    """Each gateway announces the link's address, and knows its partner by the link's."""
    sides = ((exchange.sender, back, there), (exchange.receiver, there, back))
    for gateway, ours, theirs in sides:
        gateway.tables["gateway"] = {"uri": f"http://127.0.0.1:{ours.port}/msh"}
        gateway.agree(send_to=f"http://127.0.0.1:{theirs.port}/msh", profile="rm-2001")


def rows_to_send(spark: SparkSession, count: int) -> DataFrame:
    """Orders of about a kilobyte, each unlike every other."""
    noise = F.concat(*(F.sha2(F.concat("id", F.lit(f"-{n}")), 256) for n in range(15)))
    name = F.format_string("row-%09d", "id")
    payload = F.concat(F.lit("<Order id='"), name, F.lit("'>"), noise, F.lit("</Order>"))
    return spark.range(0, count, 1, 4).select(name.alias("order_id"), payload.alias("payload"))


def consume(spark: SparkSession, exchange: Exchange, folder: Path) -> Any:
    """The receiver's inbox as a stream into a table."""
    return (
        spark.readStream.format("onceonly")
        .options(api=exchange.receiver.site.api, payload="text", rows_per_batch=20_000)
        .load()
        .writeStream.format("parquet")
        .option("path", str(folder / "table"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime="2 seconds")
        .start()
    )


def send(frame: DataFrame, exchange: Exchange, folder: Path) -> None:
    frame.write.format("onceonly").mode("append").options(
        api=exchange.sender.site.api,
        to=exchange.receiver.site.party,
        service="Ordering",
        action="NewOrder",
        message_id_column="order_id",
        job=JOB,
        report=str(folder / "report"),
    ).save()


def deliver(exchange: Exchange, count: int, kills: int) -> None:
    """Wait until everything is acknowledged; kill both gateways in turn on the way."""
    with exchange.clients() as (ours, theirs):
        for kill in range(1, kills + 1):
            goal = count * kill // (kills + 1)
            until(lambda goal=goal: insist(theirs.last_offset) >= goal, "it goes on", PATIENCE_S)
            exchange.gateways[kill % 2].restart()
        # A look at a large job reads all of its rows, so it is not what is waited with.
        until(lambda: insist(theirs.last_offset) >= count, "all are handed over", PATIENCE_S)
        until(
            lambda: insist(lambda: ours.job(JOB)).acknowledged == count,
            "all are acknowledged",
            PATIENCE_S,
        )


def compared(sent: DataFrame, table: DataFrame) -> dict[str, int]:
    """Rows of either side that the other lacks, and repeats."""
    arrived = table.select(F.col("message_id").alias("order_id"), "payload")
    return {
        "lost": sent.exceptAll(arrived).count(),
        "extra": arrived.exceptAll(sent).count(),
        "received": arrived.count(),
    }


def run(spark: SparkSession, folder: Path, *, rows: int, loss: float, kills: int, seed: int) -> Any:
    """What was sent, what arrived, and how long it took."""
    exchange = build_exchange(folder)
    with linked(exchange, loss=loss, seed=seed) as (there, back):
        configure(exchange, there, back)
        exchange.start()
        try:
            frame = rows_to_send(spark, rows)
            query = consume(spark, exchange, folder)
            began = time.monotonic()
            send(frame, exchange, folder)
            staged_s = time.monotonic() - began
            deliver(exchange, rows, kills)
            delivered_s = time.monotonic() - began
            query.processAllAvailable()
            query.stop()
            received_s = time.monotonic() - began
            with exchange.clients() as (ours, theirs):
                job, last = to_builtins(ours.job(JOB)), theirs.last_offset()
            report = json.loads((folder / "report" / f"job={JOB}.json").read_text())
            return {
                "rows": rows,
                "seed": seed,
                "loss": loss,
                "kills": sum(gateway.kills for gateway in exchange.gateways),
                "faults": {str(fault): n for fault, n in (there.faults + back.faults).items()},
                "report": report,
                "job": job,
                "last_offset": last,
                **compared(frame, spark.read.parquet(str(folder / "table"))),
                "staged_s": round(staged_s, 1),
                "delivered_s": round(delivered_s, 1),
                "received_s": round(received_s, 1),
            }
        finally:
            exchange.destroy()


def main() -> None:
    """The long run."""
    options = argparse.ArgumentParser(description=main.__doc__)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--loss", type=float, default=0.01)
    options.add_argument("--kills", type=int, default=4)
    options.add_argument("--seed", type=int, default=1)
    asked = vars(options.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        found = run(session("local[2]"), Path(folder), **asked)
    print(json.dumps(found, indent=2))  # noqa: T201 - because this is what the command is for
    sys.exit(
        0 if (found["lost"], found["extra"], found["received"]) == (0, 0, asked["rows"]) else 1
    )


if __name__ == "__main__":
    main()
