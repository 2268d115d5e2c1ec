"""The documentation says what is true: keys, commands, codes, files, tests, links."""

import ast
import importlib
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from onceonly.api.operations import OPERATIONS
from onceonly.api.refusals import REFUSALS
from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.gateway.alerts.tally import Tally
from onceonly.gateway.config import Limits, read_configuration
from onceonly.gateway.config.keys import AGREEMENT_KEYS, GATEWAY_KEYS, ROUTE_KEYS, TABLES
from onceonly.gateway.metrics import render
from onceonly.journal.record import COLUMNS
from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.protocol import pairing, recovering, relaying, sending
from onceonly.store.memory.store import MemoryStore

FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def blocks(text: str, *languages: str) -> Iterator[str]:
    for _, language, body in FENCE.findall(text):
        if language in languages:
            yield body


@pytest.fixture(scope="module")
def generated(root: Path) -> Iterator[dict[str, str]]:
    """Every generated page, made as the documentation's build makes it."""
    sys.path.insert(0, str(root / "docs"))
    try:
        pages = importlib.import_module("generator.pages").PAGES
        yield {path: make() for path, make in pages.items()}
    finally:
        sys.path.remove(str(root / "docs"))


def test_readme_names_the_two_commands(pages: dict[str, str]) -> None:
    """A newcomer finds `make demo` and `make test` in the README."""
    assert "make demo" in pages["README.md"]
    assert "make test" in pages["README.md"]


def test_readme_names_make_targets_that_exist(root: Path, pages: dict[str, str]) -> None:
    """Every `make …` in the pages is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text("utf-8"), re.MULTILINE))
    shell = [
        line
        for text in pages.values()
        for block in blocks(text, "sh")
        for line in block.splitlines()
    ]
    spoken = [code for text in pages.values() for code in re.findall(r"`(make [^`]*)`", text)]
    named = {
        word
        for line in [*shell, *spoken]
        if (found := re.match(r"make ([a-z -]+)", line))
        for word in found[1].split()
    }
    assert named
    assert named <= targets


def test_every_configuration_in_the_pages_can_be_read(
    pages: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every TOML example is accepted by the reader that a gateway uses."""
    for folder in ("agreements.d", "secrets"):
        (tmp_path / folder).mkdir()
    (tmp_path / "secrets" / "api-token").write_text("s3cret", "utf-8")
    monkeypatch.setenv("ONCEONLY_RELAY_PASSWORD", "s3cret")
    examples = [
        (page, block)
        for page, text in pages.items()
        for block in blocks(text, "toml")
        if "[gateway]" in block
    ]
    assert {"README.md", "docs/tutorial.md"} <= {page for page, _ in examples}
    for n, (page, block) in enumerate(examples):
        file = tmp_path / f"{n}.toml"
        file.write_text(block, "utf-8")
        assert read_configuration(file).party, page


def test_every_key_is_documented(generated: dict[str, str]) -> None:
    """Every configuration key has a row with its meaning and legal values, in its own section."""
    page = generated["reference/configuration.md"]
    for name, keys in TABLES.items():
        found = re.search(rf"^## `\[+{name}\]+`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
        assert found is not None, name
        for key in keys.values():
            assert key.meaning, key.name
            assert key.legal, key.name
            assert f"| `{key.name}` |" in found[1], f"{name}: {key.name}"


def test_every_parameter_of_the_protocol_says_where_it_comes_from() -> None:
    """Every key of an agreement or a route has its unit and the section of the seed behind it."""
    for key in (*AGREEMENT_KEYS.values(), *ROUTE_KEYS.values()):
        assert key.unit, key.name
        assert re.search(r"seed 00[0134]|R-\d\d|the seeds|ours|ebMS 2.0 §|CPA 2.0", key.section), (
            key.name
        )


def test_the_configuration_example_of_the_reference_can_be_read(
    generated: dict[str, str], tmp_path: Path
) -> None:
    """The example at the top of the reference is a whole configuration."""
    example, route, limits, *outside = blocks(generated["reference/configuration.md"], "toml")
    file = tmp_path / "gateway.toml"
    file.write_text(example, "utf-8")
    assert set(tomllib.loads(example)["gateway"]) <= set(GATEWAY_KEYS)
    assert len(read_configuration(file).agreements) == 1
    first = example.replace("111111111", "333333333") + route + limits
    (tmp_path / "erp.secret").write_text("whsec_" + "QUJD" * 8, "ascii")
    file.write_text("\n".join([first, *outside]), "utf-8")
    found = read_configuration(file)
    assert len(found.routes) == 1
    assert found.limits != Limits()
    assert [len(tables) for tables in (found.pickups, found.drops, found.webhooks)] == [1, 1, 1]


def commands(group: click.Group, path: str = "onceonly") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def test_every_command_is_documented(generated: dict[str, str]) -> None:
    """Every command has a section with its help."""
    for path, command in commands(cli):
        assert command.help, path
        assert f"## `{path}`" in generated["reference/command-line.md"]


def test_every_exit_code_is_documented(generated: dict[str, str]) -> None:
    """Every exit code has a row."""
    for code in Exit:
        assert f"| `{code.value}` |" in generated["reference/exit-codes.md"]


def test_every_route_is_documented(generated: dict[str, str]) -> None:
    """Every route that the API serves has a row."""
    for operation in OPERATIONS:
        call = f"{operation.method.upper()} {operation.path}"
        assert f"`{call}`" in generated["reference/api.md"]


def test_every_refusal_that_is_documented_can_happen(generated: dict[str, str]) -> None:
    """The page lists what the source raises; a meaning that nobody raises is of what was."""
    assert generated
    api_page = importlib.import_module("generator.api_page")
    assert api_page.raised_names() == REFUSALS.keys()


def test_every_word_of_the_journal_is_documented(generated: dict[str, str]) -> None:
    """Every event, column and error code has a row."""
    for word in (*Event, *COLUMNS):
        assert f"| `{word}` |" in generated["reference/journal.md"]
    for code in ErrorCode:
        assert f"| `{code.value}` |" in generated["reference/errors.md"]


def test_every_row_of_the_state_tables_was_seen_to_happen(generated: dict[str, str]) -> None:
    """The generated tables are complete: running the machines reaches every legal row."""
    assert generated["reference/states.md"]
    machines = importlib.import_module("generator.machines")
    for rows, table in (
        (machines.sending_rows(), sending.TABLE),
        (machines.pair_rows(), pairing.TABLE),
        (machines.recovery_rows(), recovering.TABLE),
        (machines.transit_rows(), relaying.TABLE),
    ):
        assert len(rows) == len(table)
        unseen = [row for row in rows if not row.seen.becomes | row.seen.refusals]
        assert not unseen


def spoken_commands(text: str) -> Iterator[list[str]]:
    """The `onceonly …` lines of shell blocks, as words."""
    for block in blocks(text, "sh", "console"):
        for line in block.replace("\\\n", " ").splitlines():
            plain = line.strip().removeprefix("$ ").removesuffix(" &")
            plain = re.sub(r" 2>>? ?\S+", "", plain)
            if plain.startswith("onceonly "):
                yield shlex.split(plain, comments=True)


def test_every_command_line_in_the_pages_is_understood(pages: dict[str, str]) -> None:
    """Commands and options of every example exist."""
    examples = [words for text in pages.values() for words in spoken_commands(text)]
    assert len(examples) > 20
    for words in examples:
        command: click.Command = cli
        rest = words[1 : words.index("|")] if "|" in words else words[1:]
        while isinstance(command, click.Group):
            assert rest[0] in command.commands, words
            command, rest = command.commands[rest[0]], rest[1:]
        legal = {option for parameter in command.params for option in parameter.opts}
        used = {word for word in rest if word.startswith("-") and word != "-"}
        assert used <= legal, words


def test_every_python_example_compiles_and_imports_what_exists(pages: dict[str, str]) -> None:
    """Python examples are Python, and what they import from us is there."""
    examples = [block for text in pages.values() for block in blocks(text, "python")]
    assert examples
    for example in examples:
        tree = ast.parse(example)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("onceonly"):
                exec(compile(ast.Module([node], []), "example", "exec"), {})


def test_every_test_that_a_page_names_exists(root: Path, pages: dict[str, str]) -> None:
    """A guarantee names tests that are there."""
    named = {
        reference
        for text in pages.values()
        for reference in re.findall(r"(tests/[\w/]+\.py)(?:::(\w+))?", text)
    }
    assert len(named) > 20
    for file, test in named:
        assert (root / file).is_file(), file
        text = (root / file).read_text("utf-8")
        assert not test or re.search(rf"\b(?:def|class) {test}\b", text), f"{file}::{test}"


def test_every_alert_asks_for_what_there_is(pages: dict[str, str]) -> None:
    """Metrics and statuses of the recommended rules are those of the gateway."""
    [rules] = blocks(pages["docs/how-to/service.md"], "yaml")
    store = MemoryStore(party="urn:x:1", clock_at=lambda: 0)
    text, _ = render(store.snapshot(), bugs={"a place": 1}, denied={"Forbidden": 1}, told=Tally())
    asked = set(re.findall(r"onceonly_\w+", rules))
    assert len(asked) > 4
    assert asked <= set(re.findall(r"^(?:# HELP )?(onceonly_\w+)", text, re.MULTILINE))
    named = {word for words in re.findall(r'status=~"([^"]*)"', rules) for word in words.split("|")}
    assert named <= set(sending.OutboundStatus)


def test_every_promise_names_a_test(pages: dict[str, str]) -> None:
    """Each paragraph of what is promised ends with the tests that prove it."""
    text = pages["docs/explanation/promise.md"]
    promised = text.partition("## What is promised\n")[2].partition("## What is not")[0]
    promises = [part for part in promised.split("\n\n") if part.strip().startswith("**")]
    assert promises
    for promise in promises:
        assert re.search(r"tests/[\w/]+\.py::test_\w+", promise), promise


def test_links_between_the_top_pages_and_the_documentation_lead_somewhere(
    root: Path, pages: dict[str, str]
) -> None:
    """A relative link of a page at the top is a file. MkDocs checks those inside `docs`."""
    for page, text in pages.items():
        if "/" in page:
            continue
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
            assert (root / target).exists(), f"{page}: {target}"


def test_every_source_that_the_pages_for_programmers_name_exists(
    root: Path, pages: dict[str, str]
) -> None:
    """A file that ARCHITECTURE.md or a page on how to extend the project points to is there."""
    package = root / "src" / "onceonly"
    told = [page for page in pages if page == "ARCHITECTURE.md" or page.startswith("docs/extend/")]
    assert len(told) > 1
    for page in told:
        for name in re.findall(r"`((?:\w+/)+[\w.]+\.(?:py|sql))`", pages[page]):
            assert (root / name).exists() or (package / name).exists(), f"{page}: {name}"


def test_every_dependency_has_its_reason(root: Path, pages: dict[str, str]) -> None:
    """Whatever pyproject.toml depends on stands in "Parts we did not write"."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["spark"]]
    parts = pages["ARCHITECTURE.md"].partition("## Parts we did not write")[2].lower()
    for requirement in wanted:
        name = re.match(r"[\w-]+", requirement)
        assert name is not None
        assert name[0].lower() in parts, requirement
