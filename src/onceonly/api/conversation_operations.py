"""The calls about ordered conversations."""

from typing import Any, Final

from onceonly.api import conversations
from onceonly.api.operation import Nothing, Operation

LIST_CONVERSATIONS: Final = Operation(
    name="listConversations",
    method="get",
    path="/v1/conversations",
    summary="Ordered conversations that wait for an operator, or for a partner",
    path_type=Nothing,
    query_type=conversations.ConversationsQuery,
    body_type=Nothing,
    answer_type=conversations.WaitingConversations,
)
GET_CONVERSATION: Final = Operation(
    name="getConversation",
    method="get",
    path="/v1/partners/{partner}/conversations/{conversation}",
    summary="Both directions of an ordered conversation, and what is not handed over",
    path_type=conversations.ConversationPath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=conversations.ShownConversation,
    refusals=("NotFound",),
)
RESET_CONVERSATION: Final = Operation(
    name="resetConversation",
    method="post",
    path="/v1/partners/{partner}/conversations/{conversation}/reset",
    summary="Go on in a blocked conversation without the message that blocks it: the next message "
    "begins new numbers",
    path_type=conversations.ConversationPath,
    query_type=Nothing,
    body_type=conversations.ResetConversation,
    answer_type=conversations.ConcernedMessages,
    refusals=("NotFound", "NotBlocked", "InDoubt", "StoreFull"),
)
RELEASE_CONVERSATION: Final = Operation(
    name="releaseConversation",
    method="post",
    path="/v1/partners/{partner}/conversations/{conversation}/release",
    summary="Hand over what waits after the gap, up to the next gap, without the messages that "
    "are missing",
    path_type=conversations.ConversationPath,
    query_type=Nothing,
    body_type=conversations.WordOnConversation,
    answer_type=conversations.ConcernedMessages,
    refusals=("NotFound", "NotHeld", "StoreFull"),
)
DROP_CONVERSATION: Final = Operation(
    name="dropConversation",
    method="post",
    path="/v1/partners/{partner}/conversations/{conversation}/drop",
    summary="Give up what waits after the gap; its sender is told of each message",
    path_type=conversations.ConversationPath,
    query_type=Nothing,
    body_type=conversations.WordOnConversation,
    answer_type=conversations.ConcernedMessages,
    refusals=("NotFound", "NotHeld", "StoreFull"),
)

CONVERSATION_OPERATIONS: Final[tuple[Operation[Any, Any, Any, Any], ...]] = (
    LIST_CONVERSATIONS,
    GET_CONVERSATION,
    RESET_CONVERSATION,
    RELEASE_CONVERSATION,
    DROP_CONVERSATION,
)
