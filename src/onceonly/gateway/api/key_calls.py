"""Calls about keys, and about who did what."""

from onceonly.api import history, key_operations
from onceonly.api import keys as api_keys
from onceonly.api.history import AuditQuery
from onceonly.api.keys import KeyPath, NewKey
from onceonly.api.operation import Nothing
from onceonly.gateway import shapes
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.reading import page_limit
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves
from onceonly.gateway.caller import ANYBODY
from onceonly.gateway.keys import WantedKey


class KeyCalls:
    """The routes under /v1/keys and /v1/audit."""

    _served: Served

    @serves(key_operations.CREATE_KEY)
    async def create_key(self, asked: Asked[Nothing, Nothing, NewKey]) -> Answer[api_keys.MadeKey]:
        """Make one, and show it this once."""
        body = asked.body
        wanted = WantedKey(
            body.name, body.scopes, body.application, body.agreements, body.certificate
        )
        closes = asked.caller is ANYBODY
        key, secret = await self._served.keys.make(wanted, asked.actor, closes=closes)
        return Json(shapes.made_key_shape(key, secret), status_code=201)

    @serves(key_operations.LIST_KEYS)
    async def list_keys(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[api_keys.KeyList]:
        """Every one, also the revoked."""
        del asked
        known = map(shapes.key_shape, self._served.keys.list_known())
        return Json(api_keys.KeyList(keys=tuple(known)))

    @serves(key_operations.REVOKE_KEY)
    async def revoke_key(self, asked: Asked[KeyPath, Nothing, Nothing]) -> Answer[api_keys.Key]:
        """It opens nothing any more."""
        return Json(shapes.key_shape(await self._served.keys.revoke(asked.path.name)))

    @serves(key_operations.LIST_AUDIT)
    def list_audit(self, asked: Asked[Nothing, AuditQuery, Nothing]) -> Answer[history.AuditPage]:
        """Who asked for what, and why."""
        limit = page_limit(asked.query.limit)
        found = self._served.store.snapshot().list_asked(asked.query.before, limit)
        next_before = found[-1].seq if len(found) == limit else None
        rows = tuple(shapes.record_shape(row, self._served.names.name_of) for row in found)
        return Json(history.AuditPage(records=rows, next_before=next_before))
