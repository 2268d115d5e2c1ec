"""What the API says to a caller: a refusal, and the inbox item of a message that came in."""

from typing import Any

from peer import Peer
from running_gateway import RunningGateway


def refused(answer: Any) -> tuple[int, str]:
    """Status and name of a refusal, which must have the one shape."""
    assert set(answer.json) == {"error"}, answer
    assert set(answer.json["error"]) == {"name", "text"}
    return answer.status, answer.json["error"]["name"]


async def received(gateway: RunningGateway, peer: Peer, message_id: str, number: int) -> Any:
    """The inbox item of a message that the peer sent."""
    await peer.send(message_id, number)
    await peer.hear("Acknowledgement")
    await gateway.until(lambda: message_id in gateway.inbox_ids())
    items = (await gateway.get("/v1/inbox"))["items"]
    return next(item for item in items if item["message_id"] == message_id)
