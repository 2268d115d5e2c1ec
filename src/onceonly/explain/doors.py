"""Whether an endpoint takes what comes before a package: the head of a request, and of a mail."""

from onceonly.explain.capture import Capture
from onceonly.explain.rehearsal import lines_of
from onceonly.gateway.config import Configuration
from onceonly.gateway.transports import ENDPOINT_BYTES_MAX
from onceonly.transport.http import refusal
from onceonly.transport.http.head import read_request_head
from onceonly.transport.http.limits import HEAD_BYTES_MAX
from onceonly.transport.http.refusal import HttpRefused
from onceonly.transport.http.server import target_of
from onceonly.transport.mail.head import HeadReader
from onceonly.transport.mail.reply import MailRefused
from onceonly.transport.transport import Answer


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


def find_mail_refusal(capture: Capture) -> Answer | None:
    """What the mail endpoint answers to the header block; None where it reads on."""
    reader = HeadReader(has_sender=True)
    head = capture.head
    if capture.has_bare_line_feeds:
        head = head.replace(b"\n", b"\r\n")
    try:
        for line in lines_of((head,)):
            if reader.feed(line[:-2]) is not None:
                return None
    except MailRefused as error:
        return error.answer
    return None
