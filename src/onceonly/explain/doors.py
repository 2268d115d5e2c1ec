"""Whether an endpoint hands a request or a mail on, or answers by itself."""

import asyncio
from collections.abc import AsyncIterator

from onceonly.explain.capture import Capture
from onceonly.explain.rehearsal import bring_mail, mail_bytes_max
from onceonly.gateway.config import Configuration
from onceonly.gateway.transports import ENDPOINT_BYTES_MAX
from onceonly.transport.http import refusal
from onceonly.transport.http.head import read_request_head
from onceonly.transport.http.limits import HEAD_BYTES_MAX
from onceonly.transport.http.refusal import HttpRefused
from onceonly.transport.http.server import target_of
from onceonly.transport.mail.reception import Taker
from onceonly.transport.mail.report import AutomaticReport
from onceonly.transport.transport import Answer, Request


def find_http_refusal(capture: Capture, configuration: Configuration) -> Answer | None:
    """What the HTTP endpoint answers by itself; None where it hands the request on.

    Line ends that a program has rewritten in the capture are taken for what they were.
    """
    head = capture.head
    if capture.has_bare_line_feeds:
        head = head.replace(b"\n", b"\r\n")
    if len(head) > HEAD_BYTES_MAX:
        return refusal.HEAD_TOO_LARGE
    path, authorities = target_of(configuration.listen, [configuration.uri])
    try:
        read_request_head(
            head,
            path=path.encode(),
            body_bytes_max=ENDPOINT_BYTES_MAX,
            authorities=authorities,
        )
    except HttpRefused as error:
        return error.answer
    return None


def find_mail_refusal(
    capture: Capture, configuration: Configuration
) -> tuple[Answer | None, str | None]:
    """What the mail endpoint answers by itself, if it does not hand the mail on.

    And the kind of an automatic mail, which the gateway drops.
    """
    kinds: list[str] = []

    async def drop(_: str, report: AutomaticReport) -> Answer:
        kinds.append(report.kind)
        return _TAKEN

    taker = Taker(_receive, drop, mail_bytes_max(configuration))
    answer = asyncio.run(bring_mail(capture, taker))
    refusal = answer if answer.error is not None else None
    return refusal, kinds[0] if kinds else None


async def _receive(_: Request, chunks: AsyncIterator[bytes]) -> Answer:
    async for _chunk in chunks:
        pass
    return _TAKEN


_TAKEN = Answer(204)
