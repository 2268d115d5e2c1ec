"""What a checkpoint says about an inbox, from files as Spark writes them."""

import json
import socket
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from cached_listings import CachedListings
from pyspark.sql.streaming.listener import QueryTerminatedEvent

from onceonly.demo.gateways import free_ports
from onceonly.message.errors import LocalError
from pyspark_onceonly.checkpoint import (
    ProcessingListener,
    Progress,
    read_progress,
    read_query_id,
)

OURS, OTHER = UUID(int=1), UUID(int=2)
ASKED_WITHIN_S = 10
"""A listener that asks nobody fails its test by then, and does not hang it."""


def checkpoint(folder: Path, offsets: dict[int, object], commits: list[int]) -> str:
    for name in ("offsets", "commits"):
        (folder / name).mkdir()
    for number, offset in offsets.items():
        sources = offset if isinstance(offset, list) else [offset]
        lines = ["v1", json.dumps({"batchWatermarkMs": 0}), *map(json.dumps, sources)]
        (folder / "offsets" / str(number)).write_text("\n".join(lines))
        (folder / "offsets" / f".{number}.crc").write_bytes(b"crc")
    for number in commits:
        (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return str(folder)


def at(offset: int, **kind: str) -> dict[str, Any]:
    return {"offset": offset, "from": 10, **kind}


def test_a_committed_batch_is_complete_and_a_planned_one_in_progress(tmp_path: Path) -> None:
    """By number, not by the order of names."""
    found = checkpoint(tmp_path, {8: at(80), 9: at(90), 10: at(100)}, [8, 9])
    assert read_progress(found) == Progress(10, 90, 100)


def test_after_the_last_commit_nothing_is_in_progress(tmp_path: Path) -> None:
    """Everything that was planned is in the sink."""
    assert read_progress(checkpoint(tmp_path, {0: at(20)}, [0])) == Progress(10, 20, 20)


def test_before_the_first_commit_nothing_is_complete(tmp_path: Path) -> None:
    """What was there before the query began is not its work."""
    assert read_progress(checkpoint(tmp_path, {0: at(20)}, [])) == Progress(10, 10, 20)


def test_a_checkpoint_without_a_batch_says_nothing(tmp_path: Path) -> None:
    """Nor does a place where there is none, or a query without an inbox."""
    assert read_progress(str(tmp_path / "nowhere")) is None
    assert read_progress(checkpoint(tmp_path, {}, [])) is None
    (tmp_path / "offsets" / "0").write_text('v1\n{}\n-\n{"logOffset": 3}\n17')
    assert read_progress(str(tmp_path)) is None


def test_a_listing_that_an_object_store_remembers_is_not_believed(tmp_path: Path) -> None:
    """Spark has written more since, of which the driver of this process hears nothing."""
    checkpoint(tmp_path, {0: at(20)}, [])
    url = f"cached://{tmp_path}"
    assert read_progress(url) == Progress(10, 10, 20)
    offset = json.dumps(at(30))
    (tmp_path / "offsets" / "1").write_text(f"v1\n{{}}\n{offset}")
    (tmp_path / "commits" / "0").write_text("v1\n{}")
    assert read_progress(url) == Progress(10, 20, 30)
    assert str(tmp_path / "metadata") not in CachedListings().ls(url)
    (tmp_path / "metadata").write_text(json.dumps({"id": str(OURS)}))
    assert read_query_id(url) == str(OURS)


def test_the_offset_of_a_journal_is_none_of_the_inbox(tmp_path: Path) -> None:
    """Whichever source comes first: what nobody has read is not said to be complete."""
    both = [at(900, read="journal"), {"logOffset": 3}, at(20, read="inbox")]
    assert read_progress(checkpoint(tmp_path, {0: both}, [0])) == Progress(10, 20, 20)
    (tmp_path / "offsets" / "1").write_text("v1\n{}\n" + json.dumps(both[0]))
    assert read_progress(str(tmp_path)) is None


def test_which_of_two_inboxes_is_meant_is_not_guessed(tmp_path: Path) -> None:
    """One of them would be told what the other has done."""
    two = [at(20, read="inbox"), at(900, read="inbox")]
    with pytest.raises(LocalError, match="knows 2 inboxes") as refused:
        read_progress(checkpoint(tmp_path, {0: two}, []))
    assert refused.value.name == "SeveralInboxes"


def test_a_listener_hears_of_its_own_query_alone(tmp_path: Path) -> None:
    """A session tells every listener of every query. The address shows which one it reacts to."""
    found = checkpoint(tmp_path, {0: at(20)}, [0])
    (tmp_path / "metadata").write_text(json.dumps({"id": str(OURS)}))
    listener = ProcessingListener(found, "http://a:b")
    listener.onQueryTerminated(QueryTerminatedEvent(OTHER, OTHER, None, None))
    with pytest.raises(LocalError, match="is no address"):
        listener.onQueryTerminated(QueryTerminatedEvent(OURS, OTHER, None, None))


def test_a_gateway_that_is_away_is_told_again_at_the_next_batch(tmp_path: Path) -> None:
    """Its listener neither ends the query nor takes for told what nobody has heard."""
    [port] = free_ports(1)
    found = checkpoint(tmp_path, {0: at(20)}, [0])
    (tmp_path / "metadata").write_text(json.dumps({"id": str(OURS)}))
    listener = ProcessingListener(found, f"http://127.0.0.1:{port}")
    ended = QueryTerminatedEvent(OURS, OTHER, None, None)
    listener.onQueryTerminated(ended)
    asked = []
    with socket.create_server(("127.0.0.1", port)) as gateway:
        gateway.settimeout(ASKED_WITHIN_S)
        answering = Thread(target=lambda: asked.append(_hang_up(gateway)))
        answering.start()
        listener.onQueryTerminated(ended)
        answering.join()
    assert asked == [b"GET"]


def _hang_up(gateway: socket.socket) -> bytes:
    connection, _ = gateway.accept()
    with connection:
        return connection.recv(3)
