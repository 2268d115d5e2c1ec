"""A key of the API is made, or revoked."""

from onceonly.message.errors import LocalError
from onceonly.steps.ground import Ground
from onceonly.store.contract.keys import ApiKey
from onceonly.store.contract.store import Transaction


def make_key(txn: Transaction, ground: Ground, key: ApiKey, *, closes: bool = False) -> None:
    """Keep the key. Raises `LocalError` (KeyExists, UnknownAgreement, InvalidKey).

    `closes`: it closes an API that was open; if it could not make others, nobody could.
    """
    is_bound = key.application is not None
    if is_bound != bool(key.agreement_ids):
        text = "an application's key names its agreements, and a key without one names none"
        raise LocalError("InvalidKey", text)
    if is_bound and "admin" in key.scopes:
        text = "admin is about the whole gateway, and no scope of an application's key"
        raise LocalError("InvalidKey", text)
    for agreement_id in key.agreement_ids:
        if ground.house.agreements.find_ours(agreement_id) is None:
            raise LocalError("UnknownAgreement", f"no agreement is called {agreement_id!r}")
    if any(one.name == key.name for one in txn.list_api_keys()):
        raise LocalError("KeyExists", f"a key is or was called {key.name!r}: choose another name")
    if key.certificate is not None:
        _check_certificate(txn, key.certificate)
    if closes and "admin" not in key.scopes:
        text = (
            "from the first key on every call needs one: make it with the scope admin, or nobody "
            "could make another one while the gateway runs"
        )
        raise LocalError("InvalidKey", text)
    txn.add_api_key(key)


def _check_certificate(txn: Transaction, certificate: str) -> None:
    """A certificate says who calls, so it stands for one key that is good."""
    for one in txn.list_api_keys():
        if one.certificate == certificate and one.revoked_at is None:
            text = f"this certificate stands for the key {one.name!r}: revoke that one first"
            raise LocalError("InvalidKey", text)


def revoke_key(txn: Transaction, ground: Ground, name: str) -> int:
    """Note that the key opens nothing any more; returns since when it does not.

    Raises `LocalError` (NotFound).
    """
    key = next((one for one in txn.list_api_keys() if one.name == name), None)
    if key is None:
        raise LocalError("NotFound", f"no key is called {name!r}")
    if key.revoked_at is not None:
        return key.revoked_at
    txn.revoke_api_key(name, at=ground.now.at)
    return ground.now.at


def note_used(txn: Transaction, ground: Ground, name: str) -> None:
    """Note that the key was used."""
    txn.put_api_key_used(name, at=ground.now.at)
