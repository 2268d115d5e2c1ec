"""What is installed is what is tested: the wheel, built and used as a user would."""

import os
import subprocess
import zipfile
from pathlib import Path

from onceonly import __version__

CONFIGURATION = """
[gateway]
party  = ["urn:duns:111111111"]
listen = "http://127.0.0.1:8401/msh"
api    = "http://127.0.0.1:8411"
store  = "buyer.db"

[[agreement]]
id      = "tpa-ab-1"
with    = ["urn:duns:222222222"]
send_to = "http://127.0.0.1:8402/msh"
"""


def run(program: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [program, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def test_the_wheel_has_what_is_not_python(wheel: Path) -> None:
    """Queries, schema, the typing mark and the licence are in the wheel; tests are not."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {
        "onceonly/store/sqlite/sql/0001_first.sql",
        "onceonly/store/sqlite/sql/queries.sql",
        "onceonly/py.typed",
    } <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "docs", "bench"))]


def test_the_wheel_has_every_file_of_the_package(root: Path, wheel: Path) -> None:
    """No file of the packages is left behind."""
    names = set(zipfile.ZipFile(wheel).namelist())
    ours = {
        str(file.relative_to(root / "src"))
        for file in (root / "src").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert ours <= names


def test_the_installed_program_says_its_version(installed: Path, tmp_path: Path) -> None:
    """`onceonly version` runs the installed wheel, not the checkout."""
    assert run(installed, "version", cwd=tmp_path).stdout.strip() == __version__
    where = subprocess.run(
        [installed.with_name("python"), "-c", "import onceonly; print(onceonly.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(installed.parents[1])


def test_the_installed_program_helps(installed: Path, tmp_path: Path) -> None:
    """`onceonly --help` names the commands and the exit codes."""
    done = run(installed, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "serve" in done.stdout
    assert "Exit codes" in done.stdout


def test_the_installed_program_checks_a_configuration(installed: Path, tmp_path: Path) -> None:
    """A good file passes; a wrong key is refused with its line and exit code 2."""
    file = tmp_path / "gateway.toml"
    file.write_text(CONFIGURATION)
    assert run(installed, "check", "-c", str(file), cwd=tmp_path).returncode == 0
    file.write_text(CONFIGURATION + "retrys = 3\n")
    done = run(installed, "check", "-c", str(file), cwd=tmp_path)
    assert done.returncode == 2
    assert f"{file}:{len(file.read_text().splitlines())}" in done.stderr


def test_the_installed_store_opens(installed: Path, tmp_path: Path) -> None:
    """The schema in the wheel makes a store."""
    code = (
        "from pathlib import Path; from onceonly.store.sqlite.store import open_sqlite; "
        "s = open_sqlite(Path('s.db'), party='urn:a:b', clock_at=lambda: 1); "
        "print(s.epoch); s.close()"
    )
    done = subprocess.run(
        [installed.with_name("python"), "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "1"
