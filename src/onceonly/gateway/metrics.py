"""Prometheus metrics, read from the store when asked: counts that a restart does not reset."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import asdict
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from onceonly.api.looks import RULES
from onceonly.gateway.alerts.tally import TEST, Tally
from onceonly.gateway.application.conditions import CONVERSATIONS_COUNTED, Conditions, ages_of
from onceonly.message.instant import US_PER_S
from onceonly.store.contract.alerts import AlertLevel, AlertSnapshot
from onceonly.store.contract.counters import ALL, LATENCY_BOUNDS_S, EventCounts
from onceonly.store.contract.store import Snapshot

AGREEMENTS_MAX: Final = 100
"""Most agreements with samples of their own, those with the most messages; all others are one."""

PAIRS_MAX: Final = 200
"""Most pairs with a last contact of their own, the latest first."""

OTHER: Final = "other agreements"
"""In the place of an agreement's id: no id has a blank."""

NO_TOTALS: Final = ("latencies", "latency_us")
"""Members of counters that are no count of their own."""


class StoreCollector:
    """Reads one snapshot into metric families."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterable[Metric]:
        """The families, one sample per status word, pair and kind of incident."""
        messages = GaugeMetricFamily("onceonly_messages", "Messages by status", labels=["status"])
        for status, count in sorted(self._snapshot.count_by_status().items()):
            messages.add_metric([status], count)
        yield messages
        pairs = GaugeMetricFamily(
            "onceonly_pair_open", "1 if the pair is open", labels=["role", "from_party", "to_party"]
        )
        queued = GaugeMetricFamily(
            "onceonly_pair_queued", "Messages that wait for their turn", labels=["to_party"]
        )
        for view in self._snapshot.list_pairs():
            pairs.add_metric([view.role.value, *view.pair], float(view.status.value == "open"))
            if view.role.value == "sender":
                queued.add_metric([view.pair.to_party], view.queued)
        yield pairs
        yield queued
        incidents = self._snapshot.list_incidents(is_open=True)
        yield GaugeMetricFamily("onceonly_incidents_open", "Open incidents", value=len(incidents))
        yield GaugeMetricFamily(
            "onceonly_conversations_blocked",
            "Ordered conversations of ours that a message blocks",
            value=len(self._snapshot.list_blocked_orders(CONVERSATIONS_COUNTED)),
        )
        yield GaugeMetricFamily(
            "onceonly_conversations_with_gap",
            "Ordered conversations in which messages wait for an earlier one",
            value=len(self._snapshot.list_gaps(CONVERSATIONS_COUNTED)),
        )


class BugCollector:
    """Bugs that were contained since the start (R-43); counted in the process, not the store."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        """One sample per place."""
        bugs = CounterMetricFamily(
            "onceonly_internal_errors",
            "Bugs of onceonly that something of a peer's met, by what was being done",
            labels=["place"],
        )
        for place, count in sorted(self._counts.items()):
            bugs.add_metric([place], count)
        yield bugs


class DenialCollector:
    """Calls of the API that were denied since the start; counted in the process, not the store."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        """One sample per name of a refusal."""
        denied = CounterMetricFamily(
            "onceonly_api_denied",
            "Calls of the API that were denied, by the name of the refusal",
            labels=["name"],
        )
        for name, count in sorted(self._counts.items()):
            denied.add_metric([name], count)
        yield denied


class CounterCollector:
    """What happened since the first row of the journal, as far as it is counted."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterable[Metric]:
        """A family for each count, with a sample per agreement; and the acknowledgement's latency.

        The samples of a family add up to all that happened, under any agreement or none.
        """
        totals = dict(self._snapshot.list_totals())
        together = totals.pop(ALL, EventCounts())
        shown = _busiest(totals)
        for name in EventCounts.__struct_fields__:
            if name in NO_TOTALS:
                continue
            family = CounterMetricFamily(
                f"onceonly_{name}", f"Journal rows counted as {name}", labels=["agreement"]
            )
            rest = asdict(together)[name]
            for agreement, counts in sorted(shown.items()):
                count = asdict(counts)[name]
                rest -= count
                family.add_metric([agreement], count)
            family.add_metric([OTHER], rest)
            yield family
        yield _latencies(together)


def _busiest(totals: Mapping[str, EventCounts]) -> dict[str, EventCounts]:
    by_size = sorted(totals, key=lambda one: (-(totals[one].submitted + totals[one].received), one))
    return {agreement: totals[agreement] for agreement in by_size[:AGREEMENTS_MAX]}


def _latencies(together: EventCounts) -> Metric:
    family = HistogramMetricFamily(
        "onceonly_acknowledgement_seconds", "Time from a submission to its acknowledgement"
    )
    below, buckets = 0, []
    bounds = (*map(str, LATENCY_BOUNDS_S), "+Inf")
    for bound, count in zip(bounds, together.latencies or [0] * len(bounds), strict=True):
        below += count
        buckets.append((bound, below))
    family.add_metric([], buckets, together.latency_us / US_PER_S)
    return family


class ConditionCollector:
    """Ages, the disk and certificates."""

    def __init__(self, conditions: Conditions, snapshot: Snapshot) -> None:
        self._conditions = conditions
        self._snapshot = snapshot

    def collect(self) -> Iterable[Metric]:
        """What a gateway on a machine has beside its store."""
        now_at = self._conditions.now_at()
        ages = ages_of(self._snapshot)
        for name, words, since_at in (
            ("waiting", "waits for its turn or its acknowledgement", ages.waiting_at),
            ("doubt", "is in doubt", ages.doubt_at),
        ):
            age_s = 0.0 if since_at is None else max(0, now_at - since_at) / US_PER_S
            yield GaugeMetricFamily(
                f"onceonly_oldest_{name}_seconds",
                f"Since the submission of the oldest message that {words}; 0 for none",
                value=age_s,
            )
        sizes = self._conditions.sizes()
        for name, words, size in (
            ("store", "The store's file", sizes.store_bytes),
            ("log", "The write-ahead log of the store", sizes.log_bytes),
            ("spool", "Files of large payloads", sizes.spool_bytes),
            ("disk_free", "Free space on the disk of the store", sizes.free_bytes),
            ("disk_total", "Size of the disk of the store", sizes.total_bytes),
        ):
            if size is not None:
                yield GaugeMetricFamily(f"onceonly_{name}_bytes", words, value=size)
        yield self._certificates()
        yield self._contacts()
        last_seq, counted_seq = self._snapshot.last_seq(), self._snapshot.counted_seq()
        yield GaugeMetricFamily(
            "onceonly_uncounted_rows",
            "Journal rows that the counters do not have yet",
            value=last_seq - counted_seq,
        )

    def _certificates(self) -> Metric:
        family = GaugeMetricFamily(
            "onceonly_certificate_ends_timestamp_seconds",
            "When the first certificate of a file ends",
            labels=["file"],
        )
        for file, times in self._conditions.certificates():
            if times is not None:
                family.add_metric([str(file)], times.until_at / US_PER_S)
        return family

    def _contacts(self) -> Metric:
        family = GaugeMetricFamily(
            "onceonly_last_contact_timestamp_seconds",
            "When the partner was last heard on a pair",
            labels=["from_party", "to_party"],
        )
        heard = [
            (times.heard_at, pair)
            for pair, times in self._snapshot.list_pair_times().items()
            if times.heard_at is not None
        ]
        for heard_at, pair in sorted(heard, reverse=True)[:PAIRS_MAX]:
            family.add_metric([*pair], heard_at / US_PER_S)
        return family


class AlertCollector:
    """What is wrong, which rules are muted, and whether anybody was told."""

    def __init__(self, snapshot: Snapshot, told: Tally, now_at: int) -> None:
        self._snapshot = snapshot
        self._told = told
        self._now_at = now_at

    def collect(self) -> Iterable[Metric]:
        """A sample for each rule, whether or not it has anything; nothing over other stores."""
        if not isinstance(self._snapshot, AlertSnapshot):
            return
        firing = Counter((one.rule, one.level.value) for one in self._snapshot.list_alerts())
        family = GaugeMetricFamily(
            "onceonly_alerts_firing", "What is wrong now, by rule", labels=["rule", "level"]
        )
        for rule in RULES:
            for level in AlertLevel:
                family.add_metric([rule, level.value], firing[rule, level.value])
        yield family
        muted = {one.rule for one in self._snapshot.list_mutes() if one.until_at > self._now_at}
        family = GaugeMetricFamily(
            "onceonly_alerts_muted", "1 if nobody is told of the rule", labels=["rule"]
        )
        for rule in RULES:
            family.add_metric([rule], float(rule in muted))
        yield family
        for name, words, counts in (
            ("told", "Messages about the rule that somebody was sent", self._told.told),
            ("failed", "Messages about the rule that failed", self._told.failed),
        ):
            counter = CounterMetricFamily(
                f"onceonly_alerts_{name}", f"{words} since the start", labels=["rule"]
            )
            for rule in (*RULES, TEST):
                counter.add_metric([rule], counts[rule])
            yield counter
        yield GaugeMetricFamily(
            "onceonly_alerts_looked_timestamp_seconds",
            "When the gateway last looked for what is wrong; 0 for never",
            value=(self._snapshot.find_alert_look() or 0) / US_PER_S,
        )


def render(
    snapshot: Snapshot,
    conditions: Conditions | None = None,
    *,
    bugs: Mapping[str, int],
    denied: Mapping[str, int],
    told: Tally,
) -> tuple[str, str]:
    """The metrics text and its content type; a store alone has no `conditions`."""
    registry = CollectorRegistry()
    registry.register(StoreCollector(snapshot))
    registry.register(CounterCollector(snapshot))
    if conditions is not None:
        registry.register(ConditionCollector(conditions, snapshot))
        registry.register(AlertCollector(snapshot, told, conditions.now_at()))
    registry.register(BugCollector(bugs))
    registry.register(DenialCollector(denied))
    return generate_latest(registry).decode(), CONTENT_TYPE_LATEST
