"""Until when the machines of a gateway wait: what a step reads and writes, and no disk keeps.

A deadline is an instant of the monotonic clock of one process, so a restart forgets it; but a step
changes it together with rows, so the store keeps it: a commit settles what the open transaction
says, and a rollback drops it. A step that runs again after a rollback sees what it saw before.
"""

from enum import StrEnum


class Waiter(StrEnum):
    """Which machine of a message waits."""

    MESSAGE = "message"
    RECOVERY = "recovery"


class Waits:
    """What is settled, under what the open transaction says; None where nothing is waited for."""

    def __init__(self) -> None:
        self._settled: dict[tuple[Waiter, str], int] = {}
        self._said: dict[tuple[Waiter, str], int | None] = {}

    def find(self, machine: Waiter, message_id: str) -> int | None:
        """The deadline, in monotonic nanoseconds, as a step of the open transaction sees it."""
        key = machine, message_id
        return self._said[key] if key in self._said else self._settled.get(key)

    def put(self, machine: Waiter, message_id: str, due_ns: int | None) -> None:
        """In a step: the machine waits until then, or for nothing."""
        self._said[machine, message_id] = due_ns

    def settle(self) -> None:
        """The open transaction is committed."""
        for key, due_ns in self._said.items():
            if due_ns is None:
                self._settled.pop(key, None)
            else:
                self._settled[key] = due_ns
        self._said.clear()

    def drop(self) -> None:
        """The open transaction is rolled back."""
        self._said.clear()
