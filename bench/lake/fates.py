"""What becomes of each generated message: the rows that its parties and its relay write.

Everything is an expression of DuckDB's SQL over a message and its `luck`, a hash of the seed and
the message's number; chance is made of that, so a seed gives the same journals on any number of
cores.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from zlib import crc32

SENDER, RECEIVER, RELAY = 0, 1, 2
ATTEMPTS: Final = 4
TIMEOUT_US: Final = 30_000_000
INTERVAL_US: Final = 60_000_000
WAIT_US: Final = (0, TIMEOUT_US, TIMEOUT_US + INTERVAL_US, TIMEOUT_US + 2 * INTERVAL_US)
"""When each attempt begins, after the first one (R-06)."""
_GIVEN_UP_US: Final = TIMEOUT_US + 3 * INTERVAL_US

BEGUN: Final = f"[{', '.join(map(str, WAIT_US))}][try] + queued_us"
"""When attempt number `try` begins, after the message was submitted."""

_OF_A_MESSAGE: Final = "n, luck, way, relayed, born_at, name, content, size, best_effort"

PER_MILLION: Final = {
    "twice": 20,
    "mismatch": 20,
    "collision": 20,
    "unknown_here": 20,
    "vanished": 20,
    "kept_back": 20,
    "orphan": 20,
    "refused": 20,
    "taken_back": 50,
    "best_effort": 2_000,
    "outage": 2_000,
    "doubled": 10_000,
    "late": 200,
    "worked_on": 600_000,
}
"""How often a message meets each fate, in a million."""


def chance(salt: str) -> str:
    """A number in [0, 1) that depends on the message's luck and the salt alone."""
    return f"(hash(xor(luck, {crc32(salt.encode())})) % 1000000007 / 1000000007)"


def flags() -> list[dict[str, str]]:
    """In three steps: one boolean per fate; how each attempt would end (0 lost, 1 its answer lost,
    2 answered); how many attempts are made (`tries`), and which one arrives first (`arrival`)."""
    rare = {name: f"{chance(name)} < {rate}e-6" for name, rate in PER_MILLION.items()}
    ended = {
        f"end{attempt}": (
            f"CASE WHEN outage THEN if({chance(f'way{attempt}')} < 0.3, 1, 0) "
            f"WHEN {chance(f'way{attempt}')} < loss THEN 0 "
            f"WHEN {chance(f'way{attempt}')} < 2 * loss THEN 1 ELSE 2 END"
        )
        for attempt in range(1, ATTEMPTS + 1)
    }
    first = "CASE {} ELSE 0 END".format(
        " ".join(f"WHEN end{n} {{}} THEN {n}" for n in range(1, ATTEMPTS + 1))
    )
    answered = {
        "answer": first.replace("{}", "= 2"),
        "arrival": first.replace("{}", "> 0"),
        "sends": "NOT orphan AND NOT refused AND NOT taken_back",
    }
    tries = f"if(best_effort, 1, if(answer = 0, {ATTEMPTS}, answer))"
    return [rare, ended, answered, {"tries": tries}]


class Row(NamedTuple):
    """One possible row of a message, and when it is there."""

    when: str
    role: int
    after: str
    event: str
    attempt: int | str = "NULL"
    outcome: str | None = None
    error_code: str | None = None
    severity: str | None = None
    reason: str | None = None
    altered: str = "false"

    def sql(self, source: str, position: str) -> str:
        """The messages (or attempts) of `source` that have this row, each with what it says."""
        texts = {
            "outcome": self.outcome,
            "error_code": self.error_code,
            "severity": self.severity,
            "reason": self.reason,
        }
        told = {
            "role": str(self.role),
            "after_us": f"({self.after})::BIGINT",
            "event": f"'{self.event}'",
            "attempt": f"({self.attempt})::BIGINT",
            **{n: "NULL::VARCHAR" if text is None else f"'{text}'" for n, text in texts.items()},
            "altered": self.altered,
            "position": position,
        }
        named = ", ".join(f"{text} AS {name}" for name, text in told.items())
        return f"SELECT {_OF_A_MESSAGE}, {named} FROM {source} WHERE {self.when}"


def union(rows: Iterable[Row], source: str, before: str) -> str:
    """All these rows of everything in `source`; `position` tells their order behind `before`."""
    selected = [row.sql(source, f"{before} + {at}") for at, row in enumerate(rows)]
    return " UNION ALL ".join(selected)


def attempts() -> list[Row]:
    """The rows of attempt number `try`, which ends as `ended` says."""
    ours = "NOT unknown_here"
    took = "begun + there_us + 2000"
    there = "begun + there_us"
    sent = f"{there} + work_us"
    first = "try = arrival AND NOT vanished"
    again = "arrival > 0 AND try > arrival AND ended > 0"
    handed = f"{first} AND NOT kept_back"
    answered = f"{ours} AND ended = 2 AND NOT best_effort"
    back = f"{sent} + back_us"
    return [
        Row(ours, SENDER, "begun", "Transmitting", "try"),
        Row(f"{ours} AND ended = 0", SENDER, took, "Transmitted", "try", "unknown"),
        Row(f"{ours} AND ended > 0", SENDER, took, "Transmitted", "try", "accepted"),
        *_passing(),
        Row(first, RECEIVER, there, "Stored", altered="mismatch"),
        Row(f"{first} AND NOT best_effort", RECEIVER, sent, "AckSent", outcome="accepted"),
        Row(handed, RECEIVER, f"{sent} + 900", "HandedOver", altered="mismatch"),
        Row(
            f"{handed} AND worked_on",
            RECEIVER,
            f"{sent} + 5000000",
            "ProcessingChanged",
            reason="complete",
        ),
        Row(again, RECEIVER, there, "DuplicateEliminated"),
        Row(again, RECEIVER, sent, "AckSent", outcome="accepted"),
        Row(answered, SENDER, back, "AckReceived", "try"),
    ]


def others() -> list[Row]:
    """The rows of a message that belong to no attempt."""
    submitted = Row("NOT unknown_here AND NOT orphan AND NOT refused", SENDER, "0", "Submitted")
    return [submitted, *_repeats(), *_ends(), *_oddities()]


def _passing() -> Iterator[Row]:
    when = "relayed AND ended > 0"
    half = "begun + there_us // 2"
    yield Row(when, RELAY, half, "ArrivedInTransit", "try")
    yield Row(when, RELAY, f"{half} + 3000", "Forwarded", "try", "accepted")
    back = "begun + there_us + work_us + back_us // 2"
    relayed = f"{when} AND ended = 2"
    yield Row(relayed, RELAY, back, "AckReceived")
    yield Row(relayed, RELAY, f"{back} + 2000", "AckRelayed", outcome="accepted")


def _repeats() -> Iterator[Row]:
    """The network doubles a message."""
    when = "sends AND doubled AND end1 = 2 AND NOT best_effort AND NOT vanished"
    again = "queued_us + there_us + work_us + back_us"
    yield Row(when, RECEIVER, f"{again} + 1000", "DuplicateEliminated")
    yield Row(when, RECEIVER, f"{again} + 4000", "AckSent", outcome="accepted")
    ours = f"{when} AND NOT unknown_here"
    yield Row(ours, SENDER, f"{again} + back_us + 5000", "RepeatedAckReceived")


def _ends() -> Iterator[Row]:
    """The sender gives up, and sometimes learns more afterwards."""
    when = "sends AND NOT unknown_here AND NOT best_effort AND answer = 0"
    code = "DeliveryFailure"
    given_up = f"{_GIVEN_UP_US} + queued_us"
    yield Row(when, SENDER, given_up, "Exhausted", ATTEMPTS, None, code)
    yield Row(when, SENDER, given_up, "Notified", "NULL", None, code, "Warning", code)
    after = f"{given_up} + 90000000"
    late = f"{when} AND late"
    yield Row(late, SENDER, after, "LateAckReceived")
    yield Row(late, SENDER, after, "Notified", "NULL", None, None, "Warning", "AcknowledgedLate")
    back = "taken_back AND NOT orphan AND NOT refused AND NOT unknown_here"
    yield Row(back, SENDER, "queued_us", "Transmitting", 1)
    yield Row(back, SENDER, "queued_us + 30000", "Transmitted", 1, "unknown")
    yield Row(back, SENDER, given_up, "Notified", "NULL", None, code, "Warning", code)
    yield Row(back, RECEIVER, f"{given_up} + 40000", "CancelConfirmed")
    yield Row(back, SENDER, f"{given_up} + 80000", "Cancelled", reason="confirmed")
    yield Row("sends AND best_effort", SENDER, "queued_us + 60000", "Sent", 1, "accepted")


def _oddities() -> Iterator[Row]:
    """What must never happen, planted."""
    arrived = "sends AND end1 = 2 AND NOT best_effort AND NOT vanished"
    yield Row(f"{arrived} AND twice", RECEIVER, "90000000", "HandedOver", altered="mismatch")
    collided = f"{arrived} AND collision"
    code = "SecurityFailure"
    yield Row(collided, RECEIVER, "95000000", "CollisionDetected", error_code=code, altered="true")
    yield Row("orphan", SENDER, "0", "OrphanAckReceived", reason="fits no message of ours")
    refused = "refused AND NOT orphan"
    yield Row(refused, RECEIVER, "0", "Rejected", error_code="ValueNotRecognized")
