"""From the keys of one agreement to the order of its conversations, or why there cannot be one."""

from onceonly.gateway.config.file import Table
from onceonly.gateway.config.order_keys import GUARANTEED
from onceonly.message.message import AckRequested, SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed


def with_order(table: Table, profile: Profile, terms: DeliveryTerms) -> DeliveryTerms:
    """The terms with what was agreed about the order. Raises `ConfigurationError`."""
    if table["message_order"] != GUARANTEED:
        for key in ("order_hold_max", "order_gap_after"):
            if table.is_given(key):
                table.refuse(key, "needs an order; legal: with message_order = Guaranteed")
        return terms
    _check(table, profile, terms)
    gap_after_s: int | None = table["order_gap_after"]
    if gap_after_s is None:
        gap_after_s = terms.verdict_after_s or terms.persist_duration_s
    return changed(
        terms,
        is_ordered=True,
        order_hold_max=table["order_hold_max"],
        order_gap_after_s=gap_after_s,
    )


def _check(table: Table, profile: Profile, terms: DeliveryTerms) -> None:
    """An order is of messages that are acknowledged, and known again (ebMS 2.0 §9.2)."""
    if not profile.has_order:
        table.refuse(
            "message_order",
            f"is Guaranteed, for which {profile.name} has no element; legal: NotGuaranteed",
        )
    if terms.sync_reply_mode is not SyncReplyMode.NONE:
        table.refuse(
            "message_order",
            "is Guaranteed, which a sync_reply_mode excludes; legal: with sync_reply_mode = none",
        )
    is_asked = terms.ack_requested is not AckRequested.NONE
    if not (is_asked and terms.is_acknowledged and terms.eliminates_duplicates):
        table.refuse(
            "message_order",
            "is Guaranteed, which needs acknowledgements and elimination of duplicates; legal: with"
            " delivery_semantics = OnceAndOnlyOnce",
        )
    if terms.strict_release or terms.ack_status.is_passed_on:
        key = "strict_release" if terms.strict_release else "passed_on"
        table.refuse(
            key,
            "ties the hand-over to an acknowledgement, and in an order it also waits for earlier"
            " messages; legal: false where message_order is Guaranteed",
        )
