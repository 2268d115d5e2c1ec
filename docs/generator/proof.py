"""The figures of the last campaigns as tables of the page about the proof.

Knows the files in `docs/proof`, kept from runs of the commands that `_TABLES` names. Nothing is
computed here but sums.
"""

import json
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple

PROOF: Final = Path(__file__).parents[1] / "proof"

Document = dict[str, Any]


class Table(NamedTuple):
    """What one `proof` block shows."""

    file: str
    command: str
    """What makes the file."""
    html: Callable[[Document], str]


def proof_table(source: str) -> str:
    """The table of a `proof` block, which has the name of a campaign. Raises `KeyError`."""
    table = _TABLES[source.strip()]
    file = PROOF / table.file
    if not file.is_file():
        return f"<p><em>No run is kept yet: <code>{escape(table.command)}</code>.</em></p>"
    return table.html(json.loads(file.read_text("utf-8")))


def _rows(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    body = "".join(
        "<tr>" + "".join(f"<td>{_shown(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _shown(cell: object) -> str:
    text = f"{cell:,}" if isinstance(cell, int) else escape(str(cell))
    # A long name must not take the width that the words beside it need.
    return text.replace("_", "_<wbr>")


def _folded(rows: str) -> str:
    return f"<details><summary>All of them</summary>{rows}</details>"


def _facts(facts: dict[str, object]) -> str:
    return _rows((), facts.items())


def _campaign(document: Document) -> str:
    days = document["virtual_ms"] / 86_400_000
    return _facts(
        {
            "worlds": document["seeds"],
            "violations": document["violating_seeds"],
            "code": document["code"][:16],
            "messages accepted": document["accepted"],
            "delivered": document["delivered"],
            "acknowledged": document["acknowledged"],
            "failed, and said so": document["failed"],
            "in doubt at the end": document["in_doubt"],
            "faults that struck": sum(document["faults"].values()),
            "kinds of faults": len(document["faults"]),
            "fault x phase met": len(document["matrix"]),
            "combinations of fault classes": document["combinations"],
            "processes killed at named points": sum(
                one["killed"] for one in document["points"].values()
            ),
            "states that must occur, seen": f"{_seen(document)} of {len(document['sometimes'])}",
            "days of virtual time": f"{days:,.0f}",
            "worlds a second on one core": f"{_rate(document):,.0f}",
        }
    )


def _rate(document: Document) -> float:
    """Over all calls that the campaign took."""
    seconds: float = document["core_seconds"]
    return document["seeds"] / seconds if seconds else 0.0


def _seen(document: Document) -> int:
    return sum(bool(count) for count in document["sometimes"].values())


def _exhaustive(document: Document) -> str:
    found = document["exhaustive"]
    spaces = _rows(("space", "executions"), found["executions"].items())
    return f"{spaces}<p>{escape(found['text'])}.</p>"


def _power_cuts(document: Document) -> str:
    found = document["power_cuts"]
    return _facts(
        {
            "power cuts": found["cuts"],
            "cuts that did harm": sum(found["harms"].values()),
            "commits": found["commits"],
            "opened by the product and asked everything": found["close_looks"],
        }
    )


def _mutants(document: Document) -> str:
    rows = _rows(
        ("mutant", "what is broken", "killed by", "seeds"),
        (
            (one["name"], one["why"], ", ".join(one["killed_by"]) or _not_killed(one), one["seeds"])
            for one in document["mutants"]
        ),
    )
    return (
        f"<p>{document['killed']} killed, {document['survived']} survived, "
        f"{document['equivalent']} equivalent; median {document['median_seeds']:g} seeds.</p>"
        f"{_folded(rows)}"
    )


def _not_killed(mutant: Document) -> str:
    reason = mutant["equivalent_because"]
    return f"equivalent: {reason}" if reason else "survived"


def _fuzz(document: Document) -> str:
    columns = ("what", "executions", "features", "inputs", "findings")
    rows = [tuple(one[column] for column in columns) for one in document["rows"]]
    total = ("all", document["executions"], "", "", document["findings"])
    heads = ("parser", "executions", "features reached", "inputs kept", "findings")
    return _rows(heads, [*rows, total])


def _nemesis(document: Document) -> str:
    tests = ", ".join(f"{count} {word}" for word, count in document["tests"].items())
    notes = "".join(f"<p>{escape(note)}</p>" for note in document.get("notes", ()))
    rows = ((line["test"].rpartition("::")[2], line["text"]) for line in document["lines"])
    shown = _folded(_rows(("test", "what it counted"), rows))
    return f"<p>Tests: {escape(tests)}.</p>{notes}{shown}"


_SIMULATE = 'make simulate ARGS="-o json"'
_TABLES: Final = {
    "campaign": Table("campaign.json", "onceonly simulate --spark … -o json", _campaign),
    "exhaustive": Table("exhaustive.json", "onceonly simulate --exhaustive -o json", _exhaustive),
    "power_cuts": Table("power_cuts.json", _SIMULATE, _power_cuts),
    "mutants": Table("mutants.json", "make mutants", _mutants),
    "fuzz": Table("fuzz.json", 'make fuzz ARGS="--executions 1000000"', _fuzz),
    "nemesis": Table("nemesis.json", "make nemesis", _nemesis),
}
