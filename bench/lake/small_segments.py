"""Two journals in very many very small segments: real ones, with every hash, made quickly.

Each message is one segment of its sender's journal and one of its receiver's: the shape of a
gateway that publishes after every message, for years.
"""

from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import asdict

from onceonly.journal.record import CHAIN_START, COLUMNS, Record, chain
from onceonly.journal.segment import SEGMENT_SCHEMA, segment_name
from onceonly.message.event import Direction, Event
from onceonly.message.word import changed

PARTIES: Final = ("urn:duns:111111111", "urn:duns:222222222")
DAWN_US: Final = 1_760_000_000_000_000
MESSAGE_US: Final = 10_000_000
_SENDER: Final = (Event.SUBMITTED, Event.TRANSMITTING, Event.TRANSMITTED, Event.ACK_RECEIVED)
_RECEIVER: Final = (Event.STORED, Event.ACK_SENT, Event.HANDED_OVER)
_AFTER_US: Final = {event: place * 5_000 for place, event in enumerate((*_SENDER, *_RECEIVER))}


class SmallSegments:
    """Both parties' journals; each call of `publish` goes on where the one before ended."""

    def __init__(self) -> None:
        self._message = 0
        self._last = dict.fromkeys(PARTIES, (0, CHAIN_START))

    def publish(self, lake: Path, messages: int) -> None:
        """Publish so many messages more, each as a segment of either party."""
        for _ in range(messages):
            self._message += 1
            self._write(lake, PARTIES[0], Direction.OUT, _SENDER)
            self._write(lake, PARTIES[1], Direction.IN, _RECEIVER)

    def _write(
        self, lake: Path, party: str, direction: Direction, events: tuple[Event, ...]
    ) -> None:
        last, previous = self._last[party]
        rows = []
        for seq, event in enumerate(events, last + 1):
            row = Record(**self._columns(party, direction, event), seq=seq, store_epoch=1)
            previous = chain(previous, row)
            rows.append(asdict(changed(row, chain_hash=previous)))
        self._last[party] = (last + len(rows), previous)
        path = lake / segment_name(party, last + 1, last + len(rows))
        if last == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        columns = {name: [row[name] for row in rows] for name in COLUMNS}
        table = pa.Table.from_pydict(columns, SEGMENT_SCHEMA)
        pq.write_table(table, path, compression="zstd", store_schema=False)

    def _columns(self, party: str, direction: Direction, event: Event) -> dict[str, Any]:
        at = DAWN_US + self._message * MESSAGE_US + _AFTER_US[event]
        told: dict[str, Any] = {
            "party": party,
            "event": event,
            "at": at,
            "monotonic_ns": at * 1_000,
            "direction": direction,
            "from_party": PARTIES[0],
            "to_party": PARTIES[1],
            "message_id": f"m{self._message:09}",
            "agreement_id": "tpa-1",
        }
        digest = sha256(told["message_id"].encode()).hexdigest()
        if event in (Event.SUBMITTED, Event.STORED):
            told |= {"service": "urn:services:ordering", "action": "Order", "size_bytes": 4_096}
            told |= {"profile": "rm-2000", "semantics": "OnceAndOnlyOnce", "digest": digest}
            told |= {"conversation_id": f"c{self._message}", "header_digest": digest}
        elif event == Event.HANDED_OVER:
            told |= {"digest": digest}
        elif event in (Event.TRANSMITTING, Event.TRANSMITTED):
            told |= {"attempt": 1}
        if event in (Event.TRANSMITTED, Event.ACK_SENT):
            told |= {"outcome": "accepted"}
        return told
