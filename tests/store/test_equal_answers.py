"""Memory and SQLite give equal answers to the same operations, whatever they are.

The simulator's verdicts are about the memory store; this is what makes them about SQLite too.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from store_samples import (
    CARRIER,
    NOW_AT,
    PACKAGE,
    PAIR,
    PARTY,
    RESPONSE,
    SELLER,
    message,
    receive,
    row,
    spooled,
    stored,
    submit,
)

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import DeliverySemantics
from onceonly.message.signals import MessageStatus, ReportedProcessing
from onceonly.message.word import changed
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery, RecoveryPhase, ResponseStatus
from onceonly.protocol.relaying import Transit, TransitStatus
from onceonly.protocol.sending import Exposure, Outbound, OutboundStatus, Silence
from onceonly.store.contract.entries import MessageFilter, Notice, OwedNotice, Role, TransitEntry
from onceonly.store.contract.jobs import JobRow, RowOutcome
from onceonly.store.contract.store import Snapshot, Store
from onceonly.store.memory.store import MemoryStore
from onceonly.store.sqlite.store import open_sqlite

NAMES = ("m-1", "m-2", "m-3", "m-4")
PARTIES = (SELLER, CARRIER)
DIGESTS = ("a" * 64, "b" * 64, "c" * 64)
PAIRS = (PAIR, Pair(PAIR.from_party, str(CARRIER)))

names = st.sampled_from(NAMES)
known_names = st.sampled_from(NAMES[:2]) | names
parties = st.sampled_from(PARTIES)
pairs = st.sampled_from(PAIRS)
instants = st.integers(0, 50)
counters = st.integers(0, 3)
numbers = st.none() | st.integers(1, 999_999_999)
states = st.builds(
    Outbound,
    status=st.sampled_from(OutboundStatus),
    attempt=counters,
    episode=counters,
    exposure=st.sampled_from(Exposure),
    sequence_number=numbers,
    expires_at=st.none() | instants,
    transients=counters,
    silence=st.sampled_from(Silence),
    pings=counters,
    error_code=st.none() | st.sampled_from(ErrorCode),
    has_arrived=st.booleans(),
    due_ns=st.none() | instants,
)
sending_pairs = st.builds(
    SendingPair,
    status=st.sampled_from(PairStatus),
    sequence_number=numbers,
    in_flight=st.lists(names, max_size=3, unique=True).map(tuple),
    reason=st.none() | st.text(max_size=5),
)
receiving_pairs = st.builds(
    ReceivingPair,
    status=st.sampled_from(PairStatus),
    sequence_number=numbers,
    refused_message_id=st.none() | names,
    takes_any_number=st.booleans(),
    reason=st.none() | st.text(max_size=5),
    forgotten_at=st.none() | instants,
)
recoveries = st.builds(
    Recovery,
    phase=st.sampled_from(RecoveryPhase),
    asked=counters,
    inquiry_id=st.none() | names,
    wants_new_version=st.booleans(),
    replaced_by=st.none() | names,
    response=st.sampled_from(ResponseStatus),
    response_due_at=st.none() | instants,
    status=st.none() | st.sampled_from(MessageStatus),
    processing=st.none() | st.sampled_from(ReportedProcessing),
    reported_at=st.none() | instants,
    due_ns=st.none() | instants,
)
routes = st.sampled_from(["r-1", "r-2"])
JOBS = ("j-1", "j-2")
jobs = st.sampled_from(JOBS)
RUNS = (None, "run-1", "run-2")
runs = st.sampled_from(RUNS)
transits = st.builds(Transit, st.sampled_from(TransitStatus), counters)
owed_notices = st.builds(
    OwedNotice,
    key=st.builds(MessageKey, names, names, names),
    agreement_id=names,
    conversation_id=names,
    # The words that a header can come to; AtLeastOnce is agreed only.
    semantics=st.sampled_from(
        [one for one in DeliverySemantics if one is not DeliverySemantics.AT_LEAST_ONCE]
    ),
    severity=st.sampled_from(Severity),
    reason=st.text(max_size=5),
    attempts=counters,
)
notices = st.builds(
    Notice,
    message_id=names,
    kind=st.sampled_from(NoticeKind),
    severity=st.sampled_from(Severity),
    error_code=st.sampled_from(ErrorCode),
    reason=st.text(max_size=5),
    episode=counters,
    at=instants,
)
filters = st.builds(
    MessageFilter,
    status=st.none() | st.sampled_from(OutboundStatus),
    to_party=st.none() | st.sampled_from([str(party) for party in PARTIES]),
    agreement_id=st.none() | st.sampled_from(["a-m-1", "tpa-1"]),
    agreement_ids=st.none() | st.just(("a-m-2", "tpa-1")),
    conversation_id=st.none() | st.sampled_from(["c-1", "c-2"]),
    idempotency_key=st.none() | st.sampled_from(["key-m-1", "key-m-3"]),
    error_code=st.none() | st.sampled_from(ErrorCode),
    id_prefix=st.none() | st.sampled_from(["m", "m-3"]),
    settled_since_at=st.none() | instants,
    settled_until_at=st.none() | instants,
    is_newest_first=st.booleans(),
    after=counters,
    limit=st.integers(1, 3),
)


def answers(snapshot: Snapshot) -> dict[str, Any]:
    """Everything that can be asked."""
    found: dict[str, Any] = {
        "in flight": list(snapshot.list_in_flight()),
        "waiting": list(snapshot.list_waiting_pairs()),
        "overdue": list(snapshot.list_overdue(25, 2)),
        "agreements": list(snapshot.list_unsettled_agreements()),
        "pairs": list(snapshot.list_pairs()),
        "stored": list(snapshot.list_stored()),
        "inbox": list(snapshot.list_inbox(1, 2)),
        "notices": list(snapshot.list_notices(1, 2)),
        "incidents": list(snapshot.list_incidents(is_open=False)),
        "open incidents": list(snapshot.list_incidents(is_open=True)),
        "journal": list(snapshot.list_journal(1, 5)),
        "counts": snapshot.count_by_status(),
        "idle": list(snapshot.list_idle_pairs(25)),
        "recovering": list(snapshot.list_recovering()),
        "due": list(snapshot.list_responses_due(25, 2)),
        "forwarding": list(snapshot.list_forwarding()),
        "owed": list(snapshot.list_owed_notices()),
        "jobs": list(snapshot.list_jobs(0, 5)),
        "released": list(snapshot.list_released(3)),
        "unfinished": list(snapshot.list_unfinished(1, 5, ProcessingState.COMPLETE, 2)),
        "standings": [snapshot.find_inbox_standing(offset) for offset in range(5)],
        "last": (snapshot.last_offset(), snapshot.last_seq()),
        "blocks": [snapshot.find_block(run, row) for run in range(1, 5) for row in range(3)],
        "spooled": [snapshot.is_spooled(digest) for digest in DIGESTS],
    }
    for job in JOBS:
        found[f"job {job}"] = (
            snapshot.count_job(job),
            snapshot.last_job_row(job),
            list(snapshot.list_rejects(job, 0, 2)),
            [snapshot.find_job_row(job, number) for number in range(3)],
            [snapshot.find_staged(job, number) for number in range(3)],
            [list(snapshot.list_staged_payloads(job, number)) for number in range(3)],
            [snapshot.find_accepted_row(job, name) for name in NAMES],
            [snapshot.find_run(job, name) for name in RUNS],
            snapshot.find_newest_run(job),
            snapshot.find_latest_release(job),
            list(snapshot.list_unreleased_runs(job)),
        )
    for pair in PAIRS:
        found[f"sending {pair}"] = snapshot.get_sending_pair(pair)
        found[f"receiving {pair}"] = snapshot.get_receiving_pair(pair)
        found[f"queued {pair}"] = snapshot.find_next_queued(pair)
    for name in NAMES:
        found[f"message {name}"] = (
            snapshot.find_outbound_view(name),
            snapshot.find_outbound(name),
            list(snapshot.list_payloads(name)),
            snapshot.find_message_id_by_key(f"key-{name}"),
            list(snapshot.list_inbox_offsets(name, 2)),
            [snapshot.find_inbox_item(offset) for offset in range(4)],
            list(snapshot.list_journal_of(name)),
            list(snapshot.list_outcomes(name, 2)),
            [snapshot.find_inbound(message(name, to=party).key) for party in PARTIES],
            package_or_none(lambda name=name: snapshot.get_package(name)),
            package_or_none(lambda name=name: snapshot.get_response(message(name).key)),
            [snapshot.is_cancelled(message(name, to=party).key) for party in PARTIES],
            snapshot.get_recovery(name),
            [snapshot.find_response(name, pair.to_party) for pair in PAIRS],
            snapshot.find_response(name, PAIR.to_party, is_most_recent=True),
            [snapshot.find_transit(route, name) for route in ("r-1", "r-2")],
            list(snapshot.list_transit_payloads("r-1", name)),
            package_or_none(lambda name=name: snapshot.get_transit_package("r-2", name)),
        )
    return found


def package_or_none(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except KeyError:
        return None


def operation(name: str, /, **arguments: Any) -> Any:
    """A call of the method `name` of the machine, with drawn arguments."""
    return st.tuples(st.just(name), st.fixed_dictionaries(arguments))


# One strategy for all writes: as rules of their own, most of them would be switched off in most
# runs, and runs would be too short to meet the others.
operations = st.one_of(
    operation(
        "submits",
        name=names,
        to=parties,
        state=states,
        conversation=st.sampled_from(["c-1", "c-2"]),
        reference=st.none() | names,
        has_key=st.booleans(),
    ),
    operation("changes_state", name=known_names, state=states, at=instants),
    operation("keeps_package", name=known_names),
    operation("changes_sending_pair", pair=pairs, state=sending_pairs, at=instants),
    operation("forgets_pair", pair=pairs),
    operation("changes_receiving_pair", pair=pairs, state=receiving_pairs),
    operation(
        "receives",
        name=names,
        to=parties,
        response=st.none() | st.just(PACKAGE),
        keep_until_at=st.none() | instants,
        status=st.sampled_from([InboundStatus.STORED] * 3 + [InboundStatus.FORWARDED]),
        has_key=st.sampled_from([True, True, False]),
    ),
    operation("answers_anew", name=names, to=parties),
    operation("cancels", name=names, to=parties, at=instants, keep_until_at=st.none() | instants),
    operation("recovers", name=known_names, recovery=recoveries),
    operation(
        "passes_on", route=routes, name=names, state=transits, keep_until_at=st.none() | instants
    ),
    operation(
        "stages",
        job=jobs,
        number=st.integers(0, 2),
        name=names,
        outcome=st.sampled_from([RowOutcome.ACCEPTED] * 2 + list(RowOutcome)),
        at=instants,
        by=runs,
    ),
    operation("moves_to", job=jobs, number=st.integers(0, 2), to=st.integers(0, 3)),
    operation("forgets_row", job=jobs, number=st.integers(0, 2)),
    operation("releases", job=jobs, at=instants),
    operation("moves_what_is_released"),
    operation("drops", job=jobs, limit=st.integers(1, 3)),
    operation("purges_jobs", before_at=instants, limit=st.integers(1, 3)),
    operation("owes", notice=owed_notices),
    operation("pays", notice=owed_notices),
    operation("purges_inbound", now_at=instants, limit=st.integers(1, 3)),
    operation("purges_outbound", name=known_names, before_at=instants, limit=st.integers(1, 3)),
    operation("hands_over", name=names, to=parties, at=instants),
    operation(
        "reports_processing", name=names, to=parties, processing=st.sampled_from(ProcessingState)
    ),
    operation("refuses", name=names, to=parties),
    operation("withholds", name=names, to=parties, is_withheld=st.booleans()),
    operation("notifies", notice=notices),
    operation(
        "opens_incident",
        role=st.sampled_from(Role),
        pair=pairs,
        reason=st.sampled_from("ab"),
        at=instants,
    ),
    operation("resolves_incidents", role=st.sampled_from(Role), pair=pairs, at=instants),
    operation("journals", event=st.sampled_from(Event), name=st.none() | names, count=counters),
)


class BothStores(RuleBasedStateMachine):
    """Does the same to both stores, and asks both the same."""

    def __init__(self) -> None:
        super().__init__()
        # In memory, where there is such a place: what is compared here is answers, not durability.
        shared = Path("/dev/shm")
        self.directory = TemporaryDirectory(dir=shared if shared.is_dir() else None)
        self.memory = MemoryStore(party=PARTY, clock_at=lambda: NOW_AT)
        self.sqlite = self.open_sqlite()
        self.transactions: list[Any] = []

    def open_sqlite(self) -> Any:
        path = Path(self.directory.name) / "buyer.db"
        return open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT)

    def teardown(self) -> None:
        self.memory.close()
        self.sqlite.close()
        self.directory.cleanup()

    @property
    def stores(self) -> tuple[Store, Store]:
        return self.memory, self.sqlite

    def write(self, step: Callable[[Any], Any]) -> None:
        """Run the step on both, beginning a transaction where none is open; results are equal."""
        if not self.transactions:
            self.transactions = [store.begin() for store in self.stores]
        ours, theirs = (step(transaction) for transaction in self.transactions)
        assert ours == theirs

    def is_known(self, name: str) -> bool:
        if not self.transactions:
            return self.memory.snapshot().find_outbound(name) is not None
        return self.transactions[0].find_outbound(name) is not None

    def is_stored(self, key: Any) -> bool:
        source = self.transactions[0] if self.transactions else self.memory.snapshot()
        return source.find_inbound(key) is not None

    @initialize()
    def begins_with_two_messages(self) -> None:
        """So that most rules have something to do from the first step on."""
        for name, party in (("m-1", SELLER), ("m-2", CARRIER)):
            part = stored(name.encode())
            sent = message(name, part, to=party)
            self.write(lambda tx, sent=sent, part=part: submit(tx, sent, part))
            self.write(lambda tx, sent=sent, part=part: receive(tx, sent, part))

    def submits(
        self,
        name: str,
        to: Any,
        state: Outbound,
        conversation: str,
        reference: str | None,
        *,
        has_key: bool,
    ) -> None:
        if self.is_known(name):
            return
        part = spooled(10**6, DIGESTS[0]) if has_key else stored(name.encode())
        sent = message(
            name,
            part,
            to=to,
            conversation_id=conversation,
            agreement_id=f"a-{name}",
            ref_to_message_id=reference,
        )
        key = f"key-{name}" if has_key else None
        self.write(lambda tx: submit(tx, sent, part, state=state, idempotency_key=key))

    def changes_state(self, name: str, state: Outbound, at: int) -> None:
        if self.is_known(name):
            self.write(lambda tx: tx.put_outbound(name, state, at=at))

    def keeps_package(self, name: str) -> None:
        if self.is_known(name):
            self.write(lambda tx: tx.put_package(name, PACKAGE))

    def changes_sending_pair(self, pair: Pair, state: SendingPair, at: int) -> None:
        self.write(lambda tx: tx.put_sending_pair(pair, state, at=at))

    def forgets_pair(self, pair: Pair) -> None:
        self.write(lambda tx: tx.forget_pair(pair))

    def changes_receiving_pair(self, pair: Pair, state: ReceivingPair) -> None:
        self.write(lambda tx: tx.put_receiving_pair(pair, state))

    def receives(self, name: str, to: Any, response: Any, **facts: Any) -> None:
        part = stored(name.encode()) if response is None else spooled(10**6, DIGESTS[1])
        arrived = message(name, part, to=to)
        if not facts["has_key"] or not self.is_stored(arrived.key):
            self.write(lambda tx: receive(tx, arrived, part, response=response, **facts))

    def answers_anew(self, name: str, to: Any) -> None:
        key = message(name, to=to).key
        if self.is_stored(key):
            self.write(lambda tx: tx.put_response(key, RESPONSE))

    def cancels(self, name: str, to: Any, at: int, keep_until_at: int | None) -> None:
        key = message(name, to=to).key
        self.write(lambda tx: tx.cancel_inbound(key, at=at, keep_until_at=keep_until_at))

    def recovers(self, name: str, recovery: Recovery) -> None:
        if self.is_known(name):
            self.write(lambda tx: tx.put_recovery(name, recovery))

    def passes_on(self, route: str, name: str, state: Transit, keep_until_at: int | None) -> None:
        part = spooled(10**6, DIGESTS[2])
        key = message(name).key
        entry = TransitEntry(key, route, "http://up/", "a", "c", None, "d" * 64, 2, state)
        source = self.transactions[0] if self.transactions else self.memory.snapshot()
        if source.find_transit(route, name) is None:
            self.write(
                lambda tx: tx.add_transit(entry, PACKAGE, (part,), keep_until_at=keep_until_at)
            )
        else:
            self.write(lambda tx: tx.put_transit(entry))

    def stages(
        self, job: str, number: int, name: str, outcome: RowOutcome, at: int, by: str | None
    ) -> None:
        def step(tx: Any) -> Any:
            opened = tx.open_job(job, at=at)
            before = tx.find_job_row(job, number)
            is_taken = before is not None and before.outcome is not RowOutcome.REJECTED
            is_known = tx.find_accepted_row(job, name) is not None
            if is_taken or (is_known and outcome is RowOutcome.ACCEPTED):
                return opened
            run = tx.find_run(job, by)
            if run is None or not run.is_open:
                run = tx.open_run(job, by, at=at)
            tx.put_block(run.number, number, at)
            row = JobRow(number, run.number, outcome, name, f"f-{name}")
            if outcome is RowOutcome.ACCEPTED:
                parts = [stored(name.encode()), spooled(100_000, DIGESTS[number])]
                sent = message(name, *parts, agreement_id=f"a-{name}")
                tx.add_staged(job, row, sent, parts, digest="d" * 64)
            else:
                tx.put_job_row(job, row)
            return opened

        self.write(step)

    def releases(self, job: str, at: int) -> None:
        def step(tx: Any) -> None:
            for run in tx.list_unreleased_runs(job)[:1]:
                if run.is_open:
                    tx.release_run(run.number, at=at)

        self.write(step)

    def moves_what_is_released(self) -> None:
        def step(tx: Any) -> None:
            for one in tx.list_released(2):
                job_id, number = one.job.job_id, one.row.row
                payloads = tx.list_staged_payloads(job_id, number)
                tx.remove_staged(job_id, number)
                if tx.find_outbound(one.message.message_id) is None:
                    submit(tx, one.message, *payloads, state=Outbound())
                else:
                    tx.put_job_row(job_id, changed(one.row, outcome=RowOutcome.REPLAYED))

        self.write(step)

    def drops(self, job: str, limit: int) -> None:
        def step(tx: Any) -> int:
            for run in tx.list_unreleased_runs(job)[:1]:
                tx.drop_run(run.number, at=limit)
            return int(tx.forget_dropped(job, limit))

        self.write(step)

    def moves_to(self, job: str, number: int, to: int) -> None:
        def step(tx: Any) -> None:
            if tx.find_staged(job, number) is not None and tx.find_staged(job, to) is None:
                tx.move_staged(job, number, to=to)

        self.write(step)

    def forgets_row(self, job: str, number: int) -> None:
        def step(tx: Any) -> None:
            found = tx.find_job_row(job, number)
            if found is not None and tx.get_run(found.run).released_at is None:
                tx.forget_row(job, number)

        self.write(step)

    def purges_jobs(self, before_at: int, limit: int) -> None:
        self.write(lambda tx: tx.purge_jobs(before_at, limit))

    def owes(self, notice: OwedNotice) -> None:
        self.write(lambda tx: tx.put_owed_notice(notice))

    def pays(self, notice: OwedNotice) -> None:
        self.write(lambda tx: tx.remove_owed_notice(notice.key))

    def purges_inbound(self, now_at: int, limit: int) -> None:
        self.write(lambda tx: tx.purge_inbound(now_at, limit))

    def purges_outbound(self, name: str, before_at: int, limit: int) -> None:
        self.write(lambda tx: tx.purge_outbound(f"a-{name}", before_at, limit))

    def hands_over(self, name: str, to: Any, at: int) -> None:
        key = message(name, to=to).key
        if self.is_open(key):
            self.write(lambda tx: tx.hand_over(key, at=at))

    def is_open(self, key: Any) -> bool:
        source = self.transactions[0] if self.transactions else self.memory.snapshot()
        entry = source.find_inbound(key)
        return entry is not None and entry.status in (
            InboundStatus.STORED,
            InboundStatus.HANDED_OVER,
        )

    def reports_processing(self, name: str, to: Any, processing: ProcessingState) -> None:
        key = message(name, to=to).key
        if self.is_open(key):
            self.write(lambda tx: tx.put_processing(tx.hand_over(key, at=0), processing))

    def refuses(self, name: str, to: Any) -> None:
        key = message(name, to=to).key
        if self.is_open(key):
            self.write(lambda tx: tx.put_refused(tx.hand_over(key, at=0)))

    def withholds(self, name: str, to: Any, *, is_withheld: bool) -> None:
        key = message(name, to=to).key
        if self.is_open(key):
            self.write(lambda tx: tx.put_withheld(key, is_withheld=is_withheld))

    def notifies(self, notice: Notice) -> None:
        self.write(lambda tx: tx.add_notice(notice))

    def opens_incident(self, role: Role, pair: Pair, reason: str, at: int) -> None:
        self.write(lambda tx: tx.open_incident(role, pair, reason, at=at))

    def resolves_incidents(self, role: Role, pair: Pair, at: int) -> None:
        self.write(lambda tx: tx.resolve_incidents(role, pair, at=at))

    def journals(self, event: Event, name: str | None, count: int) -> None:
        self.write(lambda tx: tx.append([row(event, name)] * count))

    @rule(drawn=st.lists(operations, min_size=5, max_size=20))
    def writes(self, drawn: list[tuple[str, dict[str, Any]]]) -> None:
        for name, arguments in drawn:
            getattr(self, name)(**arguments)
            self.answers_are_equal()

    @precondition(lambda self: self.transactions)
    @rule()
    def commits(self) -> None:
        self.transactions = []
        for store in self.stores:
            store.commit()
        assert self.sqlite.find_untrue() == []

    @precondition(lambda self: self.transactions)
    @rule()
    def rolls_back(self) -> None:
        self.transactions = []
        for store in self.stores:
            store.rollback()
        assert self.sqlite.find_untrue() == []

    @rule()
    def dies_and_comes_back(self) -> None:
        self.transactions = []
        self.memory.crash()
        self.memory = self.memory.reopen()
        self.sqlite.close()
        self.sqlite = self.open_sqlite()

    @rule(wanted=filters)
    def asks(self, wanted: MessageFilter) -> None:
        self.compare(store.snapshot() for store in self.stores)
        pages = [store.snapshot().list_messages(wanted) for store in self.stores]
        assert pages[0] == pages[1]
        counts = [store.snapshot().count_messages(wanted) for store in self.stores]
        assert counts[0] == counts[1]

    @invariant()
    def answers_are_equal(self) -> None:
        assert self.memory.epoch == self.sqlite.epoch
        self.compare(self.transactions or (store.snapshot() for store in self.stores))

    def compare(self, sources: Iterable[Snapshot]) -> None:
        ours, theirs = (answers(source) for source in sources)
        assert ours == theirs


TestBothStores = BothStores.TestCase
TestBothStores.settings = settings(
    max_examples=30,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    database=None,
    phases=[Phase.generate, Phase.shrink],
)
