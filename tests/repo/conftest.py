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
    folders = ("src", "tests", "bench", "fuzz", "docs", "examples", ".ci")
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


@pytest.fixture(scope="session")
def pages() -> dict[str, str]:
    """Every page that people write, by its path from the top."""
    folders = ("docs", "examples", "changelog.d", ".github")
    files = [
        *ROOT.glob("*.md"),
        *(file for name in folders for file in (ROOT / name).rglob("*.md")),
    ]
    return {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in files}


@pytest.fixture(scope="session")
def tracked(root: Path) -> list[Path]:
    """Every file of the repository."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout, so nothing says which files belong to the repository")
    return [root / name for name in listed.stdout.split("\0") if name and (root / name).is_file()]


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
