"""What operators see and do: partners, suspension, publishing, health, metrics."""

import asyncio
from typing import Any

from onceonly import __version__
from onceonly.gateway.agreements import Agreements
from onceonly.gateway.api_shapes import partner_shape
from onceonly.gateway.config import Configuration
from onceonly.gateway.dispatch import Dispatch
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.inbound import Receiver
from onceonly.gateway.metrics import render
from onceonly.gateway.publish import publish
from onceonly.message.errors import LocalError
from onceonly.message.identity import Pair
from onceonly.store.store import PairView, Role, Store


class Operations:
    """The operator's side of one gateway."""

    def __init__(
        self,
        *,
        configuration: Configuration,
        store: Store,
        agreements: Agreements,
        dispatch: Dispatch,
        receiver: Receiver,
        failpoints: Failpoints,
    ) -> None:
        self._configuration = configuration
        self._store = store
        self._agreements = agreements
        self._dispatch = dispatch
        self._receiver = receiver
        self._failpoints = failpoints
        self._publishing = asyncio.Lock()
        self.is_ready = False

    async def cancel(self, message_id: str) -> None:
        """Take a message back. Raises `LocalError` (NotFound, NotCancellable)."""
        if not await self._dispatch.cancel(message_id):
            raise LocalError("NotFound", f"no outbound message {message_id!r}")

    def partners(self) -> list[dict[str, Any]]:
        """Every pair that the agreements allow or the store knows, in order."""
        known = {(view.role, view.pair): view for view in self._store.snapshot().list_pairs()}
        budgets: dict[tuple[Role, Pair], int | None] = dict.fromkeys(known)
        for agreement in self._agreements:
            there = Pair(agreement.our_party, agreement.their_party)
            back = Pair(agreement.their_party, agreement.our_party)
            budgets[Role.SENDER, there] = agreement.terms.verdict_after_s
            budgets.setdefault((Role.RECEIVER, back), None)
        snapshot = self._store.snapshot()
        shapes = []
        for (role, pair), budget in sorted(budgets.items()):
            view = known.get((role, pair)) or _fresh(role, pair, snapshot)
            shapes.append(partner_shape(view, budget))
        return shapes

    async def suspend(self, partner: str, reason: str) -> list[dict[str, Any]]:
        """Suspend sending to a partner. Raises `LocalError` (UnknownPartner)."""
        for pair in self._pairs_with(partner):
            await self._dispatch.suspend(pair, reason)
        return self._partner(partner)

    async def resume(self, partner: str) -> list[dict[str, Any]]:
        """Resume both directions with a partner. Raises `LocalError` (UnknownPartner)."""
        for pair in self._pairs_with(partner):
            await self._dispatch.resume(pair)
            await self._receiver.resume(Pair(pair.to_party, pair.from_party))
        return self._partner(partner)

    def _pairs_with(self, partner: str) -> list[Pair]:
        pairs = {
            Pair(agreement.our_party, agreement.their_party)
            for agreement in self._agreements
            if partner in map(str, agreement.their_ids)
        }
        if not pairs:
            raise LocalError("UnknownPartner", f"no agreement is with {partner!r}")
        return sorted(pairs)

    def _partner(self, partner: str) -> list[dict[str, Any]]:
        names = {pair.to_party for pair in self._pairs_with(partner)}
        return [shape for shape in self.partners() if shape["partner"] in names]

    async def publish(self) -> int:
        """Publish the journal's new rows; returns how many. Raises `LocalError` (LakeFailed)."""
        async with self._publishing:
            try:
                return await asyncio.to_thread(self._publish)
            except OSError as error:
                raise LocalError("LakeFailed", f"the lake cannot be written: {error}") from error

    def _publish(self) -> int:
        # The snapshot is taken here because it belongs to the thread that takes it.
        return publish(
            self._store.snapshot(),
            party=str(self._configuration.party[0]),
            lake=self._configuration.lake,
            failpoints=self._failpoints,
        )

    def health(self) -> dict[str, Any]:
        """Who this is, and whether its times and faults are real."""
        drill = self._configuration.drill
        return {
            "status": "ok",
            "version": __version__,
            "party": [str(party) for party in self._configuration.party],
            "store_epoch": self._store.epoch,
            "drill": None
            if drill is None
            else {"clock_rate": drill.clock_rate, "failpoints": drill.failpoints},
        }

    def metrics(self) -> tuple[str, str]:
        """Prometheus text and its content type."""
        return render(self._store.snapshot())


def _fresh(role: Role, pair: Pair, snapshot: Any) -> PairView:
    state = snapshot.get_sending_pair(pair)
    return PairView(role, pair, state.status, None, None, (), 0)
