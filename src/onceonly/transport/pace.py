"""A least rate for bodies on their way in, over any stretch of them (H22, ruling R-45)."""


class Pace:
    """How long a body may still be slower than the least rate.

    It may fall behind by `grace_s` seconds altogether, and no more because it was fast before: who
    sends a mebibyte at once would else have bought a quarter of an hour of silence.
    """

    def __init__(self, *, grace_s: float, rate_min: int, now: float) -> None:
        self._grace_s = grace_s
        self._rate_min = rate_min
        self._looked_at = now
        self._seen_bytes = 0
        self._behind_s = 0.0

    def left_s(self, received_bytes: int, now: float) -> float:
        """Seconds of silence until these bytes, all so far, are too few; below 0 they are."""
        earned_s = (received_bytes - self._seen_bytes) / self._rate_min
        self._behind_s = max(0.0, self._behind_s + now - self._looked_at - earned_s)
        self._seen_bytes, self._looked_at = received_bytes, now
        return self._grace_s - self._behind_s

    def forgive(self, waited_s: float) -> None:
        """These seconds were ours: we read nothing."""
        self._looked_at += waited_s
