"""Looks from time to time at what a probe looks at, and tells whom the configuration names.

Everything it knows is in the store: a restart neither forgets an alert nor tells it once more,
except the one message that a crash cut off. Beside everything else: it reads in a thread, and each
way has a task of its own.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import structlog

from onceonly.api import alerts as shapes
from onceonly.api.fields import NUMBER_MAX
from onceonly.api.looks import ALERT_THRESHOLDS, RULES, Seen
from onceonly.gateway.alerts.judging import Owed, alerts_of, changes_of, owed_to, told_of
from onceonly.gateway.alerts.tally import TEST, Tally
from onceonly.gateway.alerts.ways import Way, way_of
from onceonly.gateway.bugs import Bugs
from onceonly.gateway.certificates import digest_of_file
from onceonly.gateway.change import Change
from onceonly.gateway.config import AlertWay, Smtp
from onceonly.gateway.office import Office
from onceonly.gateway.shapes import instant, text_of
from onceonly.gateway.tasks import Tasks
from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.steps import alerts as steps
from onceonly.store.contract.alerts import Alert, AlertSnapshot, AlertTold
from onceonly.store.contract.conditions import StoreFull

EVERY_S: Final = 30.0
"""Seconds between two looks: so late may an alert be."""

PAUSES_S: Final = (30, 60, 300, 900, 1800, 3600)
"""Pauses after failed attempts of one way; the last one is repeated."""

PATIENCE_S: Final = 0.05

WATCHING: Final = "looking for what is wrong"
TELLING: Final = "telling an alert"

log: Any = structlog.get_logger("onceonly")


class Teller:
    """One way of a gateway that runs, and how it goes."""

    def __init__(self, wanted: AlertWay, way: Way, smtp: Smtp | None = None) -> None:
        self.wanted = wanted
        self.way = way
        self._relay = smtp if wanted.mail else None
        self._believed = digest_of_file(wanted.trusted)
        self.attempts = 0
        self.trouble: str | None = None
        self.told_at: int | None = None
        self.again_at = 0.0
        """Not before this time of the loop, after a failure."""
        self.turn = asyncio.Lock()

    def is_as(self, wanted: AlertWay, smtp: Smtp | None) -> bool:
        """Whether it tells just as `wanted` says, down to the relay and what is trusted."""
        made_of = (self.wanted, self._relay, self._believed)
        return made_of == (wanted, smtp if wanted.mail else None, digest_of_file(wanted.trusted))


def teller_of(wanted: AlertWay, smtp: Smtp | None) -> Teller:
    """Who tells. Raises `OSError` for certificates that cannot be used."""
    return Teller(wanted, way_of(wanted, smtp), smtp)


class Alerts:
    """The alerts of one gateway; `live` runs beside its life."""

    def __init__(
        self,
        tellers: Sequence[Teller],
        *,
        see: Callable[[], Seen],
        office: Office,
        tasks: Tasks,
        bugs: Bugs,
        tally: Tally,
    ) -> None:
        self._tally = tally
        self._tellers = {one.wanted.id: one for one in tellers}
        self._see = see
        self._office = office
        self._tasks = tasks
        self._bugs = bugs
        self._alerts: Sequence[Alert] = ()
        self._stored: Sequence[Alert] | None = None
        """What the store has; None before the first look."""
        self._told: dict[tuple[str, tuple[str, str]], AlertTold] = {}
        self._store_trouble: str | None = None

    def prepare(self, wanted: Sequence[AlertWay], smtp: Smtp | None) -> Change:
        """Make others of these ways ready; may wait for the disk.

        A way that changed knows what it told before, unless it tells somebody else now. Raises
        `OSError` for certificates that cannot be used.
        """
        if wanted and not isinstance(self._office.snapshot(), AlertSnapshot):
            raise OSError("this store cannot remember alerts")
        former = self._tellers
        return Change(
            partial(
                self._take,
                {
                    one.id: former[one.id]
                    if one.id in former and former[one.id].is_as(one, smtp)
                    else teller_of(one, smtp)
                    for one in wanted
                },
            )
        )

    def _take(self, tellers: dict[str, Teller]) -> None:
        former, self._tellers = self._tellers, tellers
        for name, one in former.items():
            successor = tellers.get(name)
            if successor is one:
                continue
            if successor is not None:
                # What is being told by the former one is not told by this one as well.
                successor.turn, successor.told_at = one.turn, one.told_at
            self._tasks.start(_retire(one), place=TELLING)

    async def live(self, stop: asyncio.Event) -> None:
        """Look and tell until `stop` is set. A bug ends one look, and not the next."""
        if not isinstance(self._office.snapshot(), AlertSnapshot):
            return
        while not stop.is_set():
            await self._bugs.contain(WATCHING, self.look(), _go_on)
            for teller in self._tellers.values():
                self._tasks.start(self.tell(teller), place=TELLING)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    await stop.wait()

    async def look(self) -> None:
        """Look once, and note what changed."""
        if self._stored is None:
            await asyncio.to_thread(self._load)
        assert self._stored is not None, "loaded"
        seen = await asyncio.to_thread(self._see)
        trouble, at = self._store_trouble, self._office.clock.at()
        findings = [
            rule(changed(seen, store_trouble=trouble), ALERT_THRESHOLDS) for rule in RULES.values()
        ]
        self._alerts = alerts_of(findings, self._alerts, at)
        changes = list(changes_of(self._stored, self._alerts, at))
        step = partial(steps.note_changes, alerts=tuple(self._alerts), changes=changes)
        alerts = self._alerts
        try:
            await self._office.transact(step, patience_s=PATIENCE_S)
        except StoreFull as error:
            # What is told does not wait for the disk; the history has it when there is space.
            self._store_trouble = f"the store takes no write: {error}"
            return
        self._stored, self._store_trouble = alerts, None
        for change in changes:
            log.warning(
                "alert" if change.level else "alert ended",
                rule=change.rule,
                subject=change.subject,
                level=change.level,
                seen=change.seen,
            )

    def _load(self) -> None:
        snapshot = alerts_in(self._office)
        self._alerts = self._stored = snapshot.list_alerts()
        self._told = {(one.way, one.key): one for one in snapshot.list_told()}

    async def tell_all(self) -> None:
        """Tell every way what it is owed now."""
        await asyncio.gather(*map(self.tell, self._tellers.values()))

    async def tell(self, teller: Teller) -> None:
        """One attempt, if the way is owed something and does not wait after a failure."""
        if teller.turn.locked() or asyncio.get_running_loop().time() < teller.again_at:
            return
        async with teller.turn:
            at = self._office.clock.at()
            muted = await asyncio.to_thread(self._muted, at)
            owed = owed_to(teller.wanted, self._alerts, tuple(self._told.values()), muted, at)
            if owed and await self._attempt(teller, self._body(owed, at), at):
                await self._note(teller, owed, at)

    def _muted(self, at: int) -> frozenset[str]:
        mutes = alerts_in(self._office).list_mutes()
        return frozenset(one.rule for one in mutes if one.until_at > at)

    async def _attempt(self, teller: Teller, body: shapes.AlertBody, at: int) -> bool:
        teller.trouble = await teller.way.tell(body, at)
        about = [one.rule for one in body.alerts]
        self._tally.note(about, is_told=teller.trouble is None)
        if teller.trouble is None:
            teller.attempts, teller.again_at, teller.told_at = 0, 0.0, at
            return True
        teller.attempts += 1
        pause_s = PAUSES_S[min(teller.attempts, len(PAUSES_S)) - 1]
        teller.again_at = asyncio.get_running_loop().time() + pause_s
        log.warning("alert not told", way=teller.wanted.id, reason=teller.trouble)
        return False

    async def _note(self, teller: Teller, owed: Owed, at: int) -> None:
        told = told_of(teller.wanted, owed, at)
        for one in told:
            self._told[one.way, one.key] = one
        for one in owed.ended:
            self._told.pop((one.way, one.key), None)
        step = partial(steps.note_told, told=told, ended=owed.ended)
        try:
            await self._office.transact(step, patience_s=PATIENCE_S)
        except StoreFull as error:
            log.warning("store full; a restart tells these alerts again", error=str(error))

    def _body(self, owed: Owed, at: int) -> shapes.AlertBody:
        alerts = [
            *(_told_shape("begun", one) for one in owed.begun),
            *(_told_shape("lasts", one) for one in owed.lasting),
            *map(_ended_shape, owed.ended),
        ]
        return self._body_of(alerts, at)

    def _body_of(self, alerts: Sequence[shapes.ToldAlert], at: int) -> shapes.AlertBody:
        party = str(self._office.house.party[0])
        return shapes.AlertBody(gateway=party, at=text_of(at), alerts=tuple(alerts))

    async def test(self, way: str) -> shapes.AlertWay:
        """Tell the way a test now. Raises `LocalError` (NotFound)."""
        teller = self._tellers.get(way)
        if teller is None:
            raise LocalError("NotFound", f"no alert {way!r} in the configuration")
        at = self._office.clock.at()
        one = shapes.ToldAlert(
            state="test",
            rule=TEST,
            subject="",
            level="warning",
            since=text_of(at),
            seen="somebody asked for a test",
            expected="that you read this",
            move="nobody's",
        )
        async with teller.turn:
            await self._attempt(teller, self._body_of([one], at), at)
        return way_shape(teller)

    async def mute(self, rule: str, *, for_s: int, reason: str, by: str) -> None:
        """Tell nobody of the rule for so long. Raises `LocalError` (NotFound), `StoreFull`."""
        _check_rule(rule)
        step = partial(steps.mute, rule=rule, for_s=for_s, reason=reason, by=by)
        await self._office.transact(step)

    async def unmute(self, rule: str) -> None:
        """Tell the rule again. Raises `LocalError` (NotFound), `StoreFull`."""
        _check_rule(rule)
        await self._office.transact(partial(steps.unmute, rule=rule))

    def list_shapes(self) -> shapes.AlertList:
        """What is wrong and who is told; reads the store."""
        snapshot, at = alerts_in(self._office), self._office.clock.at()
        mutes = {one.rule: one for one in snapshot.list_mutes() if one.until_at > at}
        return shapes.AlertList(
            looked_at=instant(snapshot.find_alert_look()),
            alerts=tuple(
                shapes.Alert(
                    rule=one.rule,
                    subject=one.subject,
                    level=one.level.value,
                    since=text_of(one.since_at),
                    seen=one.seen,
                    expected=one.expected,
                    move=one.move,
                    muted_until=text_of(mutes[one.rule].until_at) if one.rule in mutes else None,
                )
                for one in snapshot.list_alerts()
            ),
            mutes=tuple(
                shapes.Mute(
                    rule=one.rule, until=text_of(one.until_at), reason=one.reason, by=one.by
                )
                for one in mutes.values()
            ),
            ways=tuple(map(way_shape, self._tellers.values())),
        )

    def list_history(self, before: int, limit: int) -> shapes.AlertHistory:
        """A page of what began and ended, the latest first; reads the store."""
        found = alerts_in(self._office).list_alert_changes(min(before, NUMBER_MAX), limit + 1)
        return shapes.AlertHistory(
            changes=tuple(
                shapes.AlertChange(
                    number=one.number,
                    at=text_of(one.at),
                    rule=one.rule,
                    subject=one.subject,
                    level=one.level.value if one.level else None,
                    seen=one.seen,
                )
                for one in found[:limit]
            ),
            next_before=found[limit - 1].number if len(found) > limit > 0 else None,
        )


def alerts_in(office: Office) -> AlertSnapshot:
    """The committed rows, of a store that knows alerts."""
    snapshot = office.snapshot()
    assert isinstance(snapshot, AlertSnapshot), "the start has checked the store"
    return snapshot


def way_shape(teller: Teller) -> shapes.AlertWay:
    """How a way stands."""
    wanted = teller.wanted
    return shapes.AlertWay(
        id=wanted.id,
        kind="mail" if wanted.mail else "webhook" if wanted.url else "command",
        rules=wanted.rules,
        severity=wanted.severity.value,
        repeat_s=wanted.repeat_s,
        attempts=teller.attempts,
        trouble=teller.trouble,
        told_at=instant(teller.told_at),
    )


def _check_rule(rule: str) -> None:
    if rule not in RULES:
        raise LocalError("NotFound", f"no rule {rule!r}; the rules are {', '.join(RULES)}")


def _told_shape(state: Any, alert: Alert) -> shapes.ToldAlert:
    return shapes.ToldAlert(
        state=state,
        rule=alert.rule,
        subject=alert.subject,
        level=alert.level.value,
        since=text_of(alert.since_at),
        seen=alert.seen,
        expected=alert.expected,
        move=alert.move,
    )


def _ended_shape(told: AlertTold) -> shapes.ToldAlert:
    return shapes.ToldAlert(
        state="ended",
        rule=told.rule,
        subject=told.subject,
        level=told.level.value,
        since=text_of(told.told_at),
        seen="it is as expected again",
        expected="nothing more",
        move="nobody's",
    )


async def _retire(teller: Teller) -> None:
    """Close what a way keeps open, once it has told what it tells."""
    async with teller.turn:
        await teller.way.close()


async def _go_on(bug: Exception) -> None:
    """The next look comes soon."""
    del bug
