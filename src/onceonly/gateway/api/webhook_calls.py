"""Calls about webhooks and their deliveries."""

from onceonly.api import webhooks as shapes
from onceonly.api.operation import Nothing
from onceonly.api.webhook_operations import LIST_DELIVERIES, LIST_WEBHOOKS, REPLAY_DELIVERY
from onceonly.api.webhooks import DeliveriesQuery, DeliveryPath, WebhookPath
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.reading import page_limit
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves
from onceonly.store.contract.webhooks import DeliveryState


class WebhookCalls:
    """The routes under /v1/webhooks, of the API that has them."""

    _served: Served

    @serves(LIST_WEBHOOKS)
    def list_webhooks(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[shapes.WebhookList]:
        """How every webhook stands."""
        del asked
        return Json(self._served.outside.webhooks.list_shapes())

    @serves(LIST_DELIVERIES)
    def list_deliveries(
        self, asked: Asked[WebhookPath, DeliveriesQuery, Nothing]
    ) -> Answer[shapes.DeliveryPage]:
        """What a webhook was told, and what became of it."""
        query = asked.query
        state = None if query.state is None else DeliveryState(query.state)
        limit = page_limit(query.limit)
        page = self._served.outside.webhooks.list_deliveries(
            asked.path.webhook, query.after, limit, state
        )
        return Json(page)

    @serves(REPLAY_DELIVERY)
    async def replay_delivery(
        self, asked: Asked[DeliveryPath, Nothing, Nothing]
    ) -> Answer[shapes.Delivery]:
        """Tell an event once more."""
        found = await self._served.outside.webhooks.replay(asked.path.webhook, asked.path.seq)
        return Json(found, status_code=202)
