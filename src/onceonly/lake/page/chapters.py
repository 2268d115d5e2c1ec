"""The whole page: one file, no network, light and dark, made to be printed.

Knows findings and in which order they are shown; no Spark. Everything that came from a message or
a configuration is text (`markup`), never markup.
"""

import json
from collections.abc import Callable
from functools import partial
from html import escape
from importlib.resources import files
from typing import Final, NamedTuple

from onceonly import __version__
from onceonly.lake.page import actions, definitions, outcome, words
from onceonly.lake.page.card import Card, grid
from onceonly.lake.page.cards import (
    availability,
    backlog,
    clocks,
    differences,
    doubts,
    duplicates,
    errors,
    hops,
    journals,
    notices,
    plain_table,
    profiles,
    promise,
    retries,
    sheet,
    sla,
    turnaround,
    verdicts,
    volume,
)
from onceonly.lake.page.findings import Findings, Judged
from onceonly.lake.page.markup import Html, link, tag

_HEAD: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
    # Whatever a browser thinks that it finds in here, it fetches nothing and runs nothing.
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    "<title>onceonly: did the promise hold?</title>"
)


PARTIES_TOLD: Final = 20
"""Most parties that the page names to programs."""


class Chapter(NamedTuple):
    """Cards that answer one question."""

    anchor: str
    title: str
    cards: tuple[Callable[[Findings], Card], ...]


CHAPTERS: Final = (
    Chapter(
        "proof",
        "What the journals prove",
        (
            verdicts.matrix,
            verdicts.days,
            differences.card,
            profiles.card,
            sheet.card,
            journals.quality,
            journals.quarantined,
            journals.set_aside,
        ),
    ),
    Chapter(
        "open",
        "What is open, and who was told",
        (
            doubts.register,
            doubts.ages,
            partial(plain_table.card, plain_table.OPEN),
            notices.told,
            notices.late,
            partial(plain_table.card, plain_table.OPERATORS),
        ),
    ),
    Chapter(
        "exchange",
        "How the exchange went",
        (
            promise.card,
            turnaround.over_time,
            turnaround.over_the_week,
            turnaround.distribution,
            retries.card,
            duplicates.card,
            sla.card,
            volume.card,
            partial(plain_table.card, plain_table.JOBS),
            partial(plain_table.card, plain_table.REJECTS),
        ),
    ),
    Chapter(
        "line",
        "The line and the partners",
        (
            availability.card,
            backlog.queues,
            backlog.suspensions,
            errors.pareto,
            errors.trend,
            hops.card,
            clocks.card,
            partial(plain_table.card, plain_table.SEQUENCES),
        ),
    ),
    Chapter(
        "keeping",
        "Terms and keeping",
        (
            partial(plain_table.card, plain_table.BUDGETS),
            partial(plain_table.card, plain_table.RETENTION),
            partial(plain_table.card, plain_table.PURGES),
        ),
    ),
)


def render(found: Findings) -> str:
    """The whole page."""
    chapters = [(chapter, [card(found) for card in chapter.cards]) for chapter in CHAPTERS]
    declared = [of for _, cards in chapters for card in cards for of in card.definitions]
    parts = (
        tag("div", outcome.first_screen(found), kind="first"),
        _part("act", "What to act on", actions.listed(found)),
        _contents(),
        *[_part(chapter.anchor, chapter.title, grid(cards)) for chapter, cards in chapters],
        _part("definitions", "Definitions", definitions.chapter(declared)),
        _footer(found.judged),
    )
    style = files("onceonly.lake.page").joinpath("style.css").read_text(encoding="utf-8")
    style += _on_every_sheet(found.judged)
    skip = tag("a", "To what there is to act on", href="#act", kind="skip")
    body = f"<body>{skip}{tag('main', *parts)}</body></html>\n"
    return f"{_HEAD}{_in_numbers(found.judged)}<style>{style}</style></head>{body}"


def _in_numbers(judged: Judged) -> str:
    """What the page says, for programs: the console lists reports with it."""
    numbers = {
        "as_of": judged.as_of,
        "parties": sorted(str(one["party"]) for one in judged.journals)[:PARTIES_TOLD],
        "messages": judged.messages,
        "verdicts": {name: count for name, count in judged.verdicts.items() if count},
        "differences": judged.differences,
        "invariants": {line.name: line.breaches for line in judged.invariants},
    }
    return f'<meta name="onceonly-report" content="{escape(json.dumps(numbers))}">'


def _part(anchor: str, title: str, content: Html) -> Html:
    return tag("div", tag("h2", title, id=f"{anchor}-title"), content, kind="part", id=anchor)


def _contents() -> Html:
    links = [link(chapter.anchor, chapter.title) for chapter in CHAPTERS]
    links.append(link("definitions", "Definitions"))
    return tag("nav", *links, kind="contents", aria_label="Contents")


MARK_SHOWN: Final = 16
"""Digits of the evidence's mark on every sheet of paper; the last page has all."""


def _on_every_sheet(judged: Judged) -> str:
    """What ties a sheet of paper to the others, and all of them to the evidence."""
    told = f"onceonly {__version__} · judged at {words.instant(judged.as_of)} UTC"
    return (
        f'@page {{ @bottom-left {{ content: "{told} · evidence {judged.mark[:MARK_SHOWN]}"; }} '
        '@bottom-right { content: "page " counter(page) " of " counter(pages); } }'
    )


def _footer(judged: Judged) -> Html:
    told = (
        f"Made by onceonly {__version__} from the parties' journals, which hold no payloads. All "
        "times are UTC. The same journals and the same instant of judgement "
        f"({judged.as_of} µs) give the same report."
    )
    evidence = tag("code", judged.mark)
    how = " is the SHA-256 of party|last row|its hash of each journal, a line each, in order."
    return tag("footer", tag("p", told), tag("p", "Evidence ", evidence, how))
