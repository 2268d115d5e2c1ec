"""What one part of a gateway takes over at a reload, made ready before anything is changed."""

from collections.abc import Callable

from onceonly.message.word import Word


class Change(Word):
    """A change that can only succeed."""

    take: Callable[[], None]
    """Called once, on the loop, between two transactions; or never, and nothing is left then."""
    notes: tuple[str, ...] = ()
    """What an operator should know of it, for the answer, the log and the journal."""
