"""The keys of the API, as this process knows them: whose call it is, and what it may.

A key is 256 random bits, of which the store has the SHA-256. A slow hash (scrypt, Argon2) is for
secrets that people choose and others can guess; nobody guesses 256 bits, and each call would have
to wait for it. A salt protects equal secrets and known ones; no two keys are equal, and none is in
a table. Whoever reads the store learns no key by which he could call.

The one process that has the store open makes and revokes all keys, so what it keeps in memory is
what holds. A revoked key opens nothing from the answer to its revocation on.
"""

import hmac
import secrets
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Final

from onceonly.gateway.caller import ANYBODY, RESERVED, TOKEN, Caller, ShownCertificate
from onceonly.gateway.office import Office
from onceonly.gateway.tasks import Tasks
from onceonly.message.errors import LocalError
from onceonly.message.instant import NS_PER_S
from onceonly.message.word import Word, changed
from onceonly.steps.api_keys import make_key, note_used, revoke_key
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.keys import ApiKey

MARK: Final = "oo_"
"""How every key begins, so that a search for leaked secrets finds it."""

SECRET_BYTES: Final = 32

USED_EVERY_S: Final = 60
"""`last_used_at` is written this often at most, however many calls a key makes."""


class WantedKey(Word):
    """What a new key is to be."""

    name: str
    scopes: tuple[str, ...]
    application: str | None = None
    agreement_ids: tuple[str, ...] = ()
    certificate: str | None = None


class Keys:
    """Knows every key, and who calls.

    `is_demanded`: whether a call needs a key although none was made yet.
    """

    def __init__(
        self, *, office: Office, tasks: Tasks, token: str | None, is_demanded: bool = False
    ) -> None:
        self._office = office
        self._tasks = tasks
        self._token = None if token is None else digest_of(token)
        self._is_demanded = is_demanded
        # Looked up by a digest that no caller can choose, so that the time of a look tells nothing.
        self._blind = secrets.token_bytes(SECRET_BYTES)
        self._known: dict[str, ApiKey] = {}
        self._callers: dict[bytes, Caller] = {}
        self._certified: dict[str, str] = {}
        """Whose key a certificate stands for, also where the key is revoked."""
        self._good: dict[str, Caller] = {}
        """Who calls with the key of this name, as long as it is not revoked."""
        self._used_ns: dict[str, int] = {}
        for key in office.snapshot().list_api_keys():
            self._keep(key)
        self._bearer = TOKEN
        """Whoever has the token. Another token makes another of him, so that calls end."""
        if self._token is not None:
            self._callers[self._blinded(self._token)] = self._bearer

    def renew(self, token: str | None, *, is_demanded: bool) -> None:
        """Hold callers to this token from now on; a call that waits under another one is closed."""
        self._is_demanded = is_demanded
        wanted = None if token is None else digest_of(token)
        if wanted == self._token:
            return
        if self._token is not None:
            self._callers.pop(self._blinded(self._token), None)
        self._token, self._bearer = wanted, changed(TOKEN)
        if wanted is not None:
            self._callers[self._blinded(wanted)] = self._bearer

    @property
    def are_needed(self) -> bool:
        """Whether a call has to bring a key: one was ever made, or the configuration says so."""
        return self._is_demanded or self._token is not None or bool(self._known)

    def caller_of(self, secret: str | None, shown: ShownCertificate | None = None) -> Caller | None:
        """Who calls with this secret (None: without one); None where nobody may.

        A certificate that stands for a key is as good as its secret; with both, both are of one
        key. Costs no read. Notes that the key was used.
        """
        if not self.are_needed:
            return ANYBODY
        certified = None if shown is None else self._certified.get(shown.fingerprint)
        if secret is not None:
            caller = self._callers.get(self._blinded(digest_of(secret)))
            if certified is not None and caller is not None and caller.name != certified:
                return None
        elif shown is None or certified is None or shown.ends_at <= self._office.clock.at():
            return None
        else:
            good = self._good.get(certified)
            caller = None if good is None else changed(good, ends_at=shown.ends_at)
        if caller is not None and caller.name in self._known:
            self._note_used(caller.name)
        return caller

    def are_open_to(self, caller: Caller) -> bool:
        """Whether a call that was let in may still be answered.

        Its key is not revoked, and the certificate that let it in has not ended.
        """
        if caller is ANYBODY:
            return not self.are_needed
        if caller.ends_at is not None and caller.ends_at <= self._office.clock.at():
            return False
        key = self._known.get(caller.name)
        return caller is self._bearer or (key is not None and key.revoked_at is None)

    def list_known(self) -> list[ApiKey]:
        """Every key that there ever was, by name."""
        return [key for _, key in sorted(self._known.items())]

    async def make(
        self, wanted: WantedKey, made_by: str, *, closes: bool = False
    ) -> tuple[ApiKey, str]:
        """Make a key; returns it with the secret, which nobody can tell again.

        `closes`: somebody without a key asks, whom this first key shuts out.

        Raises `LocalError` (KeyExists, UnknownAgreement, InvalidKey) and `StoreFull`.
        """
        key, secret = new_key(wanted, made_by, self._office.clock.at())
        await self._office.transact(partial(make_key, key=key, closes=closes))
        self._keep(key)
        return key, secret

    async def revoke(self, name: str) -> ApiKey:
        """From the return on the key opens nothing; revoked again, it is as it was.

        Raises `LocalError` (NotFound) and `StoreFull`.
        """
        at = await self._office.transact(partial(revoke_key, name=name))
        key = self._known[name] = changed(self._known[name], revoked_at=at)
        self._callers.pop(self._blinded(key.digest), None)
        self._good.pop(name, None)
        return key

    def _keep(self, key: ApiKey) -> None:
        self._known[key.name] = key
        if key.revoked_at is None:
            own = None if key.application is None else frozenset(key.agreement_ids)
            caller = Caller(key.name, frozenset(key.scopes), key.application, own)
            self._callers[self._blinded(key.digest)] = self._good[key.name] = caller
        if key.certificate is not None:
            former = self._certified.get(key.certificate)
            if former is None or key.revoked_at is None:
                self._certified[key.certificate] = key.name

    def _blinded(self, digest: str) -> bytes:
        return hmac.digest(self._blind, digest.encode(), "sha256")

    def _note_used(self, name: str) -> None:
        now_ns = self._office.clock.now().monotonic_ns
        if now_ns >= self._used_ns.get(name, now_ns):
            self._used_ns[name] = now_ns + USED_EVERY_S * NS_PER_S
            self._known[name] = changed(self._known[name], last_used_at=self._office.clock.at())
            self._tasks.start(self._write_used(name), place="noting the use of a key")

    async def _write_used(self, name: str) -> None:
        with suppress(StoreFull):  # It is written again a minute later.
            await self._office.transact(partial(note_used, name=name))


def digest_of(secret: str) -> str:
    """What is kept of a key."""
    return sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def new_key(wanted: WantedKey, made_by: str, at: int) -> tuple[ApiKey, str]:
    """A key as it is kept, and the secret. Raises `LocalError` (KeyExists)."""
    if wanted.name in RESERVED:
        text = f"{wanted.name!r} is the name of callers without a key"
        raise LocalError("KeyExists", text)
    secret = MARK + secrets.token_urlsafe(SECRET_BYTES)
    scopes, agreement_ids = sorted(set(wanted.scopes)), sorted(set(wanted.agreement_ids))
    key = ApiKey(
        name=wanted.name,
        digest=digest_of(secret),
        scopes=tuple(scopes),
        application=wanted.application,
        agreement_ids=tuple(agreement_ids),
        made_at=at,
        made_by=made_by,
        certificate=wanted.certificate,
    )
    return key, secret
