"""Fuzzes the mail endpoint: whole conversations, commands and data.

The first byte of the input says how large the pieces are, the rest is what a client says. What is
taken in must not depend on where the network cuts, and only CRLF.CRLF ends a mail.
"""

import logging
from collections.abc import AsyncIterator

from fake_wire import FakeSocket, FindingsLoop, settled, turns
from fuzzing import pieces_of
from onceonly.transport.mail.connection import Door, MailEndpoint, SmtpConnection
from onceonly.transport.mail.limits import SmtpLimits
from onceonly.transport.mail.reception import Taker
from onceonly.transport.mail.report import AutomaticReport
from onceonly.transport.transport import Answer, Request

MAIL_BYTES_MAX = 4096
_LOOP = FindingsLoop()
logging.getLogger("mail.log").setLevel(logging.CRITICAL)


def converse(data: bytes) -> None:
    """The same mails and the same replies, whole or in pieces."""
    stream, pieces = pieces_of(data)
    whole, cut = _conversation([stream]), _conversation(pieces)
    assert whole == cut
    mails, replies = whole
    assert len(mails) <= stream.count(b"\r\n.\r\n")
    assert all(line[:3].isdigit() for line in replies.split(b"\r\n")[:-1])


def _conversation(pieces: list[bytes]) -> tuple[list[bytes], bytes]:
    mails: list[bytes] = []

    async def receive(_request: Request, body: AsyncIterator[bytes]) -> Answer:
        mails.append(b"".join([piece async for piece in body]))
        return Answer(204)

    async def drop(_peer: str, report: AutomaticReport) -> Answer:
        return Answer(204, report.kind)

    endpoint = MailEndpoint(
        Door("msh@partner.example"),
        Taker(receive, drop, MAIL_BYTES_MAX),
        SmtpLimits(mail_bytes_max=MAIL_BYTES_MAX),
        lambda _address: True,
        lambda _connection, _address: None,
    )
    _LOOP.run(_talk(endpoint, pieces, mails, replies := bytearray()))
    return mails, bytes(replies)


async def _talk(
    endpoint: MailEndpoint, pieces: list[bytes], mails: list[bytes], replies: bytearray
) -> None:
    connection = SmtpConnection(endpoint)
    wire = FakeSocket(_LOOP.loop, connection)
    connection.connection_made(wire)
    for piece in pieces:
        if wire.is_closing():
            break
        connection.data_received(piece)
    await settled(lambda: (len(wire.written), len(mails)))
    wire.close()
    await turns(20)
    replies += wire.written
