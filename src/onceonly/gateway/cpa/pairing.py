"""Which party is ours, and which action goes from whom to whom by which channels.

For what a party sends the channel of the receiver says where and how (§12 of the profile). Knows no
key of the configuration.
"""

from collections.abc import Iterator
from typing import Final

from onceonly.gateway.cpa.document import CpaError
from onceonly.gateway.cpa.model import Binding, Channel, Cpa, Direction, Party
from onceonly.gateway.cpa.notes import Notes
from onceonly.message.printable import quoted
from onceonly.message.word import Word

TRANSPORTS: Final = ("HTTP", "SMTP")
"""What a gateway can send by. HTTPS is HTTP with a TransportServerSecurity."""


class Flow(Word, kw_only=True):
    """One action in one direction: the bindings of both sides, and the channels chosen."""

    ours: Binding
    theirs: Binding
    our_channel: Channel
    their_channel: Channel

    @property
    def is_sent(self) -> bool:
        """Whether we send it."""
        return self.ours.direction is Direction.SEND

    @property
    def from_channel(self) -> Channel:
        """The channel of whoever sends."""
        return self.our_channel if self.is_sent else self.their_channel

    @property
    def to_channel(self) -> Channel:
        """The channel of whoever receives, which says where and how."""
        return self.their_channel if self.is_sent else self.our_channel

    @property
    def what(self) -> str:
        """The action, for texts."""
        return f"{self.ours.action} of {self.ours.service}"


def sides_of(cpa: Cpa, party: str) -> tuple[Party, Party]:
    """Ours, by one of its PartyIds or as `type:id`, and the partner's. Raises `CpaError`."""
    found = [one for one in cpa.parties if party in _names(one)]
    if len(found) == 1:
        other = cpa.parties[1] if found[0] is cpa.parties[0] else cpa.parties[0]
        return found[0], other
    known = ", ".join(quoted(f"{kind}:{name}" if kind else name) for name, kind in _all_ids(cpa))
    if found:
        raise CpaError(f"both parties have the PartyId {quoted(party)}; say which: {known}")
    raise CpaError(f"no party has the PartyId {quoted(party)}; the CPA has {known}")


def _names(party: Party) -> Iterator[str]:
    for name, kind in party.ids:
        yield name
        if kind is not None:
            yield f"{kind}:{name}"


def _all_ids(cpa: Cpa) -> Iterator[tuple[str, str | None]]:
    for party in cpa.parties:
        yield from party.ids


def flows_of(ours: Party, theirs: Party, notes: Notes) -> tuple[Flow, ...]:
    """Every action of ours with the partner's binding of it, in the order of the file.

    Raises `CpaError` for a binding without a counterpart: nobody would answer for it.
    """
    by_id = {one.id: one for one in theirs.bindings}
    by_action: dict[tuple[str, str, Direction], list[Binding]] = {}
    for one in theirs.bindings:
        by_action.setdefault((one.service, one.action, one.direction), []).append(one)
    flows, met = [], set[str]()
    for one in ours.bindings:
        other = _counterpart(one, by_id, by_action)
        met.add(other.id)
        flows.append(
            Flow(
                ours=one,
                theirs=other,
                our_channel=_channel(one, ours, notes),
                their_channel=_channel(other, theirs, notes),
            )
        )
    for one in theirs.bindings:
        if one.id not in met:
            notes.ignore(
                f"{one.direction.value} {quoted(one.action)} of the partner (line {one.line}), for "
                "which we have no binding"
            )
    if not flows:
        raise CpaError("our party can send and receive nothing: it has no CanSend and CanReceive")
    return tuple(flows)


def _counterpart(
    one: Binding,
    by_id: dict[str, Binding],
    by_action: dict[tuple[str, str, Direction], list[Binding]],
) -> Binding:
    opposite = one.direction.opposite
    if one.other_id is not None:
        other = by_id.get(one.other_id)
        if other is None:
            raise CpaError(
                f"line {one.line}: OtherPartyActionBinding names {quoted(one.other_id)}, which the "
                "partner has not"
            )
        has = (other.service, other.action, other.direction)
        if has != (one.service, one.action, opposite):
            raise CpaError(
                f"line {one.line}: {one.direction.value} {quoted(one.action)} is paired with "
                f"{other.direction.value} {quoted(other.action)} of {quoted(other.service)}; "
                f"expected is {opposite.value} of the same action and service"
            )
        return other
    found = by_action.get((one.service, one.action, opposite), [])
    if len(found) > 1:
        # Some networks have one binding for each Role of a process, and each party has all Roles.
        found = [other for other in found if other.role != one.role]
    if len(found) != 1:
        many = "no" if not found else f"{len(found)} times a"
        raise CpaError(
            f"line {one.line}: the partner has {many} {opposite.value} {quoted(one.action)} of "
            f"{quoted(one.service)}; expected is one, or an OtherPartyActionBinding that names it"
        )
    return found[0]


def _channel(binding: Binding, party: Party, notes: Notes) -> Channel:
    """The first channel whose transport we have; an answer comes back the way of its request."""
    channels = [party.channels[name] for name in binding.channel_ids]
    if binding.within_id is not None:
        return channels[0]
    usable = [one for one in channels if _protocol(binding, one) in TRANSPORTS]
    if not usable:
        named = ", ".join(quoted(_protocol(binding, one) or "none") for one in channels)
        raise CpaError(
            f"line {binding.line}: {binding.direction.value} {quoted(binding.action)} goes by "
            f"{named}, expected is {' or '.join(TRANSPORTS)}"
        )
    for one in channels:
        if one is not usable[0]:
            notes.ignore(
                f"the channel {quoted(one.id)} of {quoted(binding.action)} (line {binding.line}): "
                f"{quoted(usable[0].id)} is used"
            )
    return usable[0]


def _protocol(binding: Binding, channel: Channel) -> str | None:
    transport = channel.transport
    is_sent = binding.direction is Direction.SEND
    found = transport.sends_by if is_sent else transport.receives_by
    return (found or transport.receives_by or "").upper() or None
