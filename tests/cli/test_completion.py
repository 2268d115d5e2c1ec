"""The script that `onceonly completion` prints lets a real shell complete."""

import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from click.shell_completion import get_completion_class
from packages import ORDER
from running_gateway import running, serving_api

from certificates import certify
from conftest import invoke
from onceonly import __version__
from onceonly.cli.completing import PATIENCE_S
from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from ports import free_port

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
    assert bash(ASK).split() == ["partner", "resume"]


def bash(script: str, **more: str) -> str:
    """What bash says that has the program in its path; nothing on stderr."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    given = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    said = subprocess.run(
        ["bash", "-c", script],
        env={"PATH": path, **given, **more},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stderr == ""
    return said.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell):
    """Each names the variable by which the program is asked."""
    result = invoke("completion", shell)
    assert result.exit_code == Exit.OK
    assert "_ONCEONLY_COMPLETE" in result.stdout


def test_the_version_is_an_option_too():
    """As every program has it."""
    assert invoke("--version").stdout.strip() == __version__


def offered(words: list[str], begun: str = "", shell: str = "bash") -> list[str]:
    """What a shell is offered after these words."""
    script_of = get_completion_class(shell)
    assert script_of is not None
    asked = script_of(cli, {}, "onceonly", "_ONCEONLY_COMPLETE")
    return [item.value for item in asked.get_completions(words, begun)]


@pytest.fixture
async def known(gateway, peer) -> list[str]:
    """Words that name a gateway which knows something."""
    await gateway.submit(ORDER, to=peer, message_id="PO-1@buyer")
    await gateway.submit(ORDER, to=peer, message_id="PO-2@buyer")
    await gateway.submit(ORDER, to=peer, message_id="$(reboot)")
    return ["-c", str(gateway.configuration.path)]


@pytest.mark.anyio
async def test_names_that_a_gateway_knows_are_offered(known, peer):
    """Messages with the last one first, partners, agreements; and words of a closed list."""
    ask = anyio.to_thread.run_sync
    assert await ask(offered, ["message", "show", *known]) == ["PO-2@buyer", "PO-1@buyer"]
    assert await ask(offered, ["message", "show", *known], "PO-1") == ["PO-1@buyer"]
    for shell in ("bash", "zsh", "fish"):
        assert await ask(offered, ["partner", "ping", *known], "", shell) == [peer.party]
    assert await ask(offered, ["message", "list", *known, "--to"]) == [peer.party]
    assert await ask(offered, ["message", "list", *known, "--agreement"]) == ["tpa-ab-1"]
    for command in ("show", "diff", "history", "check"):
        assert await ask(offered, ["agreement", command, *known]) == ["tpa-ab-1"]
    assert await ask(offered, ["inbox", "take", *known]) == []
    assert await ask(offered, ["job", "show", *known]) == []
    assert await ask(offered, ["message", "list", "--state"], "fa") == ["failed"]


@pytest.mark.anyio
async def test_an_agreement_without_a_message_is_offered(gateway):
    """It is known by the configuration."""
    path = gateway.configuration.path
    table = (
        '[[agreement]]\nid = "tpa-new"\nwith = ["urn:x:9"]\nsend_to = "http://127.0.0.1:9/msh"\n'
    )
    path.write_text(path.read_text("utf-8") + "\n" + table, "utf-8")
    await gateway.call("POST", "/v1/reload")
    ask = ["message", "list", "-c", str(path), "--agreement"]
    assert await anyio.to_thread.run_sync(offered, ask) == ["tpa-ab-1", "tpa-new"]


@pytest.mark.anyio
async def test_a_certificate_whose_key_is_in_another_file_is_shown(tmp_path, peer):
    """As by the command itself."""
    for name in ("api", "own"):
        certify(tmp_path, name)
    api = {"api": f"https://127.0.0.1:{free_port()}"}
    tls = {"certificate": "api.pem", "key": "api.key"}
    async with running(tmp_path, peer, gateway=api, api_tls=tls) as alive, serving_api(alive):
        files = {"ca": "api.pem", "client-certificate": "own.pem", "client-key": "own.key"}
        options = [f"--{name}={tmp_path / file}" for name, file in files.items()]
        ask = ["agreement", "show", "--api", api["api"], *options]
        assert await anyio.to_thread.run_sync(offered, ask) == ["tpa-ab-1"]


@pytest.mark.anyio
async def test_what_a_shell_would_run_is_never_offered(known):
    """A partner may name a message like a command."""
    assert await anyio.to_thread.run_sync(offered, ["message", "show", *known], "$") == []


@pytest.fixture
def silent() -> Iterator[str]:
    """An API that takes a call and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def refusing() -> Iterator[str]:
    """An API that knows no key."""

    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(401)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_without_an_answer_nothing_is_offered_and_nothing_said(silent, refusing, tmp_path, capfd):
    """In a second at most: no gateway, no file, no key, and one that is silent."""
    odd = tmp_path / "odd.toml"
    odd.write_text("[gateway]\nparty = 1\n")
    key = tmp_path / "key"
    key.write_text("k")
    key.chmod(0o644)
    wheres = [
        [],
        ["-c", "no-such-file.toml"],
        ["-c", str(odd)],
        ["--api", f"http://127.0.0.1:{free_port()}"],
        ["--api", "no address"],
        ["--api", refusing, "--key-file", str(key)],
        ["--api", refusing, "--key-file", "no-such-file"],
        ["--api", silent],
    ]
    for where in wheres:
        began = time.monotonic()
        assert offered(["message", "show", *where]) == []
        assert time.monotonic() - began < PATIENCE_S + 1
    assert capfd.readouterr() == ("", "")


COLONS = """
eval "$(onceonly completion bash)"
COMP_LINE="onceonly message list --api $API --to urn:duns:1" COMP_POINT=${#COMP_LINE}
COMP_WORDS=(onceonly) COMP_CWORD=0
_onceonly_completion onceonly
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.anyio
@pytest.mark.skipif(shutil.which("bash") is None, reason="this machine has no bash")
async def test_bash_completes_a_word_with_colons(gateway, peer):
    """It replaces what is after the last colon, and the line has the rest."""
    script = COLONS.replace("$API", gateway.configuration.api)
    said = await anyio.to_thread.run_sync(lambda: bash(script))
    assert said.split() == [peer.party.removeprefix("urn:duns:")]
