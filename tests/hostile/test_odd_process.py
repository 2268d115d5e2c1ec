"""The process itself lives through what once ended it, and starts again over what it stored."""

import subprocess
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import odd_run
import pytest
from odd_stage import Stage
from running_gateway import Answered
from served_gateway import said, serving, until_ready, value_of

pytestmark = [pytest.mark.anyio, pytest.mark.process]


class Served:
    """A gateway seen from outside: its addresses, its API, and whether it lives."""

    def __init__(self, path: Path, process: subprocess.Popen[bytes]) -> None:
        self.path = path
        self.process = process
        self.uri = value_of(path, "listen")
        self.configuration = SimpleNamespace(amqp=None)

    async def call(self, method: str, path: str, **arguments: Any) -> Answered:
        async with httpx.AsyncClient(base_url=value_of(self.path, "api")) as api:
            response = await api.request(method, path, **arguments)
        return Answered(response.status_code, response.json())

    def inbox_ids(self) -> list[str]:
        found = httpx.get(f"{value_of(self.path, 'api')}/v1/inbox", params={"limit": 1000})
        return [item["message_id"] for item in found.json()["items"]]

    async def until(self, claim: Callable[[], object]) -> None:
        """Ask until it is so; the test ends before for ever does."""
        while not claim():
            self.assert_alive()

    def assert_alive(self) -> None:
        assert self.process.poll() is None, said(self.path)


class ServedStage(Stage):
    """The stage whose gateway is a process."""

    gateway: Any

    async def _begin(self, path: Path, stack: AsyncExitStack) -> None:
        process = stack.enter_context(serving(path))
        self.gateway = Served(path, process)
        await until_ready(process, path)

    async def settle(self) -> None:
        """What goes on in a process, an honest message behind it shows."""

    async def start_again(self, stack: AsyncExitStack) -> None:
        """As after a power cut."""
        self.gateway.process.kill()
        self.gateway.process.wait()
        await self._begin(self.gateway.path, stack)


async def test_what_once_ended_the_process_does_not(tmp_path):
    """By HTTP and by mail, one after the other, and after a kill."""
    cases = [
        one for one in odd_run.kept() if one.role.split()[0] in ("origin", "typed", "stranger")
    ]
    assert cases
    stage = ServedStage(tmp_path)
    async with AsyncExitStack() as stack:
        await stage.open(stack)
        for case in cases:
            await stage.bring(case._replace(changes={"ref": "m-0@a.example.com", **case.changes}))
            try:
                await stage.innocent()
            except (AssertionError, TimeoutError, OSError) as error:
                raise AssertionError(f"{case.line}\n{said(stage.gateway.path)}") from error
            stage.gateway.assert_alive()
        await stage.start_again(stack)
        await stage.innocent()
        stage.gateway.assert_alive()
