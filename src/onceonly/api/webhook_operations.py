"""The calls about webhooks."""

from typing import Final

from onceonly.api import webhooks
from onceonly.api.operation import Nothing, Operation

LIST_WEBHOOKS: Final = Operation(
    name="listWebhooks",
    method="get",
    path="/v1/webhooks",
    summary="Webhooks, and up to which event each was told",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=webhooks.WebhookList,
)
LIST_DELIVERIES: Final = Operation(
    name="listDeliveries",
    method="get",
    path="/v1/webhooks/{webhook}/deliveries",
    summary="What a webhook was told, in the order of events, and what became of it",
    path_type=webhooks.WebhookPath,
    query_type=webhooks.DeliveriesQuery,
    body_type=Nothing,
    answer_type=webhooks.DeliveryPage,
    refusals=("NotFound",),
)
REPLAY_DELIVERY: Final = Operation(
    name="replayDelivery",
    method="post",
    path="/v1/webhooks/{webhook}/deliveries/{seq}/replay",
    summary="Tell a webhook an event once more, under the same id (202)",
    path_type=webhooks.DeliveryPath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=webhooks.Delivery,
    statuses=(202,),
    refusals=("NotFound", "StoreFull"),
)
WEBHOOK_OPERATIONS: Final = (LIST_WEBHOOKS, LIST_DELIVERIES, REPLAY_DELIVERY)
