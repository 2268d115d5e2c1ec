"""A gateway that dies or fails at the N-th write or sync, for every N (faults D1, C2, D3).

Sender, receiver and an intermediary of either mode; the short form takes one N of each by the
seed, and fewer calls of the intermediaries. strace's regular expressions begin with a slash.
"""

import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from nemesis_chain import Chain, build_chain
from nemesis_evidence import check_exchange
from nemesis_faults import Form, traced, under_strace
from nemesis_figures import Say
from nemesis_gateways import Exchange, Gateway
from nemesis_sweep import EIO, KILL, POINTS_MAX, Fault, Point, sweep

pytestmark = traced

CALLS = {"fdatasync": 2, "pwrite64": 8, "write": 2, "fsync": 1, "/^rename": 1}
"""Up to which N each certainly happens on one thread, for one message."""

POINTS = [Point(call, fault) for call in CALLS for fault in (KILL, EIO)]

FULL = [("receiver", Point(call, KILL)) for call in ("write", "fsync", "/^rename")]
"""Of an exchange in the full form only: the spool is the same code on both sides."""

INTERMEDIARIES = {"relay": "rm-2000", "accept": "rm-2001"}
"""Mode and profile; the second one stores like an end, and owns what it stored."""

SHORT = [Point("fdatasync", KILL), Point("pwrite64", EIO), Point("fsync", EIO)]
"""Of the intermediaries in the short form."""


@pytest.fixture(scope="module")
def _chains(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], Chain]]:
    built: dict[str, Chain] = {}

    def one(mode: str) -> Chain:
        if mode not in built or not built[mode].is_sound:
            directory = tmp_path_factory.mktemp(mode)
            built[mode] = build_chain(directory, INTERMEDIARIES[mode], [mode])
        return built[mode]

    yield one
    for chain in built.values():
        chain.destroy()


@pytest.fixture
def course(_chains: Callable[[str], Chain], mode: str) -> Chain:
    """One intermediary between two ends, running, that live through all tests of the module."""
    chain = _chains(mode)
    chain.start()
    return chain


def numbers(point: Point, form: Form, name: str) -> Iterable[int]:
    """Which N to try: all, until none is left, or one that certainly comes."""
    if form.is_full:
        return range(1, POINTS_MAX)
    return [form.chance(str(point), name).randint(1, CALLS[point.call])]


@pytest.mark.statement("S0-01", "S0-02", "S0-04", "S3-04", ruling="R-02")
@pytest.mark.parametrize(
    ("role", "point"),
    [
        pytest.param(
            role,
            point,
            id=f"{role}-{point}",
            marks=pytest.mark.full if (role, point) in FULL else (),
        )
        for role in ("sender", "receiver")
        for point in POINTS
    ],
)
def test_a_fault_at_any_write_of_an_exchange_is_survived(
    lasting: Exchange,
    role: str,
    point: Point,
    form: Form,
    tmp_path: Path,
    say: Say,
) -> None:
    """Killed or failing at the N-th call: it stops, says no more, and completes once restarted."""
    struck = sweep(lasting, role, point, numbers(point, form, role), log=tmp_path / "trace")
    assert struck >= (CALLS[point.call] if form.is_full else 1)
    check_exchange(lasting)
    say(f"nemesis: {role}, {point}, {struck} times; nothing lost", **point.counted(struck))


@pytest.mark.statement("S3-20", "S3-21", ruling="R-13")
@pytest.mark.parametrize(
    "point",
    [
        pytest.param(point, id=str(point), marks=() if point in SHORT else pytest.mark.full)
        for point in POINTS
    ],
)
@pytest.mark.parametrize("mode", INTERMEDIARIES)
def test_a_fault_at_any_write_of_an_intermediary_is_survived(
    course: Chain,
    mode: str,
    point: Point,
    form: Form,
    tmp_path: Path,
    say: Say,
) -> None:
    """The same for what passes through, whether it owns the message or not."""
    struck = sweep(course, "relay-1", point, numbers(point, form, mode), log=tmp_path / "trace")
    assert struck >= 1
    course.check()
    text = f"nemesis: intermediary, {mode}, {point}, {struck} times; nothing lost"
    say(text, **point.counted(struck))


OPENINGS = [
    ("sender", "fdatasync", EIO),
    ("receiver", "pwrite64", KILL),
    pytest.param("sender", "fdatasync", KILL, marks=pytest.mark.full),
]
"""The opening is the same code on both sides."""

OPENED_SHORT = 3
"""An opening certainly makes so many of each call."""


def opens(victim: Gateway, fault: Fault, call: str, number: int, log: Path) -> bool:
    """Whether the victim gets ready although its N-th `call` is struck; if so it is ended."""
    victim.launch_command(*under_strace(call, fault.inject.format(number), log))
    code = victim.wait_until_ready_or_dead()
    if code is None:
        victim.kill()  # The fault still lies in wait for its other threads.
        return True
    assert code == (-signal.SIGKILL if fault is KILL else 1), victim.log_end()
    return False


@pytest.mark.parametrize(
    ("role", "call", "fault"), OPENINGS, ids=lambda value: getattr(value, "name", value)
)
def test_a_fault_during_the_recovery_is_survived(
    lasting: Exchange, role: str, call: str, fault: Fault, form: Form, tmp_path: Path
) -> None:
    """Killed, then struck at the N-th write of its recovery: the next start goes on (C2)."""
    victim, chance = lasting.gateway(role), form.chance("recovery", role, call, fault.name)
    one = [chance.randint(1, OPENED_SHORT)]
    for number in range(1, POINTS_MAX) if form.is_full else one:
        message_id = f"recovery-{role}-{call}-{fault.name}-{number}"
        with lasting.clients() as (ours, _):
            lasting.submit_if_up(ours, message_id)
        victim.kill()
        is_over = opens(victim, fault, call, number, tmp_path / "trace")
        victim.start()
        lasting.complete(message_id)
        if is_over:
            break
    check_exchange(lasting)


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("fdatasync", KILL),
        ("pwrite64", EIO),
        pytest.param("fdatasync", EIO, marks=pytest.mark.full),
        pytest.param("pwrite64", KILL, marks=pytest.mark.full),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_fault_during_the_very_first_opening_is_survived(
    exchange: Exchange, call: str, fault: Fault, form: Form, tmp_path: Path
) -> None:
    """A store that died at the N-th write of its creation is created by the next start."""
    gateway, chance = exchange.sender, form.chance("first", call, fault.name)
    for number in range(1, POINTS_MAX) if form.is_full else [chance.randint(1, OPENED_SHORT)]:
        for file in gateway.site.directory.glob("gateway.db*"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        if opens(gateway, fault, call, number, tmp_path / "trace"):
            break
        gateway.start()
        gateway.kill()
