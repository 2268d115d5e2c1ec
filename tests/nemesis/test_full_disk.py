"""A full disk is not a broken disk: refuse clearly, lose nothing, go on with space (D4, R-28).

The store under test lies on a file system of its own, a few megabytes large; everything else of
the gateway, its log and its lake, does not.
"""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from nemesis_chain import Chain, build_chain
from nemesis_evidence import check_exchange
from nemesis_gateways import DEATH_S, Exchange, await_acknowledged, build_exchange, until

from onceonly.client import Client
from onceonly.message.errors import LocalError

DISK_BYTES = 6_000_000
PIECE_BYTES = 4_096


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of six megabytes."""
    directory = tmp_path / "disk"
    directory.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(directory)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a tmpfs is not permitted here")
    yield directory
    subprocess.run(["umount", "-l", str(directory)], check=True)


class Ballast:
    """Fills a disk to its last page, and gives the space back."""

    def __init__(self, disk: Path) -> None:
        self._file = disk / "ballast"

    def fill(self) -> None:
        """Until not one page is left."""
        with pytest.raises(OSError, match="No space left"):
            self._write_more_than_fits()

    def _write_more_than_fits(self) -> None:
        with self._file.open("ab", buffering=0) as file:
            for _ in range(DISK_BYTES // PIECE_BYTES + 1):
                file.write(b"\0" * PIECE_BYTES)

    def drop(self) -> None:
        """All of it."""
        self._file.unlink()


@pytest.fixture
def full_at(disk: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Exchange]:
    """Two running gateways, the store of the one that the test names on the small disk."""
    store = disk / "gateway.db"
    exchange = (
        build_exchange(tmp_path, sender_store=store)
        if request.param == "sender"
        else build_exchange(tmp_path, receiver_store=store)
    )
    exchange.start()
    exchange.complete("before")
    yield exchange
    exchange.destroy()


def submit_until_refused(exchange: Exchange, client: Client) -> LocalError:
    """What stands in the file already may have room for a few; then it must be refused."""
    for number in range(1_000):
        try:
            exchange.submit(client, f"filling-{number}", 20_000)
        except LocalError as error:
            del exchange.payloads[f"filling-{number}"]
            return error
    pytest.fail("a full disk takes everything")


@pytest.mark.parametrize("full_at", ["sender"], indirect=True)
def test_a_full_sender_refuses_submissions_by_name(full_at: Exchange, disk: Path) -> None:
    """507 StoreFull, nothing half-stored; with space the same submission is accepted (R-27)."""
    ballast, sender = Ballast(disk), full_at.sender
    with full_at.clients() as (ours, _):
        ballast.fill()
        refused = submit_until_refused(full_at, ours)
        assert refused.name == "StoreFull"
        for name in ("refused-1", "refused-2"):
            with pytest.raises(LocalError, match="disk is full"):
                full_at.submit(ours, name, 20_000)
            with pytest.raises(LocalError, match=name):
                ours.get(name)
        assert status_of_submission(sender.site.api, full_at) == 507
        assert sender.is_running, sender.log_end()
        assert ours.health().status == "ok"
        ballast.drop()
    for name in tuple(full_at.payloads):
        full_at.complete(name)
    check_exchange(full_at)


def status_of_submission(api: str, exchange: Exchange) -> int:
    """The bare HTTP status of one more submission."""
    header = f'{{"to": "{exchange.receiver.site.party}", "service": "S", "action": "A"}}'
    files = [
        ("message", (None, header, "application/json")),
        ("payload", ("order.xml", b"x" * 20_000, "application/xml")),
    ]
    with httpx.Client(trust_env=False) as client:
        return client.post(f"{api}/v1/messages", files=files).status_code


@pytest.mark.statement("S0-02", "S3-26", ruling="R-28")
@pytest.mark.parametrize("full_at", ["receiver"], indirect=True)
def test_a_full_receiver_acknowledges_nothing_that_it_did_not_store(
    full_at: Exchange, disk: Path
) -> None:
    """It refuses, its partner keeps trying, and with space all is delivered exactly once."""
    ballast, names = Ballast(disk), [f"while-full-{number}" for number in range(12)]
    with full_at.clients() as (ours, theirs):
        ballast.fill()
        for name in names:
            full_at.submit(ours, name, 30_000)
        until(lambda: count_refusals(ours) >= 3, "the receiver refuses, and again")
        stored = {row.message_id for row in theirs.journal() if row.event == "Stored"}
        acknowledged = {one for one in names if ours.get(one).state == "acknowledged"}
        assert acknowledged <= stored
        assert not set(names) <= stored, "a full disk took everything"
        assert full_at.receiver.is_running, full_at.receiver.log_end()
        ballast.drop()
    for name in names:
        full_at.complete(name)
    check_exchange(full_at)


def count_refusals(client: Client) -> int:
    """Transmissions that the partner answered with 507."""
    return sum(row.status_code == 507 for row in client.journal())


@pytest.mark.parametrize("full_at", ["sender"], indirect=True)
def test_an_acknowledgement_that_finds_the_sender_full_is_not_lost(
    full_at: Exchange, disk: Path
) -> None:
    """What it cannot note it refuses, and asks for again once there is space (R-28)."""
    ballast, partner = Ballast(disk), full_at.receiver
    with full_at.clients() as (ours, theirs):
        partner.send(signal.SIGSTOP)
        full_at.submit(ours, "on-its-way", 20_000)
        ballast.fill()
        partner.send(signal.SIGCONT)
        until(lambda: count_refusals(theirs) >= 1, "the acknowledgement is refused")
        assert full_at.sender.is_running, full_at.sender.log_end()
        ballast.drop()
    full_at.complete("on-its-way")
    full_at.complete("after")
    check_exchange(full_at)


@pytest.mark.parametrize("full_at", ["receiver"], indirect=True)
def test_a_full_receiver_still_acknowledges_what_it_has_stored(
    full_at: Exchange, disk: Path
) -> None:
    """A repeat of a stored message needs no space to be answered (D4, R-03)."""
    ballast, sender = Ballast(disk), full_at.sender
    sender.kill()
    sender.configure("after-transmit:1")
    sender.start()
    with full_at.clients() as (ours, theirs):
        full_at.submit_if_up(ours, "stored")
        assert sender.wait_for_end(DEATH_S) == -signal.SIGKILL, sender.log_end()
        until(lambda: theirs.find_inbox_item("stored"), "it is stored and handed over")
        ballast.fill()
        sender.configure()
        sender.start()
        await_acknowledged(ours, "stored")
        until(lambda: count_refusals(ours) >= 1, "the repeat itself is refused: the disk is full")
        ballast.drop()
    full_at.complete("after")
    check_exchange(full_at)


@pytest.fixture
def full_between(disk: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Chain]:
    """An intermediary of this mode on the small disk, between two ends that have space."""
    profile = {"relay": "rm-2000", "accept": "rm-2001"}[request.param]
    chain = build_chain(tmp_path, profile, [request.param], store_of={"relay-1": disk})
    chain.start()
    chain.complete("before")
    yield chain
    chain.destroy()


@pytest.mark.statement("S3-20", ruling="R-28")
@pytest.mark.parametrize("full_between", ["relay", "accept"], indirect=True)
def test_a_full_intermediary_takes_nothing_over_and_goes_on_with_space(
    full_between: Chain, disk: Path
) -> None:
    """It refuses with a 507 what it cannot store, loses nothing that it had, and does not die."""
    ballast, names = Ballast(disk), [f"while-full-{number}" for number in range(12)]
    relay = full_between.gateway("relay-1")
    with full_between.clients() as (ours, theirs):
        ballast.fill()
        for name in names:
            full_between.submit(ours, name, 30_000)
        until(lambda: count_refusals(ours) >= 3, "the intermediary refuses, and again")
        arrived = {item.message_id for item in theirs.inbox(limit=1_000)}
        assert not set(names) <= arrived, "a full disk took everything"
        assert relay.is_running, relay.log_end()
        ballast.drop()
    for name in names:
        full_between.complete(name, 30_000)
    full_between.check()
