"""The examples of `docs/how-to/folders.md`, run against a gateway."""

import subprocess
from pathlib import Path

import pytest
from running_gateway import RunningGateway, write_configuration

from onceonly.gateway.config import read_configuration
from recipes import examples_of, put

pytestmark = pytest.mark.anyio

PAGE = "how-to/folders.md"
ROOT = "/srv/exchange"


def run(command: str, here: Path) -> None:
    """As a user types it."""
    subprocess.run(["/bin/sh", "-c", command], cwd=here, check=True)


async def test_the_page_does_what_it_says(tmp_path, peer):
    """Its tables are legal, and its commands lead to a message with the key of the header."""
    for name in ("orders", "invoices"):
        (tmp_path / name).mkdir()
    tables = [put(text, {ROOT: str(tmp_path)}) for text in examples_of(PAGE, "toml")]
    path = write_configuration(tmp_path, [peer])
    path.write_text("\n".join([path.read_text("utf-8"), *tables]), "utf-8")
    configuration = read_configuration(path)
    peer.gateway_uri = configuration.uri
    first, header, _ = examples_of(PAGE, "sh")
    copy, touch = first.splitlines()
    (tmp_path / "order-4711.xml").write_bytes(b"<Order/>")
    for command in (copy, header, touch):
        run(put(command, {ROOT: str(tmp_path)}), tmp_path)
    alive = RunningGateway(configuration)
    await alive.start()
    try:
        arrival = await peer.hear("Normal")
        assert arrival.payloads == [b"<Order/>"]
        snapshot = alive.store.snapshot()
        assert snapshot.find_message_id_by_key("order-4711") == arrival.message_id
        view = snapshot.find_outbound_view(arrival.message_id)
        assert view.message.conversation_id == "spring"
    finally:
        await alive.stop(0.0)
