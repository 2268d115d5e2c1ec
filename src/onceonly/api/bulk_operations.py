"""The calls about actions on many messages."""

from typing import Final

from onceonly.api import bulk
from onceonly.api.operation import Nothing, Operation

PREPARE_BULK: Final = Operation(
    name="prepareBulk",
    method="post",
    path="/v1/bulk",
    summary="Select messages for an action on all of them; shows how many and the first, and does "
    "nothing yet",
    path_type=Nothing,
    query_type=Nothing,
    body_type=bulk.PrepareBulk,
    answer_type=bulk.BulkDetail,
    statuses=(201,),
    refusals=("TooManyItems", "StoreFull"),
)
LIST_BULKS: Final = Operation(
    name="listBulks",
    method="get",
    path="/v1/bulk",
    summary="Actions on many messages, in the order of their numbers or the newest first",
    path_type=Nothing,
    query_type=bulk.BulkQuery,
    body_type=Nothing,
    answer_type=bulk.BulkPage,
)
GET_BULK: Final = Operation(
    name="getBulk",
    method="get",
    path="/v1/bulk/{number}",
    summary="How far an action on many messages is",
    path_type=bulk.BulkPath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=bulk.BulkDetail,
    refusals=("NotFound",),
)
START_BULK: Final = Operation(
    name="startBulk",
    method="post",
    path="/v1/bulk/{number}/start",
    summary="Begin to work on what is prepared, or go on with what was stopped; the caller says "
    "how many messages it has",
    path_type=bulk.BulkPath,
    query_type=Nothing,
    body_type=bulk.StartBulk,
    answer_type=bulk.Bulk,
    statuses=(202,),
    refusals=("NotFound", "NotStartable", "CountDiffers", "StoreFull"),
)
STOP_BULK: Final = Operation(
    name="stopBulk",
    method="post",
    path="/v1/bulk/{number}/stop",
    summary="Do no more of an action on many messages; what is done stays done",
    path_type=bulk.BulkPath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=bulk.Bulk,
    refusals=("NotFound", "NotStartable", "StoreFull"),
)
LIST_BULK_RESULTS: Final = Operation(
    name="listBulkResults",
    method="get",
    path="/v1/bulk/{number}/results",
    summary="What became of each message of an action on many, in their order",
    path_type=bulk.BulkPath,
    query_type=bulk.BulkItemQuery,
    body_type=Nothing,
    answer_type=bulk.BulkItemPage,
    refusals=("NotFound",),
)
BULK_OPERATIONS: Final = (
    PREPARE_BULK,
    LIST_BULKS,
    GET_BULK,
    START_BULK,
    STOP_BULK,
    LIST_BULK_RESULTS,
)
"""All of them."""
