"""Partners: each pair, how it stands, and what waits."""

from onceonly.api import operations
from onceonly.api.operating import IncidentsQuery, PartnerPair
from onceonly.console import deeds
from onceonly.console.calls import NOTHING, twin_of
from onceonly.console.page import Shown, Visit, command


async def partners(visit: Visit) -> Shown:
    """Every partner with its two directions; those in trouble first."""
    found = await visit.calls.ask(operations.LIST_PARTNERS, NOTHING, NOTHING)
    return Shown(
        template="partners.html",
        title="Partners",
        values={"partners": _grouped(found.partners)},
        twin=twin_of(operations.LIST_PARTNERS, NOTHING, NOTHING),
        command="onceonly partner list",
        is_live=True,
    )


def _grouped(pairs: tuple[PartnerPair, ...]) -> tuple[tuple[str, tuple[PartnerPair, ...]], ...]:
    named: dict[str, list[PartnerPair]] = {}
    for pair in pairs:
        named.setdefault(pair.partner, []).append(pair)
    ordered = sorted(named.items(), key=lambda one: (all(map(_is_well, one[1])), one[0]))
    return tuple((name, tuple(of_it)) for name, of_it in ordered)


def _is_well(pair: PartnerPair) -> bool:
    return pair.state == "open" and pair.trouble is None


async def partner(visit: Visit) -> Shown:
    """One partner: its directions, its incidents, and what can be done."""
    name = visit.get("partner") or "?"
    found = await visit.calls.ask(operations.LIST_PARTNERS, NOTHING, NOTHING)
    pairs = tuple(pair for pair in found.partners if pair.partner == name)
    incidents = await visit.calls.ask(operations.LIST_INCIDENTS, NOTHING, IncidentsQuery())
    is_closed = any(pair.state != "open" or pair.trouble is not None for pair in pairs)
    again = (deeds.RESUME, deeds.RESUME_UNSENT) if is_closed else (deeds.SUSPEND, deeds.RESUME)
    return Shown(
        template="partner.html",
        title=f"Partner {name}",
        values={
            "partner": name,
            "title": next((pair.partner_name for pair in pairs), None),
            "pairs": pairs,
            "incidents": tuple(
                one for one in incidents.incidents if name in (one.from_party, one.to_party)
            ),
            "deeds": (deeds.PING, *again),
        },
        twin=twin_of(operations.LIST_PARTNERS, NOTHING, NOTHING),
        command=command("onceonly", "partner", "ping", name),
        status=200 if pairs else 404,
        is_live=bool(pairs),
    )
