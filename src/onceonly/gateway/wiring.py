"""The composition root: the one place that takes a configuration apart and joins the parts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from onceonly.gateway.api.access import Access
from onceonly.gateway.api.application import Api
from onceonly.gateway.bugs import Bugs, OnBug
from onceonly.gateway.chance import Chance, domain_of
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Configuration
from onceonly.gateway.descriptors import shares
from onceonly.gateway.desk import Desk
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.error_posts import ErrorPosts
from onceonly.gateway.growth import Growth
from onceonly.gateway.lake_files import make_folders, reader_of
from onceonly.gateway.mail import AutomaticMail
from onceonly.gateway.open_files import spool_of
from onceonly.gateway.operations import Operations
from onceonly.gateway.publish import publish
from onceonly.gateway.purge import Purge, Retention
from onceonly.gateway.receiving.arrivals import Arrivals
from onceonly.gateway.receiving.doorstep import Doorstep
from onceonly.gateway.receiving.failure_notices import FailureNotices
from onceonly.gateway.receiving.handovers import HandOvers
from onceonly.gateway.receiving.inbound import Receiver
from onceonly.gateway.receiving.inbox import Inbox
from onceonly.gateway.receiving.replies import Replies
from onceonly.gateway.receiving.signals import Signals
from onceonly.gateway.receiving.validation import Validation
from onceonly.gateway.recovery.inquiries import Inquiries
from onceonly.gateway.recovery.questions import Questions
from onceonly.gateway.recovery.reports import Reports
from onceonly.gateway.refusals import Refusals
from onceonly.gateway.relaying.custody import Custodies
from onceonly.gateway.relaying.relay import Relay
from onceonly.gateway.relaying.transit import Transits
from onceonly.gateway.relaying.upstream import Upstream
from onceonly.gateway.relaying.whereabouts import Whereabouts
from onceonly.gateway.sending.dispatch import Dispatch
from onceonly.gateway.sending.jobs import Jobs
from onceonly.gateway.sending.submit import Submissions
from onceonly.gateway.tasks import Tasks
from onceonly.gateway.transports import sending_transport
from onceonly.steps.agreements import Agreements
from onceonly.steps.ground import House
from onceonly.steps.routes import Routes, as_agreement
from onceonly.steps.rows import Rows
from onceonly.store.contract.conditions import StoreFailed, StoreRefused
from onceonly.store.contract.store import Store
from onceonly.store.files import make_parents
from onceonly.store.group import GroupCommit
from onceonly.store.spool import Spool
from onceonly.store.sqlite.store import SqliteStore, open_sqlite
from onceonly.transport.broker.address import publish_uri
from onceonly.transport.transport import Transport


@dataclass(frozen=True, slots=True)
class Gateway:
    """The joined parts, for the supervisor and for tests."""

    configuration: Configuration
    store: Store
    group: GroupCommit
    desk: Desk
    spool: Spool
    transport: Transport
    dispatch: Dispatch
    receiver: Receiver
    automatic_mail: AutomaticMail
    refusals: Refusals
    bugs: Bugs
    inquiries: Inquiries
    relay: Relay
    submissions: Submissions
    jobs: Jobs
    inbox: Inbox
    operations: Operations
    purge: Purge
    clock: Clock
    tasks: Tasks
    api: Api
    access: Access


def open_store(configuration: Configuration, clock: Clock) -> SqliteStore:
    """The store of the configuration. Raises `StoreRefused`, and `OSError` for a bad lake_group."""
    _make_lake(configuration)
    make_parents(configuration.store)
    return open_sqlite(configuration.store, party=str(configuration.party[0]), clock_at=clock.at)


def _make_lake(configuration: Configuration) -> None:
    """Before the store's folders, which are closed: a lake beside the store stays in reach."""
    reader = reader_of(configuration.lake_group)
    if "://" in configuration.lake:
        return
    try:
        make_folders(Path(configuration.lake), reader)
    except OSError:
        # Without a lake messages go on; whoever publishes is told. A promise to a group is none.
        if configuration.lake_group is not None:
            raise


def clock_of(configuration: Configuration) -> Clock:
    """The clock, under the drill's rate and offset if there is a drill."""
    drill = configuration.drill
    if drill is None:
        return Clock()
    return Clock(rate=drill.clock_rate, offset_file=drill.clock_offset_file)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a gateway has from outside besides its store: time, chance, network, files, faults."""

    clock: Clock
    chance: Chance
    failpoints: Failpoints
    transport: Transport
    spool: Spool


def surroundings_of(configuration: Configuration, clock: Clock) -> Surroundings:
    """The real ones. Raises `OSError` for certificates that cannot be used."""
    drill = configuration.drill
    return Surroundings(
        clock=clock,
        chance=Chance(),
        failpoints=Failpoints(drill.failpoints if drill else None),
        transport=sending_transport(configuration, clock),
        spool=Spool(spool_of(configuration.store), files_open_max=shares().uploads),
    )


def join(
    configuration: Configuration,
    store: Store,
    on_failure: Callable[[StoreFailed], None],
    *,
    on_bug: OnBug | None = None,
    clock: Clock | None = None,
    surroundings: Surroundings | None = None,
) -> Gateway:
    """Join all parts over an open store. Raises `StoreRefused` where they do not fit.

    A recording brings a `clock` of its own, whose time passes as it wants, a simulation all its
    `surroundings`, and hears of every bug by `on_bug`. Raises `OSError` for certificates that
    cannot be used.
    """
    around = surroundings or surroundings_of(configuration, clock or clock_of(configuration))
    house = house_of(configuration)
    _check_agreements(store, house.agreements)
    group = GroupCommit(store, on_failure=on_failure)
    desk = Desk(
        house=house,
        store=store,
        group=group,
        clock=around.clock,
        chance=around.chance,
        failpoints=around.failpoints,
    )
    tasks = Tasks()
    ration = configuration.limits.refusal_rows_per_hour
    refusals = Refusals(desk=desk, tasks=tasks, rows_per_hour=ration)
    bugs = Bugs(desk=desk, refusals=refusals, tasks=tasks, on_failure=on_failure, on_bug=on_bug)
    tasks.on_error = bugs.note
    base = _Base(configuration, store, desk, around.spool, tasks, refusals, bugs)
    sides = _join_sides(base, Replies(around.transport), around.transport)
    return Gateway(
        configuration=configuration,
        store=store,
        group=group,
        desk=desk,
        spool=around.spool,
        transport=sides.replies,
        dispatch=sides.dispatch,
        receiver=sides.receiver,
        automatic_mail=AutomaticMail(desk=desk, refusals=refusals),
        refusals=refusals,
        bugs=bugs,
        inquiries=sides.inquiries,
        relay=sides.relay,
        clock=around.clock,
        tasks=tasks,
        **_join_application(base, sides),
    )


@dataclass(frozen=True, slots=True)
class _Base:
    """What every part stands on."""

    configuration: Configuration
    store: Store
    desk: Desk
    spool: Spool
    tasks: Tasks
    refusals: Refusals
    bugs: Bugs


@dataclass(frozen=True, slots=True)
class _Sides:
    """The parts that speak with partners."""

    replies: Replies
    dispatch: Dispatch
    receiver: Receiver
    inquiries: Inquiries
    relay: Relay
    questions: Questions
    hand_overs: HandOvers
    failure_notices: FailureNotices
    growth: Growth


def _join_sides(base: _Base, replies: Replies, transport: Transport) -> _Sides:
    desk, spool, tasks, bugs = base.desk, base.spool, base.tasks, base.bugs
    refusals, limits = base.refusals, base.configuration.limits
    growth = Growth()
    error_posts = ErrorPosts(per_hour=limits.error_posts_per_hour, clock=desk.clock)
    signals = Signals(desk=desk, transport=transport)
    questions = Questions(desk=desk, signals=signals, tasks=tasks)
    failure_notices = FailureNotices(desk=desk, signals=signals, bugs=bugs)
    dispatch = Dispatch(
        desk=desk,
        spool=spool,
        transport=replies,
        questions=questions,
        failure_notices=failure_notices,
        tasks=tasks,
        bugs=bugs,
    )
    hand_overs = HandOvers(desk=desk, signals=signals, tasks=tasks, bugs=bugs, growth=growth)
    upstream = Upstream(desk=desk, signals=signals)
    inquiries = Inquiries(
        desk=desk,
        dispatch=dispatch,
        reports=Reports(desk=desk, dispatch=dispatch, questions=questions),
        hand_overs=hand_overs,
        whereabouts=Whereabouts(desk=desk, upstream=upstream, tasks=tasks),
        signals=signals,
        tasks=tasks,
        refusals=refusals,
    )
    relay = Relay(
        desk=desk,
        transits=Transits(
            desk=desk, upstream=upstream, spool=spool, transport=transport, tasks=tasks, bugs=bugs
        ),
        custody=Custodies(desk=desk, dispatch=dispatch, upstream=upstream, tasks=tasks),
        upstream=upstream,
        dispatch=dispatch,
        tasks=tasks,
        transport=transport,
        spool=spool,
        error_posts=error_posts,
        payload_bytes_max=base.configuration.payload_bytes_max,
    )
    receiver = Receiver(
        desk=desk,
        spool=spool,
        dispatch=dispatch,
        arrivals=Arrivals(
            desk=desk,
            dispatch=dispatch,
            replies=replies,
            hand_overs=hand_overs,
            signals=signals,
            tasks=tasks,
        ),
        hand_overs=hand_overs,
        failure_notices=failure_notices,
        replies=replies,
        validation=Validation(transport=transport, spool=spool),
        inquiries=inquiries,
        relay=relay,
        signals=signals,
        refusals=refusals,
        error_posts=error_posts,
        doorstep=Doorstep(limits.unadmitted_bytes_max),
        bugs=bugs,
        payload_bytes_max=base.configuration.payload_bytes_max,
        tasks=tasks,
    )
    dispatch.listen(receiver.receive_reply)
    return _Sides(
        replies,
        dispatch,
        receiver,
        inquiries,
        relay,
        questions,
        hand_overs,
        failure_notices,
        growth,
    )


class _ForApplication(TypedDict):
    """The parts that applications and operators use."""

    submissions: Submissions
    jobs: Jobs
    inbox: Inbox
    operations: Operations
    purge: Purge
    api: Api
    access: Access


def _join_application(base: _Base, sides: _Sides) -> _ForApplication:
    configuration, desk, dispatch = base.configuration, base.desk, sides.dispatch
    submissions = Submissions(desk=desk, dispatch=dispatch, replies=sides.replies)
    jobs = Jobs(desk=desk, submissions=submissions, dispatch=dispatch, tasks=base.tasks)
    inbox = Inbox(
        desk=desk,
        spool=base.spool,
        growth=sides.growth,
        failure_notices=sides.failure_notices,
    )
    operations = Operations(
        configuration=configuration,
        desk=desk,
        store=base.store,
        dispatch=dispatch,
        questions=sides.questions,
        inquiries=sides.inquiries,
        receiver=sides.receiver,
        hand_overs=sides.hand_overs,
        relay=sides.relay,
        bugs=base.bugs,
    )
    return _ForApplication(
        submissions=submissions,
        jobs=jobs,
        inbox=inbox,
        operations=operations,
        purge=Purge(
            desk=desk, store=base.store, spool=base.spool, retention=_retention(configuration)
        ),
        api=Api(
            store=base.store,
            spool=base.spool,
            submissions=submissions,
            jobs=jobs,
            inbox=inbox,
            operations=operations,
            payload_bytes_max=configuration.payload_bytes_max,
        ),
        access=Access(
            api=configuration.api, token=configuration.api_token, hosts=configuration.api_hosts
        ),
    )


def house_of(configuration: Configuration) -> House:
    """What the steps know of the configuration."""
    return House(
        party=configuration.party,
        uri=configuration.uri,
        uris=our_uris(configuration),
        domain=domain_of(configuration.uri),
        agreements=Agreements(configuration.agreements, map(as_agreement, configuration.routes)),
        routes=Routes(configuration.routes, our_uris=our_uris(configuration)),
        rows=Rows(str(configuration.party[0])),
        queued_max=configuration.queued_max,
    )


def our_uris(configuration: Configuration) -> frozenset[str]:
    """Every URI that a partner may rightly call our MSH by (S0-45)."""
    uris = {configuration.uri}
    if configuration.smtp is not None and configuration.smtp.mailbox is not None:
        uris |= {f"{scheme}:{configuration.smtp.mailbox}" for scheme in ("smtp", "smtps")}
    if configuration.amqp is not None and configuration.amqp.listen is not None:
        uris.add(publish_uri(configuration.amqp.listen))
    return frozenset(uris)


def _retention(configuration: Configuration) -> Retention:
    of_agreements = {one.id: one.terms for one in configuration.agreements}
    named = of_agreements | {one.id: one.terms for one in configuration.routes}
    return Retention(
        persist_duration_s={name: terms.persist_duration_s for name, terms in named.items()},
        archive_duration_s=configuration.archive_duration_s,
        forget_pair_after_s=configuration.forget_pair_after_s,
        forget_job_after_s=configuration.forget_job_after_s,
    )


def _check_agreements(store: Store, agreements: Agreements) -> None:
    """A stored message without a verdict must find its agreement, or nobody could send it."""
    named = store.snapshot().list_unsettled_agreements()
    missing = sorted(name for name in named if agreements.find(name) is None)
    if missing:
        raise StoreRefused(
            f"the store holds messages without a verdict under agreements that are not "
            f"configured: {', '.join(missing)}"
        )


def publish_offline(configuration: Configuration) -> int:
    """Publish the journal of a gateway that is not running; returns how many rows.

    Raises `StoreRefused`, above all where the gateway does run and has the store's lock.
    """
    store = open_store(configuration, clock_of(configuration))
    try:
        return publish(
            store.snapshot(),
            party=str(configuration.party[0]),
            lake=configuration.lake,
            failpoints=Failpoints(),
            reader=reader_of(configuration.lake_group),
        )
    finally:
        store.close()
