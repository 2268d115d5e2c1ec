"""Agreements: what each says, what that means, how long a message takes, and what changed."""

import asyncio
from typing import Final

from onceonly.api import agreement_operations as operations
from onceonly.api.agreements import (
    AgreementHistoryQuery,
    AgreementPath,
    AgreementsQuery,
    DifferenceQuery,
    WorstCaseTime,
)
from onceonly.console.calls import NOTHING, ApiRefused, twin_of
from onceonly.console.page import ROWS, Shown, Visit, command
from onceonly.message.word import Word

WIDE: Final = 1_000
"""Units of the width of a drawing."""
PARTS_MAX: Final = 60
"""Most waits that are drawn one by one: more would be thinner than their gaps."""
GAP: Final = 2


class TimePart(Word, kw_only=True):
    """One part of the drawn time: a class of the style sheet, where, and how wide."""

    tone: str
    begins: float
    width: float


async def agreements(visit: Visit) -> Shown:
    """Every agreement by its id, those of one partner if it is named."""
    partner = visit.get("partner")
    query = AgreementsQuery(partner=partner, after=visit.get("after"), limit=ROWS)
    problem, page = None, None
    try:
        page = await visit.calls.ask(operations.LIST_AGREEMENTS, NOTHING, query)
    except ApiRefused as refused:
        if refused.refusal.name != "InvalidField":
            raise
        problem = refused.refusal.text
    option = () if partner is None else ("--partner", partner)
    return Shown(
        template="agreements.html",
        title="Agreements",
        values={
            "partner": partner or "",
            "problem": problem,
            "agreements": () if page is None else page.agreements,
            "next_after": None if page is None else page.next_after,
            "is_cut": page is not None and page.is_cut,
            "is_first": query.after is None,
        },
        twin=twin_of(operations.LIST_AGREEMENTS, NOTHING, query),
        command=command("onceonly", "agreement", "list", *option),
        status=200 if problem is None else 400,
    )


async def agreement(visit: Visit) -> Shown:
    """One agreement: in words, as a time that is drawn, key by key, before and in the file."""
    path = AgreementPath(agreement=visit.get("id") or "?")
    detail = await visit.calls.ask(operations.GET_AGREEMENT, path, NOTHING)
    history, difference = await asyncio.gather(
        visit.calls.ask(
            operations.LIST_AGREEMENT_HISTORY,
            path,
            AgreementHistoryQuery(before=visit.number("before") or AgreementHistoryQuery().before),
        ),
        visit.calls.ask(
            operations.GET_DIFFERENCE, NOTHING, DifferenceQuery(agreement=detail.agreement)
        )
        if detail.is_configured
        else _nothing(),
    )
    return Shown(
        template="agreement.html",
        title=f"Agreement {detail.agreement}",
        values={
            "agreement": detail,
            "parts": () if detail.worst_case is None else parts_of(detail.worst_case),
            "cut": None if detail.worst_case is None else cut_of(detail.worst_case),
            "written": tuple(one for one in detail.terms if one.place is not None),
            "defaults": tuple(one for one in detail.terms if one.place is None and one.value),
            "history": history,
            "difference": difference,
            "unsettled": tuple((name, count) for name, count in detail.unsettled.items() if count),
        },
        twin=twin_of(operations.GET_AGREEMENT, path, NOTHING),
        command=command("onceonly", "agreement", "show", detail.agreement),
    )


async def _nothing() -> None:
    """What left the configuration is not compared with it."""


def parts_of(worst: WorstCaseTime) -> tuple[TimePart, ...]:
    """The waits of the longest time as parts of a bar, each as long as it lasts."""
    lengths = [
        (wait.what, wait.each_s)
        for wait in worst.waits
        for _ in range(wait.times if _are_few(worst) else 1)
    ]
    if not _are_few(worst):
        lengths = [(wait.what, wait.times * wait.each_s) for wait in worst.waits]
    whole = sum(length for _, length in lengths) or 1
    parts, begins = [], 0.0
    for tone, length in lengths:
        width = WIDE * length / whole
        shown = max(1.0, width - GAP)
        parts.append(TimePart(tone=tone, begins=round(begins, 1), width=round(shown, 1)))
        begins += width
    return tuple(parts)


def cut_of(worst: WorstCaseTime) -> float | None:
    """Where the message expires before all its waits are over; None if it does not."""
    whole = sum(wait.times * wait.each_s for wait in worst.waits)
    if worst.tries_s is None or whole <= worst.lives_s:
        return None
    return round(WIDE * worst.lives_s / whole, 1)


def _are_few(worst: WorstCaseTime) -> bool:
    return sum(wait.times for wait in worst.waits) <= PARTS_MAX
