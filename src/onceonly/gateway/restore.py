"""Putting a backup in the place of a gateway's store, and what its operator has to know then.

Knows the configuration, and that the lake may have rows that the backup has not. Must not know what
is in a store, or start a gateway.
"""

from pathlib import Path

from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Configuration
from onceonly.gateway.config.report_folder import spool_of
from onceonly.gateway.publish import PublishedEnd, find_published_end
from onceonly.message.instant import to_datetime
from onceonly.message.word import Word
from onceonly.store.sqlite import backup
from onceonly.store.sqlite.backup import BackupFacts, Restored


class RestoredStore(Word):
    """What was put back, and what the lake knows beyond it."""

    restored: Restored
    published: PublishedEnd | None
    """The last row that was published; None where nothing was, or the lake cannot be read."""

    @property
    def is_behind_lake(self) -> bool:
        """Whether rows were published that the restored store has forgotten."""
        return (
            self.published is not None and self.published.seq > self.restored.manifest.journal_seq
        )


def verify_backup(folder: Path, configuration: Configuration) -> BackupFacts:
    """What is in the backup, after every byte was read.

    Raises `StoreRefused` where it is not whole, or another party's.
    """
    return backup.verify(folder, party=str(configuration.party[0]))


def restore_store(
    folder: Path, configuration: Configuration, *, is_replacing: bool
) -> RestoredStore:
    """Put the backup back. A store that is there is moved aside, if `is_replacing`.

    Raises `StoreRefused`, above all where the gateway runs, and `OSError`.
    """
    store, party = configuration.store, str(configuration.party[0])
    published = find_published_end(configuration.lake, party)
    now_at = Clock().at()
    stamp = to_datetime(now_at).strftime("%Y%m%dT%H%M%S.%fZ")
    restored = backup.restore(
        folder,
        store,
        spool_of(store),
        party=party,
        now_at=now_at,
        known_epoch=0 if published is None else published.store_epoch,
        aside=store.with_name(f"{store.name}.replaced-{stamp}") if is_replacing else None,
    )
    return RestoredStore(restored, published)
