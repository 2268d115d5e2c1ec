"""H27 and H28 of `spec/security.md`: who may call, and how, where a gateway listens under TLS.

The listener is the product's own, with the context that `[tls]` makes, before the same gateway.
"""

import asyncio
import shutil
import ssl
import subprocess
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from ground import Attack, Case, Ground, M, answer_of
from peer import PATIENCE_S

from onceonly.gateway.certificates import listening_tls
from onceonly.gateway.config import Tls
from onceonly.transport.http.server import HttpServer, serve_http

NEEDS = None if shutil.which("openssl") else "makes its certificates with openssl"
UNNOTED = (
    "the TLS library ends it before a connection of ours is there, and tells nobody; as long as "
    "nothing of it was believed there is nothing that an operator could look at"
)

Prepare = Callable[[ssl.SSLContext], None]


class Certificates:
    """An authority, our certificate, and those of callers good and bad."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="onceonly-hostile-")
        self.path = Path(self._folder.name)
        self._openssl(*_NEW, "-x509", "-days", "2", "-subj", "/CN=ca", *self._files("ca", "pem"))
        self.issue("gateway", extension="subjectAltName=IP:127.0.0.1")
        self.issue("partner")
        self.issue("expired", days="-1")
        self.issue("server-only", extension="extendedKeyUsage=serverAuth")
        self._openssl(
            *_NEW, "-x509", "-days", "2", "-subj", "/CN=partner", *self._files("self-signed", "pem")
        )

    def issue(self, name: str, *, days: str = "2", extension: str = "keyUsage=digitalSignature"):
        """A certificate of the authority's."""
        (self.path / "extension").write_text(f"{extension}\n", "ascii")
        self._openssl(*_NEW, "-subj", f"/CN={name}", *self._files(name, "csr"))
        self._openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", "-days", days),
            *("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "extension"),
        )

    def _files(self, name: str, kind: str) -> list[str]:
        return ["-keyout", f"{name}.key", "-out", f"{name}.{kind}"]

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.path, check=True, capture_output=True)


_NEW = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@cache
def certificates() -> Certificates:
    """Made once; some tenths of a second."""
    return Certificates()


@asynccontextmanager
async def listening(ground: Ground, *, asks: bool) -> AsyncIterator[HttpServer]:
    """A listener of this gateway's under TLS, which asks callers for a certificate or does not."""
    path = certificates().path
    tls = Tls(
        certificate=path / "gateway.pem",
        key=path / "gateway.key",
        trusted=path / "ca.pem",
        clients=asks,
    )
    parts = ground.gateway.parts
    server = await serve_http(
        "https://127.0.0.1:0/msh",
        parts.receiver.receive,
        note_refusal=parts.refusals.note,
        tls=listening_tls(tls),
    )
    try:
        yield server
    finally:
        await server.close(0)


async def call(ground: Ground, port: int, prepare: Prepare) -> str:
    """Send a valid message as a caller prepared so; what became of it."""
    context = ssl.create_default_context(cafile=certificates().path / "ca.pem")
    prepare(context)
    request = ground.attacker.request(ground.attacker.normal(M, 1))
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            chosen = writer.get_extra_info("ssl_object").selected_alpn_protocol()
            assert chosen is None, "nothing but HTTP/1.1 is spoken here"
            try:
                writer.write(request)
                return answer_of(await reader.read())
            finally:
                writer.transport.abort()
    except (ssl.SSLError, ConnectionError):
        return "closed"


def calling(prepare: Prepare, *, asks: bool = False) -> Attack:
    """One call under TLS."""

    async def attack(ground: Ground) -> str:
        async with listening(ground, asks=asks) as server:
            return await call(ground, server.port, prepare)

    return attack


def showing(name: str | None) -> Attack:
    """A caller with this certificate, or none."""

    def prepare(context: ssl.SSLContext) -> None:
        if name is not None:
            path = certificates().path
            context.load_cert_chain(path / f"{name}.pem", path / f"{name}.key")

    return calling(prepare, asks=True)


def speaking_at_most(version: ssl.TLSVersion) -> Attack:
    """An old protocol, for which this side gives up its own guards."""

    def prepare(context: ssl.SSLContext) -> None:
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = context.maximum_version = version

    return calling(prepare)


def ciphering(ciphers: str) -> Attack:
    """Ciphers that hide nothing."""

    def prepare(context: ssl.SSLContext) -> None:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(f"{ciphers}:@SECLEVEL=0")

    return calling(prepare)


async def renegotiating(ground: Ground) -> str:
    """A caller that wants to begin the handshake again on a connection that stands."""
    async with listening(ground, asks=False) as server:
        client = await asyncio.create_subprocess_exec(
            *("openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{server.port}"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(PATIENCE_S):
            said, _ = await client.communicate(b"R\n")
    assert b"RENEGOTIATING" in said, said
    return "refused" if b"no renegotiation" in said else "renegotiated"


def offering_h2(context: ssl.SSLContext) -> None:
    """ALPN of another protocol."""
    context.set_alpn_protocols(["h2", "smtp"])


CASES = [
    Case("H27", "no certificate", showing(None), "closed", None, why=UNNOTED, needs=NEEDS),
    Case(
        "H27", "a self-signed one", showing("self-signed"), "closed", None, why=UNNOTED, needs=NEEDS
    ),
    Case("H27", "an expired one", showing("expired"), "closed", None, why=UNNOTED, needs=NEEDS),
    Case(
        "H27",
        "one for servers only",
        showing("server-only"),
        "closed",
        None,
        why=UNNOTED,
        needs=NEEDS,
    ),
    Case(
        "H27",
        "one with NUL in its name",
        None,
        why="no name in a caller's certificate is compared with anything: it counts by its chain",
    ),
    Case(
        "H27",
        "a trusted one, where none is agreed",
        showing("partner"),
        "204",
        delivered=1,
        needs=NEEDS,
        why="`trusted` says who may call at all; who speaks for a partner says "
        "`caller_certificate` in its agreement, and then another's gets 403: "
        "tests/gateway/test_tls.py::test_a_partner_calls_under_its_own_certificate",
    ),
    Case(
        "H28",
        "TLS 1.0",
        speaking_at_most(ssl.TLSVersion.TLSv1),
        "closed",
        None,
        why=UNNOTED,
        needs=NEEDS,
    ),
    Case(
        "H28",
        "TLS 1.1",
        speaking_at_most(ssl.TLSVersion.TLSv1_1),
        "closed",
        None,
        why=UNNOTED,
        needs=NEEDS,
    ),
    Case("H28", "no cipher", ciphering("eNULL"), "closed", None, why=UNNOTED, needs=NEEDS),
    Case("H28", "no authentication", ciphering("aNULL"), "closed", None, why=UNNOTED, needs=NEEDS),
    Case("H28", "renegotiation", renegotiating, "refused", None, why=UNNOTED, needs=NEEDS),
    Case("H28", "another protocol by ALPN", calling(offering_h2), "204", delivered=1, needs=NEEDS),
]
