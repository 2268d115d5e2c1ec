"""What is forgotten, when, and that nothing can come back for it (R-19)."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from desks import desk_over
from packages import ORDER, PayloadPart, stamp
from peer import PATIENCE_S, Manners, Peer
from running_gateway import OUR_PARTY, RunningGateway, running

from onceonly.gateway.clock import Clock
from onceonly.gateway.purge import UNMENTIONED_S, Forgotten, Purge, Retention
from onceonly.message.digest import content_digest
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey, Pair, PartyId
from onceonly.message.instant import NS_PER_S, Now
from onceonly.message.message import DeliverySemantics, Message, Payload
from onceonly.protocol.sending import Outbound, OutboundStatus
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.group import GroupCommit
from onceonly.store.spool import Spool
from onceonly.store.sqlite.store import SqliteStore, open_sqlite

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"
DAY_S = 86_400
BIG = bytes(range(256)) * 1200
KEPT_DAYS = 30
"""PersistDuration where the agreement names none."""


class Calendar:
    """The wall clock of a gateway under a drill."""

    def __init__(self, directory: Path) -> None:
        self._offset = directory / "offset"

    def advance_to_day(self, day: float) -> None:
        """So many days after the test began."""
        self._offset.write_text(str(int(day * DAY_S)))


@pytest.fixture
def calendar(tmp_path: Path) -> Calendar:
    return Calendar(tmp_path)


def keeping(directory: Path, peer: Peer, **keys: Any) -> Any:
    """A gateway whose wall clock is the calendar's."""
    terms = keys.pop("terms", None)
    drill = {"clock_offset_file": "offset"}
    return running(directory, peer, terms=terms, drill=drill, gateway=keys)


async def received(gateway: RunningGateway, peer: Peer, message_id: str, **fields: Any) -> None:
    """The message is stored, acknowledged and handed over."""
    assert (await peer.send(message_id, 1, **fields)).status == 204
    await peer.hear("Acknowledgement")
    await gateway.until(lambda: message_id in gateway.inbox_ids())


async def confirmed(gateway: RunningGateway, message_id: str) -> None:
    """The application says that it is done with the message."""
    answer = await gateway.call(
        "POST", f"/v1/inbox/{message_id}/processing", json={"processing": "complete"}
    )
    assert answer.status == 200, answer


async def sent(gateway: RunningGateway, peer: Peer, *payloads: bytes) -> str:
    """Submit, acknowledge, and wait for the verdict."""
    message_id = await gateway.submit(*payloads, to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(message_id)
    await gateway.until_state(message_id, "acknowledged")
    return message_id


class TestReceived:
    @pytest.mark.statement("S1-18", ruling="R-19")
    async def test_before_its_time_nothing_is_forgotten_and_repeats_are_known(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """Until PersistDuration is over a repeat is answered, and delivered to nobody."""
        async with keeping(tmp_path, peer) as gateway:
            await received(gateway, peer, M)
            await confirmed(gateway, M)
            calendar.advance_to_day(KEPT_DAYS - 0.01)
            assert await gateway.parts.purge.sweep() == Forgotten()
            assert (await peer.send(M, 1)).status == 204
            assert (await peer.hear("Acknowledgement")).ref == M
            assert len(gateway.rows(Event.DUPLICATE_ELIMINATED)) == 1
            assert gateway.rows(Event.PURGED) == []

    @pytest.mark.statement("S1-18", ruling="R-19")
    async def test_a_forgotten_message_that_comes_again_is_refused_for_its_age(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """The other half of R-19: what is no longer known is too old to be taken."""
        async with keeping(tmp_path, peer) as gateway:
            made_at = stamp()
            await received(gateway, peer, M, timestamp=made_at)
            await confirmed(gateway, M)
            calendar.advance_to_day(KEPT_DAYS + 0.01)
            assert await gateway.parts.purge.sweep() == Forgotten(inbound=1)
            assert gateway.inbox_ids() == []
            assert [row.reason for row in gateway.rows(Event.PURGED)] == ["1 received"]
            await peer.send(M, 1, timestamp=made_at)
            assert (await peer.hear("Error")).error_code == "TimeToLiveExpired"
            assert len(gateway.rows(Event.HANDED_OVER)) == 1
            assert gateway.inbox_ids() == []

    async def test_between_refusal_and_purge_there_is_no_gap(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """At every hour around the end a copy is a repeat or too old, and never new."""
        async with keeping(tmp_path, peer) as gateway:
            made_at = stamp(ago_s=3600)
            await received(gateway, peer, M, timestamp=made_at)
            await confirmed(gateway, M)
            for minutes in range(-90, 91, 15):
                calendar.advance_to_day(KEPT_DAYS + minutes / 1440)
                await gateway.parts.purge.sweep()
                await peer.send(M, 1, timestamp=made_at)
                assert (await peer.hear()).kind in ("Acknowledgement", "Error")
            assert len(gateway.rows(Event.STORED)) == 1
            assert len(gateway.rows(Event.PURGED)) == 1

    @pytest.mark.statement("S1-06")
    async def test_what_the_application_has_not_confirmed_is_never_forgotten(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """Ours may be the only copy of it in the spooled, also while work on it has begun."""
        async with keeping(tmp_path, peer) as gateway:
            await received(gateway, peer, M)
            calendar.advance_to_day(10 * KEPT_DAYS)
            assert await gateway.parts.purge.sweep() == Forgotten()
            marked = {"after": 0, "up_to": 1, "processing": "in-progress"}
            await gateway.call("POST", "/v1/inbox/processing", json=marked)
            assert await gateway.parts.purge.sweep() == Forgotten()
            assert gateway.inbox_ids() == [M]
            await confirmed(gateway, M)
            assert await gateway.parts.purge.sweep() == Forgotten(inbound=1)

    @pytest.mark.statement("S1-21")
    async def test_an_archive_keeps_messages_longer(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """`archive_duration` comes on top of PersistDuration, sent and received."""
        async with keeping(tmp_path, peer, archive_duration="P60D") as gateway:
            await received(gateway, peer, M)
            await confirmed(gateway, M)
            await sent(gateway, peer)
            calendar.advance_to_day(KEPT_DAYS + 59)
            assert await gateway.parts.purge.sweep() == Forgotten()
            calendar.advance_to_day(KEPT_DAYS + 61)
            assert await gateway.parts.purge.sweep() == Forgotten(inbound=1, outbound=1)

    async def test_a_tombstone_is_forgotten_in_its_time(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """It forbids the message as long as a copy could still be taken (R-08)."""
        async with keeping(tmp_path, peer) as gateway:
            key = MessageKey(peer.party, OUR_PARTY, M)
            until_at = gateway.parts.clock.at() + 1_000_000
            await gateway.parts.group.transact(
                lambda txn: txn.cancel_inbound(key, at=1, keep_until_at=until_at)
            )
            assert await gateway.parts.purge.sweep() == Forgotten()
            calendar.advance_to_day(1)
            assert await gateway.parts.purge.sweep() == Forgotten(inbound=1)
            assert not gateway.store.snapshot().is_cancelled(key)


class TestSent:
    @pytest.mark.statement("S0-14")
    async def test_a_message_with_a_verdict_goes_when_its_time_is_over(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """An acknowledged message may be dropped; its journal rows stay."""
        async with keeping(tmp_path, peer) as gateway:
            message_id = await sent(gateway, peer, ORDER)
            calendar.advance_to_day(KEPT_DAYS - 1)
            assert await gateway.parts.purge.sweep() == Forgotten()
            calendar.advance_to_day(KEPT_DAYS + 1)
            assert await gateway.parts.purge.sweep() == Forgotten(outbound=1)
            assert (await gateway.call("GET", f"/v1/messages/{message_id}")).status == 404
            assert gateway.rows(Event.ACK_RECEIVED, message_id=message_id)

    async def test_a_transmission_may_end_after_its_message_was_forgotten(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """The acknowledgement overtook it, and the wall clock jumped: nobody is told any more."""
        async with keeping(tmp_path, peer) as gateway:
            peer.answer(Manners.SILENCE)
            message_id = await sent(gateway, peer, ORDER)
            calendar.advance_to_day(KEPT_DAYS + 1)
            assert await gateway.parts.purge.sweep() == Forgotten(outbound=1)
            peer.refuse_connections()
            await gateway.parts.tasks.settle(PATIENCE_S)
            assert not gateway.rows(Event.TRANSMITTED, message_id=message_id)
            await peer.listen()
            await sent(gateway, peer, ORDER)
            assert [row.reason for row in gateway.rows(Event.PURGED)] == ["1 sent under tpa-ab-1"]

    @pytest.mark.statement("S0-14")
    async def test_a_message_without_a_verdict_is_never_forgotten(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """One in flight and one that waits stay, however old they are."""
        async with keeping(tmp_path, peer) as gateway:
            ids = [await gateway.submit(ORDER, to=peer) for _ in range(2)]
            await peer.hear("Normal")
            calendar.advance_to_day(100 * KEPT_DAYS)
            assert await gateway.parts.purge.sweep() == Forgotten()
            assert [gateway.state_of(message_id) for message_id in ids] == ["sending", "queued"]

    async def test_a_late_word_about_a_forgotten_message_is_dropped(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """It is about no message of ours any more; nothing breaks."""
        async with keeping(tmp_path, peer) as gateway:
            message_id = await sent(gateway, peer, ORDER)
            calendar.advance_to_day(KEPT_DAYS + 1)
            await gateway.parts.purge.sweep()
            assert (await peer.acknowledge(message_id)).status == 204
            await gateway.until_row(Event.ORPHAN_ACK_RECEIVED)

    async def test_many_messages_go_in_small_steps(
        self, tmp_path: Path, peer: Peer, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One row of the journal per step says what it forgot, in its own transaction."""
        monkeypatch.setattr("onceonly.steps.purge.ROWS_PER_STEP", 2)
        async with keeping(tmp_path, peer) as gateway:
            for _ in range(3):
                await sent(gateway, peer)
            calendar.advance_to_day(KEPT_DAYS + 1)
            assert await gateway.parts.purge.sweep() == Forgotten(outbound=3)
            reasons = [row.reason for row in gateway.rows(Event.PURGED)]
            assert reasons == ["2 sent under tpa-ab-1", "1 sent under tpa-ab-1"]


class TestPairs:
    @pytest.mark.statement("S0-55")
    @pytest.mark.statement("S0-56")
    async def test_a_pair_that_was_idle_for_long_starts_anew(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """The reset is in the journal before the number is used again (I33)."""
        async with keeping(tmp_path, peer, forget_pair_after="P7D") as gateway:
            await sent(gateway, peer)
            await sent(gateway, peer)
            calendar.advance_to_day(6.9)
            assert await gateway.parts.purge.sweep() == Forgotten()
            calendar.advance_to_day(7.1)
            assert await gateway.parts.purge.sweep() == Forgotten(pairs=1)
            [reset] = gateway.rows(Event.SEQUENCE_RESET)
            assert (reset.from_party, reset.to_party) == (OUR_PARTY, peer.party)
            assert await gateway.parts.purge.sweep() == Forgotten()
            await sent(gateway, peer)
            assert [arrival.number for arrival in peer.heard("Normal")][-1] == "000000001"

    @pytest.mark.statement("S0-56")
    async def test_a_pair_with_a_pending_message_keeps_its_number(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """As long as a message needs the number, it is not idle."""
        async with keeping(tmp_path, peer, forget_pair_after="P7D") as gateway:
            await gateway.submit(ORDER, to=peer)
            await peer.hear("Normal")
            calendar.advance_to_day(100)
            assert await gateway.parts.purge.sweep() == Forgotten()
            pair = Pair(OUR_PARTY, peer.party)
            assert gateway.store.snapshot().get_sending_pair(pair).sequence_number == 1

    @pytest.mark.statement("S0-56")
    async def test_no_pair_is_forgotten_unless_it_was_agreed(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """Without `forget_pair_after` numbers go on for ever."""
        async with keeping(tmp_path, peer) as gateway:
            await sent(gateway, peer)
            calendar.advance_to_day(1000)
            assert await gateway.parts.purge.sweep() == Forgotten(outbound=1)
            await sent(gateway, peer)
            assert [arrival.number for arrival in peer.heard("Normal")][-1] == "000000002"

    @pytest.mark.statement("S0-101")
    async def test_a_receiver_never_forgets_its_number(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """The sender may drop its counter; the receiver goes on from what it stored last."""
        async with keeping(tmp_path, peer, forget_pair_after="P7D") as gateway:
            await received(gateway, peer, M)
            await confirmed(gateway, M)
            calendar.advance_to_day(KEPT_DAYS + 1)
            assert await gateway.parts.purge.sweep() == Forgotten(inbound=1)
            in_time = stamp(ago_s=-31 * DAY_S)
            await peer.send("m-3@a.example.com", 3, timestamp=in_time)
            assert (await peer.hear("Error")).error_code == "InvalidSequenceNumber"
            await peer.send("m-2@a.example.com", 2, timestamp=in_time)
            await peer.hear("Acknowledgement")


async def test_a_restart_changes_nothing_about_what_is_due(
    tmp_path: Path, peer: Peer, calendar: Calendar
) -> None:
    """What is due is a question to the store; no memory of the process decides it."""
    async with keeping(tmp_path, peer) as gateway:
        await received(gateway, peer, M)
        await confirmed(gateway, M)
        await gateway.restart()
        calendar.advance_to_day(KEPT_DAYS + 1)
        assert await gateway.parts.purge.sweep() == Forgotten(inbound=1)


async def test_two_sweeps_do_not_meet(tmp_path: Path, peer: Peer, calendar: Calendar) -> None:
    """The second waits and finds nothing left."""
    async with keeping(tmp_path, peer) as gateway:
        await sent(gateway, peer)
        calendar.advance_to_day(KEPT_DAYS + 1)
        found = await asyncio.gather(gateway.parts.purge.sweep(), gateway.parts.purge.sweep())
        assert sorted(found, key=lambda one: one.outbound) == [Forgotten(), Forgotten(outbound=1)]


class HandClock(Clock):
    """Both clocks, moved by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 1_000_000

    def now(self) -> Now:
        return Now(self.at(), self.seconds * NS_PER_S)

    def at(self) -> int:
        return self.seconds * 1_000_000


class Spooled:
    """A store, its spool, and a purge over both, without a network."""

    def __init__(self, directory: Path) -> None:
        self.clock = HandClock()
        self.store: SqliteStore = open_sqlite(
            directory / "gateway.db", party=OUR_PARTY, clock_at=self.clock.at
        )
        self.spool = Spool(directory / "spool")
        self.failures: list[BaseException] = []
        self.group = GroupCommit(self.store, on_failure=self.failures.append, thread=False)
        self.purge = Purge(
            office=desk_over(self.store, self.group, self.clock, OUR_PARTY, self.spool),
            store=self.store,
            spool=self.spool,
            retention=Retention({"tpa": 10 * UNMENTIONED_S}),
        )

    def keep(self, content: bytes) -> Payload:
        """A payload in the spool, as an arrival leaves it before its commit."""
        sink = self.spool.open_sink()
        sink.write(content)
        size_bytes, digest = sink.close()
        sink.keep()
        return Payload("p@a.example.com", "image/tiff", size_bytes, digest)

    async def settle(self, payload: Payload) -> None:
        """A message with that payload, sent and acknowledged now."""
        header = Message(
            message_id=f"m-{self.clock.seconds}",
            from_ids=(PartyId(OUR_PARTY),),
            to_ids=(PartyId("urn:duns:111111111"),),
            agreement_id="tpa",
            conversation_id="c",
            service="s",
            action="a",
            timestamp_at=self.clock.at(),
            semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
            payloads=(payload,),
        )
        await self.group.transact(
            lambda txn: txn.add_outbound(
                header,
                Outbound(OutboundStatus.ACKNOWLEDGED),
                (StoredPayload(payload, None),),
                digest=content_digest((payload,)),
                submitted_at=self.clock.at(),
                idempotency_key=None,
            )
        )

    async def sweep_after(self, seconds: int) -> int:
        """Files removed by a sweep so much later."""
        self.clock.seconds += seconds
        return (await self.purge.sweep()).files


@pytest.fixture
def spooled(tmp_path: Path) -> Iterator[Spooled]:
    found = Spooled(tmp_path)
    yield found
    found.store.close()
    assert found.failures == []


class TestSpool:
    async def test_a_file_that_no_row_mentions_goes_after_a_while(self, spooled: Spooled) -> None:
        """Seen twice without a row, an hour apart; the journal counts it."""
        payload = spooled.keep(BIG)
        assert await spooled.sweep_after(10 * UNMENTIONED_S) == 0
        assert await spooled.sweep_after(UNMENTIONED_S - 1) == 0
        assert await spooled.sweep_after(1) == 1
        assert not spooled.spool.path(payload.digest).exists()
        [row] = spooled.store.snapshot().list_journal(0, 10)
        assert (row.event, row.reason) == (Event.PURGED, "1 files of the spool")

    async def test_a_file_of_a_stored_message_stays_as_long_as_the_message(
        self, spooled: Spooled
    ) -> None:
        """It goes only after the message has gone, and then in two looks."""
        payload = spooled.keep(BIG)
        await spooled.settle(payload)
        for _ in range(9):
            assert await spooled.sweep_after(UNMENTIONED_S) == 0
        assert b"".join(spooled.spool.open_reader(payload.digest)) == BIG
        assert await spooled.sweep_after(2 * UNMENTIONED_S) == 0
        assert spooled.store.snapshot().find_outbound("m-1000000") is None
        assert await spooled.sweep_after(UNMENTIONED_S) == 1

    async def test_a_file_that_is_kept_anew_is_another_file(self, spooled: Spooled) -> None:
        """The same content arrives just before the old file's time is over."""
        payload = spooled.keep(BIG)
        assert await spooled.sweep_after(0) == 0
        assert spooled.keep(BIG) == payload
        assert await spooled.sweep_after(UNMENTIONED_S) == 0
        await spooled.settle(payload)
        assert await spooled.sweep_after(UNMENTIONED_S) == 0
        assert b"".join(spooled.spool.open_reader(payload.digest)) == BIG

    async def test_a_file_that_is_mentioned_in_between_begins_anew(self, spooled: Spooled) -> None:
        """What counts is the time without a row since the last look that found none."""
        payload = spooled.keep(BIG)
        assert await spooled.sweep_after(0) == 0
        await spooled.settle(payload)
        assert await spooled.sweep_after(UNMENTIONED_S) == 0
        assert await spooled.sweep_after(11 * UNMENTIONED_S) == 0
        assert spooled.spool.path(payload.digest).exists()

    async def test_a_file_that_is_being_written_is_never_touched(self, spooled: Spooled) -> None:
        """Only kept files are looked at."""
        sink = spooled.spool.open_sink()
        sink.write(BIG)
        for _ in range(3):
            assert await spooled.sweep_after(UNMENTIONED_S) == 0
        sink.close()
        sink.keep()
        assert b"".join(spooled.spool.open_reader(sink.close()[1])) == BIG

    async def test_every_file_has_its_turn(
        self, spooled: Spooled, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However few are looked at in one go, and however few are remembered."""
        monkeypatch.setattr("onceonly.gateway.purge.FILES_PER_LOOK", 2)
        monkeypatch.setattr("onceonly.gateway.purge.MARKED_MAX", 3)
        for number in range(5):
            spooled.keep(BIG + bytes([number]))
        removed = [await spooled.sweep_after(UNMENTIONED_S) for _ in range(4)]
        assert removed == [0, 3, 0, 2]

    async def test_a_large_payload_goes_with_its_message(
        self, tmp_path: Path, peer: Peer, calendar: Calendar
    ) -> None:
        """In a whole gateway: a message with a file, forgotten, leaves no row that needs it."""
        async with keeping(tmp_path, peer) as gateway:
            part = PayloadPart("p@a", "image/tiff", BIG)
            await received(gateway, peer, M, payloads=(part,))
            [stored] = gateway.store.snapshot().list_inbox_payloads(1)
            digest = stored.payload.digest
            await confirmed(gateway, M)
            assert gateway.store.snapshot().is_spooled(digest)
            calendar.advance_to_day(KEPT_DAYS + 1)
            assert await gateway.parts.purge.sweep() == Forgotten(inbound=1)
            assert not gateway.store.snapshot().is_spooled(digest)
