"""Calls about ordered conversations."""

from onceonly.api import conversation_operations as operations
from onceonly.api import conversations as shapes
from onceonly.api.operation import Nothing
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.reading import page_limit
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves


class ConversationCalls:
    """The routes of conversations."""

    _served: Served

    @serves(operations.LIST_CONVERSATIONS)
    def list_conversations(
        self, asked: Asked[Nothing, shapes.ConversationsQuery, Nothing]
    ) -> Answer[shapes.WaitingConversations]:
        """Those that wait."""
        limit = page_limit(asked.query.limit)
        found = self._served.conversations.list_waiting(limit)
        return Json(shapes.WaitingConversations(conversations=found))

    @serves(operations.GET_CONVERSATION)
    def get_conversation(
        self, asked: Asked[shapes.ConversationPath, Nothing, Nothing]
    ) -> Answer[shapes.ShownConversation]:
        """Both directions of one."""
        path = asked.path
        return Json(self._served.conversations.show(path.partner, path.conversation))

    @serves(operations.RESET_CONVERSATION)
    async def reset_conversation(
        self, asked: Asked[shapes.ConversationPath, Nothing, shapes.ResetConversation]
    ) -> Answer[shapes.ConcernedMessages]:
        """Begin new numbers."""
        path, body = asked.path, asked.body
        found = await self._served.conversations.reset(
            path.partner,
            path.conversation,
            anyway=body.anyway,
            actor=asked.actor,
            reason=body.reason,
        )
        return Json(shapes.ConcernedMessages(message_ids=found))

    @serves(operations.RELEASE_CONVERSATION)
    async def release_conversation(
        self, asked: Asked[shapes.ConversationPath, Nothing, shapes.WordOnConversation]
    ) -> Answer[shapes.ConcernedMessages]:
        """Jump the gap."""
        path = asked.path
        found = await self._served.conversations.release(
            path.partner, path.conversation, actor=asked.actor, reason=asked.body.reason
        )
        return Json(shapes.ConcernedMessages(message_ids=found))

    @serves(operations.DROP_CONVERSATION)
    async def drop_conversation(
        self, asked: Asked[shapes.ConversationPath, Nothing, shapes.WordOnConversation]
    ) -> Answer[shapes.ConcernedMessages]:
        """Give up what is held."""
        path = asked.path
        found = await self._served.conversations.drop(
            path.partner, path.conversation, actor=asked.actor, reason=asked.body.reason
        )
        return Json(shapes.ConcernedMessages(message_ids=found))
