"""What the demonstration says in the end: `report.json`, the verdict table, the exit code.

Lays the applications' count and the journals' proof side by side. Computes nothing that one of
the two did not observe.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onceonly.demo.exchange import Observations
from onceonly.demo.link import Fault
from onceonly.demo.options import DemoOptions
from onceonly.demo.proof import AGREED, Proof
from onceonly.demo.verdict import MessageCount
from onceonly.message.event import Event
from onceonly.message.printable import printable
from onceonly.protocol.sending import OutboundStatus

EXIT_HELD = 0
EXIT_IN_DOUBT = 7
EXIT_DIFFERENCES = 11
SHOWN_MAX = 10
"""Disagreements that are printed; all of them are in `report.json`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Everything that the report says."""

    options: DemoOptions
    seed: int
    outcome: MessageCount
    observed: Observations
    proof: Proof
    disagreements: tuple[str, ...]
    elapsed_s: float

    @property
    def broken(self) -> tuple[str, ...]:
        """What did not hold, in words: seen by the applications, by Spark, or by neither alone."""
        breaches = (
            f"{count} message(s) break invariant {name}"
            for name, count in self.proof.breaches.items()
            if count
        )
        replay = () if self.observed.inbox_is_replayable else ("an inbox changed when read again",)
        return (*self.outcome.broken, *replay, *self._unproven, *breaches, *self.disagreements)

    @property
    def _unproven(self) -> tuple[str, ...]:
        if not self.options.is_signed:
            return ()
        states = self.observed.states
        told = {one for one, state in states.items() if state == OutboundStatus.ACKNOWLEDGED}
        count = len(told - self.observed.proven)
        claim = f"{count} message(s) acknowledged without evidence of receipt that verifies"
        return (claim,) if count else ()

    @property
    def exit_code(self) -> int:
        """0 only if every promise held for every message."""
        if self.broken:
            return EXIT_DIFFERENCES
        return EXIT_IN_DOUBT if self.outcome.unsettled else EXIT_HELD

    def as_json(self) -> dict[str, Any]:
        """The content of `report.json`."""
        observed, proof, outcome = self.observed, self.proof, asdict(self.outcome)
        return {
            "held": self.exit_code == EXIT_HELD,
            **{name: outcome.pop(name) for name in ("sent", "acknowledged", "handed_over")},
            "duplicates_eliminated": proof.events.get(Event.DUPLICATE_ELIMINATED, 0),
            **outcome,
            "kills": sum(observed.kills.values()),
            "faults": {fault.value: observed.faults[fault] for fault in Fault},
            "seed": self.seed,
            "profile": self.options.profile.name,
            "signed": self.options.is_signed,
            "with_evidence": len(observed.proven),
            "loss": self.options.loss,
            "kill_every_s": self.options.kill_every,
            "kills_of": observed.kills,
            "requests": observed.requests,
            "gateway_down": observed.gateway_down,
            "repeated_calls": observed.repeated_calls,
            "pairs_resumed": observed.resumed,
            "received_bytes": observed.received_bytes,
            "transmissions": proof.events.get(Event.TRANSMITTING, 0),
            "verdicts": dict(proof.counts),
            "breaches": dict(proof.breaches),
            "broken": [*self.broken],
            "unsettled": [*self.outcome.unsettled],
            "exchange_s": round(observed.elapsed_s, 1),
            "elapsed_s": round(self.elapsed_s, 1),
            "report": str(proof.html),
        }


def write(results: Results, path: Path) -> None:
    """Write `report.json`, whole or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(results.as_json(), indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)


def show(results: Results, console: Console) -> None:
    """Print the verdict table, what happened on the way, and where the reports are."""
    report = results.as_json()
    console.print("Verdict of both journals on every message")
    console.print(_verdicts(results, is_terminal=console.is_terminal))
    faults = sum(report["faults"].values())
    console.print(
        f"{report['sent']} sent, {report['acknowledged']} acknowledged, "
        f"{report['handed_over']} handed over once, "
        f"{report['duplicates_eliminated']} duplicates eliminated, {report['lost']} lost, "
        f"{report['delivered_twice']} twice, {report['altered']} altered, "
        f"{report['in_doubt']} in doubt",
        highlight=False,
        soft_wrap=True,
    )
    console.print(
        f"{faults} faults in {report['requests']} requests, {report['kills']} hard kills, "
        f"profile {report['profile']}, seed {report['seed']}",
        highlight=False,
        soft_wrap=True,
    )
    if report["signed"]:
        console.print(
            f"{report['with_evidence']} messages with evidence of receipt that verifies: signed by "
            "their receivers, with the digests of what was sent",
            highlight=False,
            soft_wrap=True,
        )
    for line in (*results.broken[:SHOWN_MAX], *results.outcome.unsettled):
        console.print(f"[bold red]![/] {escape(printable(line))}", highlight=False, soft_wrap=True)
    if results.exit_code == EXIT_HELD:
        console.print("[bold green]What was promised held.[/]", highlight=False)
    else:
        console.print("[bold red]What was promised did not hold.[/]", highlight=False)


def _verdicts(results: Results, *, is_terminal: bool) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD if is_terminal else box.ASCII,
    )
    table.add_column("verdict")
    table.add_column("messages", justify="right")
    for verdict, count in sorted(results.proof.counts.items()):
        if count:
            style = "green" if verdict in AGREED else "bold red"
            table.add_row(verdict, str(count), style=style)
    return table
