"""The store's contract on what came in, and on notices and incidents."""

from typing import Any

import pytest
from store_samples import (
    BODY,
    CARRIER,
    NOTICE,
    OTHER_PAIR,
    PAIR,
    RESPONSE,
    commit,
    handed_over,
    message,
    receive,
    spooled,
    stored,
)

from onceonly.message.digest import Digests
from onceonly.message.identity import MessageKey
from onceonly.message.message import AckRequested
from onceonly.message.word import changed
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.receiving import InboundStatus, ProcessingState
from onceonly.store.contract.conditions import StoreMisused
from onceonly.store.contract.entries import InboundEntry, InboxItem, Role
from onceonly.store.contract.store import Store


class TestInbound:
    @pytest.mark.statement("S1-05", "S1-26", "S1-27", ruling="R-01")
    def test_a_stored_message_is_known_by_its_whole_key(self, store: Store) -> None:
        """The duplicate key is (From, To, MessageId), nothing less (R-01)."""
        arrived = message("m-1", stored(BODY))
        asked = AckRequested.UNSIGNED
        commit(store, lambda tx: receive(tx, arrived, stored(BODY), ack_requested=asked))
        found = store.snapshot().find_inbound(arrived.key)
        assert found == InboundEntry(
            arrived.key,
            "tpa-1",
            InboundStatus.STORED,
            ProcessingState.NOT_STARTED,
            "e" * 64,
            3_000_000,
            False,
            None,
            "2" * 64,
            asked,
        )
        for other in (
            arrived.key._replace(message_id="m-2"),
            arrived.key._replace(from_party="x:y"),
            arrived.key._replace(to_party="x:y"),
        ):
            assert store.snapshot().find_inbound(other) is None

    @pytest.mark.statement(ruling="R-37")
    def test_a_copy_is_told_by_both_digests(self, store: Store) -> None:
        """Of a message without header digest by that of its payloads."""
        commit(store, lambda tx: receive(tx, message("m-1")))
        commit(store, lambda tx: receive(tx, message("m-2"), header_digest=None))
        digests = Digests("e" * 64, "2" * 64)
        others = Digests("e" * 64, "3" * 64), Digests("f" * 64, "2" * 64)
        told = [
            [found.has_content(one) for one in (digests, *others)]
            for name in ("m-1", "m-2")
            if (found := store.snapshot().find_inbound(message(name).key)) is not None
        ]
        assert told == [[True, False, False], [True, True, False]]

    @pytest.mark.statement("S1-31", ruling="R-03")
    def test_the_first_response_is_kept_byte_for_byte(self, store: Store) -> None:
        """Every duplicate is answered with the stored response (R-03)."""
        arrived = message("m-1")
        commit(store, lambda tx: receive(tx, arrived))
        assert store.snapshot().get_response(arrived.key) == RESPONSE

    def test_a_message_without_a_response_has_none(self, store: Store) -> None:
        """BestEffort messages are stored without a response; unknown ones have none either."""
        arrived = message("m-1")
        commit(store, lambda tx: receive(tx, arrived, response=None))
        for key in (arrived.key, MessageKey("a:b", "c:d", "m-2")):
            with pytest.raises(KeyError):
                store.snapshot().get_response(key)

    def test_a_duplicate_is_never_stored_again(self, store: Store) -> None:
        """Adding a known key is our bug, and that of its step alone (R-43)."""
        commit(store, lambda tx: receive(tx, message("m-1")))
        with pytest.raises(StoreMisused):
            receive(store.begin(), message("m-1"))
        store.rollback()

    def test_stored_messages_are_owed_until_they_are_handed_over(self, store: Store) -> None:
        """What is owed after a restart is listed in the order of arrival."""
        for message_id in ("z", "a"):
            commit(store, lambda tx, name=message_id: receive(tx, message(name)))
        assert [entry.key.message_id for entry in store.snapshot().list_stored()] == ["z", "a"]
        commit(store, lambda tx: tx.hand_over(message("z").key, at=9))
        assert [entry.key.message_id for entry in store.snapshot().list_stored()] == ["a"]

    def test_whether_a_message_is_withheld_outlives_a_restart(self, openings: Any) -> None:
        """It is certain or not that no acknowledgement left, whoever asks (R-12)."""
        store = openings.open()
        for message_id in ("m-1", "m-2", "m-3"):
            commit(store, lambda tx, name=message_id: receive(tx, message(name)))
        for message_id in ("m-1", "m-2"):
            key = message(message_id).key
            commit(store, lambda tx, key=key: tx.put_withheld(key, is_withheld=True))
        commit(store, lambda tx: tx.put_withheld(message("m-2").key, is_withheld=False))
        store.close()
        snapshot = openings.open().snapshot()
        assert [entry.is_withheld for entry in snapshot.list_stored()] == [True, False, False]
        entry = snapshot.find_inbound(message("m-1").key)
        assert entry is not None
        assert entry.is_withheld

    @pytest.mark.statement(ruling="R-43")
    def test_what_is_parked_is_owed_to_nobody_until_it_is_taken_up(self, openings: Any) -> None:
        """No restart finds it by itself; it is stored, and whoever looks for it sees why."""
        store = openings.open()
        for message_id in ("m-1", "m-2"):
            commit(store, lambda tx, name=message_id: receive(tx, message(name)))
        parked = message("m-1").key
        commit(store, lambda tx: tx.put_parked(parked, "a bug"))
        store.close()
        store = openings.open()
        assert [entry.key.message_id for entry in store.snapshot().list_stored()] == ["m-2"]
        entry = store.snapshot().find_inbound(parked)
        assert entry is not None
        assert (entry.status, entry.parked) == (InboundStatus.STORED, "a bug")
        commit(store, lambda tx: tx.put_parked(parked, None))
        assert [entry.key.message_id for entry in store.snapshot().list_stored()] == ["m-1", "m-2"]

    @pytest.mark.statement(ruling="R-44")
    def test_a_message_without_key_is_found_by_its_parties(self, store: Store) -> None:
        """Of several the latest counts; another party's of that id does not."""
        mine = message("m-1")
        assert store.snapshot().find_inbound_without_key(mine.key) is None
        commit(store, lambda tx: receive(tx, mine, has_key=False))
        commit(store, lambda tx: receive(tx, mine, has_key=False, header_digest="3" * 64))
        offset = store.snapshot().last_offset()
        commit(store, lambda tx: tx.put_processing(offset, ProcessingState.IN_PROGRESS))
        found = store.snapshot().find_inbound_without_key(mine.key)
        assert found is not None
        assert (found.status, found.processing) == (
            InboundStatus.HANDED_OVER,
            ProcessingState.IN_PROGRESS,
        )
        assert found.digests == Digests("e" * 64, "3" * 64)
        assert store.snapshot().find_inbound(mine.key) is None
        other = mine.key._replace(from_party="x:y")
        assert store.snapshot().find_inbound_without_key(other) is None

    def test_handing_over_again_changes_nothing(self, store: Store) -> None:
        """The same key gets the same offset and keeps its first instant (I12)."""
        offset = handed_over(store, "m-1")
        assert commit(store, lambda tx: tx.hand_over(message("m-1").key, at=99)) == [offset]
        [item] = store.snapshot().list_inbox(0, 10)
        assert item.handed_over_at == 9

    def test_offsets_grow_and_survive_a_restart(self, openings: Any) -> None:
        """The inbox is ordered by hand-over and replayable by offset."""
        store = openings.open()
        first = handed_over(store, "b")
        second = handed_over(store, "a")
        store.close()
        store = openings.open()
        third = handed_over(store, "c")
        assert first < second < third
        items = store.snapshot().list_inbox(first, 10)
        assert [item.message.message_id for item in items] == ["a", "c"]
        assert [item.offset for item in store.snapshot().list_inbox(0, 2)] == [first, second]

    @pytest.mark.statement("S1-07", "S1-28")
    def test_an_inbox_item_is_whole(self, store: Store) -> None:
        """The application gets the message, its digest, and its payloads in their order."""
        parts = (stored(BODY), spooled(10**8, "f" * 64), stored(b"x", 3))
        arrived = message("m-1", *parts)
        commit(store, lambda tx: receive(tx, arrived, *parts))
        [offset] = commit(store, lambda tx: tx.hand_over(arrived.key, at=9))
        item = store.snapshot().find_inbox_item(offset)
        standing = ProcessingState.NOT_STARTED
        assert item == InboxItem(offset, arrived, 3_000_000, 9, standing, "e" * 64, "2" * 64)
        assert list(store.snapshot().list_inbox_payloads(offset)) == list(parts)
        assert list(store.snapshot().list_inbox_payloads(offset + 1)) == []

    def test_the_items_of_a_message_id_are_found(self, store: Store) -> None:
        """Two parties may use one MessageId; a message that is only stored is not in the inbox."""
        commit(store, lambda tx: receive(tx, message("m-1")))
        commit(store, lambda tx: receive(tx, message("m-1", to=CARRIER)))
        assert list(store.snapshot().list_inbox_offsets("m-1", 9)) == []
        commit(
            store,
            lambda tx: tx.hand_over(message("m-1", to=CARRIER).key, at=8),
            lambda tx: tx.hand_over(message("m-1").key, at=9),
        )
        snapshot = store.snapshot()
        assert list(snapshot.list_inbox_offsets("m-1", 9)) == [1, 2]
        assert list(snapshot.list_inbox_offsets("m-1", 1)) == [1]
        assert list(snapshot.list_inbox_offsets("m-2", 9)) == []
        found = [snapshot.find_inbox_item(offset) for offset in (1, 2)]
        keys = [item.message.key for item in found if item is not None]
        assert keys == [message("m-1", to=CARRIER).key, message("m-1").key]
        assert snapshot.find_inbox_item(3) is None

    def test_the_processing_state_is_kept(self, store: Store) -> None:
        """What the application reported is seen in the inbox and in the entry."""
        offset = handed_over(store, "m-1")
        key = message("m-1").key
        commit(store, lambda tx: tx.put_processing(offset, ProcessingState.COMPLETE))
        [item] = store.snapshot().list_inbox(0, 10)
        assert item.processing is ProcessingState.COMPLETE
        assert store.snapshot().find_inbound(key).processing is ProcessingState.COMPLETE
        with pytest.raises(AssertionError):
            store.begin().put_processing(offset + 1, ProcessingState.COMPLETE)
        store.rollback()


class TestNoticesAndIncidents:
    def test_a_notice_is_there_once_per_message_kind_and_episode(self, store: Store) -> None:
        """Repeating a notice changes nothing; another episode or kind is another notice."""
        late = changed(NOTICE, kind=NoticeKind.ACKNOWLEDGED_LATE)
        again = changed(NOTICE, episode=1, reason="again")
        for notice in (NOTICE, changed(NOTICE, reason="other words"), late, again):
            commit(store, lambda tx, notice=notice: tx.add_notice(notice))
        numbered = store.snapshot().list_notices(0, 10)
        assert [notice for _, notice in numbered] == [NOTICE, late, again]
        first = numbered[0][0]
        assert [notice for _, notice in store.snapshot().list_notices(first, 1)] == [late]

    def test_an_incident_is_open_once_per_pair_and_reason(self, store: Store) -> None:
        """The same reason again opens nothing; both sides of a pair are different."""
        for role, reason in (
            (Role.SENDER, "exhausted"),
            (Role.SENDER, "exhausted"),
            (Role.SENDER, "diverged"),
            (Role.RECEIVER, "exhausted"),
        ):
            commit(
                store,
                lambda tx, role=role, reason=reason: tx.open_incident(role, PAIR, reason, at=5),
            )
        opened = store.snapshot().list_incidents(is_open=True)
        assert [(incident.role, incident.reason) for incident in opened] == [
            (Role.SENDER, "exhausted"),
            (Role.SENDER, "diverged"),
            (Role.RECEIVER, "exhausted"),
        ]

    @pytest.mark.statement(ruling="R-43")
    def test_the_incident_of_a_parked_message_ends_when_that_is_taken_up(
        self, store: Store
    ) -> None:
        """Not when its partner is heard; an operator who resumes the pair ends it too."""

        def opened() -> list[str | None]:
            return [one.message_id for one in store.snapshot().list_incidents(is_open=True)]

        for name in ("m-1", "m-2", "m-3"):
            commit(
                store,
                lambda tx, name=name: tx.open_incident(
                    Role.SENDER, PAIR, f"a bug ({name})", at=5, message_id=name
                ),
            )
        commit(store, lambda tx: tx.resolve_incidents(Role.SENDER, PAIR, at=6))
        assert opened() == ["m-1", "m-2", "m-3"]
        commit(store, lambda tx: tx.resolve_parked(Role.SENDER, PAIR, "m-2", at=6))
        commit(store, lambda tx: tx.resolve_parked(Role.RECEIVER, PAIR, "m-1", at=6))
        assert opened() == ["m-1", "m-3"]
        commit(store, lambda tx: tx.resolve_incidents(Role.SENDER, PAIR, at=7, with_parked=True))
        assert opened() == []

    def test_incidents_are_resolved_that_name_a_message(self, store: Store) -> None:
        """At the end of their reason, parked or not; no others of the pair, and no trouble."""
        for reason, name in (
            ("a bug (m-1)", "m-1"),
            ("no answer (m-1)", None),
            ("(m-1) asks", None),
        ):
            commit(
                store,
                lambda tx, reason=reason, name=name: tx.open_incident(
                    Role.SENDER, PAIR, reason, at=5, message_id=name
                ),
            )
        commit(
            store,
            lambda tx: tx.open_incident(Role.SENDER, PAIR, "no answer (am-1)", at=5),
            lambda tx: tx.open_incident(Role.SENDER, OTHER_PAIR, "no answer (m-1)", at=5),
            lambda tx: tx.open_incident(Role.RECEIVER, PAIR, "no answer (m-1)", at=5),
            lambda tx: tx.open_trouble(PAIR, "no answer (m-1)", at=5),
            lambda tx: tx.resolve_about(Role.SENDER, PAIR, "m-1", at=6),
        )
        every = store.snapshot().list_incidents(is_open=False)
        assert [one.reason for one in every if one.resolved_at == 6] == [
            "a bug (m-1)",
            "no answer (m-1)",
        ]
        assert len([one for one in every if one.resolved_at is None]) == 5

    def test_an_incident_is_resolved_by_its_reason(self, store: Store) -> None:
        """No other one of the pair is, nor one of another role or pair, nor trouble."""
        for reason in ("one", "two"):
            commit(
                store,
                lambda tx, reason=reason: tx.open_incident(Role.SENDER, PAIR, reason, at=5),
            )
        commit(
            store,
            lambda tx: tx.open_trouble(PAIR, "one", at=5),
            lambda tx: tx.open_incident(Role.RECEIVER, PAIR, "one", at=5),
            lambda tx: tx.open_incident(Role.SENDER, OTHER_PAIR, "one", at=5),
            lambda tx: tx.resolve_reason(Role.SENDER, PAIR, "one", at=6),
        )
        every = store.snapshot().list_incidents(is_open=False)
        assert [row.resolved_at for row in every] == [6, None, None, None, None]

    def test_resolving_ends_every_open_incident_of_the_pair(self, store: Store) -> None:
        """Resolved incidents stay in the list of all, and the same reason may open again."""
        commit(
            store,
            lambda tx: tx.open_incident(Role.SENDER, PAIR, "exhausted", at=5),
            lambda tx: tx.open_incident(Role.SENDER, OTHER_PAIR, "exhausted", at=5),
            lambda tx: tx.resolve_incidents(Role.SENDER, PAIR, at=6),
            lambda tx: tx.open_incident(Role.SENDER, PAIR, "exhausted", at=7),
            lambda tx: tx.resolve_incidents(Role.RECEIVER, PAIR, at=8),
        )
        every = store.snapshot().list_incidents(is_open=False)
        assert [(row.pair, row.opened_at, row.resolved_at) for row in every] == [
            (PAIR, 5, 6),
            (OTHER_PAIR, 5, None),
            (PAIR, 7, None),
        ]
        assert len(store.snapshot().list_incidents(is_open=True)) == 2
