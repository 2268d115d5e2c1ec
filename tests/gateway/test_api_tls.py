"""The API over TLS: its own certificate, and where it is asked for, its callers'."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from peer import Peer
from running_gateway import RunningGateway, running, serving_api
from starlette.responses import Response

from certificates import certify
from onceonly.cli.fingerprint import fingerprint_in
from onceonly.client import Client, GatewayUnreachable, client_tls
from onceonly.gateway.api.endpoint import HEAD_BYTES_MAX, ApiServer, served
from onceonly.gateway.caller import ShownCertificate
from onceonly.gateway.certificates import api_tls
from onceonly.gateway.config import Tls
from onceonly.gateway.open_files import find_open
from onceonly.gateway.supervise import api_and_console
from onceonly.message.word import changed
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
        assert await asked(api, client_tls(ca=certificates / "api.pem")) == "ok"
        watched = [
            Path(file).name for file, _ in gateway.parts.api._served.conditions.certificates()
        ]
        assert watched == ["api.pem"], "the end of the API's own certificate is watched, too"
        for foreign in (certificates / "stranger.pem", None):
            with pytest.raises(GatewayUnreachable):
                await asked(api, client_tls(ca=foreign))
        with pytest.raises(GatewayUnreachable):
            await asked(api.replace("https", "http"), client_tls())


async def test_a_head_without_an_end_is_refused_under_tls_too(tmp_path, peer, certificates):
    """431, in the one shape."""
    port = free_port()
    gateway = {"api": f"https://127.0.0.1:{port}"}
    async with (
        running(tmp_path, peer, gateway=gateway, api_tls=tls_of(certificates)) as alive,
        serving_api(alive),
    ):
        trusted = client_tls(ca=certificates / "api.pem")
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
        shown = client_tls(ca=trusted, client_certificate=certificates / "caller.both.pem")
        assert await asked(api, shown) == "ok"
        for certificate in (None, certificates / "stranger.both.pem"):
            with pytest.raises(GatewayUnreachable):
                await asked(api, client_tls(ca=trusted, client_certificate=certificate))


async def test_a_key_that_others_may_read_is_named(tmp_path, peer, certificates):
    """As the one of `[tls]` is."""
    (certificates / "api.key").chmod(0o644)
    api = f"https://127.0.0.1:{free_port()}"
    async with running(tmp_path, peer, gateway={"api": api}, api_tls=tls_of(certificates)) as alive:
        assert str(certificates / "api.key") in {one.path for one in find_open(alive.configuration)}


async def test_a_renewal_after_the_stop_opens_nothing(certificates):
    """A reload that was under way when the gateway was told to stop."""
    own = certificates / "api.pem", certificates / "api.key"
    tls = api_tls(Tls(certificate=own[0], key=own[1], trusted=None, clients=False))
    server = ApiServer(served(Response(), tls=tls))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        task = asyncio.create_task(server.serve(sockets=[listener]))
        async with httpx.AsyncClient(verify=client_tls(ca=own[0])) as client:
            assert (await client.get(f"https://127.0.0.1:{address[1]}/")).status_code == 200
        renewal = await server.prepare(tls)
        server.should_exit = True
        await task
    await renewal.take()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)


# --- A certificate that stands for a key ---


def may_show(certificates: Path, *names: str) -> dict[str, Any]:
    """A table under which callers may show one of these certificates, and need not."""
    trusted = certificates / "callers.pem"
    trusted.write_bytes(b"".join((certificates / f"{name}.pem").read_bytes() for name in names))
    return tls_of(certificates, trusted=str(trusted))


def fingerprint_of(certificates: Path, name: str) -> str:
    return fingerprint_in(certificates / f"{name}.pem", "--certificate")


@asynccontextmanager
async def with_keys(tmp_path: Path, peer: Peer, certificates: Path) -> AsyncIterator["Keyed"]:
    """An API with the keys `boss`, and `shop`, for which the certificate `caller` stands."""
    api = f"https://127.0.0.1:{free_port()}"
    tls = may_show(certificates, "caller", "stranger")
    async with (
        running(tmp_path, peer, gateway={"api": api}, api_tls=tls) as alive,
        serving_api(alive),
    ):
        boss = await alive.call("POST", "/v1/keys", json={"name": "boss", "scopes": ["admin"]})
        keyed = Keyed(alive, certificates, boss.json["key"])
        keyed.shop = await keyed.make("shop", certificate=fingerprint_of(certificates, "caller"))
        yield keyed


class Keyed:
    """The API of a gateway, called over TLS with and without certificate and key."""

    def __init__(self, alive: RunningGateway, certificates: Path, boss: str) -> None:
        self.alive = alive
        self.boss = boss
        self.shop = ""
        self._certificates = certificates

    async def make(self, name: str, **more: Any) -> str:
        """A new key that may read; returns its secret, or the refusal."""
        body = {"name": name, "scopes": ["read"], **more}
        head = {"authorization": f"Bearer {self.boss}"}
        answer = await self.alive.call("POST", "/v1/keys", json=body, headers=head)
        text: str = answer.json.get("key") or answer.json["error"]["text"]
        return text

    async def statuses(self, certificate: str | None, key: str | None, **more: str) -> list[int]:
        """Of a call that takes `read`, and of one that takes `admin`, on one connection."""
        shown = certificate and self._certificates / f"{certificate}.both.pem"
        tls = client_tls(ca=self._certificates / "api.pem", client_certificate=shown)
        head = {**more, **({} if key is None else {"authorization": f"Bearer {key}"})}
        async with httpx.AsyncClient(
            verify=tls, base_url=self.alive.configuration.api, headers=head
        ) as client:
            return [(await client.get(path)).status_code for path in ("/v1/messages", "/v1/keys")]


async def test_a_certificate_stands_for_its_key(tmp_path, peer, certificates):
    """Without an Authorization: with what the key may, and not more."""
    async with with_keys(tmp_path, peer, certificates) as api:
        assert await api.statuses("caller", None) == [200, 403]
        assert await api.statuses("stranger", None) == [401, 401]
        assert await api.statuses(None, None) == [401, 401]
        head = {"authorization": f"Bearer {api.boss}"}
        listed = (await api.alive.call("GET", "/v1/keys", headers=head)).json["keys"]
        fingerprint = fingerprint_of(certificates, "caller")
        assert [one["certificate"] for one in listed] == [None, fingerprint]
        assert listed[1]["last_used_at"] is not None


async def test_a_key_and_a_certificate_are_of_one_caller(tmp_path, peer, certificates):
    """A certificate that stands for no key says nothing, as before."""
    async with with_keys(tmp_path, peer, certificates) as api:
        assert await api.statuses("caller", api.shop) == [200, 403]
        assert await api.statuses(None, api.shop) == [200, 403]
        assert await api.statuses("caller", api.boss) == [401, 401]
        assert await api.statuses("caller", "oo_wrong") == [401, 401]
        assert await api.statuses("stranger", api.boss) == [200, 200]
        assert await api.statuses("caller", None, authorization="Basic eDp5") == [401, 401]


async def test_no_header_field_stands_for_a_certificate(tmp_path, peer, certificates):
    """Whatever proxies call it; only the handshake counts."""
    pem = (certificates / "caller.pem").read_text("ascii").replace("\n", "")
    fingerprint = fingerprint_of(certificates, "caller")
    async with with_keys(tmp_path, peer, certificates) as api:
        for name in ("x-client-cert", "ssl-client-cert", "x-ssl-cert", "onceonly.certificate"):
            assert await api.statuses(None, None, **{name: pem}) == [401, 401]
        forwarded = {"x-forwarded-client-cert": f"Hash={fingerprint}", "client-cert": f":{pem}:"}
        assert await api.statuses("stranger", None, **forwarded) == [401, 401]


async def test_the_certificate_of_a_revoked_key_opens_nothing(tmp_path, peer, certificates):
    """Not with another key either, on a connection that was open too; then it may stand for one."""
    async with with_keys(tmp_path, peer, certificates) as api:
        head = {"authorization": f"Bearer {api.boss}"}
        tls = client_tls(
            ca=certificates / "api.pem", client_certificate=certificates / "caller.both.pem"
        )
        address = api.alive.configuration.api
        async with httpx.AsyncClient(verify=tls, base_url=address) as open_before:
            assert (await open_before.get("/v1/messages")).status_code == 200
            await api.alive.call("DELETE", "/v1/keys/shop", headers=head)
            assert (await open_before.get("/v1/messages")).status_code == 401
        assert await api.statuses("caller", api.boss) == [401, 401]
        next_key = await api.make("next", certificate=fingerprint_of(certificates, "caller"))
        assert await api.statuses("caller", None) == [200, 403]
        assert await api.statuses("caller", next_key) == [200, 403]
        again = await api.make("third", certificate=fingerprint_of(certificates, "caller"))
        assert "stands for the key 'next': revoke that one first" in again


async def test_what_a_certificate_stands_for_survives_a_restart(tmp_path, peer, certificates):
    """And one that ended meanwhile, on a connection that stayed open, stands for nothing."""
    async with with_keys(tmp_path, peer, certificates) as api:
        await api.alive.restart()
        keys = api.alive.parts.keys
        fingerprint, now_at = fingerprint_of(certificates, "caller"), api.alive.parts.clock.at()
        for ends_at, name in ((now_at + 3_600_000_000, "shop"), (now_at, None)):
            caller = keys.caller_of(None, ShownCertificate(fingerprint, ends_at))
            assert (caller.name if caller else None) == name


async def test_a_call_that_a_certificate_let_in_is_open_until_its_end(tmp_path, peer, certificates):
    """A stream or a long poll is told nothing after it; one with the key's secret is."""
    async with with_keys(tmp_path, peer, certificates) as api:
        keys, now_at = api.alive.parts.keys, api.alive.parts.clock.at()
        shown = ShownCertificate(fingerprint_of(certificates, "caller"), now_at + 3_600_000_000)
        caller, with_secret = keys.caller_of(None, shown), keys.caller_of(api.shop, shown)
        assert caller.ends_at == shown.ends_at
        assert keys.are_open_to(caller)
        assert not keys.are_open_to(changed(caller, ends_at=now_at))
        assert with_secret.ends_at is None


async def test_the_console_takes_a_certificate_as_the_api_does(tmp_path, peer, certificates):
    """A browser that shows one need not sign in, and sees what the key may."""
    async with with_keys(tmp_path, peer, certificates) as api:
        console = api_and_console(api.alive.parts)
        address = f"https://127.0.0.1:{free_port()}"
        port = urlsplit(address).port
        server = ApiServer(served(console, tls=api_tls(api.alive.configuration.api_tls)))
        with socket.create_server(("127.0.0.1", port)) as listener:
            task = asyncio.create_task(server.serve(sockets=[listener]))
            for shown, status in (("caller.both.pem", 200), (None, 401)):
                tls = client_tls(
                    ca=certificates / "api.pem", client_certificate=shown and certificates / shown
                )
                async with httpx.AsyncClient(verify=tls, base_url=address) as browser:
                    assert (await browser.get("/console/messages")).status_code == status
            server.should_exit = True
            await task
