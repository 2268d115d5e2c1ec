"""A least rate for incoming bodies, over any part of them (H22, ruling R-45)."""


class Pace:
    """How long a body may still be slower than the least rate.

    It may be late by `grace_s` seconds altogether. A fast beginning does not add to them: otherwise
    a sender of one mebibyte at once could then be silent for a quarter of an hour.
    """

    def __init__(self, *, grace_s: float, rate_min: int, now: float) -> None:
        self._grace_s = grace_s
        self._rate_min = rate_min
        self._looked_at = now
        self._seen_bytes = 0
        self._behind_s = 0.0

    def left_s(self, received_bytes: int, now: float) -> float:
        """Seconds until the bytes received so far are too few; below 0 they are too few already."""
        earned_s = (received_bytes - self._seen_bytes) / self._rate_min
        self._behind_s = max(0.0, self._behind_s + now - self._looked_at - earned_s)
        self._seen_bytes, self._looked_at = received_bytes, now
        return self._grace_s - self._behind_s

    def forgive(self, waited_s: float) -> None:
        """Do not count these seconds, in which we read nothing."""
        self._looked_at += waited_s
