"""What becomes of each generated message: the rows that its parties and its relay write.

Everything is a Spark SQL expression over the message's number `n`; chance is a hash of (seed, n,
salt), so a seed gives the same journals on any number of cores.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

SENDER, RECEIVER, RELAY = 0, 1, 2
ATTEMPTS: Final = 4
TIMEOUT_US: Final = 30_000_000
INTERVAL_US: Final = 60_000_000
WAIT_US: Final = (0, TIMEOUT_US, TIMEOUT_US + INTERVAL_US, TIMEOUT_US + 2 * INTERVAL_US)
"""When each attempt begins, after the first one (R-06)."""
_GIVEN_UP_US: Final = TIMEOUT_US + 3 * INTERVAL_US

ROW: Final = (
    "struct<side:int,after_us:bigint,event:string,attempt:bigint,outcome:string,"
    "error_code:string,severity:string,reason:string,altered:boolean>"
)

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
    """A number in [0, 1) that depends on the seed, the message and the salt alone."""
    return f"(pmod(xxhash64({{seed}}L, n, '{salt}'), 1000000007L) / 1000000007D)"


def flags() -> dict[str, str]:
    """One boolean per fate; how each attempt would end: 0 lost, 1 its answer lost, 2 answered;
    how many attempts are made (`tries`), and which one arrives first (`arrival`)."""
    rare = {name: f"{chance(name)} < {rate}e-6" for name, rate in PER_MILLION.items()}
    ended = {
        f"end{attempt}": (
            f"CASE WHEN outage THEN IF({chance(f'way{attempt}')} < 0.3, 1, 0) "
            f"WHEN {chance(f'way{attempt}')} < loss THEN 0 "
            f"WHEN {chance(f'way{attempt}')} < 2 * loss THEN 1 ELSE 2 END"
        )
        for attempt in range(1, ATTEMPTS + 1)
    }
    first = "CASE {} END".format(
        " ".join(f"WHEN end{n} {{}} THEN {n}" for n in range(1, ATTEMPTS + 1))
    )
    return {
        **rare,
        **ended,
        "answer": f"coalesce({first.replace('{}', '= 2')}, 0)",
        "arrival": f"coalesce({first.replace('{}', '> 0')}, 0)",
        "sends": "NOT orphan AND NOT refused AND NOT taken_back",
        "tries": f"IF(best_effort, 1, IF(answer = 0, {ATTEMPTS}, answer))",
    }


class Row(NamedTuple):
    """One possible row of a message, and when it is there."""

    when: str
    side: int
    after: str
    event: str
    attempt: int | str = "NULL"
    outcome: str | None = None
    error_code: str | None = None
    severity: str | None = None
    reason: str | None = None
    altered: str = "false"

    def sql(self) -> str:
        """NULL, or the row as a struct."""
        words = (self.outcome, self.error_code, self.severity, self.reason)
        texts = ", ".join("NULL" if word is None else f"'{word}'" for word in words)
        attempt = f"CAST({self.attempt} AS BIGINT)"
        fields = f"{self.side}, CAST({self.after} AS BIGINT), '{self.event}', {attempt}, {texts}"
        return f"IF({self.when}, CAST(struct({fields}, {self.altered}) AS {ROW}), NULL)"


def attempts() -> list[Row]:
    """The rows of attempt number `try`, which ends as `ended` says."""
    ours = "NOT unknown_here"
    begun = f"element_at(array({', '.join(f'{wait}L' for wait in WAIT_US)}), try) + queued_us"
    took = f"{begun} + there_us + 2000"
    there = f"{begun} + there_us"
    sent = f"{there} + work_us"
    first = "try = arrival AND NOT vanished"
    again = "arrival > 0 AND try > arrival AND ended > 0"
    handed = f"{first} AND NOT kept_back"
    answered = f"{ours} AND ended = 2 AND NOT best_effort"
    back = f"{sent} + back_us"
    return [
        Row(ours, SENDER, begun, "Transmitting", "try"),
        Row(f"{ours} AND ended = 0", SENDER, took, "Transmitted", "try", "unknown"),
        Row(f"{ours} AND ended > 0", SENDER, took, "Transmitted", "try", "accepted"),
        *_passing(begun),
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


def _passing(begun: str) -> Iterator[Row]:
    when = "relayed AND ended > 0"
    half = f"{begun} + there_us div 2"
    yield Row(when, RELAY, half, "ArrivedInTransit", "try")
    yield Row(when, RELAY, f"{half} + 3000", "Forwarded", "try", "accepted")
    back = f"{begun} + there_us + work_us + back_us div 2"
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
