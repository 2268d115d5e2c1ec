"""Whatever leaves the gateway leaves from its desk, after a commit (R-02)."""

import re
from pathlib import Path

import pytest

SENDERS = {"office.py", "desk.py", "outgoing/replies.py"}
"""The office posts signals, the desk everything else; a reply goes into the exchange that waits."""

SENDING = re.compile(r"\bOutgoing\(|transport\.send\(")


@pytest.fixture
def gateway(root: Path) -> Path:
    return root / "src" / "onceonly" / "gateway"


def senders(gateway: Path) -> set[str]:
    return {
        str(path.relative_to(gateway))
        for path in gateway.rglob("*.py")
        if SENDING.search(path.read_text("utf-8"))
    }


def test_nobody_but_the_desk_sends(gateway: Path) -> None:
    """A part that made a transmission of its own would have to be added here."""
    assert senders(gateway) == SENDERS


def test_what_is_to_leave_is_released_in_one_place(gateway: Path) -> None:
    """By `Office.transact`, once the commit has returned."""
    text = {path.name: path.read_text("utf-8") for path in gateway.rglob("*.py")}
    assert {name for name, one in text.items() if ".departures" in one} == {"desk.py"}
    assert {name for name, one in text.items() if "._release(" in one} == {"office.py"}


def test_a_part_that_sends_by_itself_is_seen(gateway: Path, tmp_path: Path) -> None:
    """The check, on a planted one."""
    (tmp_path / "relay.py").write_text("await self._transport.send(Outgoing(there, kind, body))")
    assert senders(tmp_path) == {"relay.py"}
