"""Keys of a gateway that does not run: the way to the first one, and out of a lost one.

Whoever may write the store's file may make keys for it; the store's lock keeps the gateway from
starting meanwhile.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from onceonly.gateway.config import Configuration
from onceonly.gateway.keys import WantedKey, new_key
from onceonly.gateway.wiring import clock_of, house_of, open_store
from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.steps.api_keys import make_key, revoke_key
from onceonly.steps.ground import Ground
from onceonly.store.contract.keys import ApiKey
from onceonly.store.contract.store import Transaction

T = TypeVar("T")

BY_COMMAND = "command"
"""Who the journal says it was, where the caller names nobody: somebody who may write the store."""

_NO_CHANCE = "0"
"""These steps make no identifiers."""


def make_closed(
    configuration: Configuration, wanted: WantedKey, operator: str | None, reason: str | None
) -> tuple[ApiKey, str]:
    """Make a key. Raises `LocalError` as `Keys.make` does, `StoreRefused` and `OSError`."""
    actor = operator or BY_COMMAND

    def step(txn: Transaction, ground: Ground) -> tuple[ApiKey, str]:
        key, secret = new_key(wanted, actor, ground.now.at)
        make_key(txn, ground, key)
        _append(txn, ground, actor, f"createKey {key.name}", reason)
        return key, secret

    return _in_closed_store(configuration, step)


def revoke_closed(
    configuration: Configuration, name: str, operator: str | None, reason: str | None
) -> ApiKey:
    """Revoke a key. Raises `LocalError` (NotFound), `StoreRefused` and `OSError`."""

    def step(txn: Transaction, ground: Ground) -> ApiKey:
        revoke_key(txn, ground, name)
        _append(txn, ground, operator or BY_COMMAND, f"revokeKey {name}", reason)
        return next(key for key in txn.list_api_keys() if key.name == name)

    return _in_closed_store(configuration, step)


def list_closed(configuration: Configuration) -> Sequence[ApiKey]:
    """Every key. Raises `StoreRefused` and `OSError`."""
    return _in_closed_store(configuration, lambda txn, _: txn.list_api_keys())


def _append(txn: Transaction, ground: Ground, actor: str, asked: str, reason: str | None) -> None:
    text = asked if reason is None else f"{asked}: {reason}"
    row = ground.house.rows.about_gateway(Event.ASKED, ground.now, text)
    txn.append((changed(row, actor=actor),))


def _in_closed_store(configuration: Configuration, step: Callable[[Transaction, Ground], T]) -> T:
    clock = clock_of(configuration)
    store = open_store(configuration, clock)
    try:
        ground = Ground(house_of(configuration), clock.now(), _NO_CHANCE)
        result = step(store.begin(), ground)
        store.commit()
        return result
    finally:
        store.close()
