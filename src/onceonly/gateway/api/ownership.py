"""Whose something is: an application sees what is under its own agreements, and nothing else.

What is not a caller's own is not there for it: every answer is the one that an id would get that
nobody ever used, so that nobody learns which ids others have (attack R2). This is the one place
that decides it for calls about one thing; lists get the caller's agreements as a filter.
"""

from typing import Any, TypeVar

from onceonly.api.operation import Operation
from onceonly.gateway.api.serving import Asked, item_of
from onceonly.gateway.application.agreements import KnownAgreements, unknown_agreement
from onceonly.gateway.application.inbox import Inbox
from onceonly.gateway.caller import Caller
from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.store.contract.entries import Excerpt, MessageFilter
from onceonly.store.contract.listing import JobFilter, JournalFilter, OfAgreements
from onceonly.store.contract.store import Store

_SUBMITS = frozenset({"putMessage"})
"""Its MessageId is to be a new one; the submission itself decides about one that is taken."""


_OF_ITEMS = ("/v1/inbox/items", "/v1/inbox/{message_id}")


NO_JOB = "/"
"""No name of a job has a slash in it."""

E = TypeVar("E", bound=Excerpt)


class Ownership:
    """Checks calls of callers that do not see everything."""

    def __init__(self, *, store: Store, inbox: Inbox) -> None:
        self._store = store
        self._inbox = inbox

    def check(self, operation: Operation[Any, Any, Any, Any], asked: Asked[Any, Any, Any]) -> None:
        """Raise `LocalError` (NotFound, InvalidField) for what is not the caller's; in a thread."""
        caller, path = asked.caller, asked.path
        if hasattr(path, "job"):
            _check_job(operation, caller, path.job)
        elif hasattr(path, "agreement"):
            if not caller.owns(path.agreement):
                raise unknown_agreement(path.agreement)
        elif operation.path.startswith(_OF_ITEMS):
            self._check_item(asked)
        elif hasattr(path, "message_id") and operation.name not in _SUBMITS:
            self._check_message(caller, path.message_id)

    def _check_item(self, asked: Asked[Any, Any, Any]) -> None:
        message_id, offset = item_of(asked)
        self._inbox.find(message_id, offset, asked.caller.agreement_ids)

    def _check_message(self, caller: Caller, message_id: str) -> None:
        entry = self._store.snapshot().find_outbound(message_id)
        if entry is None or not caller.owns(entry.agreement_id):
            raise unknown_message(message_id)


def names_owned(agreements: KnownAgreements, caller: Caller) -> frozenset[str] | None:
    """The names that rows of the caller's own agreements have (R-35); None: it sees every row.

    A name that agreements of others have, too, is not among them.
    """
    own = caller.agreement_ids
    return None if own is None else agreements.names_owned(own)


def owned_rows(wanted: JournalFilter, agreements: KnownAgreements, caller: Caller) -> JournalFilter:
    """The same question to the journal, whose rows have names on the wire instead of ids."""
    asked = None if wanted.agreement_id is None else agreements.find(wanted.agreement_id)
    own = names_owned(agreements, caller)
    return changed(
        wanted,
        agreement_id=wanted.agreement_id if asked is None else asked.name_on_wire,
        agreement_ids=None if own is None else tuple(sorted(own)),
    )


def owned(wanted: E, caller: Caller) -> E:
    """The same question to a list, about the caller's own alone."""
    if caller.agreement_ids is None:
        return wanted
    own = tuple(sorted(caller.agreement_ids))
    if isinstance(wanted, MessageFilter | OfAgreements):
        narrowed: E = changed(wanted, agreement_ids=own)
        return narrowed
    assert isinstance(wanted, JobFilter), f"a list that nobody made private: {wanted}"
    jobs: Any = changed(wanted, id_prefix=_own_prefix(wanted.id_prefix or "", caller))
    return jobs  # type: ignore[no-any-return]  # because it is what was wanted


def _own_prefix(asked: str, caller: Caller) -> str:
    """How the names of jobs begin that are the caller's and begin as asked."""
    ours = f"{caller.application}."
    if asked.startswith(ours):
        return asked
    return ours if ours.startswith(asked) else NO_JOB


def _check_job(operation: Operation[Any, Any, Any, Any], caller: Caller, job: str) -> None:
    if caller.owns_job(job):
        return
    if "NotFound" in operation.refusals:
        raise LocalError("NotFound", f"no job {job!r}")
    text = f"the jobs of this key have names that begin with {caller.application}."
    raise LocalError("InvalidField", text, {"field": "job"})


def unknown_message(message_id: str) -> LocalError:
    """The refusal of a call about a message that is not there."""
    return LocalError("NotFound", f"no outbound message {message_id!r}")
