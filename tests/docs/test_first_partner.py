"""`docs/how-to/first-partner.md`, typed into a shell; and what it says of what goes wrong."""

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from typed_pages import START_S, Shell, type_page

from certificates import need_openssl
from onceonly.client import Client
from ports import free_port
from recipes import DOCS, configurations_of, replaced

pytestmark = pytest.mark.process

PAGE = "how-to/first-partner.md"
APIS = {"buyer/gateway.toml": ":8411", "seller/gateway.toml": ":8412"}
ELSEWHERE = ("python3 -m venv", "venv/bin/pip", "export PATH", "mkdir -p", "kill ")
"""The installation, which tests/repo/test_wheel.py makes; and the end, which comes after more."""

SHORT = {"timeout        = 10": "timeout = 1", "retry_interval = 10": "retry_interval = 1"}
"""What goes wrong is tried once more each second here."""

OF_THE_ORDER = ("send", "message", "inbox")

POLL_S = 0.2
"""How long the gateway waits for a verdict before it answers."""

TROUBLES = [
    ("buyer", ":8402/msh", ":{free}/msh", "refused, connection refused"),
    ("buyer", ":8402/msh", ":8402/other", "404 NotFound: there is nothing at this path"),
    ("buyer", '"partner.pem"', '"own.pem"', "TLS handshake failed"),
    ("seller", ":8401/msh", ":{free}/msh", "accepted, 204"),
    ("seller", '"tpa-ab-1"', '"tpa-zz-9"', "agreement 'tpa-ab-1' is not known here"),
]
"""Whose file says something else, and what the buyer sees, as the table of the page has it."""


class Two:
    """Both organisations as the page has them, on ports that are free here."""

    def __init__(self, folder: Path, shell: Shell) -> None:
        self.shell = shell
        self.ports = {f":{port}": f":{free_port()}" for port in (8401, 8402, 8411, 8412)}
        self.apis = {name: f"http://127.0.0.1{self.ports[port]}" for name, port in APIS.items()}
        self.changes = {**self.ports, "/srv/first": str(folder)}
        self._folder = folder
        for name in ("buyer", "seller"):
            (folder / name).mkdir()

    def write(self, changes: dict[str, str]) -> None:
        """The files of the page."""
        for name, text in zip(APIS, configurations_of(PAGE), strict=True):
            (self._folder / name).write_text(replaced(text, {**changes, **self.ports}), "utf-8")

    def change(self, who: str, old: str, new: str) -> Callable[[], None]:
        """Change the file of one side, which takes it over; returns what takes that back."""
        file = self._folder / who / "gateway.toml"
        before = file.read_text("utf-8")
        old, new = replaced(old, self.ports), replaced(new.format(free=free_port()), self.ports)
        assert old in before
        file.write_text(before.replace(old, new), "utf-8")
        self._reload(who)

        def take_back() -> None:
            file.write_text(before, "utf-8")
            self._reload(who)

        return take_back

    def _reload(self, who: str) -> None:
        with self.client(who) as client:
            assert client.reload().changed

    def client(self, who: str) -> Client:
        return Client(self.apis[f"{who}/gateway.toml"])


@pytest.fixture
def two(tmp_path: Path, shell: Shell) -> Iterator[Two]:
    need_openssl()
    return Two(tmp_path, shell)


def test_the_page_goes_as_it_is_told(two: Two) -> None:
    """Every command in order; each prints what the page shows, and so does the console."""
    two.write({})
    ids = type_page(two.shell, PAGE, changes=two.changes, apis=two.apis, elsewhere=ELSEWHERE)
    [message_id] = ids.values()
    pages = re.findall(r"<(http://\S+/console/\S+)>", (DOCS / PAGE).read_text("utf-8"))
    assert len(pages) == 2
    for page in pages:
        assert message_id in httpx.get(replaced(page, two.ports)).text


def test_what_goes_wrong_is_seen_as_the_table_says(two: Two) -> None:
    """Each trouble is made by a reload, seen at the sender, and taken back."""
    two.write(SHORT)
    type_page(
        two.shell,
        PAGE,
        changes=two.changes,
        apis=two.apis,
        elsewhere=(*ELSEWHERE, *(f"onceonly {word}" for word in ("check", *OF_THE_ORDER)), "ID="),
    )
    told = (DOCS / PAGE).read_text("utf-8")
    for number, (who, old, new, seen) in enumerate(TROUBLES):
        assert f"`{seen}" in told
        take_back = two.change(who, old, new)
        with two.client("buyer") as buyer:
            sent = buyer.submit(
                [(b"<order/>", "application/xml", "order.xml")],
                to="urn:duns:222222222",
                service="Ordering",
                action="NewOrder",
                message_id=f"m-{number}@buyer.example",
            ).message_id
            until(partial(is_seen, buyer, sent, seen), seen)
            take_back()
            until(partial(is_over, buyer, sent), f"{seen} is over")


def until(claim: Callable[[], bool], what: str) -> None:
    """Ask again until it holds; the gateway itself waits for a while with its answer."""
    ends_s = time.monotonic() + START_S
    while not claim():
        assert time.monotonic() < ends_s, what


def is_seen(client: Client, message_id: str, words: str) -> bool:
    """Whether `message show` has them in the last outcome, or in the reason of an end."""
    detail = client.get(message_id, POLL_S)
    last = detail.last_outcome
    return words in f"{last and last.words} {detail.reason}"


def is_over(client: Client, message_id: str) -> bool:
    """Whether nothing is sent any more: acknowledged, refused, or in doubt."""
    return client.get(message_id, POLL_S).state not in {"queued", "sending"}
