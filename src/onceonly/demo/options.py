"""What a demonstration is asked for.

Knows the options, their defaults and their legal values; must not know the command line.
"""

from dataclasses import dataclass
from pathlib import Path

from onceonly.message.errors import LocalError
from onceonly.message.profile import Profile

LOSS_MAX = 0.8
"""Past it a round trip succeeds one time in 25 and the demonstration outlasts its audience."""

MESSAGES_MAX = 100_000
"""Documents each way that the demonstration keeps in memory."""

KILL_EVERY_S_MAX = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The options of `onceonly demo`."""

    messages: int = 60
    """Documents each way; with `documents` the files decide."""
    profile: Profile = Profile.RM_2000
    """What both gateways speak: `rm-2000`, one numbered message at a time and in order; `rm-2001`
    or `ebms-2.0`, a window of messages in flight without numbers."""
    unsigned: bool = False
    """Sign nothing where the profile has signatures; otherwise both gateways sign all that they
    say, and ask for signed acknowledgements."""
    loss: float = 0.15
    """Share of HTTP requests between the gateways that the link loses one way or another."""
    seed: int | None = None
    """Seed of the documents, the link's faults and the kills; drawn and printed where None."""
    kill_every: float = 4.0
    """Seconds between hard kills; 0 for none."""
    keep: bool = False
    """Keep the gateways' stores, configurations and logs beside the results."""
    documents: Path | None = None
    """Directory whose files, those of its subdirectories too, are sent each way."""
    out: Path = Path("demo")
    """Where the results go; what an earlier demonstration left there is replaced."""

    @property
    def is_signed(self) -> bool:
        """Whether messages and acknowledgements are signed, and evidence of receipt is kept."""
        return self.profile.has_signatures and not self.unsigned

    def check(self) -> None:
        """Raises `LocalError` (BadOption) for an illegal value, and says what is legal."""
        _check(1 <= self.messages <= MESSAGES_MAX, f"messages is 1 to {MESSAGES_MAX}")
        _check(0 <= self.loss <= LOSS_MAX, f"loss is 0 to {LOSS_MAX}")
        _check(
            0 <= self.kill_every <= KILL_EVERY_S_MAX,
            f"kill-every is 0 (never) to {KILL_EVERY_S_MAX:.0f} seconds",
        )
        _check(
            self.profile.has_signatures or not self.unsigned,
            f"unsigned is for a profile with signatures; {self.profile.name} never signs",
        )
        if self.documents is not None:
            _check(self.documents.is_dir(), f"{self.documents} is not a directory")


def _check(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - because it reads as a sentence
    if not holds:
        raise LocalError("BadOption", otherwise)
