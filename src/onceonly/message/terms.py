"""What two parties agreed about delivery: the parameters of seed 000 Table 2-1 and R-06 to R-19.

`DeliveryTerms` travels with the message into `step`; nothing else of the configuration does.
"""

from dataclasses import dataclass
from enum import StrEnum

from onceonly.message.message import DeliverySemantics


class OnExhausted(StrEnum):
    """What happens to the pair when the retries of a message are used up (ruling R-07)."""

    SUSPEND = "suspend"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryTerms:
    """The agreed parameters. Durations are whole seconds, as in the seeds."""

    semantics: DeliverySemantics = DeliverySemantics.ONCE_AND_ONLY_ONCE
    timeout_s: int = 30
    """Wait for any response after the first transmission (Timeout)."""
    retries: int = 3
    """Most transmissions after the first one (Retries)."""
    retry_interval_s: int = 60
    """Wait after each later transmission (RetryInterval)."""
    persist_duration_s: int = 30 * 86_400
    """Least time that a receiver keeps what it needs to know a repeat (PersistDuration)."""
    time_to_live_s: int | None = None
    """After this age an unknown copy is refused and a failure is final (TimeToLive)."""
    msh_time_accuracy_s: int = 30
    """How far the two wall clocks may differ (mshTimeAccuracy)."""
    on_exhausted: OnExhausted = OnExhausted.SUSPEND
    transient_retries: int = 100
    """Most pauses asked for by TransientError in a row (ruling R-15)."""

    @property
    def verdict_after_s(self) -> int:
        """Longest time from the first transmission to a verdict (ruling R-06)."""
        return self.timeout_s + self.retries * self.retry_interval_s
