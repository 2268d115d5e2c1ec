"""The store's contract on trouble with partners (R-40) and on what is sent again (R-41)."""

import pytest
from store_samples import (
    ACKNOWLEDGED,
    BODY,
    OTHER_PAIR,
    PAIR,
    QUEUED,
    commit,
    message,
    stored,
    submit,
    submitted,
)

from onceonly.message.errors import ErrorCode
from onceonly.message.word import changed
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.sending import Exposure, Outbound, OutboundStatus
from onceonly.store.contract.entries import Role
from onceonly.store.contract.store import Store

FAILED = Outbound(OutboundStatus.FAILED, error_code=ErrorCode.DELIVERY_FAILURE, is_certain=True)
EXPIRED = changed(FAILED, status=OutboundStatus.EXPIRED, error_code=ErrorCode.TIME_TO_LIVE_EXPIRED)


def sent_again(store: Store, earlier: str, later: str) -> None:
    """Commit a message that sends the content of an earlier one."""
    commit(
        store,
        lambda tx: submit(tx, message(later), state=QUEUED),
        lambda tx: tx.put_resent(earlier, later),
    )


@pytest.mark.statement(ruling="R-40")
class TestTrouble:
    """One incident for each pair, beside those of other reasons."""

    def test_it_is_one_incident_with_the_last_cause(self, store: Store) -> None:
        """Since when it lasts stays; what is told of something else is told of that alone."""
        commit(
            store,
            lambda tx: tx.open_trouble(PAIR, "refused", at=5),
            lambda tx: tx.open_incident(Role.SENDER, PAIR, "silence", at=6),
            lambda tx: tx.open_trouble(PAIR, "silence", at=7),
            lambda tx: tx.open_trouble(OTHER_PAIR, "silence", at=8),
        )
        opened = store.snapshot().list_incidents(is_open=True)
        assert [(one.pair, one.reason, one.opened_at, one.is_trouble) for one in opened] == [
            (PAIR, "silence", 5, True),
            (PAIR, "silence", 6, False),
            (OTHER_PAIR, "silence", 8, True),
        ]

    def test_resolving_it_leaves_the_others_open(self, store: Store) -> None:
        """And another episode is another incident."""
        commit(
            store,
            lambda tx: tx.resolve_trouble(PAIR, at=4),
            lambda tx: tx.open_trouble(PAIR, "silence", at=5),
            lambda tx: tx.open_incident(Role.SENDER, PAIR, "no useful answer", at=6),
            lambda tx: tx.resolve_trouble(PAIR, at=7),
            lambda tx: tx.open_trouble(PAIR, "refused", at=8),
        )
        every = store.snapshot().list_incidents(is_open=False)
        assert [(one.reason, one.resolved_at) for one in every] == [
            ("silence", 7),
            ("no useful answer", None),
            ("refused", None),
        ]

    def test_a_resumed_pair_has_none_left(self, store: Store) -> None:
        """Resolving all of a pair resolves this one."""
        commit(
            store,
            lambda tx: tx.open_trouble(PAIR, "silence", at=5),
            lambda tx: tx.resolve_incidents(Role.SENDER, PAIR, at=6),
        )
        assert store.snapshot().list_incidents(is_open=True) == []

    def test_a_pair_keeps_its_last_cause(self, store: Store) -> None:
        """Operators see it with the pair."""
        troubled = SendingPair(sequence_number=3, trouble="silence")
        commit(store, lambda tx: tx.put_sending_pair(PAIR, troubled, at=5))
        assert store.snapshot().get_sending_pair(PAIR) == troubled
        [view] = store.snapshot().list_pairs()
        assert view.trouble == "silence"

    def test_what_it_concerns_is_what_waits_and_what_ended_since(self, store: Store) -> None:
        """Not what arrived, nor what failed in an episode before, nor what others have."""
        for name, state, at in (
            ("m-1", FAILED, 4),
            ("m-2", FAILED, 5),
            ("m-3", EXPIRED, 6),
            ("m-4", ACKNOWLEDGED, 7),
            ("m-5", QUEUED, 8),
        ):
            submitted(store, name, QUEUED)
            commit(
                store, lambda tx, name=name, state=state, at=at: tx.put_outbound(name, state, at=at)
            )
        submitted(store, "m-6", QUEUED, to=message("x").from_ids[0])
        counts = store.snapshot().count_concerned(PAIR, 5)
        assert counts == {"failed": 1, "expired": 1, "queued": 1}


@pytest.mark.statement(ruling="R-41")
class TestResending:
    """A message that ended, and the one that sends its content again."""

    def test_each_of_the_two_names_the_other(self, store: Store) -> None:
        """In every way in which a message is looked at."""
        submitted(store, "m-1", FAILED)
        sent_again(store, "m-1", "m-2")
        snapshot = store.snapshot()
        before, after = snapshot.find_outbound_view("m-1"), snapshot.find_outbound_view("m-2")
        assert before is not None
        assert after is not None
        assert (before.resend_of, before.resent_as) == (None, "m-2")
        assert (after.resend_of, after.resent_as) == ("m-1", None)
        assert before.state == FAILED

    def test_the_key_names_the_latest(self, store: Store) -> None:
        """However often the content is sent, and whichever is forgotten first."""
        keyed = message("m-1", stored(BODY))
        commit(
            store,
            lambda tx: submit(tx, keyed, stored(BODY), state=FAILED, idempotency_key="PO-1"),
        )
        sent_again(store, "m-1", "m-2")
        sent_again(store, "m-2", "m-3")
        assert store.snapshot().find_message_id_by_key("PO-1") == "m-3"
        assert commit(store, lambda tx: tx.purge_outbound("tpa-1", 2**50, 10)) == [1]
        assert store.snapshot().find_outbound("m-1") is None
        assert store.snapshot().find_message_id_by_key("PO-1") == "m-3"
        for name in ("m-2", "m-3"):
            commit(store, lambda tx, name=name: tx.put_outbound(name, ACKNOWLEDGED, at=9))
        commit(store, lambda tx: tx.purge_outbound("tpa-1", 2**50, 10))
        assert store.snapshot().find_message_id_by_key("PO-1") is None

    def test_without_a_key_none_is_made(self, store: Store) -> None:
        """A message that was given by its id goes on without one."""
        submitted(store, "m-1", FAILED)
        sent_again(store, "m-1", "m-2")
        assert commit(store, lambda tx: tx.purge_outbound("tpa-1", 2**50, 10)) == [1]

    def test_unsent_is_what_ended_without_a_byte_gone(self, store: Store) -> None:
        """The oldest first; what was sent again, parked, or may have left is no part of it."""
        parked = changed(FAILED, error_code=ErrorCode.UNKNOWN)
        refused = changed(FAILED, exposure=Exposure.LEFT)
        fenced = changed(refused, is_certain=False)
        for number, state in enumerate(
            (QUEUED, FAILED, EXPIRED, parked, refused, fenced, ACKNOWLEDGED, FAILED, FAILED)
        ):
            submitted(store, f"m-{number}", state)
        submitted(store, "other", FAILED, agreement_id="tpa-2")
        sent_again(store, "m-7", "m-10")
        found = [entry.message_id for entry in store.snapshot().list_unsent("tpa-1", 10)]
        assert found == ["m-1", "m-2", "m-8"]
        assert len(store.snapshot().list_unsent("tpa-1", 2)) == 2
