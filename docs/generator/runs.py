"""Recorded runs as figures: what `tests/docs` has seen, in the words of a page.

Knows the files in `docs/runs` and what each kind of step is called. Nothing of a run is added or
moved here; what says only that HTTP worked is left out unless the page asks for it.
"""

import json
from pathlib import Path
from typing import Any, Final

from generator.figures import Arrow, Item, Sign, sequence_figure

RUNS: Final = Path(__file__).parents[1] / "runs"

ANSWERS = "answers"
"""Word of a page that wants to see the answers of HTTP too."""

LATE_AT = 0.55
"""Where on its way a package waits that the network delays."""

_OUTCOMES: Final = frozenset(
    {
        "Transmitted",
        "InquirySent",
        "ReportSent",
        "PingSent",
        "ErrorSent",
        "AckRelayed",
        "Forwarded",
        "FailureNoticeSent",
    }
)
"""Rows that say how a transmission ended, and nothing else."""

_ANSWERS: Final = {
    "CancelRequest": ("cancel confirmed", "cancel refused"),
    "ResponseRequest": ("the response follows", "there is no response"),
}

Step = dict[str, Any]


def run_figure(source: str) -> str:
    """The figure of a `run` block: the name of a run, and perhaps the word `answers`.

    Raises `FileNotFoundError` for a run that was not recorded, `ValueError` for another word.
    """
    name, *words = source.split()
    if not set(words) <= {ANSWERS}:
        raise ValueError(f"{source!r}: after the name of a run only {ANSWERS!r} may stand")
    run = json.loads((RUNS / f"{name}.json").read_text("utf-8"))
    return _Figure(run, has_answers=bool(words)).drawn()


class _Figure:
    def __init__(self, run: dict[str, Any], *, has_answers: bool) -> None:
        self._title = run["title"]
        self._names: list[str] = run["participants"]
        self._steps: list[Step] = run["steps"]
        self._has_answers = has_answers
        self._has_several = len(_messages(self._steps)) > 1

    def drawn(self) -> str:
        items = [item for step in self._steps if (item := self._item(step)) is not None]
        return sequence_figure(self._names, items, f"Run: {self._title}")

    def _item(self, step: Step) -> Item | None:
        if "from" in step:
            return self._arrow(step)
        place = self._names.index(step["at"])
        if "pause" in step:
            return Sign(place, [f"{_span(step['pause'])} later"], "time")
        if "note" in step:
            return Sign(place, [step["note"]], "box")
        lines = [self._row(row) for row in step["commit"] if self._is_shown(row, step["commit"])]
        return Sign(place, lines, "commit") if lines else None

    def _is_shown(self, row: Step, rows: list[Step]) -> bool:
        if self._has_answers or row.get("outcome") != "accepted":
            return True
        return row["event"] not in _OUTCOMES and (row["event"] != "AckSent" or len(rows) > 1)

    def _arrow(self, step: Step) -> Arrow | None:
        ends = self._names.index(step["from"]), self._names.index(step["to"])
        if "call" in step:
            return Arrow(*ends, step["call"], "answer" if step["call"][0].isdigit() else "call")
        if "package" not in step:
            is_seen = self._has_answers or "lost" in step
            lost = "lost" in step
            return (
                Arrow(*ends, str(step["answer"]), "answer", _reach(step), lost) if is_seen else None
            )
        text = self._package(step)
        if "answer" in step:
            return Arrow(*ends, f"200 with {text}", "answer", _reach(step), "lost" in step)
        return Arrow(*ends, text, "", _reach(step), "lost" in step)

    def _package(self, step: Step) -> str:
        if step["package"] == "message":
            return self._message(step)
        about = f" of {step['about']}" if self._has_several and "about" in step else ""
        what = step["package"]
        if what == "Error":
            said = (
                _span(step["min_retry"]) if "min_retry" in step else f"severity {step['severity']}"
            )
            return f"{step['error']}{about}, {said}"
        if what == "Pong":
            return f"Pong: {'yes' if step['accepted'] else 'no'}"
        if what.startswith("answer to"):
            return _report(step)
        again = " again" if step.get("copy") == "same bytes" else ""
        return f"{what}{about}{again}"

    def _message(self, step: Step) -> str:
        words = [step["message"]]
        if step.get("copy") == "same bytes":
            words[0] += " again, the same bytes"
        elif "copy" in step:
            words[0] += f" again, the {step['copy']}"
        elif "number" in step:
            words.append(f"number {step['number']}")
        if "about" in step and "copy" not in step:
            words.append(f"answers {step['about']}")
        if "hops" in step:
            words.append(f"{step['hops']} hops")
        if "by" in step:
            words.append(f"by {step['by']}")
        return ", ".join(words)

    def _row(self, row: Step) -> str:
        text = row["event"]
        if self._has_several and "message" in row:
            text += f" {row['message']}"
        if row["event"] == "Transmitting" and row["attempt"] > 1:
            text += f", attempt {row['attempt']}"
        said = [row[key] for key in ("reason", "error") if key in row][:1]
        if row["event"] == "Notified":
            said.append(row["severity"])
        if row.get("outcome", "accepted") != "accepted" or row["event"] in _OUTCOMES:
            said = [row["outcome"]]
        return f"{text}: {', '.join(said)}" if said else text


def _report(step: Step) -> str:
    asked = step["package"].removeprefix("answer to ")
    if asked == "StatusRequest":
        return "status: " + ", ".join(step[key] for key in ("status", "processing") if key in step)
    yes, no = _ANSWERS[asked]
    return yes if step["accepted"] else no


def _reach(step: Step) -> tuple[float, float]:
    if "lost" in step:
        return 0.0, 0.62
    if "late" in step:
        return (0.0, LATE_AT) if step["late"] == "leaves" else (LATE_AT, 1.0)
    return 0.0, 1.0


def _messages(steps: list[Step]) -> set[str]:
    rows = [row for step in steps for row in step.get("commit", [])]
    return {row["message"] for row in rows if "message" in row}


def _span(seconds: int) -> str:
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds % unit == 0 and seconds >= unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"
