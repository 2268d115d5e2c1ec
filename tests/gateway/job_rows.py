"""Rows of jobs as tests hand them over, and what became of them."""

import json
from typing import Any

from peer import Peer
from running_gateway import RunningGateway

from onceonly.message.event import Event

STANDING = (
    "staged",
    "queued",
    "sending",
    "in_doubt",
    "acknowledged",
    "failed",
    "expired",
    "cancelled",
    "sent",
)


def a_row(peer: Peer, name: str, number: int | None = None, **more: Any) -> dict[str, Any]:
    row = {
        "message_id": name,
        "to": peer.party,
        "service": "Ordering",
        "action": "NewOrder",
        "payload": f"<Order>{name}</Order>",
        "content_type": "application/xml",
        **more,
    }
    return row if number is None else {"row": number, **row}


def _of(run: str | None, attempt: int | None = None) -> str:
    named = "" if run is None else f"?run={run}"
    return named if attempt is None else f"{named}&attempt={attempt}"


async def stage(
    gateway: RunningGateway,
    *rows: dict[str, Any],
    job: str = "j",
    run: str | None = None,
    attempt: int | None = None,
) -> Any:
    body = "\n".join(map(json.dumps, rows)).encode()
    path = f"/v1/jobs/{job}/messages{_of(run, attempt)}"
    return await gateway.call("POST", path, content=body)


async def staged(
    gateway: RunningGateway, *rows: dict[str, Any], job: str = "j", run: str | None = None
) -> list[str]:
    """Outcomes of the rows, in order."""
    answer = await stage(gateway, *rows, job=job, run=run)
    assert answer.status == 200, answer
    return [row["outcome"] for row in answer.json["rows"]]


async def counted(gateway: RunningGateway, job: str = "j") -> dict[str, Any]:
    """The job, which adds up."""
    shape = await gateway.get(f"/v1/jobs/{job}")
    assert shape["rows"] == shape["accepted"] + shape["rejected"] + shape["replayed"]
    assert shape["accepted"] == sum(shape[word] for word in STANDING)
    return shape


async def release(gateway: RunningGateway, job: str = "j", run: str | None = None) -> None:
    answer = await gateway.call("POST", f"/v1/jobs/{job}/release{_of(run)}")
    assert answer.status == 200, answer


async def dropped(gateway: RunningGateway, job: str = "j", run: str | None = None) -> int:
    """How many rows went."""
    count: int = (await gateway.call("DELETE", f"/v1/jobs/{job}{_of(run)}")).json["dropped"]
    return count


def known(gateway: RunningGateway) -> list[str]:
    """MessageIds in the order of submission."""
    return [row.message_id for row in gateway.rows(Event.SUBMITTED)]
