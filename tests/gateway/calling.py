"""What the API says to a caller: a refusal, and the inbox item of a message that came in."""

from typing import Any

from peer import Peer
from running_gateway import RunningGateway

from onceonly.api.operation import FORM, JSON, Nothing, Operation
from onceonly.api.refusals import Refusal
from onceonly.gateway.api.declared import fields_of

ERROR_MEMBERS = Refusal.__struct_fields__


AnyOperation = Operation[Any, Any, Any, Any]


def query_of(operation: AnyOperation) -> list[str]:
    """Names of the query parameters that a call reads."""
    return list(fields_of(operation.query_type))


def takes_form(operation: AnyOperation) -> bool:
    return operation.body_media == FORM


def takes_documents(operation: AnyOperation) -> bool:
    """Whether its body is a form, or lines."""
    return operation.body_media != JSON


def members_of(operation: AnyOperation) -> list[str]:
    """Members of its body, where that is JSON."""
    is_json = operation.body_media == JSON and operation.body_type is not Nothing
    return list(fields_of(operation.body_type)) if is_json else []


def refused(answer: Any) -> tuple[int, str]:
    """Status and name of a refusal, which must have the one shape."""
    assert set(answer.json) == {"error"}, answer
    assert {"name", "text"} <= set(answer.json["error"]) <= {*ERROR_MEMBERS}
    return answer.status, answer.json["error"]["name"]


async def received(gateway: RunningGateway, peer: Peer, message_id: str, number: int) -> Any:
    """The inbox item of a message that the peer sent."""
    await peer.send(message_id, number)
    await peer.hear("Acknowledgement")
    await gateway.until(lambda: message_id in gateway.inbox_ids())
    items = (await gateway.get("/v1/inbox"))["items"]
    return next(item for item in items if item["message_id"] == message_id)
