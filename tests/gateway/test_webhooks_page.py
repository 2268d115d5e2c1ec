"""The examples of `docs/how-to/webhooks.md`, run against a gateway."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from listening import Receiver
from running_gateway import RunningGateway, write_configuration

from onceonly.gateway.config import read_configuration
from recipes import examples_of, put

pytestmark = pytest.mark.anyio

PAGE = "how-to/webhooks.md"
URL = "https://erp.example/onceonly"


def run(command: str, here: Path) -> None:
    """As a user types it."""
    subprocess.run(["/bin/sh", "-c", command], cwd=here, check=True)


async def test_the_receiver_of_the_page_knows_what_is_genuine(tmp_path, peer):
    """Its secret, made as the page says; a body or a secret that is another is refused."""
    receiver = Receiver()
    await receiver.start()
    (table,) = examples_of(PAGE, "toml")
    make_secret, _ = examples_of(PAGE, "sh")
    run(make_secret, tmp_path)
    path = write_configuration(tmp_path, [peer])
    table = put(table, {URL: receiver.url})
    path.write_text(path.read_text("utf-8") + table, "utf-8")
    configuration = read_configuration(path)
    peer.gateway_uri = configuration.uri
    shown: dict[str, Any] = {}
    (source,) = examples_of(PAGE, "python")
    exec(source, shown)
    alive = RunningGateway(configuration)
    await alive.start()
    try:
        message_id = await alive.submit(b"<Order/>", to=peer)
        await peer.hear("Normal")
        await peer.acknowledge(message_id)
        await alive.until(lambda: alive.store.snapshot().list_deliveries("erp", 0, 1, "delivered"))
    finally:
        await alive.stop(1.0)
        await receiver.close()
    (post,) = receiver.heard
    secret = (tmp_path / "erp.secret").read_text("ascii").strip()
    is_genuine = shown["is_genuine"]
    assert post.json["data"]["message_id"] == message_id
    assert is_genuine(secret, post.headers, post.body)
    assert not is_genuine(secret, post.headers, post.body + b" ")
    assert not is_genuine("whsec_" + "QUJD" * 8, post.headers, post.body)
    old = {**post.headers, "webhook-timestamp": "1"}
    assert not is_genuine(secret, old, post.body)
