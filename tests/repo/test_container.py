"""The container image, as far as it goes without an engine: its parts, and what it starts."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from ports import free_port
from recipes import configurations_of, put

pytestmark = pytest.mark.process

PAGE = "how-to/container.md"
CONFIG = "/etc/onceonly/gateway.toml"
HOME = "/var/lib/onceonly"
PATIENCE_S = 60.0

Instruction = tuple[str, str]


@pytest.fixture
def instructions(root: Path) -> list[Instruction]:
    """Every instruction of the Dockerfile with its text."""
    text = re.sub(r"\\\n", " ", (root / "Dockerfile").read_text("utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def all_of(instructions: list[Instruction], word: str) -> list[str]:
    return [text for name, text in instructions if name == word]


def only(instructions: list[Instruction], word: str) -> str:
    [text] = all_of(instructions, word)
    return text


def copied(instructions: list[Instruction]) -> list[str]:
    """What the image takes of the working tree."""
    return [
        source
        for text in all_of(instructions, "COPY")
        if not text.startswith("--from")
        for source in text.split()[:-1]
    ]


@pytest.fixture
def context(root: Path, tmp_path: Path, instructions: list[Instruction]) -> Path:
    """A folder that has what COPY puts into the first stage, and nothing else."""
    folder = tmp_path / "context"
    for source in copied(instructions):
        (folder / source).parent.mkdir(parents=True, exist_ok=True)
        (folder / source).symlink_to(root / source)
    return folder


def test_what_is_copied_is_there_and_not_left_out(
    root: Path, instructions: list[Instruction]
) -> None:
    """Each source exists and .dockerignore lets it through, and it lets nothing else through."""
    rules = (root / ".dockerignore").read_text("utf-8").splitlines()
    assert rules[1] == "*"
    let_through = [rule[1:] for rule in rules if rule.startswith("!")]
    for source in copied(instructions):
        assert (root / source).exists(), source
        assert [rule for rule in let_through if fnmatch(source, rule)], source
    for rule in let_through:
        assert [source for source in copied(instructions) if fnmatch(source, rule)], rule


def test_the_gateway_is_nobody_else_and_keeps_its_data_in_a_volume(
    instructions: list[Instruction],
) -> None:
    """It runs under a user of its own, who may write in the volume and nowhere else."""
    user = only(instructions, "USER")
    [made] = [text for text in all_of(instructions, "RUN") if "useradd" in text]
    assert user not in ("root", "0")
    assert f"--home-dir {HOME}" in made
    assert made.split("&&")[0].strip().endswith(user)
    assert only(instructions, "VOLUME") == HOME
    words = [word for word, _ in instructions]
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert "--chown" not in " ".join(all_of(instructions, "COPY"))


def test_what_is_installed_was_tested(root: Path) -> None:
    """The image's locks have every dependency of the gateway, in the versions of dev.lock."""

    def pinned(name: str) -> dict[str, str]:
        text = (root / "requirements" / name).read_text("utf-8")
        return dict(re.findall(r"^([\w.-]+)==([^ ;\\]+)", text, re.MULTILINE))

    tested, installed, building = map(pinned, ("dev.lock", "gateway.lock", "build.lock"))
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    needed = {re.match(r"[\w-]+", word)[0] for word in project["project"]["dependencies"]}
    assert needed <= set(installed)
    assert set(project["build-system"]["requires"]) <= set(building)
    assert {**tested, **installed, **building} == tested
    assert "pyspark" not in installed


def test_the_first_stage_builds_a_wheel_of_what_it_copied(
    context: Path, instructions: list[Instruction]
) -> None:
    """The image's own command, over no more than the image's own files."""
    [build] = [text for text in all_of(instructions, "RUN") if "hatchling build" in text]
    [install] = [text for text in all_of(instructions, "RUN") if "--no-index" in text]
    command = [sys.executable, *shlex.split(build)[1:]]
    subprocess.run(command, cwd=context, check=True, capture_output=True)
    assert len(list(context.glob(shlex.split(install)[-1]))) == 1


def test_nobody_in_the_image_is_root_and_the_store_is_on_a_volume(
    instructions: list[Instruction],
) -> None:
    """The account is made before it is used, and owns where the store lies."""
    account = only(instructions, "USER")
    [made] = [text for text in all_of(instructions, "RUN") if "useradd" in text]
    assert account != "root"
    assert shlex.split(made.partition("&&")[0])[-1] == account
    assert f"--home-dir {HOME} --create-home" in made
    assert only(instructions, "VOLUME") == HOME
    [page] = configurations_of(PAGE)
    assert f'"{HOME}/gateway.db"' in page


def test_the_image_starts_answers_its_health_check_and_stops(
    installed: Path, tmp_path: Path, instructions: list[Instruction]
) -> None:
    """ENTRYPOINT, CMD, HEALTHCHECK and STOPSIGNAL, with the wheel and the page's configuration."""
    msh, api = free_port(), free_port()
    [page] = configurations_of(PAGE)
    config = tmp_path / "gateway.toml"
    places = {HOME: str(tmp_path), "0.0.0.0:8401": f"127.0.0.1:{msh}", ":8411": f":{api}"}
    config.write_text(put(page, places), "utf-8")
    environment = {**os.environ, **constants(instructions, api)}
    environment["PATH"] = f"{installed.parent}:{environment['PATH']}"
    environment.pop("PYTHONPATH", None)
    words = json.loads(only(instructions, "ENTRYPOINT")) + json.loads(only(instructions, "CMD"))
    command = [str(config) if word == CONFIG else word for word in words]
    assert command != words
    check = json.loads(only(instructions, "HEALTHCHECK").partition("CMD ")[2])

    def is_healthy() -> bool:
        done = subprocess.run(
            check, env=environment, cwd=tmp_path, capture_output=True, check=False
        )
        return done.returncode == 0

    assert not is_healthy()
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE
    ) as gateway:
        try:
            for line in gateway.stderr:
                if json.loads(line)["event"] == "ready":
                    break
            assert is_healthy()
            gateway.send_signal(signal.Signals[only(instructions, "STOPSIGNAL")])
            assert gateway.communicate(timeout=PATIENCE_S)
            assert gateway.returncode == 0
        finally:
            gateway.kill()
    assert (tmp_path / "gateway.db").is_file()


def constants(instructions: list[Instruction], api: int) -> dict[str, str]:
    """What the image sets, with the port that the test listens on."""
    given = dict(text.split("=", 1) for text in all_of(instructions, "ENV"))
    return {"ONCEONLY_API": put(given["ONCEONLY_API"], {":8411": f":{api}"})}
