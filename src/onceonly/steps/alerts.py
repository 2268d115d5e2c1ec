"""The steps that write what is wrong, what is muted, and who was told.

Who was told is noted after the telling: a crash in between tells it once more, and forgets nothing.
"""

from collections.abc import Sequence

from onceonly.message.instant import US_PER_S
from onceonly.steps.ground import Ground
from onceonly.store.contract.alerts import (
    Alert,
    AlertChange,
    AlertMute,
    AlertTold,
    AlertTransaction,
)
from onceonly.store.contract.store import Transaction

CHANGES_KEPT = 1_000
"""Changes that the history has."""


def note_changes(
    txn: Transaction,
    ground: Ground,
    alerts: Sequence[Alert],
    changes: Sequence[AlertChange],
) -> None:
    """Note `alerts` as what is wrong now, and what changed since the look before.

    Something is always written, so that a store that takes no write is found by this.
    """
    store = _alerts(txn)
    store.put_alert_look(ground.now.at)
    now = {one.key: one for one in alerts}
    for change in changes:
        key = change.rule, change.subject
        if key in now:
            store.put_alert(now[key])
        else:
            store.drop_alert(*key)
        store.add_alert_change(change, CHANGES_KEPT)


def note_told(
    txn: Transaction,
    ground: Ground,
    told: Sequence[AlertTold],
    ended: Sequence[AlertTold],
) -> None:
    """Note what a way was told: what is wrong, and what is wrong no more."""
    del ground
    store = _alerts(txn)
    for one in told:
        store.put_told(one)
    for one in ended:
        store.drop_told(one.way, *one.key)


def mute(
    txn: Transaction, ground: Ground, rule: str, *, for_s: int, reason: str, by: str
) -> AlertMute:
    """Mute a rule from now on; a mute that it has is replaced."""
    muted = AlertMute(rule, ground.now.at + for_s * US_PER_S, reason, by)
    _alerts(txn).put_mute(muted)
    return muted


def unmute(txn: Transaction, ground: Ground, rule: str) -> None:
    """Tell the rule again; nothing changes for one that is not muted."""
    del ground
    _alerts(txn).drop_mute(rule)


def _alerts(txn: Transaction) -> AlertTransaction:
    assert isinstance(txn, AlertTransaction), "the start has checked the store"
    return txn
