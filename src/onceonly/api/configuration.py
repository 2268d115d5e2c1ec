"""The configuration that a gateway runs under, over the API."""

from onceonly.api.fields import Digest, Instant
from onceonly.message.word import Word


class RefusedFile(Word, kw_only=True):
    """A file that a reload did not take over, and why; the configuration before it runs on."""

    at: Instant
    by: str
    reason: str


class RunningConfiguration(Word, kw_only=True):
    """Which configuration runs, since when, and who had it read.

    `refused` is the last file that was not taken over, until one is.
    """

    path: str
    digest: Digest
    loaded_at: Instant
    loaded_by: str
    agreements: int
    routes: int
    refused: RefusedFile | None


class Reloaded(Word, kw_only=True):
    """What a reload changed, in words; empty if the file says what it said before."""

    changed: str
    digest: Digest
