"""What every report on the page is, from its own declaration."""

from collections.abc import Iterable

from onceonly.lake.page.card import definition_anchor
from onceonly.lake.page.markup import Html, cell, head, join, table, tag
from onceonly.lake.tables.definition import Column, Definition


def chapter(definitions: Iterable[Definition]) -> Html:
    """The definitions in alphabetical order, each to be unfolded."""
    ordered = sorted(set(definitions), key=lambda definition: definition.name)
    return tag("div", *[_definition(one) for one in ordered], kind="card long")


def _definition(of: Definition) -> Html:
    number = "" if of.number is None else f"report {of.number}, "
    title = join((tag("b", of.name), f": {number}{of.grain}"))
    frame = f'jobs.table(spark, "LAKE", "{of.name}")'
    heads = [head(word) for word in ("column", "type", "unit", "meaning")]
    columns = [_column(column) for column in of.columns]
    meaning = f"{of.meaning[0].upper()}{of.meaning[1:]}."
    return tag(
        "details",
        tag("summary", title),
        tag("p", meaning),
        table(heads, columns, caption=f"Columns of {of.name}"),
        tag("p", "As a DataFrame: ", tag("code", frame), kind="frame"),
        id=definition_anchor(of),
        kind="definition",
    )


def _column(column: Column) -> Html:
    name = cell(tag("code", column.name))
    return tag("tr", name, cell(column.type), cell(column.unit), cell(column.meaning))
