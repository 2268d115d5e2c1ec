import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's top."""
    return ROOT


@pytest.fixture(scope="session")
def sources() -> list[Path]:
    """Every Python file of ours."""
    folders = ("src", "tests", "bench", "fuzz", "docs")
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


@pytest.fixture(scope="session")
def pages() -> dict[str, str]:
    """Every page that people write, by its path from the top."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in files}


@pytest.fixture(scope="session")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the working tree without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=root,
        check=True,
        capture_output=True,
    )
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of an environment that has the wheel, and borrows the dependencies of ours.

    Borrowing leaves out our editable install, so that only the wheel can be what runs.
    """
    place = tmp_path_factory.mktemp("installed")
    venv.create(place, with_pip=False, symlinks=True)
    library = next(place.glob("lib/python*/site-packages"))
    python = place / "bin" / "python"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"),
            *("--python", str(python), "install", "--no-deps", "--no-index", str(wheel)),
        ],
        check=True,
        capture_output=True,
    )
    # A folder named in a .pth comes behind the wheel, and its own .pth files are not read.
    (library / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "bin" / "onceonly"
