"""The examples of `docs/how-to/python.md` and the README, run against a gateway."""

import asyncio
import contextlib
import io
import sqlite3

import pytest
from running_gateway import running, serving_api

from ports import free_port
from recipes import examples_of, replaced

pytestmark = pytest.mark.anyio

PARTNER = "urn:duns:111111111"
"""Whom the gateway of the tests has an agreement with; the pages write to another one."""


def run(example: str, api: str) -> str:
    """What it prints, run as a program."""
    changes = {"http://127.0.0.1:8411": api, "urn:duns:222222222": PARTNER, "wait_s=20": "wait_s=0"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(replaced(example, changes), "example", "exec"), {"__name__": "example"})
    return printed.getvalue()


async def test_what_the_pages_say_in_python_works(tmp_path, monkeypatch, peer):
    """Submitted, found again under its key, taken with and without payloads, looked up."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "order.xml").write_text('<order id="PO-5001"/>', "utf-8")
    api = f"http://127.0.0.1:{free_port()}"
    async with (
        running(tmp_path, peer, gateway={"api": api}) as gateway,
        serving_api(gateway),
    ):
        await peer.post(peer.normal("m-1@a.example.com", 1))
        await gateway.until_handed_over("m-1@a.example.com")

        async def said(example: str) -> str:
            return await asyncio.to_thread(run, example, api)

        [readme] = examples_of("../README.md", "python")
        await said(readme)
        send, again, receive, functions, look = examples_of("how-to/python.md", "python")
        message_id, _, replayed = (await said(send)).split()
        assert replayed == "False"
        assert (await said(send)).split()[::2] == [message_id, "True"]
        assert await said(again) == ""
        named = {"Ordering": "QuoteToCollect", "NewOrder": "NewPurchaseOrder", "<Order": "<"}
        await said(replaced(functions, named))
        with contextlib.closing(sqlite3.connect("orders.db")) as orders:
            assert orders.execute("SELECT inbox_offset FROM booked").fetchall() == [(1,)]
        await peer.post(peer.normal("m-2@a.example.com", 2, payloads=()))
        await gateway.until_handed_over("m-1@a.example.com", "m-2@a.example.com")
        await said(receive)
        items = (await gateway.get("/v1/inbox"))["items"]
        assert [item["processing"] for item in items] == ["complete"] * 2
        looked = look.replace("01a1fc1b4cd0b25c3caa452c4e6aa538ddca94eaca1a@127.0.0.1", message_id)
        assert (await said(looked)).split()[1] == "False"
