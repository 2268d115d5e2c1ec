"""Deadlines, and the count of what waits, are as true as the transaction that says so."""

from store_samples import ACKNOWLEDGED, NOW_AT, QUEUED, SENDING, message, submit, submitted

from onceonly.store.contract.waits import Waiter


def test_steps_of_one_transaction_see_what_those_before_them_asked_for(store):
    """A message may be stepped twice in one batch."""
    waits = store.begin().waits
    waits.put(Waiter.MESSAGE, "m", 5)
    assert waits.find(Waiter.MESSAGE, "m") == 5
    assert waits.find(Waiter.RECOVERY, "m") is None
    waits.put(Waiter.MESSAGE, "m", None)
    assert waits.find(Waiter.MESSAGE, "m") is None


def test_what_was_rolled_back_was_never_asked_for(store):
    """The state waits as before, and so does its deadline (R-28)."""
    store.begin().waits.put(Waiter.MESSAGE, "m", 5)
    store.commit()
    store.begin().waits.put(Waiter.MESSAGE, "m", None)
    store.rollback()
    assert store.begin().waits.find(Waiter.MESSAGE, "m") == 5


def test_a_restart_forgets_deadlines(openings):
    """They were of the clock of a process that is gone."""
    first = openings.open()
    first.begin().waits.put(Waiter.MESSAGE, "m", 5)
    first.commit()
    first.close()
    assert openings.open().begin().waits.find(Waiter.MESSAGE, "m") is None


def test_what_waits_for_a_verdict_is_counted_exactly(openings):
    """Also what the open transaction adds and settles, and over a restart (R-27)."""
    store = openings.open()
    submitted(store, "m-1", QUEUED)
    submitted(store, "m-2", SENDING)
    txn = store.begin()
    submit(txn, message("m-3"), state=QUEUED)
    assert txn.count_waiting() == 3
    assert store.count_waiting() == 2
    store.rollback()
    txn = store.begin()
    assert txn.count_waiting() == 2
    txn.put_outbound("m-2", ACKNOWLEDGED, at=NOW_AT)
    assert txn.count_waiting() == 1
    store.commit()
    store.close()
    again = openings.open()
    assert again.count_waiting() == again.begin().count_waiting() == 1
