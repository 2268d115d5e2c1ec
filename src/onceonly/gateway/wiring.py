"""The composition root: the one place that takes a configuration apart and joins the parts."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from onceonly.api.looks import Seen
from onceonly.gateway.alerts.alerts import Alerts, Teller, teller_of
from onceonly.gateway.alerts.tally import Tally
from onceonly.gateway.api.access import Access
from onceonly.gateway.api.application import Api
from onceonly.gateway.api.counter_calls import condition_shape
from onceonly.gateway.api.served import Served
from onceonly.gateway.application.agreements import KnownAgreements
from onceonly.gateway.application.bulk import Bulks
from onceonly.gateway.application.conditions import Conditions
from onceonly.gateway.application.conversations import Conversations
from onceonly.gateway.application.following import Following
from onceonly.gateway.application.inbox import Inbox
from onceonly.gateway.application.jobs import Jobs
from onceonly.gateway.application.operations import Operations
from onceonly.gateway.application.sent import SentMessages
from onceonly.gateway.application.statistics import Statistics
from onceonly.gateway.application.submissions import Submissions
from onceonly.gateway.backups import Backups
from onceonly.gateway.bugs import Bugs, OnBug
from onceonly.gateway.chance import Chance, domain_of
from onceonly.gateway.change import Change
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Configuration
from onceonly.gateway.config.report_folder import spool_of
from onceonly.gateway.counting import Counting
from onceonly.gateway.denials import Denials
from onceonly.gateway.descriptors import shares
from onceonly.gateway.desk import Desk
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.folders.folders import Folders
from onceonly.gateway.growth import Growth
from onceonly.gateway.identities import read_identities
from onceonly.gateway.incoming.arrivals import Arrivals
from onceonly.gateway.incoming.doorstep import Doorstep
from onceonly.gateway.incoming.errors import Errors
from onceonly.gateway.incoming.handovers import HandOvers
from onceonly.gateway.incoming.inquiries import Inquiries
from onceonly.gateway.incoming.receiver import Receiver
from onceonly.gateway.incoming.validation import Validation
from onceonly.gateway.keys import Keys
from onceonly.gateway.lake_files import make_folders, reader_of
from onceonly.gateway.mail import AutomaticMail
from onceonly.gateway.office import Office
from onceonly.gateway.outside import Outside
from onceonly.gateway.partner_names import PartnerNames
from onceonly.gateway.publish import publish
from onceonly.gateway.purge import Purge, Retention
from onceonly.gateway.ration import Rations
from onceonly.gateway.refusals import Refusals
from onceonly.gateway.relaying.custodies import Custodies
from onceonly.gateway.relaying.held import Held
from onceonly.gateway.relaying.passing import PassingSignals
from onceonly.gateway.relaying.relay import Relay
from onceonly.gateway.relaying.transits import Transits
from onceonly.gateway.relaying.upstream import Upstream
from onceonly.gateway.relaying.whereabouts import Whereabouts
from onceonly.gateway.reload import Reload
from onceonly.gateway.reports import Reports
from onceonly.gateway.seen_certificates import SeenCertificates
from onceonly.gateway.sent_mails import SentMails
from onceonly.gateway.shapes import record_shape
from onceonly.gateway.surroundings import Surroundings
from onceonly.gateway.tasks import Tasks
from onceonly.gateway.transports import Senders, sending_transport
from onceonly.gateway.webhooks.webhook import told_of
from onceonly.gateway.webhooks.webhooks import Webhooks
from onceonly.message.instant import US_PER_S
from onceonly.steps.agreements import Agreements
from onceonly.steps.ground import House
from onceonly.steps.routes import Routes, as_agreement
from onceonly.steps.rows import Rows
from onceonly.steps.signing import SigningIdentity
from onceonly.store.contract.alerts import AlertSnapshot
from onceonly.store.contract.conditions import StoreFailed, StoreRefused
from onceonly.store.contract.copying import CopyableStore
from onceonly.store.contract.store import Store
from onceonly.store.contract.webhooks import WebhookSnapshot
from onceonly.store.files import make_parents
from onceonly.store.group import GroupCommit
from onceonly.store.spool import Spool
from onceonly.store.sqlite.store import SqliteStore, open_sqlite
from onceonly.transport.broker.address import publish_uri


@dataclass(frozen=True, slots=True)
class Gateway:
    """The joined parts, for the supervisor and for tests."""

    configuration: Configuration
    store: Store
    group: GroupCommit
    desk: Desk
    spool: Spool
    receiver: Receiver
    automatic_mail: AutomaticMail
    refusals: Refusals
    bugs: Bugs
    inquiries: Inquiries
    relay: Relay
    submissions: Submissions
    jobs: Jobs
    inbox: Inbox
    following: Following
    bulks: Bulks
    operations: Operations
    conversations: Conversations
    purge: Purge
    reload: Reload
    clock: Clock
    tasks: Tasks
    backups: Backups
    outside: Outside
    counting: Counting
    alerts: Alerts
    api: Api
    access: Access
    denials: Denials
    keys: Keys
    seen_certificates: SeenCertificates


def open_store(configuration: Configuration, clock: Clock) -> SqliteStore:
    """The store of the configuration. Raises `StoreRefused`, and `OSError` for a bad lake_group."""
    _make_lake(configuration)
    make_parents(configuration.store)
    return open_sqlite(configuration.store, party=str(configuration.party[0]), clock_at=clock.at)


def _make_lake(configuration: Configuration) -> None:
    """Make the lake's folders first: those of the store are closed, and it may be beside them."""
    reader = reader_of(configuration.lake_group)
    if "://" in configuration.lake:
        return
    try:
        make_folders(Path(configuration.lake), reader)
    except OSError:
        # Messages go on without a lake, and publishing reports the error. But a lake_group that
        # cannot be set stops the start, since it would be a false promise.
        if configuration.lake_group is not None:
            raise


def clock_of(configuration: Configuration) -> Clock:
    """The clock, under the drill's rate and offset if there is a drill."""
    drill = configuration.drill
    if drill is None:
        return Clock()
    return Clock(rate=drill.clock_rate, offset_file=drill.clock_offset_file)


def surroundings_of(configuration: Configuration, clock: Clock) -> Surroundings:
    """The real surroundings. Raises `OSError` for certificates that cannot be used."""
    drill = configuration.drill
    sent_mails = SentMails()
    return Surroundings(
        clock=clock,
        chance=Chance(),
        failpoints=Failpoints(drill.failpoints if drill else None),
        transport=sending_transport(configuration, clock, sent_mails),
        spool=Spool(spool_of(configuration.store), files_open_max=shares().uploads),
        sent_mails=sent_mails,
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
    """Join all parts over an open store. Raises `StoreRefused` if they do not fit together.

    A recording has its own `clock`, and a simulation all its `surroundings`; a simulation is told
    of every bug by `on_bug`. Raises `OSError` for certificates that cannot be used.
    """
    around = surroundings or surroundings_of(configuration, clock or clock_of(configuration))
    house = house_of(configuration, around.read_identities)
    _check_agreements(store, house.agreements)
    group = GroupCommit(store, on_failure=on_failure)
    # The desk needs `bugs`, so bugs are noted by an office of their own.
    office = Office(house=house, store=store, group=group, around=around)
    tasks = Tasks()
    limits = configuration.limits
    refusals = Refusals(office=office, tasks=tasks, rows_per_hour=limits.refusal_rows_per_hour)
    bugs = Bugs(office=office, refusals=refusals, tasks=tasks, on_failure=on_failure, on_bug=on_bug)
    tasks.on_error = bugs.note
    desk = Desk(house=house, store=store, group=group, around=around, tasks=tasks, bugs=bugs)
    incoming = _join_incoming(configuration, desk, around.spool, tasks, refusals, bugs)
    denials = Denials(office=office, tasks=tasks, rows_per_hour=limits.refusal_rows_per_hour)
    seen = SeenCertificates(around.clock.at)
    served = _join_served(
        configuration,
        around,
        incoming,
        store=store,
        desk=desk,
        office=office,
        tasks=tasks,
        bugs=bugs,
        denials=denials,
        seen=seen,
    )
    access = _access(configuration, served.keys, denials)
    served.reload.add(lambda wanted: _limits_change(wanted, refusals, denials, incoming))
    served.reload.add(lambda wanted: Change(lambda: access.rename(wanted.api_hosts)))
    return Gateway(
        configuration=configuration,
        store=store,
        group=group,
        desk=desk,
        spool=around.spool,
        receiver=incoming.receiver,
        automatic_mail=AutomaticMail(
            office=office, refusals=refusals, sent_mails=around.sent_mails
        ),
        refusals=refusals,
        bugs=bugs,
        inquiries=incoming.inquiries,
        relay=incoming.relay,
        submissions=served.submissions,
        jobs=served.jobs,
        inbox=served.inbox,
        following=served.following,
        bulks=served.bulks,
        operations=served.operations,
        conversations=served.conversations,
        purge=served.purge,
        reload=served.reload,
        clock=around.clock,
        tasks=tasks,
        backups=served.backups,
        outside=served.outside,
        counting=Counting(office=office, bugs=bugs),
        alerts=served.alerts,
        api=Api(served),
        access=access,
        denials=denials,
        keys=served.keys,
        seen_certificates=seen,
    )


def _join_served(  # noqa: PLR0913 - because the API is the face of all these parts
    configuration: Configuration,
    around: Surroundings,
    incoming: "_Incoming",
    *,
    store: Store,
    desk: Desk,
    office: Office,
    tasks: Tasks,
    bugs: Bugs,
    denials: Denials,
    seen: SeenCertificates,
) -> Served:
    spool = around.spool
    submissions = Submissions(desk)
    purge = Purge(office=office, store=store, spool=spool, retention=_retention(configuration))
    keys = _keys(configuration, office, tasks)
    folders = _folders(configuration, desk, submissions, spool, tasks, bugs)
    webhooks = _webhooks(configuration, desk, tasks, bugs)
    reload = _reload(configuration, desk, office, purge, around)
    conditions = Conditions(lambda: reload.loaded.configuration, desk)
    tally = Tally()
    operations = Operations(
        configuration=configuration,
        desk=desk,
        store=store,
        inquiries=incoming.inquiries,
        hand_overs=incoming.hand_overs,
        relay=incoming.relay,
        bugs=bugs,
        conditions=conditions,
        denied=denials.counts,
        told=tally,
    )
    alerts = Alerts(
        _tellers(configuration, office),
        see=partial(_see, operations, conditions),
        office=office,
        tasks=tasks,
        bugs=bugs,
        tally=tally,
    )
    reload.add(lambda wanted: folders.prepare(wanted.pickups, wanted.drops))
    reload.add(lambda wanted: webhooks.prepare(wanted.webhooks))
    reload.add(lambda wanted: alerts.prepare(wanted.alerts, wanted.smtp))
    reload.add(
        lambda wanted: Change(lambda: keys.renew(wanted.api_token, is_demanded=wanted.api_keys))
    )
    return Served(
        store=store,
        spool=spool,
        submissions=submissions,
        jobs=Jobs(desk=desk, submissions=submissions, tasks=tasks),
        inbox=Inbox(desk=desk, spool=spool, growth=incoming.growth),
        following=Following(desk=desk, tasks=tasks),
        bulks=Bulks(
            desk=desk,
            tasks=tasks,
            bugs=bugs,
            growth=incoming.growth,
            forget_after_s=lambda: reload.loaded.configuration.forget_job_after_s,
        ),
        operations=operations,
        backups=_backups(configuration, store, office, tasks),
        outside=Outside(folders, webhooks),
        office=office,
        keys=keys,
        reload=reload,
        reports=Reports(
            configuration.reports, lake=configuration.lake, party=str(configuration.party[0])
        ),
        purge=purge,
        tasks=tasks,
        sent=SentMessages(desk),
        statistics=Statistics(desk),
        agreements=KnownAgreements(desk=desk, reload=reload, seen=seen),
        names=PartnerNames(lambda: desk.house.agreements),
        conditions=conditions,
        alerts=alerts,
        conversations=Conversations(desk=desk, hand_overs=incoming.hand_overs),
        payload_bytes_max=configuration.payload_bytes_max,
    )


@dataclass(frozen=True, slots=True)
class _Incoming:
    """The parts that take in what partners send."""

    receiver: Receiver
    inquiries: Inquiries
    relay: Relay
    hand_overs: HandOvers
    growth: Growth
    error_posts: Rations
    doorstep: Doorstep


def _join_incoming(
    configuration: Configuration,
    desk: Desk,
    spool: Spool,
    tasks: Tasks,
    refusals: Refusals,
    bugs: Bugs,
) -> _Incoming:
    limits, bytes_max = configuration.limits, configuration.payload_bytes_max
    growth = Growth()
    # Without an agreed certificate anybody can name any partner in a package that is refused, and
    # the partner is told. So it is told only so often; then only the caller's connection is.
    error_posts = Rations(per_hour=limits.error_posts_per_hour, clock=desk.clock)
    doorstep = Doorstep(limits.unadmitted_bytes_max)
    errors = Errors(desk)
    hand_overs = HandOvers(desk=desk, tasks=tasks, bugs=bugs, growth=growth)
    upstream = Upstream(desk)
    inquiries = Inquiries(
        desk=desk,
        hand_overs=hand_overs,
        whereabouts=Whereabouts(office=desk, upstream=upstream, tasks=tasks),
        tasks=tasks,
        refusals=refusals,
    )
    held = Held()
    transits = Transits(desk=desk, upstream=upstream, tasks=tasks, bugs=bugs, held=held)
    relay = Relay(
        desk=desk,
        transits=transits,
        custodies=Custodies(desk=desk, upstream=upstream, tasks=tasks),
        upstream=upstream,
        signals=PassingSignals(
            desk=desk, transits=transits, upstream=upstream, tasks=tasks, held=held
        ),
        held=held,
        tasks=tasks,
        error_posts=error_posts,
        payload_bytes_max=bytes_max,
    )
    receiver = Receiver(
        desk=desk,
        spool=spool,
        arrivals=Arrivals(desk=desk, hand_overs=hand_overs, errors=errors, tasks=tasks),
        hand_overs=hand_overs,
        validation=Validation(desk),
        inquiries=inquiries,
        relay=relay,
        errors=errors,
        refusals=refusals,
        error_posts=error_posts,
        doorstep=doorstep,
        bugs=bugs,
        payload_bytes_max=bytes_max,
        tasks=tasks,
    )
    desk.listen(receiver.receive_reply)
    return _Incoming(receiver, inquiries, relay, hand_overs, growth, error_posts, doorstep)


def _limits_change(
    configuration: Configuration, refusals: Refusals, denials: Denials, incoming: _Incoming
) -> Change:
    limits = configuration.limits

    def take() -> None:
        refusals.limit(limits.refusal_rows_per_hour)
        denials.limit(limits.refusal_rows_per_hour)
        incoming.error_posts.limit(limits.error_posts_per_hour)
        incoming.doorstep.limit(limits.unadmitted_bytes_max)

    return Change(take)


def house_of(
    configuration: Configuration,
    identities: Callable[[Configuration], tuple[SigningIdentity, ...]] = read_identities,
) -> House:
    """What the steps know of the configuration. Raises `OSError` for a key that cannot be used."""
    return House(
        party=configuration.party,
        uri=configuration.uri,
        uris=our_uris(configuration),
        domain=domain_of(configuration.uri),
        agreements=Agreements(configuration.agreements, map(as_agreement, configuration.routes)),
        routes=Routes(configuration.routes, our_uris=our_uris(configuration)),
        rows=Rows(str(configuration.party[0])),
        queued_max=configuration.queued_max,
        identities=identities(configuration),
    )


def our_uris(configuration: Configuration) -> frozenset[str]:
    """Every URI by which a partner may call our MSH (S0-45)."""
    uris = {configuration.uri}
    if configuration.smtp is not None and configuration.smtp.mailbox is not None:
        uris |= {f"{scheme}:{configuration.smtp.mailbox}" for scheme in ("smtp", "smtps")}
    if configuration.amqp is not None and configuration.amqp.listen is not None:
        uris.add(publish_uri(configuration.amqp.listen))
    return frozenset(uris)


def _backups(configuration: Configuration, store: Store, office: Office, tasks: Tasks) -> Backups:
    return Backups(
        office=office,
        tasks=tasks,
        begin_copy=store.begin_copy if isinstance(store, CopyableStore) else None,
        spool=spool_of(configuration.store),
        folder=configuration.backups,
    )


def _folders(
    configuration: Configuration,
    desk: Desk,
    submissions: Submissions,
    spool: Spool,
    tasks: Tasks,
    bugs: Bugs,
) -> Folders:
    return Folders(
        configuration.pickups,
        configuration.drops,
        desk=desk,
        submissions=submissions,
        spool=spool,
        bytes_max=configuration.payload_bytes_max,
        tasks=tasks,
        bugs=bugs,
    )


def _webhooks(configuration: Configuration, desk: Desk, tasks: Tasks, bugs: Bugs) -> Webhooks:
    """The webhooks. Raises `OSError` for a secret or certificates that cannot be used."""
    wanted = configuration.webhooks
    if wanted and not isinstance(desk.snapshot(), WebhookSnapshot):
        raise StoreRefused("this store cannot remember what webhooks were told")
    return Webhooks([told_of(one, desk) for one in wanted], desk=desk, tasks=tasks, bugs=bugs)


def _tellers(configuration: Configuration, office: Office) -> list[Teller]:
    """Who is told of alerts. Raises `OSError` for certificates that cannot be used."""
    if configuration.alerts and not isinstance(office.snapshot(), AlertSnapshot):
        raise StoreRefused("this store cannot remember alerts")
    return [teller_of(one, configuration.smtp) for one in configuration.alerts]


def _see(operations: Operations, conditions: Conditions) -> Seen:
    """What the rules of alerts are about; reads the store, the disk and the lake."""
    condition = condition_shape(conditions, is_ready=operations.is_ready)
    rows = conditions.snapshot().list_journal(condition.published_seq or 0, 1)
    return Seen(
        now_s=conditions.now_at() / US_PER_S,
        condition=condition,
        health=operations.health(),
        partners=operations.partners(),
        unpublished=record_shape(rows[0]) if rows else None,
    )


def _keys(configuration: Configuration, office: Office, tasks: Tasks) -> Keys:
    token, is_demanded = configuration.api_token, configuration.api_keys
    return Keys(office=office, tasks=tasks, token=token, is_demanded=is_demanded)


def _access(configuration: Configuration, keys: Keys, denials: Denials) -> Access:
    return Access(
        api=configuration.api,
        caller_of=keys.caller_of,
        note_denied=denials.note,
        hosts=configuration.api_hosts,
    )


def _reload(
    configuration: Configuration, desk: Desk, office: Office, purge: Purge, around: Surroundings
) -> Reload:
    return Reload(
        configuration=configuration,
        desk=desk,
        office=office,
        purge=purge,
        senders=around.transport if isinstance(around.transport, Senders) else None,
        house_of=house_of,
        retention_of=_retention,
    )


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
    """Refuse to start if a message without a verdict has no agreement: it could not be sent."""
    named = store.snapshot().list_unsettled_agreements()
    missing = sorted(name for name in named if agreements.find(name) is None)
    if missing:
        raise StoreRefused(
            f"the store holds messages without a verdict under agreements that are not "
            f"configured: {', '.join(missing)}"
        )


def publish_offline(configuration: Configuration) -> int:
    """Publish the journal of a gateway that is not running; returns how many rows.

    Raises `StoreRefused`, above all if the gateway is running and holds the lock of the store.
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
