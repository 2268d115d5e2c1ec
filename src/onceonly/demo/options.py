"""What a demonstration is asked for.

Knows the options, their defaults and their legal values; must not know the command line.
"""

from dataclasses import dataclass
from pathlib import Path

from onceonly.message.errors import LocalError

LOSS_MAX = 0.8
"""Past it a round trip succeeds one time in 25 and the demonstration outlasts its audience."""

MESSAGES_MAX = 100_000
"""Documents each way that the demonstration keeps in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The options of `onceonly demo`. Raises `LocalError` (BadOption) for an illegal value."""

    messages: int = 150
    """Documents each way; with `documents` the files decide."""
    loss: float = 0.2
    """Share of HTTP requests between the gateways that the link loses one way or another."""
    seed: int = 1
    """Seed of the documents, the link's faults and the kills."""
    kill_every_s: float = 4.0
    """Seconds between hard kills; 0 for none."""
    keep: bool = False
    """Keep the gateways' stores, configurations and logs beside the results."""
    documents: Path | None = None
    """Directory whose files, those of its subdirectories too, are sent each way."""
    out: Path = Path("demo")
    """Where the results go; what an earlier demonstration left there is replaced."""

    def __post_init__(self) -> None:
        _check(1 <= self.messages <= MESSAGES_MAX, f"messages is 1 to {MESSAGES_MAX}")
        _check(0 <= self.loss <= LOSS_MAX, f"loss is 0 to {LOSS_MAX}")
        _check(0 <= self.kill_every_s <= 3600, "kill-every is 0 (never) to 3600 seconds")
        if self.documents is not None:
            _check(self.documents.is_dir(), f"{self.documents} is not a directory")


def _check(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - because it reads as a sentence
    if not holds:
        raise LocalError("BadOption", otherwise)
