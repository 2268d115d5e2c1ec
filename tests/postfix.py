"""A real Postfix on loopback, from the distribution's package, with directories of its own."""

import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from ports import free_port

POSTFIX = "/usr/sbin/postfix"
POSTMAP = "/usr/sbin/postmap"
MASTER = "/usr/lib/postfix/sbin/master"
SERVICES = Path("/usr/share/postfix/master.cf.dist")
START_S = 30.0

OURS = """\
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
inet_interfaces = loopback-only
inet_protocols = ipv4
myhostname = mail.example
mydestination =
"""
"""What makes it an instance of its own; the rest is the recipe's."""


class Postfix:
    """One mail system, with its queue; `directory` is for its settings."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.directory = folder / "etc"
        self.port = free_port()
        for name in ("etc", "queue", "data"):
            (folder / name).mkdir()
        shutil.chown(folder / "data", "postfix")
        (self.directory / "master.cf").write_text(_services(f"127.0.0.1:{self.port}"), "ascii")
        self._process: subprocess.Popen[bytes] | None = None

    def configure(self, main: str, maps: Mapping[str, str]) -> None:
        """Its own settings and these; the maps as `postmap` makes them."""
        text = OURS.format(folder=self._folder) + main
        (self.directory / "main.cf").write_text(text, "utf-8")
        for name, lines in maps.items():
            (self.directory / name).write_text(lines, "utf-8")
            command = [POSTMAP, "-c", str(self.directory), f"hash:{self.directory / name}"]
            subprocess.run(command, check=True)

    def start(self) -> None:
        """Returns when it greets."""
        # `postfix start` has this made by `postfix check`, and leaves the group that can be ended.
        subprocess.run([POSTFIX, "-c", str(self.directory), "check"], check=True)
        self._process = subprocess.Popen(
            [MASTER, "-c", str(self.directory), "-d"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + START_S
        while not self._greets():
            assert self._process.poll() is None, self.said()
            assert time.monotonic() < until, self.said()

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def until_said(self, words: str) -> None:
        """Return when the words are in its log, which nobody tells of either."""
        until = time.monotonic() + START_S
        while words not in self.said():
            assert time.monotonic() < until, self.said()
            select.select([], [], [], 0.05)

    def said(self) -> str:
        """The end of its log."""
        log = self._folder / "log"
        return log.read_text("utf-8", "replace")[-4000:] if log.exists() else ""

    def _greets(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=START_S) as connection:
                return connection.recv(3) == b"220"
        except OSError:
            # Nothing else to wait for: it tells nobody when it listens.
            select.select([], [], [], 0.05)
            return False


def _services(address: str) -> str:
    """Debian's own `master.cf`, with one address and nothing behind a chroot, whose files would
    have to be made."""
    rows = SERVICES.read_text("ascii").splitlines()
    told = [re.sub(r"^smtp +inet", f"{address} inet", row) for row in rows if row[:1] != "#"]
    return "\n".join(re.sub(r"^((?:\S+ +){4})y ", r"\1n ", row) for row in told) + "\n"


@contextmanager
def own_postfix() -> Iterator[Postfix]:
    """Not started yet. Its folder is open to its user, which pytest's are not."""
    if not Path(POSTFIX).exists():
        pytest.skip("there is no postfix here; Debian's package of that name has it")
    if not any(Path("/usr/lib").glob("*/sasl2/libplain.so")):
        pytest.skip("Postfix has no PLAIN here; Debian's package libsasl2-modules has it")
    if os.geteuid() != 0:
        pytest.skip("Postfix is started by root only")
    with tempfile.TemporaryDirectory(prefix="onceonly-postfix-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        postfix = Postfix(folder)
        try:
            yield postfix
        finally:
            postfix.kill()
