"""What a program of the demonstration ends with is not lost in its thread."""

from threading import Event

import pytest

from onceonly.demo.applications import Program
from onceonly.demo.gateways import DemoFailed
from onceonly.message.errors import LocalError


class Refused(Program):
    """A program whose gateway refuses what it asks for."""

    def __init__(self) -> None:
        super().__init__("buyer sends", Event())
        self.has_begun = Event()

    def work(self) -> None:
        self.has_begun.wait()
        raise LocalError("UnknownAgreement", "no agreement fits")


def test_a_refusal_ends_the_demonstration_by_name():
    """While the program works there is nothing to tell; then it is told whenever one looks."""
    program = Refused()
    program.check()
    program.start()
    program.check()
    program.has_begun.set()
    program._executor.shutdown(wait=True)
    for _ in range(2):
        with pytest.raises(DemoFailed, match="buyer sends: UnknownAgreement: no agreement fits"):
            program.check()
