"""Which transmission of ours each mail was, so that a bounce can be told from a stranger's letter.

Every transmission by mail has a Message-ID of its own, which nobody can guess; who names it in a
delivery report has seen the mail, or its way. That still may be anybody on that way, so a bounce
only adds a row about the transmission: no timer, state or verdict depends on it (R-05, attack M10),
and the resends go on as they would have. Therefore this is in memory: what a restart forgets is
the reason that a bounce would have told, and nothing else.
"""

from collections import OrderedDict
from typing import Final

from onceonly.message.word import Word

REMEMBERED_MAX: Final = 10_000
"""The last so many mails, some MB: at one a second those of some hours. Most bounces come sooner;
some mail systems try for days."""


class SentMail(Word):
    """A transmission by mail."""

    endpoint: str
    message_id: str
    """Of the ebXML message; empty for a signal."""
    attempt: int
    """Which transmission of the message it was; 0 where it was none of a message of ours."""


class SentMails:
    """The last mails, by the part of their Message-ID that is before the @."""

    def __init__(self) -> None:
        self._mails: OrderedDict[str, SentMail] = OrderedDict()

    def note(self, token: str, mail: SentMail) -> None:
        """A mail may leave now."""
        self._mails[token] = mail
        while len(self._mails) > REMEMBERED_MAX:
            self._mails.popitem(last=False)

    def forget(self, token: str) -> None:
        """The mail did not leave, or bounced: one bounce is all that it can have."""
        self._mails.pop(token, None)

    def find(self, mail_id: str) -> tuple[str, SentMail] | None:
        """Token and mail of that Message-ID, with its brackets; None if it is none of ours."""
        token = mail_id.strip("<>").partition("@")[0]
        mail = self._mails.get(token)
        return None if mail is None else (token, mail)
