"""`docs/how-to/connect-to-an-ebms-2.0-partner.md`, typed into a shell; the pages of networks."""

import re
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typed_pages import Shell, type_page

sys.path.insert(0, str(Path(__file__).parents[1] / "cpa"))

from cpas import certificate

from onceonly.gateway.config import Configuration, read_configuration
from onceonly.gateway.config.keys import AGREEMENT_KEYS, TABLES
from onceonly.gateway.config.presets import BY_NAME
from ports import free_port
from recipes import DOCS, configurations_of, examples_of, replaced

PAGE = "how-to/connect-to-an-ebms-2.0-partner.md"
CPA = Path(__file__).parents[2] / "examples/cpa/orders.xml"
APIS = {"buyer/gateway.toml": ":8411", "seller/gateway.toml": ":8412"}
NETWORKS = ("digikoppeling", "norway", "nhs", "hermes")


@pytest.mark.process
def test_the_page_goes_as_it_is_told(tmp_path: Path, shell: Shell) -> None:
    """From the CPA to the first acknowledged message, each command with what it prints."""
    ports = {f":{port}": f":{free_port()}" for port in (8401, 8402, 8411, 8412)}
    (tmp_path / "orders.xml").write_text(replaced(CPA.read_text("utf-8"), ports), "utf-8")
    for name, text in zip(APIS, configurations_of(PAGE), strict=True):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text(replaced(text, ports), "utf-8")
    ids = type_page(
        shell,
        PAGE,
        changes={**ports, "/srv/ebms": str(tmp_path)},
        apis={name: f"http://127.0.0.1{ports[port]}" for name, port in APIS.items()},
        elsewhere=(),
    )
    assert len(ids) == 1


@pytest.fixture(params=NETWORKS)
def network(request: pytest.FixtureRequest) -> str:
    return f"how-to/{request.param}.md"


def agreements_of(page: str, folder: Path) -> Iterator[Configuration]:
    """Each agreement that the page shows, in a configuration that has nothing else."""
    tables = [block for block in examples_of(page, "toml") if "[[agreement]]" in block]
    for number, table in enumerate(tables):
        keys = set(re.findall(r"^(\w+) *=", table, re.MULTILINE))
        preset = re.search(r'^preset *= "(.*)"', table, re.MULTILINE)
        assert preset is not None
        assert {*keys, *BY_NAME[preset[1]].values} <= AGREEMENT_KEYS.keys()
        yield read_configuration(_file(folder, number, table))


def _file(folder: Path, number: int, table: str) -> Path:
    gateway = (
        '[gateway]\nparty = ["urn:duns:111111111", {id = "8093456", type = "HER"}]\n'
        'listen = "http://127.0.0.1:8401/msh"\napi = "http://127.0.0.1:8411"\nstore = "s.db"\n'
        '[smtp]\nlisten = "smtp://127.0.0.1:8425"\nmailbox = "msh@buyer.example"\n'
        'relay = "smtp://127.0.0.1:8426"\nstarttls = "never"\n'
    )
    (folder / "partner.pem").write_text(ssl.DER_cert_to_PEM_cert(certificate("partner")), "ascii")
    if "identity" in TABLES:
        gateway += '[[identity]]\nid = "ours"\ncertificate = "partner.pem"\nkey = "ours.key"\n'
    path = folder / f"{number}.toml"
    path.write_text(f"{gateway}{table}", "utf-8")
    return path


def test_every_table_of_a_network_is_legal(network: str, tmp_path: Path) -> None:
    """With the preset that the page is about."""
    found: list[Any] = list(agreements_of(network, tmp_path))
    assert found


def test_each_page_names_every_key_that_its_preset_sets(network: str) -> None:
    """Or says in words what it sets: no preset is only in the source."""
    name = network.removeprefix("how-to/").removesuffix(".md")
    text = (DOCS / network).read_text("utf-8")
    presets = [preset for preset in BY_NAME if preset.split("-")[0] == name]
    assert presets
    assert [preset for preset in presets if f"`{preset}`" not in text and preset != name] == []


def test_the_cpa_of_the_page_is_one_for_its_schema() -> None:
    """A partner's product can load it, too."""
    schemas = Path(__file__).parents[3] / "shared/spec/schemas"
    if not schemas.exists():
        pytest.skip("the schemas are not on this machine")
    etree = pytest.importorskip("lxml.etree")
    schema = etree.XMLSchema(etree.parse(schemas / "cpp-cpa-2_0.xsd"))
    schema.assertValid(etree.parse(CPA))
