"""Calls of the client about ordered conversations.

Knows what is asked and what is answered; must not know how a call gets to the gateway.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from onceonly.api import conversation_operations as operations
from onceonly.api.conversations import (
    ConversationPath,
    ConversationsQuery,
    ResetConversation,
    ShownConversation,
    WaitingConversation,
    WordOnConversation,
)
from onceonly.api.operation import A, B, Nothing, Operation, P, Q

_NOTHING: Final = Nothing()


class ConversationMethods(ABC):
    """Conversations that wait, and what is done about them."""

    @abstractmethod
    def _ask(self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None) -> A:
        """The answer to a call whose body, if it has one, is JSON."""

    def conversations(self, *, limit: int = 100) -> Sequence[WaitingConversation]:
        """Ordered conversations that are blocked, or in which something is missing."""
        query = ConversationsQuery(limit=limit)
        return self._ask(operations.LIST_CONVERSATIONS, _NOTHING, query).conversations

    def conversation(self, partner: str, conversation: str) -> ShownConversation:
        """Both directions of one. Raises `LocalError` (NotFound)."""
        path = ConversationPath(partner=partner, conversation=conversation)
        return self._ask(operations.GET_CONVERSATION, path, _NOTHING)

    def reset_conversation(
        self, partner: str, conversation: str, reason: str, *, anyway: str | None = None
    ) -> Sequence[str]:
        """Go on without the message that blocks it; returns its MessageId.

        Raises `LocalError` (NotFound, NotBlocked, InDoubt).
        """
        path = ConversationPath(partner=partner, conversation=conversation)
        body = ResetConversation(reason=reason, anyway=anyway)
        return self._ask(operations.RESET_CONVERSATION, path, _NOTHING, body).message_ids

    def release_conversation(self, partner: str, conversation: str, reason: str) -> Sequence[str]:
        """Hand over what waits after the gap. Raises `LocalError` (NotFound, NotHeld)."""
        path = ConversationPath(partner=partner, conversation=conversation)
        body = WordOnConversation(reason=reason)
        return self._ask(operations.RELEASE_CONVERSATION, path, _NOTHING, body).message_ids

    def drop_conversation(self, partner: str, conversation: str, reason: str) -> Sequence[str]:
        """Give up what waits after the gap. Raises `LocalError` (NotFound, NotHeld)."""
        path = ConversationPath(partner=partner, conversation=conversation)
        body = WordOnConversation(reason=reason)
        return self._ask(operations.DROP_CONVERSATION, path, _NOTHING, body).message_ids
