"""The document against a gateway that runs: schemathesis finds nothing where they differ.

It reads `/openapi.json` as any program outside does, makes requests that fit and requests that do
not, and looks whether each is answered as declared. `ONCEONLY_SCHEMATHESIS_S=600` tries longer.
"""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from calling import received
from packages import ORDER
from running_gateway import running, serving_api

pytestmark = pytest.mark.anyio

BUDGET_S = int(os.environ.get("ONCEONLY_SCHEMATHESIS_S", "40"))
"""For the whole run."""

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src"


KNOWN = "0"
"""The text and the number that schemathesis tries first: it finds what has this name."""


async def make_something(gateway, peer):
    """A message out, one in, a job: so that calls about one find one."""
    gateway.api.headers["authorization"] = "Bearer s3cret"
    await received(gateway, peer, KNOWN, 1)
    await gateway.submit(ORDER, to=peer, message_id=KNOWN)
    row = {"message_id": "1", "to": peer.party, "service": "S", "action": "A", "payload": "x"}
    answer = await gateway.call("POST", f"/v1/jobs/{KNOWN}/messages", json=row)
    assert answer.status == 200


async def test_schemathesis_finds_nothing(tmp_path, peer):
    """Statuses, schemas, heads, `Allow`, security: all of its checks, with a seed that is told."""
    async with (
        running(tmp_path, peer, gateway={"api_token": "s3cret"}) as gateway,
        serving_api(gateway) as api,
    ):
        await make_something(gateway, peer)
        program = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("schemathesis")),
            *("--config-file", str(HERE / "schemathesis.toml"), "run", f"{api}/openapi.json"),
            *("--header", "Authorization: Bearer s3cret", "--max-time", str(BUDGET_S)),
            cwd=tmp_path,
            env={
                **os.environ,
                "SCHEMATHESIS_HOOKS": "api_forms",
                "PYTHONPATH": f"{HERE}:{SOURCES}",
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await program.communicate()
    assert program.returncode == 0, said.decode()
