"""The operations by which a gateway is kept: its configuration, and what it forgets."""

from typing import Final

from onceonly.api import configuration, purge
from onceonly.api.operation import Nothing, Operation

PREVIEW_PURGE: Final = Operation(
    name="previewPurge",
    method="get",
    path="/v1/purge",
    summary="What a purge would forget, at most 10,000 of each kind counted, and the store's size",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=purge.PurgePreview,
    refusals=("NotOffered",),
)
START_PURGE: Final = Operation(
    name="startPurge",
    method="post",
    path="/v1/purge",
    summary="Forget now what is over, as the gateway does by itself every `purge_interval`",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=purge.PurgeBegun,
    statuses=(202,),
)
GET_CONFIGURATION: Final = Operation(
    name="getConfiguration",
    method="get",
    path="/v1/configuration",
    summary="Which configuration runs, since when, and the last file that was refused",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=configuration.RunningConfiguration,
)
RELOAD: Final = Operation(
    name="reloadConfiguration",
    method="post",
    path="/v1/reload",
    summary="Read the configuration file and its certificates again, and take them over",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=configuration.Reloaded,
    refusals=("ConfigurationRefused",),
)
OPERATIONS: Final = (PREVIEW_PURGE, START_PURGE, GET_CONFIGURATION, RELOAD)
"""All of them, in the order in which a path is looked for."""
