"""The API over TLS: its own certificate, and where it is asked for, its callers'."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest
from running_gateway import running, serving_api

from certificates import certify
from onceonly.cli.caller_option import client_tls
from onceonly.client import Client, GatewayUnreachable
from onceonly.gateway.api.endpoint import HEAD_BYTES_MAX
from onceonly.gateway.open_files import find_open
from ports import free_port

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("api", "caller", "stranger"):
        certify(folder, name)
        both = (folder / f"{name}.pem").read_text("utf-8") + (folder / f"{name}.key").read_text()
        (folder / f"{name}.both.pem").write_text(both, "utf-8")
    return folder


def tls_of(certificates: Path, **more: Any) -> dict[str, Any]:
    own = {"certificate": str(certificates / "api.pem"), "key": str(certificates / "api.key")}
    return {**own, **more}


async def asked(api: str, tls: ssl.SSLContext) -> str:
    """How the gateway is, asked over TLS."""

    def ask() -> str:
        with Client(api, tls=tls) as client:
            return client.health().status

    return await asyncio.to_thread(ask)


async def test_the_api_is_served_under_its_certificate(tmp_path, peer, certificates):
    """To callers who trust it and to nobody else; in clear it says nothing."""
    api = f"https://127.0.0.1:{free_port()}"
    tls = tls_of(certificates)
    async with (
        running(tmp_path, peer, gateway={"api": api}, api_tls=tls) as gateway,
        serving_api(gateway),
    ):
        assert await asked(api, client_tls(certificates / "api.pem", None)) == "ok"
        watched = [file.name for file, _ in gateway.parts.api._served.conditions.certificates()]
        assert watched == ["api.pem"], "the end of the API's own certificate is watched, too"
        for foreign in (certificates / "stranger.pem", None):
            with pytest.raises(GatewayUnreachable):
                await asked(api, client_tls(foreign, None))
        with pytest.raises(GatewayUnreachable):
            await asked(api.replace("https", "http"), client_tls(None, None))


async def test_a_head_without_an_end_is_refused_under_tls_too(tmp_path, peer, certificates):
    """431, in the one shape."""
    port = free_port()
    gateway = {"api": f"https://127.0.0.1:{port}"}
    async with (
        running(tmp_path, peer, gateway=gateway, api_tls=tls_of(certificates)) as alive,
        serving_api(alive),
    ):
        trusted = client_tls(certificates / "api.pem", None)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusted)
        writer.write(b"GET /" + b"x" * (2 * HEAD_BYTES_MAX))
        assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")
        assert b'"HeadTooLarge"' in await reader.read()
        writer.close()


async def test_callers_show_a_certificate_where_it_is_asked_for(tmp_path, peer, certificates):
    """Besides their key: one that chains to `trusted`."""
    api = f"https://127.0.0.1:{free_port()}"
    tls = tls_of(certificates, trusted=str(certificates / "caller.pem"), clients=True)
    trusted = certificates / "api.pem"
    async with (
        running(tmp_path, peer, gateway={"api": api}, api_tls=tls) as gateway,
        serving_api(gateway),
    ):
        shown = client_tls(trusted, certificates / "caller.both.pem")
        assert await asked(api, shown) == "ok"
        for certificate in (None, certificates / "stranger.both.pem"):
            with pytest.raises(GatewayUnreachable):
                await asked(api, client_tls(trusted, certificate))


async def test_a_key_that_others_may_read_is_named(tmp_path, peer, certificates):
    """As the one of `[tls]` is."""
    (certificates / "api.key").chmod(0o644)
    api = f"https://127.0.0.1:{free_port()}"
    async with running(tmp_path, peer, gateway={"api": api}, api_tls=tls_of(certificates)) as alive:
        assert str(certificates / "api.key") in {one.path for one in find_open(alive.configuration)}
