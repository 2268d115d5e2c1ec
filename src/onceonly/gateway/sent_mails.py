"""Which transmission of ours each mail was, so that a bounce can be told from a stranger's letter.

Every transmission by mail has a Message-ID of its own: a token of chance, which nobody can guess,
and after a dot the MessageId of the message, in letters that may stand there. The row about the
transmission has the token, so that a bounce which comes after a crash, or after days, finds it with
the help of the MessageId (`steps.mails`). Until that row is written, and for signals, which have
none, the last mails are in memory.

Whoever names the token in a delivery report has seen the mail, or its way. That still may be
anybody on that way, so a bounce only adds a row about the transmission: no timer, state or verdict
depends on it (R-05, attack M10), and the resends go on as they would have.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from secrets import token_hex
from typing import Final

from onceonly.message.word import Word

REMEMBERED_MAX: Final = 1_000
"""More mails than wait for their rows at once."""

_TOKEN_BYTES: Final = 16


class SentMail(Word):
    """A transmission by mail."""

    endpoint: str
    message_id: str
    """Of the ebXML message; empty for a signal."""
    attempt: int
    """Which transmission of the message it was; 0 where it was none of a message of ours."""


class MailName(Word):
    """The Message-ID of a mail before its @, read."""

    token: str
    message_id: str = ""
    """Of the message that it is a transmission of; empty where it is none."""

    @classmethod
    def fresh(cls, mail: SentMail) -> "MailName":
        """For a mail that is about to leave."""
        return cls(token_hex(_TOKEN_BYTES), mail.message_id if mail.attempt else "")

    def __str__(self) -> str:
        """The local part of the Message-ID."""
        if not self.message_id:
            return self.token
        return f"{self.token}.{urlsafe_b64encode(self.message_id.encode()).decode().rstrip('=')}"

    @classmethod
    def find(cls, mail_id: str) -> "MailName | None":
        """Read a Message-ID with its brackets; None if it cannot be one of ours."""
        token, _, encoded = mail_id.strip("<>").partition("@")[0].partition(".")
        try:
            message_id = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
        except ValueError:
            return None
        return cls(token, message_id) if len(token) == 2 * _TOKEN_BYTES else None


class SentMails:
    """The last mails, by their tokens."""

    def __init__(self) -> None:
        self._mails: OrderedDict[str, SentMail] = OrderedDict()

    def note(self, token: str, mail: SentMail) -> None:
        """A mail may leave now."""
        self._mails[token] = mail
        while len(self._mails) > REMEMBERED_MAX:
            self._mails.popitem(last=False)

    def forget(self, token: str) -> SentMail | None:
        """The mail did not leave, or bounced: one bounce is all that it can have."""
        return self._mails.pop(token, None)

    def find(self, token: str) -> SentMail | None:
        """The mail with that token; None if it is none of ours, or long gone."""
        return self._mails.get(token)
