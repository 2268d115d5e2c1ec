"""The calls about keys, and about who asked for what."""

from typing import Final

from onceonly.api import history, keys
from onceonly.api.operation import Nothing, Operation

CREATE_KEY: Final = Operation(
    name="createKey",
    method="post",
    path="/v1/keys",
    summary="Make a key; the answer is the only one that ever shows it",
    path_type=Nothing,
    query_type=Nothing,
    body_type=keys.NewKey,
    answer_type=keys.MadeKey,
    statuses=(201,),
    refusals=("InvalidKey", "KeyExists", "UnknownAgreement", "StoreFull"),
)
LIST_KEYS: Final = Operation(
    name="listKeys",
    method="get",
    path="/v1/keys",
    summary="Every key that there ever was, by name, without the secrets",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=keys.KeyList,
)
REVOKE_KEY: Final = Operation(
    name="revokeKey",
    method="delete",
    path="/v1/keys/{name}",
    summary="Revoke a key; from the answer on it opens nothing",
    path_type=keys.KeyPath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=keys.Key,
    refusals=("NotFound", "StoreFull"),
)
LIST_AUDIT: Final = Operation(
    name="listAudit",
    method="get",
    path="/v1/audit",
    summary="Who asked for which action, and why: journal rows below a seq, the latest first",
    path_type=Nothing,
    query_type=history.AuditQuery,
    body_type=Nothing,
    answer_type=history.AuditPage,
)
KEY_OPERATIONS: Final = (CREATE_KEY, LIST_KEYS, REVOKE_KEY, LIST_AUDIT)
"""In the order in which a path is looked for."""
