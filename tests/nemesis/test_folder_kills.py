"""Files that become messages and files again, while both gateways are killed: each once, none lost.

The sender has a pickup folder and the receiver a drop folder, from which an application takes away
what appears. What it took is all that counts: neither gateway knows its files any more then.
"""

import signal
from collections import Counter
from pathlib import Path

import pytest
from nemesis_gateways import DEATH_S, Exchange, build_exchange, until
from nemesis_points import FOLDERS

from onceonly.client import Client

DOCUMENTS_PER_KILL = 10
KILLS = ("sender", "receiver", "sender", "receiver")


class Folders:
    """Both folders of an exchange, and what the receiver's application took."""

    def __init__(self, exchange: Exchange, home: Path) -> None:
        self.exchange = exchange
        self.out, self.into = home / "out", home / "into"
        self._taken = home / "taken"
        for folder in (self.out, self.into, self._taken):
            folder.mkdir()
        self._put: list[bytes] = []
        pickup = {"id": "out", "path": str(self.out), "agreement": "tpa-nemesis"}
        pickup |= {"service": "Ordering", "action": "NewOrder", "interval": 1}
        exchange.sender.tables["pickup"] = pickup
        exchange.receiver.tables["drop"] = {"id": "into", "path": str(self.into)}
        for gateway in exchange.gateways:
            gateway.configure()

    def put(self, name: str) -> None:
        """A document with content of its own, as an application puts it there."""
        content = f"<Order>{name} {len(self._put)}</Order>".encode()
        self._put.append(content)
        (self.out / name).write_bytes(content)
        (self.out / f"{name}.done").touch()

    def take(self) -> Counter[bytes]:
        """Take away what has appeared; all that was ever taken, by content."""
        for there in self.into.glob("[0-9]*"):
            number = sum(1 for _ in self._taken.iterdir())
            there.rename(self._taken / f"{number}-{there.name}")
        return Counter(one.read_bytes() for one in self._taken.glob("*/1-*"))

    def are_settled(self) -> bool:
        """Whether every document has its verdict and was taken."""
        sent = sum(1 for _ in (self.out / "sent").rglob("*.result.json"))
        return sent == len(self._put) <= sum(self.take().values())

    def check(self) -> None:
        """Every document was sent and taken once, and nothing else was."""
        until(self.are_settled, "every document is sent and taken")
        assert self.take() == Counter(self._put)
        assert list((self.out / "failed").iterdir()) == []
        assert list((self.out / "sending").iterdir()) == []
        assert [one.name for one in self.out.glob("*.xml*")] == []


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two gateways that live through all tests of the module."""
    home = tmp_path_factory.mktemp("folders")
    exchange = build_exchange(home)
    yield Folders(exchange, home)
    exchange.destroy()


@pytest.mark.parametrize(("point", "role"), FOLDERS)
def test_a_death_at_a_step_of_a_folder_is_survived(folders, point, role):
    """The document is there once, whatever step was the last one."""
    exchange = folders.exchange
    exchange.start()
    victim = exchange.gateway(role)
    victim.restart(f"{point}:1")
    folders.put("x.xml")
    assert victim.wait_for_end(DEATH_S) == -signal.SIGKILL, victim.log_end()
    victim.configure()
    victim.start()
    folders.check()


def test_kills_at_any_time_lose_and_double_nothing(folders):
    """Documents under few names, put there while one gateway after the other is killed."""
    exchange = folders.exchange
    exchange.start()
    for number, role in enumerate(KILLS):
        for one in range(DOCUMENTS_PER_KILL):
            folders.put(f"{number}-{one}.xml")
        until(lambda: sum(folders.take().values()) > 0, "some were taken")
        exchange.gateway(role).restart()
    folders.check()


def test_reloads_of_folders_between_kills_lose_and_double_nothing(folders):
    """Both folders change, go and come back while documents are under way."""
    exchange = folders.exchange
    exchange.start()
    for number, role in enumerate(KILLS):
        for one in range(DOCUMENTS_PER_KILL):
            folders.put(f"r{number}-{one}.xml")
        for gateway, kind, keys in (
            (exchange.sender, "pickup", {"interval": 2 + number}),
            (exchange.receiver, "drop", {"services": ["Ordering", f"Other{number}"]}),
        ):
            table = gateway.tables[kind]
            for wanted in ({**table, **keys}, None, table):
                gateway.tables[kind] = wanted
                if wanted is None:
                    del gateway.tables[kind]
                gateway.configure()
                with Client(gateway.site.api) as client:
                    assert f"[[{kind}]]" in client.reload().changed
        exchange.gateway(role).restart()
    folders.check()
