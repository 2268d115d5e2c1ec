"""What the code says about itself: docstrings of classes, of enum members and fields, of names."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Sequence
from functools import cache


def first_line(thing: object) -> str:
    """The first line of the docstring; empty where there is none of its own."""
    text = inspect.getdoc(thing) or ""
    return text.partition("\n")[0]


@cache
def attribute_docs(cls: type) -> dict[str, str]:
    """The string that stands under each assignment in the class body, by name, in one line."""
    [body] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(body, ast.ClassDef), f"{cls} is written as a class"
    docs: dict[str, str] = {}
    for statement, following in zip(body.body, [*body.body[1:], None], strict=True):
        match statement, following:
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[name] = " ".join(text.split())
    return docs


def cell(text: object) -> str:
    """The text as one cell of a Markdown table."""
    # A brace outside code would be taken for an attribute list.
    pieces = " ".join(str(text).split()).replace("|", "\\|").split("`")
    pieces[::2] = [piece.replace("{", "\\{") for piece in pieces[::2]]
    return "`".join(pieces)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *([cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def code(words: Iterable[object]) -> str:
    """The words as code, comma between."""
    return ", ".join(f"`{word}`" for word in words)
