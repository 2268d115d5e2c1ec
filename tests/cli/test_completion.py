"""The script that `onceonly completion` prints lets a real shell complete."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import invoke
from onceonly import __version__
from onceonly.cli.exits import Exit

ASK = """
eval "$(onceonly completion bash)"
COMP_WORDS=(onceonly par) COMP_CWORD=1
_onceonly_completion onceonly
printf '%s\\n' "${COMPREPLY[@]}"
COMPREPLY=() COMP_WORDS=(onceonly partner re) COMP_CWORD=2
_onceonly_completion onceonly
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="this machine has no bash")
def test_bash_completes_commands():
    """Words of the command line, from the installed program."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    said = subprocess.run(
        ["bash", "-c", ASK], env={"PATH": path}, capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == ["partner", "resume"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell):
    """Each names the variable by which the program is asked."""
    result = invoke("completion", shell)
    assert result.exit_code == Exit.OK
    assert "_ONCEONLY_COMPLETE" in result.stdout


def test_the_version_is_an_option_too():
    """As every program has it."""
    assert invoke("--version").stdout.strip() == __version__
