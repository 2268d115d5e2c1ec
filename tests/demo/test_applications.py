"""What a program of the demonstration ends with is not lost in its thread."""

from threading import Event

import pytest

from onceonly.client import Client
from onceonly.demo.applications import Program
from onceonly.demo.gateways import DemoFailed, free_ports
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


class Asking(Program):
    """A program that asks a gateway which is away, and is told to stop meanwhile."""

    def __init__(self, gateway: str) -> None:
        super().__init__("buyer asks", Event())
        self._gateway = gateway

    def work(self) -> None:
        assert self._insist(self._ask) is None

    def _ask(self) -> None:
        if self.unreachable == 2:
            self._stop.set()
        with Client(self._gateway) as client:
            client.inbox()


def test_a_gateway_that_is_away_is_asked_again_until_the_end():
    [port] = free_ports(1)
    program = Asking(f"http://127.0.0.1:{port}")
    program.start()
    program._executor.shutdown(wait=True)
    program.check()
    assert program.unreachable == 3
