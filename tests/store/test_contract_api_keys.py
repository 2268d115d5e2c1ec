"""The store's contract about keys of the API and the rows of actions, on every store there is."""

from store_samples import PARTY, commit, row

from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.store.contract.keys import ApiKey
from onceonly.store.contract.store import Store

SHOP = ApiKey(
    name="shop",
    digest="a" * 64,
    scopes=("read", "submit"),
    application="shop",
    agreement_ids=("tpa-1", "tpa-2"),
    made_at=5,
    made_by="boss",
    certificate="c" * 64,
)
BOSS = ApiKey("boss", "b" * 64, ("admin",), None, (), 4, "command")


def test_keys_are_listed_by_name_as_they_were_added(store: Store, openings):
    """Also after the next opening."""
    commit(store, lambda tx: tx.add_api_key(SHOP), lambda tx: tx.add_api_key(BOSS))
    assert list(store.snapshot().list_api_keys()) == [BOSS, SHOP]
    store.close()
    assert list(openings.open().snapshot().list_api_keys()) == [BOSS, SHOP]


def test_a_key_is_revoked_once(store: Store):
    """The first instant stays."""
    commit(store, lambda tx: tx.add_api_key(SHOP))
    commit(store, lambda tx: tx.revoke_api_key("shop", at=9))
    commit(store, lambda tx: tx.revoke_api_key("shop", at=10))
    assert list(store.snapshot().list_api_keys()) == [changed(SHOP, revoked_at=9)]


def test_a_key_has_its_last_use(store: Store):
    """The last one counts."""
    commit(store, lambda tx: tx.add_api_key(SHOP))
    for at in (7, 8):
        commit(store, lambda tx, at=at: tx.put_api_key_used("shop", at=at))
    assert list(store.snapshot().list_api_keys()) == [changed(SHOP, last_used_at=8)]


def test_what_was_asked_for_is_listed_with_the_latest_first(store: Store):
    """Only rows of actions, whoever else is in the journal with an actor."""
    asked = [changed(row(Event.ASKED, None), party=PARTY, actor="ann") for _ in range(3)]
    job = changed(row(Event.REJECTED, "m-1"), actor="job: 1")
    commit(store, lambda tx: tx.append([asked[0], job, asked[1], asked[2]]))
    snapshot = store.snapshot()
    assert [one.seq for one in snapshot.list_asked(1 << 62, 10)] == [4, 3, 1]
    assert [one.seq for one in snapshot.list_asked(4, 1)] == [3]
    assert list(snapshot.list_asked(1, 10)) == []
