"""The recipe of a release, followed in a repository of its own that has the files of this one."""

import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        not (shutil.which("make") and shutil.which("git")), reason="there is no make or no git here"
    ),
]

OURS = (
    ".ci",
    "Makefile",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "requirements",
    "src",
)
"""What a release reads, builds or writes."""


class Repository:
    """A repository on a disk of the test's own."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.place, check=True, capture_output=True, text=True
        )
        return done.stdout

    def commit(self, name: str, text: str) -> None:
        (self.place / name).write_text(text, "utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", f"Add {name}")

    def release(self, version: str, check: str = "true") -> subprocess.CompletedProcess[str]:
        ready = self.place.with_name("ready")
        ready.touch()
        given = [f"BIN={Path(sys.executable).parent}", f"READY={ready}", f"CHECK={check}"]
        return subprocess.run(
            ["make", *given, "release", f"VERSION={version}"],
            cwd=self.place,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    def text(self, name: str) -> str:
        return (self.place / name).read_text("utf-8")


@pytest.fixture
def repository(root: Path, tmp_path: Path) -> Repository:
    """This project's files, committed, with `changelog.d` empty but for its README."""
    place = tmp_path / "repository"
    place.mkdir()
    for name in OURS:
        if (root / name).is_dir():
            shutil.copytree(root / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(root / name, place / name)
    (place / "changelog.d").mkdir()
    made = Repository(place)
    made.git("init", "--quiet")
    made.git("config", "user.name", "Release")
    made.git("config", "user.email", "release@example.com")
    made.commit("changelog.d/README.md", "# Changelog fragments\n")
    made.commit(".gitignore", "/dist/\n")
    return made


def test_a_release_joins_fragments_builds_commits_and_tags(repository: Repository) -> None:
    """One commit and one tag more; what was unreleased has number and day; the wheel has it too."""
    before = repository.text("CHANGELOG.md")
    repository.commit("changelog.d/late.fixed.md", "- A late answer is news.\n")
    repository.commit("changelog.d/level.removed.md", "- `level = 9` is gone.\n")
    done = repository.release("7.8.9")
    assert done.returncode == 0, done.stderr
    assert repository.git("describe", "--exact-match").strip() == "v7.8.9"
    assert repository.git("log", "-1", "--format=%s").strip() == "Release 7.8.9"
    assert repository.git("status", "--porcelain") == ""
    assert [file.name for file in (repository.place / "changelog.d").iterdir()] == ["README.md"]
    after = repository.text("CHANGELOG.md")
    title = f"## 7.8.9 - {datetime.now(UTC):%Y-%m-%d}"
    assert after == (
        re.sub(r"^## Unreleased.*", title, before, count=1, flags=re.MULTILINE)
        + "- A late answer is news.\n\n### Removed\n\n- `level = 9` is gone.\n"
    )
    assert '__version__ = "7.8.9"' in repository.text("src/onceonly/__init__.py")
    built = {file.name for file in (repository.place / "dist").iterdir()}
    assert built == {"onceonly-7.8.9-py3-none-any.whl", "onceonly-7.8.9.tar.gz"}


def test_the_next_release_has_an_entry_of_its_own_above(repository: Repository) -> None:
    """Where nothing unreleased is written by hand, the fragments are the entry."""
    assert repository.release("7.8.9").returncode == 0
    first = repository.text("CHANGELOG.md")
    repository.commit("changelog.d/b.added.md", "- A second thing.\n")
    repository.commit("changelog.d/a.added.md", "- A thing.\n- And its twin.\n")
    assert repository.release("7.9.0").returncode == 0
    entry = f"## 7.9.0 - {datetime.now(UTC):%Y-%m-%d}\n\n### Added\n\n"
    entry += "- A thing.\n- And its twin.\n- A second thing.\n\n"
    assert repository.text("CHANGELOG.md") == first.replace("## 7.8.9", f"{entry}## 7.8.9")


@pytest.mark.parametrize(
    ("version", "check", "file", "told"),
    [
        ("1.0", "true", None, "is no version"),
        ("", "true", None, "is no version"),
        ("0.0.1", "true", None, "is there already"),
        ("9.9.9", "true", "stray.txt", "not committed"),
        ("9.9.9", "true", "changelog.d/late.mended.md", "not committed"),
        ("9.9.9", "false", None, "false has failed"),
    ],
)
def test_what_is_not_ready_is_refused_with_nothing_changed(
    repository: Repository, version: str, check: str, file: str | None, told: str
) -> None:
    """A number that is none or is taken, something uncommitted, a check that fails."""
    repository.git("tag", "v0.0.1")
    if file is not None:
        (repository.place / file).write_text("- something\n")
    before = repository.git("log", "--format=%H"), repository.git("status", "--porcelain")
    done = repository.release(version, check)
    assert done.returncode != 0
    assert told in done.stderr
    assert (repository.git("log", "--format=%H"), repository.git("status", "--porcelain")) == before
    assert repository.git("tag").split() == ["v0.0.1"]


@pytest.mark.parametrize(
    ("name", "text"), [("late.mended.md", "- A word.\n"), ("late.fixed.md", "A word.\n")]
)
def test_a_fragment_that_is_none_is_named(repository: Repository, name: str, text: str) -> None:
    """Another kind, or no list."""
    repository.commit(f"changelog.d/{name}", text)
    done = repository.release("9.9.9")
    assert done.returncode != 0
    assert name in done.stderr


def test_a_section_that_is_there_twice_is_refused_and_not_lost(repository: Repository) -> None:
    """People write the unreleased entry, and one of the two would be dropped."""
    text = repository.text("CHANGELOG.md") + "\n### Fixed\n\n- Another one.\n"
    repository.commit("CHANGELOG.md", text)
    assert "twice" in repository.release("9.9.9").stderr
    assert repository.text("CHANGELOG.md") == text
    assert repository.git("status", "--porcelain") == ""


def test_a_release_of_nothing_is_refused(repository: Repository) -> None:
    """No fragment since the last one."""
    assert repository.release("7.8.9").returncode == 0
    assert "nothing to release" in repository.release("7.9.0").stderr


def test_the_fragments_of_this_repository_can_be_joined(root: Path) -> None:
    """Each is named and written as a release wants it."""
    told = "import release; release.fragments()"
    subprocess.run(
        [sys.executable, "-c", told],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / ".ci"), "PYTHONDONTWRITEBYTECODE": "1"},
        check=True,
    )
