"""What a partner's engineer reads of a refusal: what was seen, what was expected (item 19).

The texts are found in the source, whatever they are: each call that makes a `RemoteError`, and the
table of the receiver's own. Only their form is looked at here.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import onceonly

SOURCE = Path(onceonly.__file__).parent
PLACES = (
    *sorted((SOURCE / "wire").rglob("*.py")),
    SOURCE / "message" / "identity.py",
    SOURCE / "gateway" / "agreements.py",
    SOURCE / "protocol" / "receiving.py",
)
MAKERS = {
    "RemoteError": 1,
    "misshapen": 0,
    "unrecognized": 0,
    "_broken": 0,
    "broken": 0,
    "too_large": 0,
}
"""Who makes a refusal, and at which place it takes the text."""

TABLE = "_REFUSALS"
"""A table of texts, in the module whose refusals are effects."""

WORDS_MIN = 7
SAYS_WHAT_IS_RIGHT = re.compile(r"\bexpected\b|\bat most\b|\bonly\b")
SAYS_NOTHING = re.compile(r"\b(?:wrong|bad|invalid|illegal|unexpected)\b")


class Text(NamedTuple):
    """A refusal as it stands in the source; what is put in is `…`."""

    where: str
    text: str


def texts_of(path: Path) -> Iterator[Text]:
    """Every text of the file; a name of the module stands for the text that it has."""
    tree = ast.parse(path.read_text())
    named = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(named.get(TABLE, ast.Dict())):
        if isinstance(node, ast.Constant):
            yield Text(f"{path.relative_to(SOURCE)}:{node.lineno}", str(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            place = MAKERS.get(node.func.id)
            if place is not None and len(node.args) > place:
                argument = node.args[place]
                if isinstance(argument, ast.Name) and argument.id in named:
                    argument = named[argument.id]
                text = _said(argument)
                if text is not None and any(map(str.isalpha, text)):
                    yield Text(f"{path.relative_to(SOURCE)}:{node.lineno}", text)


def _said(node: ast.expr) -> str | None:
    """The text of a literal; None for what is handed through."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_said(part) or "…" for part in node.values)
    return None


TEXTS = [text for path in PLACES for text in texts_of(path)]


@pytest.mark.parametrize("one", TEXTS, ids=lambda one: one.where)
def test_a_refusal_says_what_was_seen_and_what_was_expected(one):
    """So many words at least, one of them about what would be right, and none that says nothing."""
    assert len(one.text.split()) >= WORDS_MIN, one.text
    assert SAYS_WHAT_IS_RIGHT.search(one.text), one.text
    assert not SAYS_NOTHING.search(one.text), one.text
    assert not one.text.endswith("."), one.text


def test_no_refusal_is_missed():
    """A new way to make one is a line in the table of makers."""
    assert len(TEXTS) > 80
    files = {one.where.partition(":")[0] for one in TEXTS}
    assert files >= {
        "wire/mime.py",
        "wire/rm2000/reading.py",
        "wire/rm2001/reading.py",
        "gateway/agreements.py",
        "protocol/receiving.py",
        "message/identity.py",
    }
