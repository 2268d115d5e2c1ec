"""Options and gateways of the nemesis: real processes that are killed, paused and starved."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))

from nemesis_chain import Chain
from nemesis_faults import Form
from nemesis_figures import Said, Say, as_json, write
from nemesis_gateways import Exchange, build_exchange

CYCLES = 20
"""Of all kill loops together, in the short form: what `make test` can afford."""

SEED = 20_260_101

SAID = pytest.StashKey[list[Said]]()
BEGUN = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Known only where this directory is named on the command line; elsewhere defaults hold."""
    parser.addoption("--cycles", type=int, default=CYCLES, help="Kills of the nemesis.")
    parser.addoption("--figures", type=Path, help="Where the figures go, as JSON.")
    parser.addoption("--nemesis-seed", type=int, default=SEED, help="Seed of every chance.")


def pytest_configure(config: pytest.Config) -> None:
    """What takes too long for `make test`, and what is counted."""
    config.stash[SAID], config.stash[BEGUN] = [], time.monotonic()
    config.addinivalue_line("markers", "full: runs in the full form of the nemesis only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Everything here starts gateways; some of it is for the full form only."""
    ours = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.process)
    if _form_of(config).is_full:
        return
    left_out = [item for item in ours if item.get_closest_marker("full")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _form_of(config: pytest.Config) -> Form:
    return Form(config.getoption("cycles", CYCLES), config.getoption("nemesis_seed", SEED))


@pytest.fixture
def form(request: pytest.FixtureRequest) -> Form:
    """How much is wanted of this run."""
    return _form_of(request.config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """The ends of the gateways' logs belong to a failure; what failed is not used again."""
    report = yield
    if report.when == "call" and report.failed:
        for exchange in getattr(item, "funcargs", {}).values():
            if isinstance(exchange, Exchange | Chain):
                exchange.is_sound = False
                for gateway in exchange.gateways:
                    section = (f"log of the {gateway.site.name}", gateway.log_end())
                    report.sections.append(section)
    return report


@pytest.fixture
def exchange(tmp_path: Path) -> Iterator[Exchange]:
    """Two configured gateways, not started; whatever still runs at the end is killed."""
    found = build_exchange(tmp_path)
    yield found
    found.destroy()


@pytest.fixture(scope="module")
def _lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Exchange]]:
    built: list[Exchange] = []

    def one() -> Exchange:
        if not built or not built[-1].is_sound:
            built.append(build_exchange(tmp_path_factory.mktemp("lasting")))
        return built[-1]

    yield one
    for exchange in built:
        exchange.destroy()


@pytest.fixture
def lasting(_lasting: Callable[[], Exchange]) -> Exchange:
    """Two running gateways that live through all tests of a module, so that each test finds what
    the crashes before it left; new ones after a test that failed."""
    exchange = _lasting()
    exchange.start()
    return exchange


@pytest.fixture
def say(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Say:
    """Prints a line of summary whatever pytest captures, and keeps its figures."""

    def print_line(text: str, **figures: int) -> None:
        request.config.stash[SAID].append(Said(request.node.name, text, figures))
        with capsys.disabled():
            print(f"\n{text}")  # noqa: T201 - because the summary is for whoever runs it

    return print_line


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Keep what the run counted, where it is wanted."""
    path = config.getoption("figures", None)
    if path is None:
        return
    counts = {
        outcome: len(terminalreporter.stats.get(outcome, ()))
        for outcome in ("passed", "failed", "skipped", "error")
    }
    form, seconds = _form_of(config), round(time.monotonic() - config.stash[BEGUN])
    run = {"seed": form.seed, "cycles": form.cycles, "seconds": seconds, "tests": counts}
    write(path, as_json(config.stash[SAID], **run))
