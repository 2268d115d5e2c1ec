"""The other witness: both journals, published, matched by Spark, and laid beside what was seen.

Knows the lake's jobs and the shape of a segment. It must not trust either witness more than the
other: where the applications and the journals disagree about one message, the demonstration has
failed.
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from onceonly.demo.gateways import RETRIES, DemoFailed, Site
from onceonly.demo.verdict import Delivery, Sent
from onceonly.gateway.config import read_configuration
from onceonly.journal.segment import JOURNAL_FOLDER

PUBLISH_S = 60.0
GRACE_US = 0
"""Both gateways are down and their journals whole: no evidence is under way any more, so what is
absent is absent for good."""

AGREED = frozenset({"MATCHED", "MATCHED_LATE"})
"""Verdicts under which both journals tell of one delivery of the same bytes, acknowledged."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What the journals say."""

    verdicts: Mapping[tuple[str, str], str]
    """By receiving party and MessageId."""
    counts: Mapping[str, int]
    """Messages per verdict."""
    breaches: Mapping[str, int]
    """Messages that break each invariant of the lake's sheet."""
    events: Mapping[str, int]
    """Journal rows per event, both parties together."""
    html: Path


def publish(sites: Iterable[Site]) -> None:
    """Bring every committed row of the stopped gateways into their lakes. Raises `DemoFailed`.

    They have done so themselves when they stopped; a row that they missed is published now.
    """
    command = [sys.executable, "-m", "onceonly", "lake", "publish", "-c"]
    running = [
        subprocess.Popen(  # noqa: S603 - because it is our own program with our own paths
            [*command, str(site.configuration)], stderr=subprocess.PIPE, text=True
        )
        for site in sites
    ]
    try:
        for process in running:
            _, complaint = process.communicate(timeout=PUBLISH_S)
            if process.returncode != 0:
                raise DemoFailed(f"a journal was not published:\n{complaint}")
    except subprocess.TimeoutExpired as error:
        raise DemoFailed(f"a journal was not published within {PUBLISH_S:.0f} s") from error
    finally:
        for process in running:
            process.kill()
            with process:
                pass  # its pipe is closed, and nothing of it is left


def count_events(lake: Path) -> Counter[str]:
    """Rows per event in the journal segments of one lake, without Spark."""
    counts: Counter[str] = Counter()
    for segment in sorted((lake / JOURNAL_FOLDER).glob("party=*/segment-*.parquet")):
        column = pq.ParquetFile(segment).read(columns=["event"]).column("event")
        counts.update(column.to_pylist())
    return counts


def disagreements(
    sent: Sequence[Sent],
    states: Mapping[str, str],
    seen: Sequence[Delivery],
    verdicts: Mapping[tuple[str, str], str],
    parties: Mapping[str, str],
) -> tuple[str, ...]:
    """Where applications and journals tell different stories, in words.

    `verdicts` is by (receiving party, MessageId), `parties` translates our sites' names.
    """
    times = Counter((parties[one.receiver], one.message_id) for one in seen)
    fetched = {(parties[one.receiver], one.message_id): one.digests for one in seen}
    told = []
    for message in sent:
        key = (parties[message.receiver], message.message_id)
        is_fine = (
            states.get(message.message_id) == "acknowledged"
            and times[key] == 1
            and fetched[key] == message.digests
        )
        verdict = verdicts.get(key)
        if verdict is None:
            told.append(f"{message.message_id}: the journals do not know it")
        elif is_fine != (verdict in AGREED):
            saw = "one good delivery" if is_fine else "no good delivery"
            told.append(f"{message.message_id}: the applications saw {saw}, journals say {verdict}")
    strangers = verdicts.keys() - {(parties[one.receiver], one.message_id) for one in sent}
    told += [f"{key[1]}: the journals judge a message that nobody sent" for key in strangers]
    return tuple(told)


def prove(sites: Sequence[Site], html: Path) -> Proof:
    """Run the lake's jobs on the published journals; with `spark.start_spark` done."""
    from onceonly.lake import jobs, verdicts  # noqa: PLC0415 - because Spark is an extra

    lakes = [str(site.lake) for site in sites]
    policy = verdicts.Policy(grace_us=GRACE_US, retries=RETRIES)
    jobs.ingest(lakes)
    terms = {
        agreement.id: agreement.terms
        for site in sites
        for agreement in read_configuration(site.configuration).agreements
    }
    summary = jobs.reconcile(lakes, policy=policy, terms=terms, report_to=html)
    ledger = pq.read_table(summary.ledger, columns=["to_party", "message_id", "verdict"])
    found = {(row["to_party"], row["message_id"]): row["verdict"] for row in ledger.to_pylist()}
    return Proof(
        verdicts=found,
        counts=summary.verdicts,
        breaches={line.name: line.breaches for line in summary.invariants},
        events=sum((count_events(site.lake) for site in sites), Counter()),
        html=html,
    )
