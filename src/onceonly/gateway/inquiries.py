"""Questions between gateways: answering a partner's, and taking the answers to ours.

Ping, StatusRequest, CancelRequest and ResponseRequest are of seed 004 (levels 2, 3 and 5). An
inquiry is the only signal that is ever answered; a report is matched by the MessageId of the
inquiry and by who sends it (R-20). What recovery does with a report is decided in
`protocol/recovering.py`.
"""

from collections.abc import Sequence

from onceonly.gateway.agreements import Agreements
from onceonly.gateway.clock import Clock
from onceonly.gateway.dispatch import Dispatch
from onceonly.gateway.rows import Rows
from onceonly.gateway.signals import Signals
from onceonly.gateway.tasks import Tasks
from onceonly.message.message import RoutingHeader
from onceonly.message.signals import Inquiry, Report
from onceonly.store.group import GroupCommit
from onceonly.store.store import Store
from onceonly.transport.transport import Answer as TransportAnswer

TAKEN = TransportAnswer(204)


class Inquiries:
    """Answers partners' inquiries and takes their reports."""

    def __init__(  # noqa: PLR0913 - because an answer may need any part of both sides
        self,
        *,
        store: Store,
        group: GroupCommit,
        agreements: Agreements,
        dispatch: Dispatch,
        signals: Signals,
        rows: Rows,
        clock: Clock,
        tasks: Tasks,
    ) -> None:
        self._store = store
        self._group = group
        self._agreements = agreements
        self._dispatch = dispatch
        self._signals = signals
        self._rows = rows
        self._clock = clock
        self._tasks = tasks

    async def take(
        self, content: Inquiry | Report, routing: Sequence[RoutingHeader]
    ) -> TransportAnswer:
        """Take a question or an answer that arrived; what it causes leaves after the commit."""
        del content, routing
        return TAKEN
