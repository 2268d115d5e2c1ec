"""Which mail brought a message, and which one carried a transmission: as the journal has it.

A mail has a Message-ID of its own, beside that of ebXML (`ebms2.md` §14). The rows about what mails
brought and carried name it, so that it can be found in the logs of mail systems, and is known after
a crash; and with its message the purge forgets it.
"""

from typing import Final

from onceonly.journal.record import Record
from onceonly.message.digest import Digests
from onceonly.message.event import Direction, Event
from onceonly.message.instant import US_PER_S
from onceonly.steps.agreements import AdmittedMessage
from onceonly.store.contract.store import Snapshot

COPIES_COME_FOR_S: Final = 86_400
"""For how long the same mail is taken for a copy that a mail system made: most give up after hours,
some after days. A partner whose product sends its stored mail again, under the old Message-ID, must
get the acknowledgement some day."""

CAME_BACK: Final = "its mail came back"
"""Beginning of the reason of a transmission that a bounce says was refused."""


def brought(reason: str | None, mail_id: str) -> str:
    """The reason of the row about what a mail brought, with the mail's own Message-ID."""
    return _joined(reason, f"by mail {mail_id}")


def carried(detail: str, token: str) -> str:
    """What is said of a transmission by mail, with the part of its Message-ID that is chance."""
    return _joined(detail, f"mail {token}")


def was_brought_before(
    snapshot: Snapshot, admitted: AdmittedMessage, digests: Digests, mail_id: str | None, at: int
) -> bool:
    """Whether the mail with that Message-ID brought the same message, with the same content.

    What was refused then is not meant: a copy of it gets its chance.
    """
    if mail_id is None or not admitted.agreement.profile.drops_repeated_mail:
        return False
    key, oldest_at = admitted.message.key, at - COPIES_COME_FOR_S * US_PER_S
    return any(
        _names(row, brought(None, mail_id))
        and row.direction is Direction.IN
        and (row.from_party, row.to_party) == (key.from_party, key.to_party)
        and (row.digest, row.header_digest) == (digests.payloads, digests.header)
        and row.at >= oldest_at
        for row in snapshot.list_journal_of(key.message_id)
    )


def find_carried(snapshot: Snapshot, message_id: str, token: str) -> Record | None:
    """The row about the transmission that the mail carried; None if it came back already."""
    mine = [
        row
        for row in snapshot.list_journal_of(message_id)
        if row.event is Event.TRANSMITTED and row.direction is Direction.OUT
    ]
    found = next((row for row in mine if _names(row, carried("", token))), None)
    if found is None:
        return None
    came_back = (row for row in mine if (row.reason or "").startswith(CAME_BACK))
    return None if any(row.attempt == found.attempt for row in came_back) else found


def _joined(words: str | None, about_mail: str) -> str:
    return f"{words}; {about_mail}" if words else about_mail


def _names(row: Record, about_mail: str) -> bool:
    """Whether the row says so at its end, where nobody else writes."""
    reason = row.reason or ""
    return reason == about_mail or reason.endswith(f"; {about_mail}")
