"""Rules of style that no linter knows."""

import ast
import asyncio
import io
import re
import tokenize
from pathlib import Path

NAMELESS = {
    "manager",
    "helper",
    "helpers",
    "util",
    "utils",
    "common",
    "misc",
    "base",
    "handler",
    "handlers",
    "processor",
}
GIVEN = set(dir(asyncio.AbstractEventLoop))
"""Names that others call what is put in a loop's place by."""

ONE_NAME_TWO_CLASSES = {
    "Answer": "the protocol's effect; what a transport gives back for one request. "
    "The gateway, which imports both, tells them apart",
    "Document": "one payload, for callers of the client; the header as `wire` read it",
}
"""Names of public classes that mean two things outside the gateway, with both and the reason."""

LINES_MAX = 600

FUNCTION_LINES_MAX = 90


def words_of(name: str) -> set[str]:
    """The words of a snake_case or CamelCase name, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+\d*|[A-Z]+(?![a-z])", name)}


def test_no_file_has_a_name_that_says_nothing(sources: list[Path]) -> None:
    """A file is named for the thing in it."""
    assert not [file for file in sources if words_of(file.stem) & NAMELESS]


def test_no_class_or_function_has_a_name_that_says_nothing(sources: list[Path]) -> None:
    """A class or function is named for what it is or does, if the name is ours to choose."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        f"{file}:{node.lineno} {node.name}"
        for file in sources
        if "src" in file.parts
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, kinds) and words_of(node.name) & NAMELESS and node.name not in GIVEN
    ]
    assert not found


def test_no_function_is_longer_than_it_can_be_read(sources: list[Path]) -> None:
    """`FUNCTION_LINES_MAX` lines of the product, docstring and signature included."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    long = [
        f"{file}:{node.lineno} {node.name}"
        for file in sources
        if "src" in file.parts
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, kinds) and lines_of(node) > FUNCTION_LINES_MAX
    ]
    assert not long


def lines_of(node: ast.AST) -> int:
    """From the first line of a definition to its last."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_a_long_function_is_seen() -> None:
    """The check, on one that is a line too long."""
    body = "\n".join("    pass" for _ in range(FUNCTION_LINES_MAX))
    (node,) = ast.parse(f"def long():\n{body}\n").body
    assert lines_of(node) == FUNCTION_LINES_MAX + 1


def test_no_two_public_classes_have_one_name(root: Path, sources: list[Path]) -> None:
    """One word means one thing, wherever it is read; the gateway's own ring is not looked at.

    Nor are the types of the API: each is a thing as it is shown outside, under the name that it has
    inside, and that name is one of `/openapi.json`. Among themselves they have different names.
    """
    source = root / "src"
    aside = [source / "onceonly" / "gateway", source / "onceonly" / "api"]
    found: dict[str, list[str]] = {}
    for file in sources:
        if source not in file.parents or any(one in file.parents for one in aside):
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(str(file.relative_to(source)))
    shared = {name: files for name, files in found.items() if len(files) > 1}
    assert shared.keys() == ONE_NAME_TWO_CLASSES.keys(), shared


def test_every_suppression_has_a_reason(sources: list[Path]) -> None:
    """A `noqa`, a `type: ignore` or a `no cover` says on its line why."""
    found = []
    for file in sources:
        for number, comment in comments(file):
            is_suppression = re.search(r"noqa\b|type:\s*ignore|no cover", comment)
            if is_suppression and not re.search(r"because \S+", comment):
                found.append(f"{file}:{number} {comment}")
    assert not found


def comments(file: Path) -> list[tuple[int, str]]:
    text = file.read_text("utf-8")
    if not any(word in text for word in ("noqa", "ignore", "no cover")):
        return []
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]


def test_no_file_holds_two_nouns(root: Path, sources: list[Path]) -> None:
    """A source file of more than 600 lines is cut in two."""
    long = {
        str(file.relative_to(root)): len(file.read_text("utf-8").splitlines())
        for file in sources
        if "src" in file.parts
    }
    assert not {file: lines for file, lines in long.items() if lines > LINES_MAX}


def test_every_module_says_what_it_knows(sources: list[Path]) -> None:
    """Every module of the product and of the documentation has a docstring."""
    documented = [file for file in sources if {"src", "docs"} & set(file.parts)]
    assert not [
        file for file in documented if ast.get_docstring(ast.parse(file.read_text("utf-8"))) is None
    ]


def test_nothing_of_one_machine_is_in_the_repository(root: Path, tracked: list[Path]) -> None:
    """No tracked text names a place in somebody's home, and no lock says where to download."""
    home = re.compile(r"(?<![\w.:])/(?:home|Users|root|work)/\w")
    found = []
    for file in tracked:
        try:
            text = file.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        if home.search(text) or (file.suffix == ".lock" and "://" in text):
            found.append(str(file))
    assert not found
