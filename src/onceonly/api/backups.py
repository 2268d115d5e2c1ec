"""Backups of the store over the API."""

from typing import Annotated, Literal

from msgspec import Meta

from onceonly.api.fields import Digest, Instant
from onceonly.message.word import Word

BackupState = Literal["running", "done", "failed"]

BackupName = Annotated[
    str,
    Meta(
        description="a folder below `backups`; never one that ends in .partial",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$",
    ),
]


class BackupPath(Word, kw_only=True):
    """The backup that a call is about."""

    name: BackupName


class StartBackup(Word, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How the backup is called; the time, where nobody says."""

    name: BackupName | None = None


class BackupManifest(Word, kw_only=True):
    """What is in a backup."""

    party: str
    made_at: Instant
    program: str
    schema_version: int
    store_epoch: int
    journal_seq: int
    journal_hash: str
    store_bytes: int
    store_sha256: Digest
    payload_files: int
    payload_bytes: int


class Backup(Word, kw_only=True):
    """A backup that was begun since the start; `reason` where it failed, `manifest` when done."""

    name: str
    folder: str
    state: BackupState
    started_at: Instant
    pages_copied: int
    pages: int
    reason: str | None
    manifest: BackupManifest | None


class BackupList(Word, kw_only=True):
    """The backups that were begun since the start, the latest first."""

    backups: tuple[Backup, ...]
