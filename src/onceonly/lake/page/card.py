"""One card of the page: a title, what it tells, pictures and tables, and where they are defined."""

from typing import NamedTuple

from onceonly.lake.page.markup import Html, between, join, link, tag
from onceonly.lake.tables.definition import Definition


class Card(NamedTuple):
    """A part of the page on one report, or on a few that belong together."""

    anchor: str
    title: str
    tells: str
    """What to read off it, in a sentence or two."""
    body: tuple[Html, ...]
    """Nothing where there is nothing to show; the card is then only named."""
    nothing: str
    """What it means that there is nothing."""
    definitions: tuple[Definition, ...] = ()
    is_wide: bool = False
    is_long: bool = False
    """May be broken over pages in print."""


def definition_anchor(definition: Definition) -> str:
    """Where the definition stands on the page."""
    return f"definition-{definition.name}"


def shown(card: Card, *, is_wide: bool) -> Html:
    """The card as it stands on the page."""
    kinds = ["card", *(["wide"] if is_wide else []), *(["long"] if card.is_long else [])]
    return tag(
        "section",
        tag("h3", card.title, id=f"{card.anchor}-title"),
        tag("p", card.tells, kind="note"),
        tag("div", *card.body, kind="body"),
        _defined(card.definitions),
        kind=" ".join(kinds),
        id=card.anchor,
        aria_labelledby=f"{card.anchor}-title",
    )


def _defined(definitions: tuple[Definition, ...]) -> Html:
    if not definitions:
        return Html("")
    named = [_named(definition) for definition in definitions]
    return tag("p", "Defined under ", between(", ", named), ".", kind="defined")


def _named(definition: Definition) -> Html:
    number = "" if definition.number is None else f" (report {definition.number})"
    return join((link(definition_anchor(definition), definition.name), number))


def grid(cards: list[Card]) -> Html:
    """The cards that show something, two abreast where both are narrow; then those that do not."""
    full = [card for card in cards if card.body]
    empty = [card for card in cards if not card.body]
    placed: list[Html] = []
    waiting: Card | None = None
    for card in full:
        if card.is_wide:
            placed += [*_alone(waiting), shown(card, is_wide=True)]
            waiting = None
        elif waiting is None:
            waiting = card
        else:
            placed += [shown(waiting, is_wide=False), shown(card, is_wide=False)]
            waiting = None
    return tag("div", *placed, *_alone(waiting), _nothing(empty), kind="grid")


def _alone(card: Card | None) -> list[Html]:
    return [] if card is None else [shown(card, is_wide=True)]


def _nothing(cards: list[Card]) -> Html:
    if not cards:
        return Html("")
    lines = [tag("li", tag("b", card.title), ": ", card.nothing, id=card.anchor) for card in cards]
    return tag("section", tag("ul", *lines), kind="card wide empty", aria_label="Nothing to show")
