"""The composition root: the one place that takes a configuration apart and joins the parts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from onceonly.gateway.agreements import Agreements
from onceonly.gateway.api.access import Access
from onceonly.gateway.api.application import Api
from onceonly.gateway.bugs import Bugs, OnBug
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Configuration
from onceonly.gateway.descriptors import shares
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.error_posts import ErrorPosts
from onceonly.gateway.growth import Growth
from onceonly.gateway.ids import Identifiers
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
from onceonly.gateway.relaying.custody import Custody
from onceonly.gateway.relaying.relay import Relay
from onceonly.gateway.relaying.routes import Routes, as_agreement
from onceonly.gateway.relaying.transit import Transits
from onceonly.gateway.relaying.upstream import Upstream
from onceonly.gateway.relaying.whereabouts import Whereabouts
from onceonly.gateway.rows import Rows
from onceonly.gateway.sending.dispatch import Dispatch
from onceonly.gateway.sending.jobs import Jobs
from onceonly.gateway.sending.outbound import SendingSteps
from onceonly.gateway.sending.room import Room
from onceonly.gateway.sending.sender import Sender
from onceonly.gateway.sending.submit import Submissions
from onceonly.gateway.tasks import Tasks
from onceonly.gateway.transports import sending_transport
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
    rows: Rows
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
    ids: Identifiers
    failpoints: Failpoints
    transport: Transport
    spool: Spool


def surroundings_of(configuration: Configuration, clock: Clock) -> Surroundings:
    """The real ones. Raises `OSError` for certificates that cannot be used."""
    drill = configuration.drill
    return Surroundings(
        clock=clock,
        ids=Identifiers(configuration.uri, clock.at),
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
    clock, spool, transport = around.clock, around.spool, around.transport
    failpoints, ids = around.failpoints, around.ids
    agreements = Agreements(configuration.agreements, map(as_agreement, configuration.routes))
    routes = Routes(configuration.routes, our_uris=our_uris(configuration))
    _check_agreements(store, agreements)
    rows = Rows(str(configuration.party[0]))
    limits = configuration.limits
    group = GroupCommit(store, on_failure=on_failure)
    tasks = Tasks()
    refusals = Refusals(
        group=group,
        rows=rows,
        clock=clock,
        tasks=tasks,
        rows_per_hour=limits.refusal_rows_per_hour,
    )
    bugs = Bugs(
        refusals=refusals,
        rows=rows,
        clock=clock,
        tasks=tasks,
        on_failure=on_failure,
        on_bug=on_bug,
    )
    tasks.on_error = bugs.note
    error_posts = ErrorPosts(per_hour=limits.error_posts_per_hour, clock=clock)
    growth = Growth()
    replies = Replies(transport)
    room = Room(store.snapshot(), configuration.queued_max)
    sender = Sender(agreements=agreements, rows=rows, ids=ids, room=room, our_uri=configuration.uri)
    steps = SendingSteps(sender)
    signals = Signals(
        group=group, transport=transport, rows=rows, clock=clock, ids=ids, our_uri=configuration.uri
    )
    questions = Questions(
        signals=signals,
        group=group,
        rows=rows,
        clock=clock,
        ids=ids,
        failpoints=failpoints,
        tasks=tasks,
        our_uri=configuration.uri,
    )
    dispatch = Dispatch(
        sender=sender,
        steps=steps,
        store=store,
        group=group,
        spool=spool,
        transport=replies,
        questions=questions,
        clock=clock,
        failpoints=failpoints,
        tasks=tasks,
        bugs=bugs,
    )
    hand_overs = HandOvers(
        store=store,
        group=group,
        agreements=agreements,
        signals=signals,
        rows=rows,
        clock=clock,
        failpoints=failpoints,
        tasks=tasks,
        bugs=bugs,
        growth=growth,
    )
    reports = Reports(
        sender=sender,
        steps=steps,
        dispatch=dispatch,
        questions=questions,
        store=store,
        clock=clock,
    )
    upstream = Upstream(
        signals=signals, group=group, rows=rows, clock=clock, our_uri=configuration.uri
    )
    whereabouts = Whereabouts(
        routes=routes, upstream=upstream, signals=signals, group=group, clock=clock, tasks=tasks
    )
    inquiries = Inquiries(
        group=group,
        agreements=agreements,
        dispatch=dispatch,
        reports=reports,
        hand_overs=hand_overs,
        whereabouts=whereabouts,
        signals=signals,
        rows=rows,
        clock=clock,
        failpoints=failpoints,
        tasks=tasks,
        refusals=refusals,
        our_uri=configuration.uri,
    )
    transits = Transits(
        routes=routes,
        upstream=upstream,
        store=store,
        group=group,
        spool=spool,
        transport=transport,
        clock=clock,
        failpoints=failpoints,
        tasks=tasks,
        bugs=bugs,
    )
    custody = Custody(
        routes=routes,
        store=store,
        group=group,
        dispatch=dispatch,
        upstream=upstream,
        clock=clock,
        failpoints=failpoints,
        tasks=tasks,
        our_ids=configuration.party,
        room=room,
    )
    relay = Relay(
        routes=routes,
        transits=transits,
        custody=custody,
        upstream=upstream,
        dispatch=dispatch,
        clock=clock,
        ids=ids,
        tasks=tasks,
        transport=transport,
        spool=spool,
        error_posts=error_posts,
        our_uri=configuration.uri,
        payload_bytes_max=configuration.payload_bytes_max,
    )
    arrivals = Arrivals(
        store=store,
        group=group,
        dispatch=dispatch,
        replies=replies,
        hand_overs=hand_overs,
        signals=signals,
        rows=rows,
        clock=clock,
        failpoints=failpoints,
        tasks=tasks,
    )
    failure_notices = FailureNotices(
        store=store,
        group=group,
        agreements=agreements,
        routes=routes,
        signals=signals,
        rows=rows,
        clock=clock,
        failpoints=failpoints,
        bugs=bugs,
        our_uri=configuration.uri,
    )
    dispatch.tell_from_party = failure_notices.release
    receiver = Receiver(
        store=store,
        group=group,
        spool=spool,
        agreements=agreements,
        dispatch=dispatch,
        arrivals=arrivals,
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
        rows=rows,
        clock=clock,
        our_party=str(configuration.party[0]),
        our_uris=our_uris(configuration),
        payload_bytes_max=configuration.payload_bytes_max,
        tasks=tasks,
    )
    dispatch.receive = receiver.receive_reply
    submissions = Submissions(
        store=store,
        group=group,
        agreements=agreements,
        dispatch=dispatch,
        rows=rows,
        clock=clock,
        ids=ids,
        replies=replies,
        room=room,
    )
    jobs = Jobs(
        store=store,
        group=group,
        agreements=agreements,
        submissions=submissions,
        dispatch=dispatch,
        room=room,
        rows=rows,
        clock=clock,
        tasks=tasks,
    )
    inbox = Inbox(
        store=store,
        group=group,
        agreements=agreements,
        spool=spool,
        rows=rows,
        clock=clock,
        growth=growth,
        failure_notices=failure_notices,
    )
    operations = Operations(
        configuration=configuration,
        store=store,
        agreements=agreements,
        dispatch=dispatch,
        steps=steps,
        questions=questions,
        inquiries=inquiries,
        group=group,
        receiver=receiver,
        hand_overs=hand_overs,
        relay=relay,
        submissions=submissions,
        bugs=bugs,
        clock=clock,
        failpoints=failpoints,
    )
    api = Api(
        store=store,
        spool=spool,
        submissions=submissions,
        jobs=jobs,
        inbox=inbox,
        operations=operations,
        payload_bytes_max=configuration.payload_bytes_max,
    )
    purge = Purge(
        store=store,
        group=group,
        spool=spool,
        rows=rows,
        clock=clock,
        failpoints=failpoints,
        retention=_retention(configuration),
    )
    access = Access(
        api=configuration.api, token=configuration.api_token, hosts=configuration.api_hosts
    )
    return Gateway(
        configuration=configuration,
        store=store,
        group=group,
        spool=spool,
        transport=replies,
        dispatch=dispatch,
        receiver=receiver,
        automatic_mail=AutomaticMail(refusals=refusals, rows=rows, clock=clock),
        refusals=refusals,
        bugs=bugs,
        inquiries=inquiries,
        relay=relay,
        submissions=submissions,
        jobs=jobs,
        inbox=inbox,
        operations=operations,
        purge=purge,
        rows=rows,
        clock=clock,
        tasks=tasks,
        api=api,
        access=access,
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
