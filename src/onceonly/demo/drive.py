"""The demonstration from beginning to end: prepare, exchange, prove, report, tidy up.

The only public function is `run_demo`. It holds the order of things and the exit codes; every
step is somewhere else.
"""

import secrets
from collections.abc import Sequence
from time import monotonic

from rich.console import Console

from onceonly.demo import results
from onceonly.demo.applications import Posting
from onceonly.demo.display import Display
from onceonly.demo.documents import SampleDocument, files_of, order, order_response
from onceonly.demo.exchange import Observations, Side, exchange
from onceonly.demo.gateways import DemoFailed, Site
from onceonly.demo.interruption import run_until_told, terminable
from onceonly.demo.layout import Layout, prepare, tidy
from onceonly.demo.options import DemoOptions
from onceonly.demo.proof import disagreements, prove, publish
from onceonly.demo.results import EXIT_HELD, Results
from onceonly.demo.spark import start_spark
from onceonly.demo.verdict import judge
from onceonly.message.errors import LocalError

EXIT_UNEXPECTED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143

SEEDS = 1_000_000
"""Short enough to be typed again."""


def run_demo(options: DemoOptions) -> int:
    """Carry out the demonstration and return its exit code. Call it from the main thread.

    0: what was promised held; 1: it could not be carried out; 2: wrong options; 7: a message is
    without a verdict; 11: something broke, or applications and journals disagree; 130 and 143:
    interrupted, terminated. No process of it outlives the call.
    """
    display = Display(Console(stderr=True))
    terminated: list[int] = []
    try:
        options.check()
        with terminable(terminated):
            return _run(options, display, terminated)
    except LocalError as error:
        display.tell(f"error: {error}")
        return EXIT_USAGE
    except DemoFailed as error:
        display.tell(f"error: {error}")
        return EXIT_UNEXPECTED
    except KeyboardInterrupt:
        display.tell("interrupted; both gateways are ended")
        return EXIT_TERMINATED if terminated else EXIT_INTERRUPTED


def _run(options: DemoOptions, display: Display, terminated: list[int]) -> int:
    started = monotonic()
    seed = secrets.randbelow(SEEDS) if options.seed is None else options.seed
    layout, buyer, seller = prepare(options)
    sides = _sides(options, seed, buyer, seller)
    _announce(options, seed, sides, display)
    spark = start_spark()
    observed = run_until_told(exchange(options, seed, sides, display), terminated)
    sites = (buyer, seller)
    publish(sites)
    display.tell("Spark matches both journals")
    spark.join()
    result = _result(options, seed, observed, sites, layout, started)
    results.write(result, layout.json)
    results.show(result, Console())
    _tidy(result, layout, sites, display)
    return result.exit_code


def _sides(options: DemoOptions, seed: int, buyer: Site, seller: Site) -> tuple[Side, Side]:
    if options.documents is not None:
        orders = replies = list(files_of(options.documents))
    else:
        numbers = range(1, options.messages + 1)
        orders = [order(seed, number) for number in numbers]
        replies = [order_response(seed, number) for number in numbers]
    return (
        Side(buyer, "NewOrder", _postings("order", seed, orders)),
        Side(seller, "OrderResponse", _postings("response", seed, replies)),
    )


def _postings(kind: str, seed: int, documents: Sequence[SampleDocument]) -> tuple[Posting, ...]:
    """An order and its response are one conversation."""
    return tuple(
        Posting(f"{kind}-{number:06d}.{seed}@demo", document, f"purchase-{number:06d}.{seed}@demo")
        for number, document in enumerate(documents, start=1)
    )


def _announce(options: DemoOptions, seed: int, sides: tuple[Side, Side], display: Display) -> None:
    count = sum(len(side.postings) for side in sides)
    size = sum(posting.document.size_bytes for side in sides for posting in side.postings)
    kills = f"a kill every {options.kill_every:g} s" if options.kill_every else "no kills"
    spoken = options.profile.name + (", signed" if options.is_signed else "")
    display.tell(
        f"seed {seed}, {spoken}: {count} documents ({size / 1e6:.1f} MB), "
        f"{options.loss:.0%} of requests lost, {kills}"
    )


def _result(
    options: DemoOptions,
    seed: int,
    observed: Observations,
    sites: tuple[Site, Site],
    layout: Layout,
    started: float,
) -> Results:
    proof = prove(sites, layout.html)
    parties = {site.name: site.party for site in sites}
    return Results(
        options=options,
        seed=seed,
        outcome=judge(observed.sent, observed.states, observed.seen),
        observed=observed,
        proof=proof,
        disagreements=disagreements(
            observed.sent, observed.states, observed.seen, proof.verdicts, parties
        ),
        elapsed_s=monotonic() - started,
    )


def _tidy(result: Results, layout: Layout, sites: tuple[Site, Site], display: Display) -> None:
    if result.exit_code != EXIT_HELD or result.options.keep:
        display.tell(f"stores, configurations and logs are kept in {layout.out}")
    else:
        tidy(*sites)
    display.tell(f"report: {layout.html}")
    display.tell(f"figures: {layout.json}")
