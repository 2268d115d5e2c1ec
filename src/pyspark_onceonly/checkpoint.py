"""How far a pipeline has come, told to the gateway from what is in the query's checkpoint.

`commits/N` says that batch N is in the sink for good: what it took is complete. `offsets/N`
without it says that the batch is being worked on: in progress. Nothing else is believed, since
Spark tells a source nothing reliable about its last batch.
"""

import json
import ssl
from typing import Any, NamedTuple
from uuid import UUID

import fsspec
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from onceonly.client import Client, GatewayUnreachable
from onceonly.message.errors import LocalError
from pyspark_onceonly.offsets import REPORTED_AT_ONCE, Offset, check_store, pieces


class Progress(NamedTuple):
    """What a checkpoint says about an inbox: offsets above `first`."""

    first: int
    complete: int
    """Everything up to here is in the sink for good."""
    in_progress: int
    """Everything up to here was planned for a batch."""
    store_id: str | None = None
    """Id of the gateway's store that gave these offsets; None in the oldest checkpoints."""
    reported: int = 0
    """Up to here the stream itself has reported everything complete; 0 if it reports nothing."""


def read_progress(checkpoint: str) -> Progress | None:
    """What the checkpoint at this path or URL says; None where no batch was planned yet."""
    filesystem, root = _opened(checkpoint)
    planned = _last(filesystem, f"{root}/offsets")
    if planned is None:
        return None
    committed = _last(filesystem, f"{root}/commits")
    last = _offset(filesystem, f"{root}/offsets/{planned}")
    if last is None:
        return None
    done = None if committed is None else _offset(filesystem, f"{root}/offsets/{committed}")
    complete = last["from"] if done is None else done["offset"]
    store_id, reported = last.get("store"), last.get("reported", 0)
    return Progress(last["from"], complete, last["offset"], store_id, reported)


def read_query_id(checkpoint: str) -> str | None:
    """The id of the query of this checkpoint; None if there is none yet."""
    filesystem, root = _opened(checkpoint)
    if not filesystem.exists(f"{root}/metadata"):
        return None
    query_id: str = json.loads(filesystem.cat_file(f"{root}/metadata"))["id"]
    return query_id


def _opened(checkpoint: str) -> tuple[Any, str]:
    """Its file system, which for an object store remembers listings, and Spark writes on."""
    filesystem, root = fsspec.core.url_to_fs(checkpoint)
    filesystem.invalidate_cache()
    return filesystem, root


def _last(filesystem: Any, folder: str) -> int | None:
    if not filesystem.exists(folder):
        return None
    names = (str(path).rpartition("/")[2] for path in filesystem.ls(folder, detail=False))
    return max((int(name) for name in names if name.isdecimal()), default=None)


def _offset(filesystem: Any, path: str) -> Offset | None:
    """The inbox's in a file of Spark's: a version, metadata, then one line per source.

    Raises `LocalError` (SeveralInboxes).
    """
    if not filesystem.exists(path):
        return None
    lines = filesystem.cat_file(path).decode().splitlines()[2:]
    ours = [json.loads(line) for line in lines if line.startswith("{")]
    ours = [found for found in ours if {"offset", "from"} <= found.keys()]
    inboxes = [found for found in ours if found.get("read") == "inbox"]
    inboxes = inboxes or [found for found in ours if "read" not in found]
    if len(inboxes) > 1:
        text = f"{path} knows {len(inboxes)} inboxes: which is whose, it does not say"
        raise LocalError("SeveralInboxes", text)
    return inboxes[0] if inboxes else None


def report_progress(
    checkpoint: str, api: str, *, token: str | None = None, tls: ssl.SSLContext | None = None
) -> Progress | None:
    """Tell the gateway everything that the checkpoint says; what it said is returned.

    Call it whenever you like: states only move forward. What was told before is told again, which
    mends what the gateway had left alone, and costs a request for every 5000 offsets. For a query
    with one inbox. Raises
    `GatewayUnreachable` and `LocalError` as the client does, `LocalError` (StoreReplaced) where
    the gateway has never had what the checkpoint says, and `LocalError` (SeveralInboxes).
    """
    found = read_progress(checkpoint)
    if found is not None:
        with Client(api, token=token, tls=tls) as client:
            _tell(found, found.first, client)
    return found


def _tell(found: Progress, after: int, client: Client) -> None:
    """What is complete above `after`, and what is in progress."""
    check_store(client.inbox_end(), found.in_progress, found.store_id)
    for some in pieces(after, found.complete, REPORTED_AT_ONCE):
        client.report_range(*some, "complete")
    for some in pieces(found.complete, found.in_progress, REPORTED_AT_ONCE):
        client.report_range(*some, "in-progress")


class ProcessingListener(StreamingQueryListener):
    """Reports the progress of the query with this checkpoint, after each batch and at its end.

    A gateway that does not answer hears of it after the next batch, or from the next start.
    """

    def __init__(
        self,
        checkpoint: str,
        api: str,
        *,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._checkpoint = checkpoint
        self._api = api
        self._token = token
        self._tls = tls
        self._told: Progress | None = None
        self._told_of: UUID | None = None

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - because Spark calls it so
        """Nothing has come further."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - because Spark calls it so
        """A batch is in the sink."""
        self._report(event.progress.id)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - because Spark calls it so
        """Nothing has come further."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - because Spark calls it so
        """The last batch, of which a source hears nothing."""
        self._report(event.id)

    def _report(self, query_id: UUID) -> None:
        """Report only for our query; the events of all queries of the session come here."""
        if read_query_id(self._checkpoint) != str(query_id):
            return
        if query_id != self._told_of:  # A new checkpoint in the old one's place begins again.
            self._told, self._told_of = None, query_id
        found = read_progress(self._checkpoint)
        if found is None or found == self._told:
            return
        after = max(found.first, found.reported, 0 if self._told is None else self._told.complete)
        try:
            with Client(self._api, token=self._token, tls=self._tls) as client:
                _tell(found, after, client)
        except GatewayUnreachable:
            return  # Said above: the next batch or start tells it.
        self._told = found
