"""`make bench`: gateway and floor in turn, several rounds, medians, ratios.

Absolute rates say little on a shared machine; the ratio of two things measured in turn in one run
says more. Writes `build/bench.json`.
"""

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

Case = dict[str, Any]


def case_of(pairs: int, per_pair: int, *, profile: str = "rm-2000", writers: int = 1) -> Case:
    """`writers` applications hand over the messages of each pair, one after the other each.

    As many of them as the window of `rm-2001` is large keep it full; the floor has as many in
    flight as there are writers.
    """
    return {"pairs": pairs, "per_pair": per_pair, "profile": profile, "writers": writers}


CASES = {
    "pair-stop-and-wait": case_of(1, 1500),
    "200-pairs": case_of(200, 40),
    "pair-window-16": case_of(1, 3200, profile="rm-2001", writers=16),
    "pairs-200-rm-2001": case_of(200, 40, profile="rm-2001"),
}


def smaller(case: Case) -> Case:
    """The case with so few messages that it takes the time of its processes."""
    return {**case, "pairs": min(case["pairs"], 3), "per_pair": 2 * case["writers"]}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Contender:
    """A started process of a measurement."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.contender", json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a contender died with {self._process.wait()}")
        return json.loads(line)

    def go(self) -> None:
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def end(self) -> None:
        with self._process:
            code = self._process.wait(timeout=60)
        if code:
            raise SystemExit(f"a contender ended with {code}")


def measure(kind: str, case: Case) -> dict[str, float]:
    """One round of one kind: messages per second, CPU microseconds per message, both sides.

    A message is done once its sender has the acknowledgement and the application has the message.
    """
    with tempfile.TemporaryDirectory(prefix="onceonly-bench-") as directory:
        tasks = floor_tasks(directory, case) if kind == "floor" else gateway_tasks(directory, case)
        receiver, sender = Contender(tasks["receiver"]), Contender(tasks["sender"])
        receiver.hear()
        sender.hear()
        sender.go()
        sent = sender.hear()
        acknowledged_at = time.perf_counter()
        receiver.go()
        received = receiver.hear()
        behind_s = time.perf_counter() - acknowledged_at
        receiver.end()
        sender.end()
    messages = case["pairs"] * case["per_pair"]
    return {
        "rate": messages / (sent["elapsed_s"] + behind_s),
        "cpu_us": (sent["cpu_s"] + received["cpu_s"]) / messages * 1e6,
    }


def floor_tasks(directory: str, case: Case) -> dict[str, dict[str, Any]]:
    there, back = free_port(), free_port()
    shared = {"kind": "floor", "directory": directory, **case}
    return {
        "receiver": {**shared, "side": "receiver", "port": there, "their_port": back},
        "sender": {**shared, "side": "sender", "port": back, "their_port": there},
    }


def gateway_tasks(directory: str, case: Case) -> dict[str, dict[str, Any]]:
    ports = {"receiver": free_port(), "sender": free_port()}
    tasks = {}
    for side, other in (("receiver", "sender"), ("sender", "receiver")):
        config = Path(directory) / f"{side}.toml"
        config.write_text(
            configuration(side, ports[side], ports[other], case["pairs"], case["profile"])
        )
        tasks[side] = {"kind": "gateway", "side": side, "config": str(config), **case}
    return tasks


def configuration(side: str, port: int, their_port: int, pairs: int, profile: str) -> str:
    """A buyer with `pairs` partners, which all live in the other gateway."""
    buyer = "urn:duns:111111111"
    sellers = [f"urn:duns:{222_000_000 + number}" for number in range(pairs)]
    ours = [buyer] if side == "sender" else sellers
    lines = [
        "[gateway]",
        f"party = {json.dumps(ours)}",
        f'listen = "http://127.0.0.1:{port}/msh"',
        f'api = "http://127.0.0.1:{free_port()}"',
        f'store = "{side}.db"',
    ]
    for number, seller in enumerate(sellers):
        with_, party = (seller, buyer) if side == "sender" else (buyer, seller)
        lines += [
            "[[agreement]]",
            f'id = "tpa-{number}"',
            f'with = ["{with_}"]',
            f'party = ["{party}"]',
            f'profile = "{profile}"',
            f'send_to = "http://127.0.0.1:{their_port}/msh"',
        ]
    return "\n".join(lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--case", choices=CASES, action="append")
    arguments.add_argument("--small", action="store_true", help="whether it runs; no figure counts")
    given = arguments.parse_args()
    report: dict[str, Any] = {"rounds": given.rounds, "cases": []}
    for name in given.case or CASES:
        case = smaller(CASES[name]) if given.small else CASES[name]
        floors, gateways = [], []
        for _ in range(given.rounds):
            floors.append(measure("floor", case))
            gateways.append(measure("gateway", case))
        report["cases"].append(summary(name, floors, gateways))
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {target}")


def summary(
    name: str, floors: list[dict[str, float]], gateways: list[dict[str, float]]
) -> dict[str, Any]:
    ratios = [ours["rate"] / least["rate"] for ours, least in zip(gateways, floors, strict=True)]
    case = {
        "case": name,
        "rate": round(median(one["rate"] for one in gateways)),
        "floor": round(median(one["rate"] for one in floors)),
        "ratio": round(median(ratios), 3),
        "ratio_min": round(min(ratios), 3),
        "ratio_max": round(max(ratios), 3),
        "cpu_us_per_message": round(median(one["cpu_us"] for one in gateways)),
        "floor_cpu_us_per_message": round(median(one["cpu_us"] for one in floors)),
    }
    print(
        f"{name:20} {case['rate']:>7}/s  floor {case['floor']:>7}/s  ratio {case['ratio']:.3f} "
        f"({case['ratio_min']:.3f}-{case['ratio_max']:.3f})  CPU {case['cpu_us_per_message']} us "
        f"per message (floor {case['floor_cpu_us_per_message']})"
    )
    return case


if __name__ == "__main__":
    main()
