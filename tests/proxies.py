"""Real proxies on loopback, nginx and haproxy, from the distribution's packages."""

import os
import select
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

NGINX, HAPROXY = "/usr/sbin/nginx", "/usr/sbin/haproxy"
STREAM = Path("/usr/lib/nginx/modules/ngx_stream_module.so")
START_S = 30.0

NGINX_CONF = """\
daemon off;
pid {folder}/pid;
error_log {folder}/log;
events {{}}
"""
HTTP = """\
http {{
    access_log {folder}/access;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/recipe;
}}
"""


class Proxy:
    """One proxy on `port`."""

    def __init__(self, folder: Path, command: list[str], reload: signal.Signals) -> None:
        self.folder = folder
        self.port = free_port()
        self._command = command
        self._reload = reload
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it takes connections."""
        with (self.folder / "said").open("ab") as said:
            self._process = subprocess.Popen(
                self._command, stdout=said, stderr=said, start_new_session=True
            )
        until = time.monotonic() + START_S
        while not self._takes():
            assert self._process.poll() is None, self.said()
            assert time.monotonic() < until, self.said()

    def reload(self) -> None:
        """What `systemctl reload` tells it."""
        assert self._process is not None
        self._process.send_signal(self._reload)

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def said(self) -> str:
        logs = [self.folder / name for name in ("said", "log", "access")]
        return "\n".join(log.read_text("utf-8", "replace") for log in logs if log.exists())

    def _takes(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            # Nothing else to wait for: it tells nobody when it listens.
            select.select([], [], [], 0.05)
            return False
        return True


class Nginx(Proxy):
    """With a recipe for `http`, or one with a `stream` of its own."""

    def __init__(self, folder: Path) -> None:
        _need(NGINX, "nginx")
        super().__init__(folder, [NGINX, "-c", str(folder / "nginx.conf")], signal.SIGHUP)

    def configure(self, recipe: str) -> None:
        is_stream = recipe.startswith("stream")
        if is_stream and not STREAM.exists():
            pytest.skip("there is no stream module of nginx; Debian's libnginx-mod-stream has it")
        (self.folder / "recipe").write_text(recipe, "utf-8")
        text = NGINX_CONF.format(folder=self.folder)
        text += f"include {self.folder}/recipe;\n" if is_stream else HTTP.format(folder=self.folder)
        module = f"load_module {STREAM};\n" if is_stream else ""
        (self.folder / "nginx.conf").write_text(module + text, "utf-8")


class Haproxy(Proxy):
    """Under its master process, as the distribution starts it."""

    def __init__(self, folder: Path) -> None:
        _need(HAPROXY, "haproxy")
        super().__init__(folder, [HAPROXY, "-W", "-f", str(folder / "recipe")], signal.SIGUSR2)

    def configure(self, recipe: str) -> None:
        (self.folder / "recipe").write_text(recipe, "utf-8")


KINDS: Mapping[str, type[Nginx] | type[Haproxy]] = {"nginx": Nginx, "haproxy": Haproxy}


def _need(program: str, package: str) -> None:
    if not Path(program).exists():
        pytest.skip(f"there is no {package} here; Debian's package of that name has it")


@contextmanager
def own_proxy(kind: str) -> Iterator[Nginx | Haproxy]:
    """Not started yet. Its folder is open to its user, which pytest's are not."""
    with tempfile.TemporaryDirectory(prefix="onceonly-proxy-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        proxy = KINDS[kind](folder)
        try:
            yield proxy
        finally:
            proxy.kill()
