"""Packages as somebody captures them, and what is explained of them."""

import io
from base64 import encodebytes
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import packages
import packages_2001
from packages import Parcel

from onceonly.explain.answering import Circumstances
from onceonly.explain.explaining import explain
from onceonly.explain.explanation import CheckFacts, CheckResult, Explanation
from onceonly.gateway.config import Configuration
from onceonly.message.instant import from_datetime

US = "urn:duns:222222222"
THEM = "urn:duns:111111111"
OUR_URI = "http://127.0.0.1:8401/msh"
THEIR_URI = "http://127.0.0.1:8402/msh"
THEM_2001 = "urn:duns:555555555"
THEIR_URI_2001 = "http://127.0.0.1:8406/msh"

CONFIGURATION = f"""\
[gateway]
party  = ["{US}"]
listen = "{OUR_URI}"
api    = "http://127.0.0.1:8411"
store  = "seller.db"
lake   = "lake"

[[agreement]]
id      = "tpa-ab-1"
with    = ["{THEM}"]
send_to = "{THEIR_URI}"

[[agreement]]
id      = "cpa-ab-1"
profile = "rm-2001"
with    = ["{THEM_2001}"]
send_to = "{THEIR_URI_2001}"
"""


def order(message_id: str = "m-1@a.example.com", number: Any = 1, **other: Any) -> Parcel:
    """A business message of rm-2000."""
    facts = {
        "from_party": THEM,
        "to_party": US,
        "sender_uri": THEIR_URI,
        "receiver_uri": OUR_URI,
        **other,
    }
    return packages.normal(message_id, number, **facts)


def order_2001(message_id: str = "m-1@a.example.com", **other: Any) -> Parcel:
    """A business message of rm-2001."""
    facts = {
        "from_party": THEM_2001,
        "to_party": US,
        "sender_uri": THEIR_URI_2001,
        "receiver_uri": OUR_URI,
        **other,
    }
    return packages_2001.package(message_id, **facts)


def signal(kind: str, **other: Any) -> Parcel:
    """A signal of rm-2000 about a message of ours."""
    facts = {"sender_uri": THEIR_URI, "receiver_uri": OUR_URI, **other}
    return packages.signal(kind, "po-1@b.example.com", message_id="s-1@a.example.com", **facts)


def request(parcel: Parcel, *fields: str, path: str = "/msh", length: int | None = None) -> bytes:
    """The package in an HTTP request."""
    size = len(parcel.body) if length is None else length
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1:8401",
        f"Content-Type: {parcel.content_type}",
        f"Content-Length: {size}",
        *fields,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + parcel.body


def chunked(
    parcel: Parcel, sizes: Iterable[int] = (7, 100, 1, 4000), *, line_end: bytes = b"\r\n"
) -> bytes:
    """The package in an HTTP request of chunks, with such lines around them."""
    head = (
        "POST /msh HTTP/1.1\r\nHost: 127.0.0.1:8401\r\nTransfer-Encoding: chunked\r\n"
        f"Content-Type: {parcel.content_type}\r\n\r\n"
    ).encode()
    body, chunks = parcel.body, b""
    for size in [*sizes, len(parcel.body)]:
        piece, body = body[:size], body[size:]
        if piece:
            chunks += f"{len(piece):x}".encode() + line_end + piece + line_end
    head = head.replace(b"\r\n", line_end)
    return head + chunks + b"0" + line_end * 2


def answer(parcel: Parcel, status: str = "200 OK") -> bytes:
    """The package in an HTTP answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {parcel.content_type}\r\n"
    return f"{head}Content-Length: {len(parcel.body)}\r\n\r\n".encode() + parcel.body


def mail(parcel: Parcel) -> bytes:
    """The package in a mail, each part in base64."""
    head = "Date: Mon, 02 Oct 2000 09:00:00 +0000\r\nFrom: <a@a.example>\r\nTo: <b@b.example>\r\n"
    head += f"MIME-Version: 1.0\r\nContent-Type: {parcel.content_type}\r\n\r\n"
    delimiter = f"--{packages.BOUNDARY}".encode()
    _, *parts, end = parcel.body.split(delimiter)
    body = b""
    for part in parts:
        fields, _, content = part.partition(b"\r\n\r\n")
        encoded = encodebytes(content.removesuffix(b"\r\n")).replace(b"\n", b"\r\n")
        coding = b"\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        body += delimiter + fields + coding + encoded
    return head.encode() + body + delimiter + end


def chunked_in_lf(parcel: Parcel) -> bytes:
    """The same from a program that stores the lines of HTTP its own way, and the bodies as is."""
    return chunked(parcel, line_end=b"\n")


def in_lf(capture: bytes) -> bytes:
    """The capture after a program that stores line ends as LF."""
    return capture.replace(b"\r\n", b"\n")


def explained(
    capture: bytes,
    configuration: Configuration | None = None,
    *,
    content_type: str | None = None,
    **around: Any,
) -> Explanation:
    """What is said of the capture, which comes in now."""
    at = around.pop("at", None) or from_datetime(datetime.now(UTC))
    return explain(
        io.BytesIO(capture),
        "a capture",
        content_type=content_type,
        configuration=configuration,
        around=Circumstances(at, **around),
    )


def failed(found: Explanation) -> CheckFacts | None:
    """The check that failed."""
    assert found.answer is not None
    made = [check for check in found.answer.checks if check.result is CheckResult.FAILED]
    assert len(made) <= 1
    return made[0] if made else None
