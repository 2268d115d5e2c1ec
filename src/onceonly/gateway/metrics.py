"""Prometheus metrics, read from the store when asked: counts that a restart does not reset."""

from collections.abc import Iterable, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from onceonly.store.contract.store import Snapshot


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


def render(
    snapshot: Snapshot, bugs: Mapping[str, int], denied: Mapping[str, int]
) -> tuple[str, str]:
    """The metrics text and its content type."""
    registry = CollectorRegistry()
    registry.register(StoreCollector(snapshot))
    registry.register(BugCollector(bugs))
    registry.register(DenialCollector(denied))
    return generate_latest(registry).decode(), CONTENT_TYPE_LATEST
