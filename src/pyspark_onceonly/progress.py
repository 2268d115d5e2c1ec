"""How far a pipeline has come, told to the gateway from what is in the query's checkpoint.

`commits/N` says that batch N is in the sink for good: what it took is complete. `offsets/N`
without it says that the batch is being worked on: in progress. Nothing else is believed, since
Spark tells a source nothing reliable about its last batch.
"""

import json
from typing import Any, NamedTuple

import fsspec
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from onceonly.client import Client, GatewayUnreachable


class Progress(NamedTuple):
    """What a checkpoint says about an inbox: offsets above `first`."""

    first: int
    complete: int
    """Everything up to here is in the sink for good."""
    in_progress: int
    """Everything up to here was planned to be."""


def read_progress(checkpoint: str) -> Progress | None:
    """What the checkpoint at this path or URL says; None where no batch was planned yet."""
    filesystem, root = fsspec.core.url_to_fs(checkpoint)
    planned = _last(filesystem, f"{root}/offsets")
    if planned is None:
        return None
    committed = _last(filesystem, f"{root}/commits")
    last = _offset(filesystem, f"{root}/offsets/{planned}")
    if last is None:
        return None
    done = None if committed is None else _offset(filesystem, f"{root}/offsets/{committed}")
    complete = last["from"] if done is None else done["offset"]
    return Progress(last["from"], complete, last["offset"])


def _last(filesystem: Any, folder: str) -> int | None:
    if not filesystem.exists(folder):
        return None
    names = (str(path).rpartition("/")[2] for path in filesystem.ls(folder, detail=False))
    return max((int(name) for name in names if name.isdecimal()), default=None)


def _offset(filesystem: Any, path: str) -> dict[str, int] | None:
    """Our offset in a file of Spark's: a version, metadata, then one line per source."""
    if not filesystem.exists(path):
        return None
    for line in filesystem.cat_file(path).decode().splitlines()[2:]:
        found = json.loads(line) if line.startswith("{") else None
        if isinstance(found, dict) and {"offset", "from"} <= found.keys():
            return found
    return None


def report_progress(checkpoint: str, api: str, *, token: str | None = None) -> Progress | None:
    """Tell the gateway what the checkpoint says; what it said is returned.

    Call it whenever you like: states only move forward. For a query with one inbox. Raises
    `GatewayUnreachable` and `LocalError` as the client does.
    """
    found = read_progress(checkpoint)
    if found is not None:
        with Client(api, token=token) as client:
            if found.complete > found.first:
                client.report_range(found.first, found.complete, "complete")
            if found.in_progress > found.complete:
                client.report_range(found.complete, found.in_progress, "in-progress")
    return found


class ProcessingListener(StreamingQueryListener):
    """Reports the progress of the query with this checkpoint, after each batch and at its end.

    A gateway that does not answer hears of it after the next batch, or from the next start.
    """

    def __init__(self, checkpoint: str, api: str, *, token: str | None = None) -> None:
        self._checkpoint = checkpoint
        self._api = api
        self._token = token

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - because Spark calls it so
        """Nothing has come further."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - because Spark calls it so
        """A batch is in the sink."""
        del event  # The checkpoint knows better.
        self._report()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - because Spark calls it so
        """Nothing has come further."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - because Spark calls it so
        """The last batch, of which a source hears nothing."""
        del event
        self._report()

    def _report(self) -> None:
        try:
            report_progress(self._checkpoint, self._api, token=self._token)
        except GatewayUnreachable:
            return  # Said above: the next batch or start tells it.
