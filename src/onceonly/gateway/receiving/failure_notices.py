"""DeliveryFailure notices to the From Party, across the network (seed 001 §1.6, ruling R-14).

A notice is owed durably from the step that found the message undeliverable, and is posted until
the transport takes it, RetryInterval apart and a bounded number of times, or until there is a
newer one about its message. Nobody acknowledges it (R-20), so the sender must not depend on it;
its own verdict never does.
"""

import asyncio
from functools import partial

from onceonly.gateway.agreements import Agreements
from onceonly.gateway.bugs import Bugs, words_for
from onceonly.gateway.clock import Clock
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.persistence import persist
from onceonly.gateway.receiving.signals import Signals
from onceonly.gateway.relaying.routes import Routes, as_previous_hop
from onceonly.gateway.rows import Rows
from onceonly.message.agreement import Agreement
from onceonly.message.event import Direction, Event
from onceonly.message.instant import NS_PER_S
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import Outcome, Transmission
from onceonly.store.contract.entries import OwedNotice, Role
from onceonly.store.contract.store import Store, Transaction
from onceonly.store.group import GroupCommit

RETRIES_MAX = 60
"""Of a notice, whatever Retries of its message: it is the last word about it. With the default
RetryInterval they last an hour, more than a restart of the partner takes."""


def are_sent(profile: Profile, terms: DeliveryTerms) -> bool:
    """Whether notices go over the network at all: never under strict release."""
    return terms.notifies_failures and not terms.strict_release and profile.has_failure_notices


class FailureNotices:
    """Posts the notices of this gateway, as the receiver or as an accepting intermediary."""

    def __init__(  # noqa: PLR0913 - because a notice needs what a message needs
        self,
        *,
        store: Store,
        group: GroupCommit,
        agreements: Agreements,
        routes: Routes,
        signals: Signals,
        rows: Rows,
        clock: Clock,
        failpoints: Failpoints,
        bugs: Bugs,
        our_uri: str,
    ) -> None:
        self._store = store
        self._group = group
        self._agreements = agreements
        self._routes = routes
        self._our_uri = our_uri
        self._signals = signals
        self._rows = rows
        self._clock = clock
        self._failpoints = failpoints
        self._bugs = bugs

    async def start(self) -> None:
        """Take up what a stop or a crash left owed."""
        for notice in self._store.snapshot().list_owed_notices():
            if self._find(notice) is not None:
                self.release(notice)

    def owe(self, txn: Transaction, notice: OwedNotice) -> None:
        """In the step that found the message undeliverable; `release` it after the commit."""
        txn.put_owed_notice(notice)

    def release(self, notice: OwedNotice) -> None:
        """After the commit: post the notice beside the caller."""
        self._bugs.start(
            "posting a DeliveryFailure notice",
            partial(self._post_until_taken, notice),
            partial(self._park, notice),
            message_id=notice.key.message_id,
        )

    async def _park(self, notice: OwedNotice, bug: Exception) -> None:
        """It met a bug of ours: it is owed no more, and an operator is told so (R-43)."""
        reason = f"a DeliveryFailure notice was not sent: {words_for(bug)}"

        def step(txn: Transaction) -> None:
            if txn.find_owed_notice(notice.key) is None:
                return
            now = self._clock.now()
            txn.remove_owed_notice(notice.key)
            txn.open_incident(
                Role.RECEIVER,
                notice.key.pair,
                f"{reason} ({notice.key.message_id})",
                at=now.at,
                message_id=notice.key.message_id,
            )
            row = self._rows.about_gateway(Event.PARKED, now, reason)
            txn.append((changed(row, message_id=notice.key.message_id),))

        await persist(self._group, step)

    async def _post_until_taken(self, notice: OwedNotice) -> None:
        agreement = self._find(notice)
        assert agreement is not None, f"an owed notice names {notice.agreement_id!r}"
        while await self._post(notice, agreement):
            notice = changed(notice, attempts=notice.attempts + 1)
            due_ns = self._clock.now().monotonic_ns
            due_ns += agreement.terms.retry_interval_s * NS_PER_S
            await asyncio.sleep(self._clock.real_wait_s(due_ns))

    def _find(self, notice: OwedNotice) -> Agreement | None:
        """The agreement with the From Party, or the way back to it along a route."""
        route = self._routes.find(notice.agreement_id)
        if route is None:
            return self._agreements.find(notice.agreement_id)
        entry = self._store.snapshot().find_inbound(notice.key)
        agreement_id = route.id if entry is None else entry.agreement_id
        return as_previous_hop(route, agreement_id, self._our_uri)

    async def _post(self, notice: OwedNotice, agreement: Agreement) -> bool:
        """Post it once; whether it is still owed afterwards."""
        if self._store.snapshot().find_owed_notice(notice.key) != notice:
            return False  # A newer one has somebody else who posts it.
        package = self._signals.failure_notice(notice, agreement, self._clock.now())
        self._failpoints.reach("before-notice")
        transmission = await self._signals.post(agreement.send_to, package)
        self._failpoints.reach("after-notice")
        tried = notice.attempts + 1
        is_over = transmission.outcome is Outcome.ACCEPTED or tried > RETRIES_MAX

        def step(txn: Transaction) -> bool:
            # What became owed about the message meanwhile stays owed.
            is_latest = txn.find_owed_notice(notice.key) == notice
            if is_latest and is_over:
                txn.remove_owed_notice(notice.key)
            elif is_latest:
                txn.put_owed_notice(changed(notice, attempts=tried))
            now = self._clock.now()
            txn.append(
                (
                    self._rows.about_message(
                        notice.key,
                        agreement,
                        Direction.IN,
                        _sent(notice, tried, transmission),
                        now,
                        endpoint=agreement.send_to,
                    ),
                )
            )
            return is_latest and not is_over

        return await persist(self._group, step)


def _sent(notice: OwedNotice, attempt: int, transmission: Transmission) -> Journal:
    return Journal(
        Event.FAILURE_NOTICE_SENT,
        attempt=attempt,
        outcome=transmission.outcome.value,
        status_code=transmission.status_code,
        severity=notice.severity,
        reason=notice.reason,
    )
