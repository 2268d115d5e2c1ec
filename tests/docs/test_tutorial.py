"""The commands of `docs/tutorial.md`, typed into a shell, and what they answer."""

from pathlib import Path

import pytest
from typed_pages import Shell, type_page

from ports import free_port
from recipes import configurations_of, replaced

pytestmark = pytest.mark.process

PAGE = "tutorial.md"
APIS = {"buyer.toml": ":8411", "seller.toml": ":8412"}
ELSEWHERE = ("make setup", "export PATH", "mkdir -p", "onceonly lake")
"""Made by the test itself; and Spark's part, which tests/lake and tests/cli run."""


def test_the_tutorial_goes_as_it_is_told(tmp_path: Path, shell: Shell) -> None:
    """Every command but Spark's, in order; each prints what the page shows."""
    ports = {f":{port}": f":{free_port()}" for port in (8401, 8402, 8411, 8412)}
    apis = {name: f"http://127.0.0.1{ports[port]}" for name, port in APIS.items()}
    for name, text in zip(apis, configurations_of(PAGE), strict=True):
        (tmp_path / name).write_text(replaced(text, ports), "utf-8")
    places = {**ports, "/srv/tutorial": str(tmp_path)}
    type_page(shell, PAGE, changes=places, apis=apis, elsewhere=ELSEWHERE)
