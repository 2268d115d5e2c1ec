"""Ordered conversations over the API: those that wait, and what an operator does about them."""

from typing import Literal

from onceonly.api.fields import FullLine, Instant, Limit, Name
from onceonly.message.word import Word, field

ConversationState = Literal["blocked", "gap", "open"]
"""`blocked`: a message of ours was not acknowledged; `gap`: messages wait for an earlier one."""


class ConversationPath(Word, kw_only=True):
    """The conversation that a call is about, and with whom."""

    partner: Name
    conversation: Name


class ConversationsQuery(Word, kw_only=True, omit_defaults=True):
    """How many conversations of each direction to list at most."""

    limit: Limit = 100


class WaitingConversation(Word, kw_only=True):
    """One direction of an ordered conversation.

    Of one of ours, `message_id` has the turn, or blocks it, `number` is its number and `waiting`
    counts the queued messages after it. Of a partner's, `number` is the one that is missing,
    `waiting` counts what waits for it, and `since` is when the first of these came.
    """

    conversation: str
    partner: str
    partner_name: str | None
    from_party: str = field(name="from")
    to_party: str = field(name="to")
    state: ConversationState
    message_id: str | None
    number: int | None
    waiting: int
    since: Instant | None


class WaitingConversations(Word, kw_only=True):
    """Conversations that wait: ours that are blocked, then those of partners with a gap."""

    conversations: tuple[WaitingConversation, ...]


class HeldMessage(Word, kw_only=True):
    """A received message that is not handed over yet."""

    message_id: str
    number: int


class ShownConversation(Word, kw_only=True):
    """Both directions of a conversation; `held` are at most a thousand messages, by number."""

    directions: tuple[WaitingConversation, ...]
    held: tuple[HeldMessage, ...]


class ResetConversation(Word, kw_only=True, omit_defaults=True):
    """Why the numbers begin again.

    `anyway` names the message in doubt that then counts as not delivered; without it a doubt has to
    be settled first.
    """

    reason: FullLine
    anyway: Name | None = None


class WordOnConversation(Word, kw_only=True):
    """Why what is held is released, or dropped."""

    reason: FullLine


class ConcernedMessages(Word, kw_only=True):
    """The messages that were handed over or dropped, by number; of a reset, what had blocked."""

    message_ids: tuple[str, ...]
