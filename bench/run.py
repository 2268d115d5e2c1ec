"""`make bench`: floor, gateway and peers in turn, several rounds, medians, ratios.

Absolute rates say little on a shared machine; the ratio of two things measured in turn in one run
says more, and what is counted says the same everywhere. Writes `build/bench.json`.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from bench import api
from bench.processes import Contender, cpu_s_of
from bench.workload import CASES, PEERS, Case, messages_of, smaller, write_configurations
from onceonly.demo.gateways import free_ports

# The broker of the tests, whose place is not on the path before.
sys.path.append(str(Path(__file__).parents[1] / "tests"))
from broker import Broker, find_server

Figures = dict[str, Any]

COUNTED_MESSAGES = 200
"""In the round that counts, which is slow."""

TARGET = Path("build/bench.json")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--case", choices=CASES, action="append")
    arguments.add_argument("--small", action="store_true", help="whether it runs; no figure counts")
    given = arguments.parse_args()
    names = given.case or list(CASES)
    shrink = smaller if given.small else dict
    with ExitStack() as stack:
        broker = start_broker(stack)
        measured: dict[str, list[Figures]] = defaultdict(list)
        for _ in range(given.rounds):
            # All of a round in turn, so that a slow minute of the machine is in every case.
            for name in names:
                case = shrink(CASES[name])
                measured[f"floor of {name}"].append(measure("floor", case))
                measured[name].append(measure(case["kind"], case))
            if broker is not None:
                for name, case in PEERS.items():
                    measured[name].append(measure_peer(broker, shrink(case)))
        counts = {
            name: counted(shrink(CASES[name])) for name in names[: 1 if given.small else None]
        }
    report = {
        "rounds": given.rounds,
        "cases": [summary(name, measured, counts.get(name, {})) for name in names],
        "peers": [peer_summary(name, measured, names) for name in PEERS if measured[name]],
    }
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {TARGET}")


def start_broker(stack: ExitStack) -> Broker | None:
    if find_server() is None:
        print("RabbitMQ is left out: there is none here; Debian's package rabbitmq-server has it")
        return None
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="onceonly-bench-"))
    broker = Broker(Path(directory))
    stack.callback(broker.close)
    broker.start()
    return broker


def measure(kind: str, case: Case) -> Figures:
    """One round of one kind: messages per second, CPU microseconds per message, both sides.

    A message is done once its sender has the acknowledgement and the application has the message.
    """
    with tempfile.TemporaryDirectory(prefix="onceonly-bench-") as directory:
        if kind == "api":
            return api.measure(Path(directory), case)
        tasks = (floor_tasks if kind == "floor" else gateway_tasks)(Path(directory), case)
        return raced(tasks, messages_of(case))


def measure_peer(broker: Broker, case: Case) -> Figures:
    """The same of a queue of its own; the broker's CPU counts as well."""
    shared = {**case, "port": broker.port, "queue": f"bench-{time.monotonic_ns()}"}
    tasks = {side: {**shared, "side": side} for side in ("receiver", "sender")}
    return raced(tasks, messages_of(case), lambda: cpu_s_of(broker.session))


def raced(
    tasks: dict[str, Figures], messages: int, others_cpu_s: Callable[[], float] = lambda: 0.0
) -> Figures:
    receiver, sender = Contender(tasks["receiver"]), Contender(tasks["sender"])
    receiver.hear()
    sender.hear()
    others_began_s = others_cpu_s()
    sender.go()
    sent = sender.hear()
    acknowledged_at = time.perf_counter()
    receiver.go()
    received = receiver.hear()
    behind_s = time.perf_counter() - acknowledged_at
    others_s = others_cpu_s() - others_began_s
    receiver.end()
    sender.end()
    return {
        "rate": messages / (sent["elapsed_s"] + behind_s),
        "cpu_us": (sent["cpu_s"] + received["cpu_s"] + others_s) / messages * 1e6,
        "counts": {
            name: round(count + received["counts"][name], 2)
            for name, count in sent["counts"].items()
        },
    }


def counted(case: Case) -> Figures:
    """What a message takes on both sides; empty where we cannot look into the processes."""
    if case["kind"] == "api":
        return {}
    per_lane = max(1, COUNTED_MESSAGES // (case["pairs"] * case["writers"]))
    few = min(case["per_pair"], per_lane * case["writers"])
    return measure("gateway", {**case, "per_pair": few, "is_counted": True})["counts"]


def floor_tasks(directory: Path, case: Case) -> dict[str, Figures]:
    there, back = free_ports(2)
    shared = {**case, "kind": "floor", "directory": str(directory)}
    return {
        "receiver": {**shared, "side": "receiver", "port": there, "their_port": back},
        "sender": {**shared, "side": "sender", "port": back, "their_port": there},
    }


def gateway_tasks(directory: Path, case: Case) -> dict[str, Figures]:
    return {
        side: {**case, "kind": "gateway", "side": side, "config": str(config)}
        for side, config in write_configurations(directory, case).items()
    }


def ratios_of(ours: list[Figures], theirs: list[Figures]) -> list[float]:
    """Of neighbours in time, round by round; not of two medians."""
    return [mine["rate"] / other["rate"] for mine, other in zip(ours, theirs, strict=True)]


def summary(name: str, measured: dict[str, list[Figures]], counts: Figures) -> Figures:
    gateways, floors = measured[name], measured[f"floor of {name}"]
    ratios = ratios_of(gateways, floors)
    case = {
        "case": name,
        "rate": round(median(one["rate"] for one in gateways)),
        "floor": round(median(one["rate"] for one in floors)),
        "ratio": round(median(ratios), 3),
        "ratio_min": round(min(ratios), 3),
        "ratio_max": round(max(ratios), 3),
        "cpu_us_per_message": round(median(one["cpu_us"] for one in gateways)),
        "floor_cpu_us_per_message": round(median(one["cpu_us"] for one in floors)),
        "counts": counts,
    }
    beside = CASES[name]["beside"] if name in CASES else None
    if beside in measured:
        case["beside"] = beside
        case["ratio_beside"] = round(median(ratios_of(gateways, measured[beside])), 3)
        pairs = zip(gateways, measured[beside], strict=True)
        costs = [(one["cpu_us"], other["cpu_us"]) for one, other in pairs]
        case["cpu_ratio_beside"] = round(median(one / other for one, other in costs), 3)
        case["cpu_us_more"] = round(median(one - other for one, other in costs))
    print(
        f"{name:34} {case['rate']:>7}/s  floor {case['floor']:>7}/s  ratio {case['ratio']:.3f} "
        f"({case['ratio_min']:.3f}-{case['ratio_max']:.3f})  CPU {case['cpu_us_per_message']} us "
        f"per message (floor {case['floor_cpu_us_per_message']})"
    )
    if "beside" in case:
        print(
            f"{'':34} beside {beside}: {case['ratio_beside']:.2f} of its rate, "
            f"{case['cpu_ratio_beside']:.2f} of its CPU, which is {case['cpu_us_more']:+} us"
        )
    return case


def peer_summary(name: str, measured: dict[str, list[Figures]], names: list[str]) -> Figures:
    """The peer's own figures, and the rate of each of our cases as a part of its rate."""
    peer = {
        "peer": name,
        "rate": round(median(one["rate"] for one in measured[name])),
        "cpu_us_per_message": round(median(one["cpu_us"] for one in measured[name])),
        "ratios": {
            case: round(median(ratios_of(measured[case], measured[name])), 3) for case in names
        },
    }
    print(
        f"{name:34} {peer['rate']:>7}/s  CPU {peer['cpu_us_per_message']} us per message; of it "
        + ", ".join(f"{case} {ratio:.2f}" for case, ratio in peer["ratios"].items())
    )
    return peer


if __name__ == "__main__":
    main()
