"""Ctrl-C and SIGTERM unwind the stack, wherever they come."""

import asyncio
import secrets
import signal

import pytest

from onceonly.demo.drive import EXIT_INTERRUPTED, EXIT_TERMINATED, run_demo
from onceonly.demo.interruption import run_until_told, terminable
from onceonly.demo.options import DemoOptions


@pytest.fixture(params=["asyncio's", "a Spark session's"])
def whose_handler(request):
    """A Spark session takes Ctrl-C for itself, for as long as its process lives.

    Set in any case: what a shell starts in the background is born with Ctrl-C ignored.
    """

    def a_sessions(*_: object) -> None:
        raise KeyboardInterrupt

    whose = a_sessions if request.param == "a Spark session's" else signal.default_int_handler
    before = signal.signal(signal.SIGINT, whose)
    yield
    assert signal.getsignal(signal.SIGINT) is whose
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("whose_handler")
@pytest.mark.parametrize(
    ("number", "noted"), [(signal.SIGTERM, [signal.SIGTERM]), (signal.SIGINT, [])]
)
def test_work_on_a_loop_is_cancelled_and_cleans_up(number, noted):
    """The work sees a cancellation and not an exception out of nowhere; who asked is known."""
    terminated, seen = [], []

    async def work() -> None:
        signal.raise_signal(number)
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    with pytest.raises(KeyboardInterrupt):
        run_until_told(work(), terminated)
    assert (seen, terminated) == (["cancelled"], noted)


def test_a_second_sigterm_does_not_disturb_the_cleaning_up():
    """An impatient operator loses no more than a patient one."""
    terminated, cleaned = [], []

    async def work() -> None:
        signal.raise_signal(signal.SIGTERM)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.sleep(0)
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_until_told(work(), terminated)
    assert (cleaned, len(terminated)) == ([True], 2)


def test_afterwards_sigterm_means_what_it_meant_before():
    """The demonstration is a guest in its process."""
    before = signal.getsignal(signal.SIGTERM)
    with terminable([]):
        assert run_until_told(asyncio.sleep(0, "done"), []) == "done"
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.usefixtures("whose_handler")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, EXIT_TERMINATED), (signal.SIGINT, EXIT_INTERRUPTED)]
)
def test_a_demonstration_that_is_stopped_before_it_began_says_so(
    tmp_path, monkeypatch, capsys, number, code
):
    """The signal comes while the seed is chosen, before any process is there."""
    monkeypatch.setattr(secrets, "randbelow", lambda _: signal.raise_signal(number))
    assert run_demo(DemoOptions(out=tmp_path / "demo")) == code
    assert "interrupted" in capsys.readouterr().err
