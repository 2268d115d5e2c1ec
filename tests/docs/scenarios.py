"""The runs that the documentation shows; each is a scenario under the name of its file."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from recording import Recording

Play = Callable[[Recording, Path], Awaitable[None]]


class Scenario(NamedTuple):
    """One run: what it shows, in which profile, and how it goes."""

    title: str
    profile: str
    play: Play


SCENARIOS: dict[str, Scenario] = {}
"""By the names under which the pages show them."""


def shown_as(name: str, title: str, profile: str = "rm-2000") -> Callable[[Play], Play]:
    """Register the function as the run of that name."""

    def register(play: Play) -> Play:
        assert name not in SCENARIOS, name
        SCENARIOS[name] = Scenario(title, profile, play)
        return play

    return register
