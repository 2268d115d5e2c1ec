"""How this gateway is: its disk, its certificates, and what waits. Only reads; for threads."""

import os
import shutil
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from onceonly.gateway.application.certificates import files_of
from onceonly.gateway.certificate_file import Validity, validity_of
from onceonly.gateway.config import Configuration
from onceonly.gateway.config.report_folder import spool_of
from onceonly.gateway.desk import Desk
from onceonly.gateway.publish import find_published_end
from onceonly.message.signing import PinnedCertificate
from onceonly.message.word import Word
from onceonly.protocol.sending import OutboundStatus
from onceonly.store.contract.entries import MessageFilter
from onceonly.store.contract.store import Snapshot

CONVERSATIONS_COUNTED: Final = 1_000
"""Most blocked conversations, and most with a gap, that a look counts."""

SPOOL_FILES_MAX: Final = 20_000
"""Most files of the spool whose sizes are added up at one look, which takes some 40 ms."""


class Sizes(Word):
    """Bytes of the store's files, and of their disk."""

    store_bytes: int
    log_bytes: int
    spool_bytes: int | None
    free_bytes: int
    total_bytes: int


class Ages(Word):
    """When the oldest messages were submitted that wait for an end, or are in doubt."""

    waiting_at: int | None
    doubt_at: int | None


class Conditions:
    """Looks at one gateway; `running` gives the configuration that runs, also after a reload."""

    def __init__(self, running: Callable[[], Configuration], desk: Desk) -> None:
        self._running = running
        self._desk = desk

    def now_at(self) -> int:
        """The wall clock."""
        return self._desk.clock.at()

    def snapshot(self) -> Snapshot:
        """The committed rows."""
        return self._desk.snapshot()

    def sizes(self) -> Sizes:
        """What is on the disk."""
        store = self._running().store
        disk = shutil.disk_usage(store.parent)
        return Sizes(
            _size(store),
            _size(store.with_name(f"{store.name}-wal")),
            _size_of_files(spool_of(store)),
            disk.free,
            disk.total,
        )

    def certificates(self) -> Sequence[tuple[str, Validity | None]]:
        """Each file of certificates, and when all in it are valid; None if it cannot be read.

        And of each agreement when the last certificate ends with which the partner signs.
        """
        running = self._running()
        files = dict.fromkeys(one.path for one in files_of(running))
        return [
            *((str(file), _validity_of(file)) for file in files),
            *(
                (f"partner_certificates of {one.id}", _last_of(one.signing.partner_certificates))
                for one in running.agreements
                if one.signing.partner_certificates
            ),
        ]

    def published_seq(self) -> int | None:
        """The last journal row that is in the lake."""
        party = str(self._running().party[0])
        end = find_published_end(self._running().lake, party)
        return None if end is None else end.seq

    @property
    def publish_interval_s(self) -> int:
        """How often the journal is published."""
        return self._running().publish_interval_s


def ages_of(snapshot: Snapshot) -> Ages:
    """Of the oldest messages."""
    waits = [
        _oldest_at(snapshot, status) for status in (OutboundStatus.QUEUED, OutboundStatus.SENDING)
    ]
    return Ages(
        min((at for at in waits if at is not None), default=None),
        _oldest_at(snapshot, OutboundStatus.IN_DOUBT),
    )


def _oldest_at(snapshot: Snapshot, status: OutboundStatus) -> int | None:
    found = snapshot.list_messages(MessageFilter(status=status, limit=1)).messages
    return found[0].submitted_at if found else None


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _size_of_files(folder: Path) -> int | None:
    size, count = 0, 0
    try:
        with os.scandir(folder) as files:
            for file in islice(files, SPOOL_FILES_MAX + 1):
                count += 1
                size += file.stat().st_size
    except FileNotFoundError:
        pass  # There is no spool before the first large payload; and files come and go.
    return None if count > SPOOL_FILES_MAX else size


def _last_of(pinned: Sequence[PinnedCertificate]) -> Validity:
    last = max(pinned, key=lambda one: one.until_at)
    return Validity(from_at=min(one.from_at for one in pinned), until_at=last.until_at)


def _validity_of(file: Path) -> Validity | None:
    try:
        return validity_of(file)
    except OSError:
        return None
