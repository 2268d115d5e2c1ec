"""Where chance comes from in a world: pure functions of the seed and of what is being decided.

Two kinds. A *stream* is for parts that draw in an order of their own (the workload). A *draw*
belongs to one named thing (the third package from A to B), so that leaving out another thing does
not change it: shrinking depends on that. Never `hash()`, which differs from process to process.
"""

from hashlib import blake2b
from random import Random

_SPAN = 1 << 64


def stream(seed: int, concern: str) -> Random:
    """A generator of its own for one concern of one world."""
    return Random(f"{seed}/{concern}")  # noqa: S311 - because a world must be repeatable


def draw(seed: int, *of: object) -> float:
    """A number in [0, 1) that belongs to `of` alone."""
    digest = blake2b(f"{seed}/{of}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / _SPAN
