"""What the mail endpoint answers, and how an answer of the gateway becomes one of SMTP.

After the status codes comes one name per reason, as over HTTP, for people who debug an exchange;
programs use the code. 4xx means that the sender's mail system tries again, 5xx that it does not.
"""

import re
from typing import Final

from onceonly.message.errors import ErrorCode
from onceonly.transport.transport import Answer

LINE_TOO_LONG: Final = Answer(500, "LineTooLong")
MAIL_TOO_LARGE: Final = Answer(552, "MessageTooLarge")
BARE_LINE_BREAK: Final = Answer(554, "BareLineBreak")
NUL_BYTE: Final = Answer(554, "NulByte")
HEAD_TOO_LARGE: Final = Answer(554, "HeadTooLarge")
MALFORMED_HEAD: Final = Answer(554, "MalformedHead")
MAIL_LOOP: Final = Answer(554, "MailLoop")
TRANSFER_ENCODING: Final = Answer(554, "TransferEncodingNotSupported")
INTERNAL_ERROR: Final = Answer(451, "InternalError")
DRAINING: Final = Answer(451, "Draining")
BUSY: Final = Answer(421, "TooManyConnections")
CLOSING: Final = Answer(421, "Closing")
TLS_FIRST: Final = Answer(554, "CommandBehindStartTls")
NOT_HERE: Final = Answer(550, "NoSuchMailbox")
BAD_ADDRESS: Final = Answer(553, "BadAddress")

_ENHANCED: Final = {
    250: "2.0.0",
    421: "4.3.2",
    451: "4.3.0",
    500: "5.5.2",
    550: "5.1.1",
    552: "5.3.4",
    553: "5.1.3",
    554: "5.6.0",
}
_FOR_GOOD: Final = {403: 550, 413: 552}
_POLICY: Final = "5.7.1"
"""Status of a 550 that is about permission, and not about a mailbox."""
_TEMPORARY: Final = frozenset({408, 425, 429})
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ENHANCED_CODE: Final = re.compile(r"[245]\.\d{1,3}\.\d{1,3} ?")
_DETAIL_MAX: Final = 200


class MailRefused(Exception):  # noqa: N818 - because it names what happened to the mail
    """The mail is refused with `answer`, which has SMTP's codes."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.error)
        self.answer = answer


def to_smtp(answer: Answer) -> Answer:
    """The gateway's answer, which has HTTP's codes, with SMTP's codes.

    A full store, a drain and our own errors are 451: the sender's mail system keeps the mail and
    tries again. Too large is 552, not permitted is 550, and every other failure is 554.
    """
    status = answer.status_code
    if 200 <= status < 300:
        return Answer(250, answer.error)
    if status >= 500 or status in _TEMPORARY:
        return Answer(451, answer.error)
    return Answer(_FOR_GOOD.get(status, 554), answer.error)


def render_reply(answer: Answer) -> bytes:
    """The line of an answer that has SMTP's codes, with its CRLF."""
    name = answer.error or "OK"
    assert _NAME.fullmatch(name), "an error name is one word"
    status = answer.status_code
    is_policy = name == ErrorCode.SECURITY_FAILURE.value
    return f"{status} {_POLICY if is_policy else _ENHANCED[status]} {name}\r\n".encode("ascii")


def read_detail(text: str) -> str:
    """What a peer's reply says after its code: the name of the reason, or its first words."""
    text = _ENHANCED_CODE.sub("", text.partition("\n")[0], count=1)[:_DETAIL_MAX]
    return "".join(char if char.isascii() and char.isprintable() else "?" for char in text)
