"""A release: refuse or check, join the fragments, build, commit, tag. `make release` runs it.

Knows the changelog, its fragments, the one line that has the version, and git. It pushes nothing:
what it made can be looked at, and taken back.
"""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

CHANGELOG = Path("CHANGELOG.md")
FRAGMENTS = Path("changelog.d")
VERSION_FILE = Path("src/onceonly/__init__.py")
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
"""The sections of Keep a Changelog; a fragment is `changelog.d/NAME.KIND.md`, in lower case."""

_VERSION = re.compile(r"\d+\.\d+\.\d+")
_UNRELEASED = re.compile(r"^## Unreleased.*\n", re.MULTILINE)
_ENTRY = re.compile(r"^## ", re.MULTILINE)
_SECTION = re.compile(r"^### (\w+)\n", re.MULTILINE)


def main(version: str, *check: str) -> None:
    """The whole recipe. `check` is a command; nothing is changed before it has passed."""
    if not _VERSION.fullmatch(version):
        sys.exit(f"{version!r} is no version: three numbers, as in 0.2.0")
    if run("git", "tag", "--list", f"v{version}"):
        sys.exit(f"the tag v{version} is there already")
    if run("git", "status", "--porcelain"):
        sys.exit("there are changes that are not committed")
    files = fragments()
    changelog = CHANGELOG.read_text("utf-8")
    if not files and not _UNRELEASED.search(changelog):
        sys.exit(f"nothing to release: no fragment, and nothing unreleased in {CHANGELOG}")
    if subprocess.run(check, check=False).returncode != 0:
        sys.exit(f"{' '.join(check)} has failed, so there is no release")

    news = [(kind_of(file), text_of(file)) for file in files]
    title = f"{version} - {datetime.now(UTC):%Y-%m-%d}"
    CHANGELOG.write_text(joined(changelog, news, title), "utf-8")
    for file in files:
        file.unlink()
    code = VERSION_FILE.read_text("utf-8")
    VERSION_FILE.write_text(re.sub(r'(?<=__version__ = ")[^"]*', version, code), "utf-8")
    run(sys.executable, "-m", "hatchling", "build", "-d", "dist")
    run("git", "commit", "--all", "--quiet", "--message", f"Release {version}")
    run("git", "tag", "--annotate", f"v{version}", "--message", f"onceonly {version}")
    print(f"v{version} is tagged, and built in dist/; git push --follow-tags makes it known")


def fragments() -> list[Path]:
    """In the order of their names. Exits where one is none."""
    files = sorted(file for file in FRAGMENTS.iterdir() if file.name != "README.md")
    for file in files:
        if kind_of(file) not in KINDS or not text_of(file).startswith("- "):
            kinds = ", ".join(KINDS).lower()
            sys.exit(f"{file}: a fragment is named NAME.KIND.md (KIND: {kinds}) and is a list")
    return files


def kind_of(fragment: Path) -> str:
    """`Fixed` of `late-answer.fixed.md`."""
    return fragment.name.removesuffix(".md").rpartition(".")[2].capitalize()


def text_of(fragment: Path) -> str:
    """Its lines, without blank ones around them."""
    return fragment.read_text("utf-8").strip()


def joined(changelog: str, news: list[tuple[str, str]], title: str) -> str:
    """The changelog whose unreleased entry has `title` and the news, in their sections."""
    unreleased = _UNRELEASED.search(changelog)
    entry = unreleased or _ENTRY.search(changelog)
    start = entry.start() if entry else len(changelog)
    begin = unreleased.end() if unreleased else start
    next_entry = _ENTRY.search(changelog, begin)
    end = next_entry.start() if next_entry else len(changelog)
    intro, *parts = _SECTION.split(changelog[begin:end])
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    if len(sections) < len(parts) // 2:
        sys.exit(f"{CHANGELOG}: a section of the unreleased entry is there twice")
    for kind, text in news:
        sections[kind] = f"{sections.get(kind, '').strip()}\n{text}"
    body = [f"### {kind}\n\n{text.strip()}" for kind, text in sections.items()]
    told = [part for part in (f"## {title}", intro.strip(), *body) if part]
    parts = [changelog[:start].strip(), *told, changelog[end:].strip()]
    return "\n\n".join(part for part in parts if part) + "\n"


def run(*command: str) -> str:
    """What it prints. Raises `CalledProcessError`."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
