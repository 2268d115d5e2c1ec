"""Who may make which call, in one table: the scope that it needs, whose it is, who answers for it.

A call that is missing here is the administrator's alone, and about the whole gateway; a test says
that none is missing.
"""

from typing import Final

from onceonly.api.fields import FullLine
from onceonly.api.words import Scope
from onceonly.message.word import Word, field


class Right(Word):
    """What a caller's key must allow for a call."""

    scope: Scope
    is_own: bool = False
    """Whether an application may make it, which then sees only what is its own. The others are
    about the whole gateway, and refused to a key that names agreements."""
    is_action: bool = False
    """Whether somebody answers for it: a row of the journal says who asked for it, and why."""


class AskerHead(Word, kw_only=True, omit_defaults=True):
    """What the head of an action can say of the person that asks for it; the journal keeps it."""

    operator: FullLine | None = field(default=None, name="Onceonly-Operator")
    """Who it is, in UTF-8, where a program calls for people."""
    reason: FullLine | None = field(default=None, name="Onceonly-Reason")
    """Why, in UTF-8, where the body says no reason."""


UNTHOUGHT_OF: Final = Right("admin")
"""Of a call that is missing below."""

_OWN_READ: Final = Right("read", is_own=True)
_OWN_PAYLOADS: Final = Right("payloads", is_own=True)
_OWN_SUBMIT: Final = Right("submit", is_own=True)
_OWN_SUBMIT_ACTION: Final = Right("submit", is_own=True, is_action=True)
_OWN_ACTION: Final = Right("operate", is_own=True, is_action=True)
_READ: Final = Right("read")
_ACTION: Final = Right("operate", is_action=True)
_ADMIN: Final = Right("admin")
_ADMIN_ACTION: Final = Right("admin", is_action=True)

RIGHTS: Final[dict[str, Right]] = {
    "postMessage": _OWN_SUBMIT,
    "putMessage": _OWN_SUBMIT,
    "listMessages": _OWN_READ,
    "getMessage": _OWN_READ,
    "getEvidence": _READ,
    "cancelMessage": _OWN_SUBMIT_ACTION,
    "resendMessage": _OWN_ACTION,
    "requestStatus": _OWN_ACTION,
    "resumeMessage": _ACTION,
    "settleMessage": _OWN_ACTION,
    "listJobs": _OWN_READ,
    "getJob": _OWN_READ,
    "listRejects": _OWN_READ,
    "putJobMessage": _OWN_SUBMIT,
    "postJobMessages": _OWN_SUBMIT,
    "releaseJob": _OWN_SUBMIT,
    "dropJob": _OWN_SUBMIT,
    "listInbox": _OWN_READ,
    "reportProcessingOfRange": _OWN_SUBMIT,
    **{f"getItem{how}": _OWN_READ for how in ("ByOffset", "ByQuery", "ByMessageId")},
    **{f"getPayload{how}": _OWN_PAYLOADS for how in ("ByOffset", "ByQuery", "ByMessageId")},
    **{f"reportProcessing{how}": _OWN_SUBMIT for how in ("ByOffset", "ByQuery", "ByMessageId")},
    **{f"refuse{how}": _OWN_SUBMIT_ACTION for how in ("ByOffset", "ByQuery", "ByMessageId")},
    **{f"redeliver{how}": _OWN_ACTION for how in ("ByOffset", "ByQuery", "ByMessageId")},
    "listNotices": _OWN_READ,
    **{f"count{what}": _OWN_READ for what in ("Messages", "Inbox", "Journal", "Notices", "Jobs")},
    "countIncidents": _READ,
    "listPartners": _READ,
    "pingPartner": _ACTION,
    "suspendPartner": _ACTION,
    "resumePartner": _ACTION,
    "listIncidents": _READ,
    **dict.fromkeys(("listConversations", "getConversation"), _READ),
    **{f"{verb}Conversation": _ACTION for verb in ("reset", "release", "drop")},
    "setDraining": _ACTION,
    "listJournal": _OWN_READ,
    "listAudit": Right("operate"),
    # No action: it changes nothing, and programs call it by the clock.
    "publishJournal": Right("operate"),
    "startBackup": _ADMIN_ACTION,
    "listBackups": _ADMIN,
    "getBackup": _ADMIN,
    "createKey": _ADMIN_ACTION,
    "listKeys": _ADMIN,
    "revokeKey": _ADMIN_ACTION,
    "getSentPayload": _OWN_PAYLOADS,
    "getSentHeader": _OWN_PAYLOADS,
    "listEvents": _OWN_READ,
    **{f"{verb}Bulk": _ACTION for verb in ("prepare", "start", "stop")},
    **dict.fromkeys(("listBulks", "getBulk", "listBulkResults"), _READ),
    "listFolders": _READ,
    # Reports are about every agreement together.
    **dict.fromkeys(("listReports", "getReport"), _READ),
    "listWebhooks": _READ,
    "listDeliveries": _READ,
    "replayDelivery": _ACTION,
    **dict.fromkeys(("listAlerts", "listAlertHistory"), _READ),
    **dict.fromkeys(("muteRule", "unmuteRule", "testAlertWay"), _ACTION),
    "previewPurge": _READ,
    "startPurge": _ADMIN_ACTION,
    # Its digest is of a file that may have passwords in it, which could be guessed with it.
    "getConfiguration": _ADMIN,
    "reloadConfiguration": _ADMIN_ACTION,
    **dict.fromkeys(("getCounters", "listExceptions", "getCondition"), _READ),
    **dict.fromkeys(("listAgreements", "getAgreement", "listAgreementHistory"), _OWN_READ),
    "getDifference": _OWN_READ,
    "listCertificates": _READ,
    "getHealth": _OWN_READ,
    "getReadiness": _OWN_READ,
    "getMetrics": _READ,
    "getOpenApi": _OWN_READ,
}
"""By the name of the operation."""
