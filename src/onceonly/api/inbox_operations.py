"""Every call of the API about received messages."""

from typing import Any, Final

from onceonly.api import inbox, messages
from onceonly.api.operation import (
    ANY,
    ARROW,
    BYTES,
    JSON,
    A,
    AnyOperation,
    B,
    Nothing,
    Operation,
    P,
)
from onceonly.api.words import ProcessingState
from onceonly.message.word import Word

LIST_INBOX: Final = Operation(
    name="listInbox",
    method="get",
    path="/v1/inbox",
    summary="Received messages above an offset, in order; waits up to `wait` seconds for one. "
    "`payloads=inline` adds their bytes; in an Arrow stream (Accept) they are, except with "
    "`payloads=none`. The metadata of its schema has `next_after` where more may come",
    path_type=Nothing,
    query_type=inbox.InboxQuery,
    body_type=Nothing,
    answer_type=inbox.InboxPage,
    media=(JSON, ARROW),
)
REPORT_RANGE: Final = Operation(
    name="reportProcessingOfRange",
    method="post",
    path="/v1/inbox/processing",
    summary="Report a processing state for all messages above `after` up to the offset `up_to`; "
    "what has come further stays as it is",
    path_type=Nothing,
    query_type=Nothing,
    body_type=inbox.ProcessingRange,
    answer_type=inbox.Moved,
    refusals=("StoreFull",),
)


class ItemCalls(Word, kw_only=True):
    """The calls about one item of the inbox, which is named in three ways."""

    get: Operation[Any, Any, Nothing, inbox.InboxItem]
    payload: Operation[Any, Any, Nothing, bytes]
    report: Operation[Any, Any, inbox.Processing, inbox.InboxItem]
    refuse: Operation[Any, Any, messages.Reason, inbox.InboxItem]
    redeliver: Operation[Any, Any, inbox.Redeliver, inbox.InboxItem]

    @property
    def all(self) -> tuple[AnyOperation, ...]:
        """The five."""
        return (self.get, self.payload, self.report, self.refuse, self.redeliver)


def _of_item(
    path: str,
    how: tuple[str, str],
    path_type: type[P],
    payload_path_type: type[Word],
    query_type: type[Word],
) -> ItemCalls:
    name, words = how
    states = ", ".join(ProcessingState.__args__)  # type: ignore[attr-defined]  # because a Literal has them
    unfound = ("NotFound", "Ambiguous")
    unreported = (
        *(*unfound, "UnknownAgreement", "Cancelled", "ProcessingWentBack", "Refused"),
        "StoreFull",
    )

    def call(
        verb: str, tail: str, summary: str, body: type[B], answer: type[A], **more: Any
    ) -> Operation[Any, Any, B, A]:
        return Operation(
            name=f"{verb}{name}",
            path=f"{path}{tail}",
            summary=summary,
            query_type=query_type,
            body_type=body,
            answer_type=answer,
            **{"method": "post", "path_type": path_type, **more},
        )

    return ItemCalls(
        get=call(
            "getItem",
            "",
            f"One received message, {words}",
            Nothing,
            inbox.InboxItem,
            method="get",
            refusals=(*unfound, "Cancelled"),
        ),
        payload=call(
            "getPayload",
            "/payloads/{n}",
            f"The bytes of a payload of it, {words}",
            Nothing,
            bytes,
            method="get",
            path_type=payload_path_type,
            media=(BYTES, ANY),
            refusals=unfound,
        ),
        report=call(
            "reportProcessing",
            "/processing",
            f"Report the application's processing state of it, {words}: {states}",
            inbox.Processing,
            inbox.InboxItem,
            refusals=unreported,
        ),
        refuse=call(
            "refuse",
            "/refuse",
            f"Say that the application will not process it, and why, {words}",
            messages.Reason,
            inbox.InboxItem,
            refusals=unreported,
        ),
        redeliver=call(
            "redeliver",
            "/redeliver",
            f"Hand it over to the application once more, {words}: it is in the inbox again, at an "
            "offset of its own, which the answer has. Nothing is sent. With `after`, only if that "
            "was not done since",
            inbox.Redeliver,
            inbox.InboxItem,
            statuses=(201,),
            refusals=(
                *(*unfound, "Purged", "Cancelled", "UnknownAgreement", "AlreadyHandedOver"),
                "StoreFull",
            ),
        ),
    )


BY_OFFSET: Final = _of_item(
    "/v1/inbox/items/{offset}",
    ("ByOffset", "by its offset"),
    inbox.OffsetPath,
    inbox.OffsetPayloadPath,
    Nothing,
)
BY_QUERY: Final = _of_item(
    "/v1/inbox/items",
    (
        "ByQuery",
        "by its MessageId, if one message has it alone (409 `Ambiguous` names the offsets)",
    ),
    Nothing,
    inbox.PayloadPath,
    inbox.WhichItem,
)
BY_MESSAGE_ID: Final = _of_item(
    "/v1/inbox/{message_id}",
    ("ByMessageId", "by its MessageId, if one message has it alone or `offset` says which"),
    inbox.ItemPath,
    inbox.ItemPayloadPath,
    inbox.WhichOffset,
)
ITEM_CALLS: Final = (BY_OFFSET, BY_QUERY, BY_MESSAGE_ID)
"""The ways to name an item."""

INBOX_OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    LIST_INBOX,
    REPORT_RANGE,
    *BY_OFFSET.all,
    *BY_QUERY.all,
    *BY_MESSAGE_ID.all,
)
"""All of them, in the order in which a path is looked for."""
