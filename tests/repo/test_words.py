"""Words: which values are tuples, and which phrases of our texts are riddles."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

RINGS = (
    "message",
    "api",
    "protocol",
    "wire",
    "journal",
    "store",
    "transport",
    "steps",
    "gateway",
    "console",
    "simulation",
)
MEANT = {"Pair", "MessageKey", "Key"}
"""Keys: of the store's rows, where a key is its columns, and of the configuration's file."""


def tuples_in(text: str) -> list[str]:
    """Names of the classes that are named tuples."""
    classes = (one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.ClassDef))
    return [one.name for one in classes if "NamedTuple" in map(ast.unparse, one.bases)]


def test_a_word_is_no_tuple(root: Path) -> None:
    """Two named tuples of the same fields are equal, whatever they are called."""
    files = [file for ring in RINGS for file in (root / "src/onceonly" / ring).rglob("*.py")]
    assert {name for file in files for name in tuples_in(file.read_text("utf-8"))} == MEANT


def test_a_tuple_that_is_not_meant_is_found() -> None:
    """By its base, whatever else the module has."""
    planted = "class Kept(Word):\n    at: int\n\n\nclass Planted(NamedTuple):\n    at: int\n"
    assert tuples_in(planted) == ["Planted"]


RIDDLES = {
    r"\banew\b": "again",
    r"\bas ever\b": "as usual",
    r"\bbut for\b": "except",
    r"\bsave (for|how|that|where)\b": "except",
    r"\bcomes? about\b": "happens",
    r"\b(rides?|rode|riding) on\b": "is carried by",
    r"\b(in|of|leaves?) the house\b": "ours; is sent",
    r"'s? matter\b": "who does it: '`case` judges …'",
    r"\bof (those|such) all\b": "all of those",
    r"\bforgotten when belong\b": "one idea per sentence",
    r"\b(is|are|do|does|counts?|configured|owed|stages?) no more\b(?! \w)": "not … any more",
    r"\b(lest|hitherto|whence|thence|thereof|whereof|naught|whither)\b": "a common word",
}
"""What readers with English as a second language stumble over, and what to write instead."""

BEHIND = re.compile(
    r"\bbehind\b(?![.,]| (a |an |each |one |the )?"
    r"(prox(y|ies)|relay|picture|protocol|line|step|`codec)\b)",
    re.IGNORECASE,
)
"""'Behind' says where something is, or what is left. Of a time or an order it is 'after'."""


def riddles_in(prose: str) -> list[str]:
    """The hard phrases of a text, each with what to write instead."""
    text = " ".join(prose.split())
    found = [
        f"{one[0]!r}: write {instead!r}"
        for pattern, instead in RIDDLES.items()
        for one in re.finditer(pattern, text, re.IGNORECASE)
    ]
    return found + [f"{text[one.start() :][:40]!r}: write 'after'" for one in BEHIND.finditer(text)]


def prose_of(source: str) -> list[tuple[int, str]]:
    """Every docstring of a module, and every block of comments, with its line."""
    nodes = (one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Expr))
    found = [
        (one.lineno, one.value.value)
        for one in nodes
        if isinstance(one.value, ast.Constant) and isinstance(one.value.value, str)
    ]
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            words = token.string.lstrip("# ")
            if token.start[0] == last + 1:
                line, before = found.pop()
                found.append((line, f"{before} {words}"))
            else:
                found.append((token.start[0], words))
            last = token.start[0]
    return found


def test_no_sentence_is_a_riddle(root: Path) -> None:
    """Docstrings, comments and pages use words and orders of words that learners know."""
    found = [
        f"{file.relative_to(root)}:{line} {riddle}"
        for file in sorted((root / "src").rglob("*.py"))
        for line, prose in prose_of(file.read_text("utf-8"))
        for riddle in riddles_in(prose)
    ]
    pages = [*(root / "docs").rglob("*.md"), *map(root.joinpath, PAGES)]
    found += [
        f"{page.relative_to(root)} {riddle}"
        for page in sorted(pages)
        for part in page.read_text("utf-8").split("\n\n")
        for riddle in riddles_in(part)
    ]
    assert not found


PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")


@pytest.mark.parametrize(
    "sentence",
    [
        "Publishing behind those would leave rows out in silence, so it is refused by name.",
        "Unique it\nis by the 128 bits behind the time, whatever the clock says.",
        "Its caller waits for the application's response, on which the acknowledgement rides on.",
        "It met a bug of ours: it is owed no more, and an operator is told so (R-43).",
        "and what is forgotten when belong together, or nothing comes about.",
        "Repeats of it are acknowledged as ever.",
        "The header document is otherwise what it was, but for its hops.",
        "What answers to questions say is `answering`'s matter.",
        "These leave the house, after the commit.",
    ],
)
def test_a_riddle_is_seen(sentence: str) -> None:
    """Sentences that were here, and that readers did not understand."""
    assert riddles_in(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Run a gateway behind a proxy. It has no more than four readers.",
        "Ctrl-C unwinds the stack, so that no process is left behind.",
    ],
)
def test_plain_english_is_no_riddle(sentence: str) -> None:
    """What says where, and how much."""
    assert not riddles_in(sentence)
