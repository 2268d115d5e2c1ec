"""DeliveryFailure notices to the From Party, across the network (seed 001 §1.6, ruling R-14).

An owed notice is posted until the transport takes it, at intervals of RetryInterval and a limited
number of times. Nobody acknowledges it (R-20), so the sender must not depend on it; our sending
side never does.
"""

import asyncio
from functools import partial

from onceonly.gateway.bugs import Bugs, words_for
from onceonly.gateway.office import Office
from onceonly.message.agreement import Agreement
from onceonly.message.instant import NS_PER_S
from onceonly.message.signals import SignalAction
from onceonly.message.word import changed
from onceonly.steps import notices
from onceonly.steps.signals import failure_notice
from onceonly.steps.transmission import error_endpoint_of
from onceonly.store.contract.entries import OwedNotice


class FailureNotices:
    """Posts the notices of this gateway, as the receiver or as an accepting intermediary."""

    def __init__(self, *, office: Office, bugs: Bugs) -> None:
        self._office = office
        self._bugs = bugs

    async def start(self) -> None:
        """Go on with notices that were owed at the last stop or crash."""
        snapshot = self._office.snapshot()
        for notice in snapshot.list_owed_notices():
            if notices.agreement_of(snapshot, self._office.house, notice) is not None:
                self.release(notice)

    def release(self, notice: OwedNotice) -> None:
        """Post the notice in a task; called after the commit of the step that owes it."""
        self._bugs.start(
            "posting a DeliveryFailure notice",
            partial(self._post_until_taken, notice),
            partial(self._park, notice),
            message_id=notice.key.message_id,
        )

    async def _park(self, notice: OwedNotice, bug: Exception) -> None:
        reason = f"a DeliveryFailure notice was not sent: {words_for(bug)}"
        await self._office.persist(lambda txn, ground: notices.park(txn, ground, notice, reason))

    async def _post_until_taken(self, notice: OwedNotice) -> None:
        agreement = notices.agreement_of(self._office.snapshot(), self._office.house, notice)
        assert agreement is not None, f"an owed notice names {notice.agreement_id!r}"
        clock = self._office.clock
        while await self._post(notice, agreement):
            notice = changed(notice, attempts=notice.attempts + 1)
            due_ns = clock.now().monotonic_ns + agreement.terms.retry_interval_s * NS_PER_S
            await asyncio.sleep(clock.real_wait_s(due_ns))

    async def _post(self, notice: OwedNotice, agreement: Agreement) -> bool:
        """Post the notice once; returns whether it is still owed."""
        if self._office.snapshot().find_owed_notice(notice.key) != notice:
            return False  # Another task posts the newer one.
        package = failure_notice(self._office.ground(), notice, agreement)
        endpoint = error_endpoint_of(agreement)
        self._office.failpoints.reach("before-notice")
        sent = await self._office.post(agreement, SignalAction.ERROR, package, endpoint)
        self._office.failpoints.reach("after-notice")
        return await self._office.persist(
            lambda txn, ground: notices.note_posted(txn, ground, notice, agreement, sent)
        )
