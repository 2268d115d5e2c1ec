"""The list of except clauses that nobody entered is right."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CHECKER = Path(__file__).with_name("except_clauses.py")

SOURCE = """\
def read(text):
    try:
        return int(text)
    except ValueError:
        return None
    except TypeError:
        raise
    except MemoryError:  # pragma: no cover{reason}
        return 0


{calls}
"""


def checked(place: Path, calls: str, reason: str = " because nobody has so long a number") -> str:
    """What the list says, with its exit code, of a module that ran with these calls."""
    sources = place / "sources"
    sources.mkdir()
    module = sources / "module.py"
    module.write_text(SOURCE.format(reason=reason, calls=textwrap.dedent(calls)))
    data = place / "data"
    data.mkdir()
    for command in (
        ["-m", "coverage", "run", "--rcfile=/dev/null", f"--data-file={data / 'one'}", str(module)],
        [str(CHECKER), str(data), str(sources)],
    ):
        ran = subprocess.run(
            [sys.executable, *command], cwd=place, capture_output=True, text=True, check=False
        )
    assert ran.stderr == ""
    return f"{ran.stdout}exit {ran.returncode}"


def test_a_clause_that_an_error_only_passed_by_was_not_entered(tmp_path):
    """A TypeError is compared with `except ValueError`, whose line runs; its body does not."""
    said = checked(tmp_path, "try: read(None)\nexcept TypeError: pass")
    assert "module.py:4: except ValueError:" in said
    assert "module.py:6:" not in said
    assert "4 except clauses: 1 excused, 1 of the others never entered" in said
    assert said.endswith("exit 1")


def test_a_list_with_nothing_on_it_is_a_success(tmp_path):
    """Both clauses were entered, and the third says why it cannot be."""
    said = checked(tmp_path, "read('x')\ntry: read(None)\nexcept TypeError: pass")
    assert said.endswith("1 excused, 0 of the others never entered\nexit 0")


@pytest.mark.parametrize("reason", ["", " because"])
def test_an_excuse_without_a_reason_is_none(tmp_path, reason):
    """Otherwise the list could be emptied without a thought."""
    assert "module.py:8:" in checked(tmp_path, "read('1')", reason)
