"""One CPA configures both sides: ours by the import, the other one as it reads it."""

import subprocess
import sys
from pathlib import Path

import pytest
from ordering import BUYER, Ordering, as_toml, cpa_text
from running_gateway import RunningGateway
from strict_process import StrictMsh, need_strict_msh

from onceonly.gateway.config import read_configuration
from ports import free_port

pytestmark = pytest.mark.anyio


def imported(cpa: Path) -> str:
    """What `onceonly agreement import` makes of it for the buyer."""
    command = [sys.executable, "-m", "onceonly", "agreement", "import", cpa]
    return subprocess.run(
        [*command, "--party", "10000001"], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.exchange(
    "Order and confirmation under one CPA file, which both sides read",
    quirk="Its terms are those of a CPA 2.0, and nothing beside them",
    key="every key that `onceonly agreement import` writes",
)
async def test_what_is_imported_is_what_the_other_side_reads(tmp_path):
    """No key is written by hand but the gateway's own address, party and store."""
    need_strict_msh()
    cpa = tmp_path / "cpa.xml"
    seller = StrictMsh(tmp_path, "--cpa", str(cpa), "--party", "20000002")
    uri = f"http://127.0.0.1:{free_port()}/msh"
    cpa.write_text(cpa_text(uri, f"http://127.0.0.1:{seller.port}/msh"), "utf-8")
    own = {
        "party": [BUYER],
        "listen": uri,
        "api": f"http://127.0.0.1:{free_port()}",
        "store": "gateway.db",
    }
    lines = ["[gateway]", *(f"{key} = {as_toml(value)}" for key, value in own.items())]
    path = tmp_path / "gateway.toml"
    path.write_text("\n".join([*lines, imported(cpa)]), "utf-8")
    both = Ordering(RunningGateway(read_configuration(path)), seller)
    await seller.start()
    try:
        await both.buyer.start()
        try:
            order = await both.order(b"<Order/>")
            await both.buyer.until_state(order, "acknowledged")
            confirmation = await seller.send("OrderConfirmation", b"<Confirmation/>", ref=order)
            assert (await seller.settled(confirmation)).status == "delivered"
            await both.buyer.until_handed_over(confirmation)
            assert await seller.log() == []
        finally:
            await both.buyer.stop(0.0)
    finally:
        await seller.close()
