"""Every CPA at hand, from both sides: it imports, and both halves fit each other (E2-120)."""

from pathlib import Path
from typing import Any

import pytest
from cpas import NOW_AT, beside, cpa, endpoint, persist, reliable_messaging

from onceonly.gateway.config.keys import AGREEMENT_KEYS
from onceonly.gateway.cpa import Wishes, import_cpa
from onceonly.gateway.cpa.reading import read_cpa
from onceonly.gateway.cpa.terms import Allowed
from onceonly.gateway.cpa.weaker import read_tables

OPEN = Allowed(is_open=True)
"""Some of them demand a protected way, and have http endpoints for tests."""

FILES = {
    "be-unsigned": "cpaStubEBF.be.http.unsigned.xml",
    "rm-unsigned": "cpaStubEBF.rm.http.unsigned.xml",
    "rm-unsigned-sync": "cpaStubEBF.rm.http.unsigned.sync.xml",
    "rm-signed": "cpaStubEBF.rm.https.signed.ackSigned.xml",
}
STUBS = "samples/ebms2/ebms-core/core/src/test/resources/nl/clockwork/ebms/cpas"

SHARED = (
    *("cpa_id", "delivery_semantics", "ack_requested", "duplicate_elimination", "sync_reply_mode"),
    *("retries", "retry_interval", "persist_duration", "time_to_live", "message_order"),
    *("check_header", "ack_actor", "sign", "require_signature", "valid_from", "valid_until"),
)
"""Keys that both parties must have alike."""


def documents() -> dict[str, bytes]:
    """All that are on this machine; the first are our own."""
    ordered = reliable_messaging(order="") + persist()
    mail = {"protocol_b": "SMTP", "endpoints_b": endpoint("mailto:msh@b.example.com")}
    found = {
        "ours": cpa(),
        "ordered": cpa(receiver_a=ordered, receiver_b=ordered),
        "by mail": cpa(**mail),
    }
    shared = Path(__file__).parents[3] / "shared"
    if shared.exists():
        found["ab-1"] = beside("spec", "examples", "cpa", "cpa-ab-1.xml").read_bytes()
        for name, file in FILES.items():
            found[name] = beside(*STUBS.split("/"), file).read_bytes()
    return found


@pytest.fixture(params=["ours", "ordered", "by mail", "ab-1", *FILES])
def document(request: pytest.FixtureRequest) -> bytes:
    found = documents()
    if request.param not in found:
        beside("spec")
    return found[request.param]


def sides(document: bytes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The tables of both parties."""
    names = [party.ids[0][0] for party in read_cpa(document).parties]
    first, second = (
        [
            table.values
            for table in import_cpa(document, Wishes(party=name, allowed=OPEN), NOW_AT).tables
        ]
        for name in names
    )
    return first, second


def exchanged(tables: list[dict[str, Any]], way: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The table of each action that is sent, or received."""
    return {
        (service["id"], action): table
        for table in tables
        for service in table["services"]
        for action in service.get(way, ())
    }


@pytest.mark.statement("E2-120")
def test_what_one_party_sends_the_other_receives_on_the_same_terms(document: bytes) -> None:
    """Both ways: the same actions, the same degree and timers, roles and parties exchanged."""
    first, second = sides(document)
    met = 0
    for ours, theirs in ((first, second), (second, first)):
        sent, received = exchanged(ours, "send"), exchanged(theirs, "receive")
        assert sent.keys() == received.keys()
        for action, table in sent.items():
            other = received[action]
            assert {key: table.get(key) for key in SHARED} == {
                key: other.get(key) for key in SHARED
            }
            assert (table["role"], table["partner_role"]) == (other["partner_role"], other["role"])
            assert (table["party"], table["with"]) == (other["with"], other["party"])
            met += 1
    assert met


@pytest.mark.statement("E2-120")
def test_each_goes_to_the_address_at_which_the_other_says_that_it_listens(document: bytes) -> None:
    """The comment of one side is the send_to of the other."""
    names = [party.ids[0][0] for party in read_cpa(document).parties]
    for ours, theirs in (names, names[::-1]):
        sent = import_cpa(document, Wishes(party=ours, allowed=OPEN), NOW_AT)
        taken = import_cpa(document, Wishes(party=theirs, allowed=OPEN), NOW_AT)
        for table in sent.tables:
            if any("send" in service for service in table.values["services"]):
                assert f"# The partner posts to {table.values['send_to']}: " in taken.text


@pytest.mark.statement("E2-120")
def test_a_configuration_reads_what_was_written(document: bytes, tmp_path: Path) -> None:
    """Each key and value is legal, as the reader of the configuration has it."""
    name = read_cpa(document).parties[0].ids[0][0]
    found = import_cpa(document, Wishes(party=name, allowed=OPEN), NOW_AT)
    assert {key for one in found.tables for key in one.values} <= AGREEMENT_KEYS.keys()
    path = tmp_path / "agreements.toml"
    path.write_text(found.text, "utf-8")
    tables = read_tables(path)
    assert [table["cpa_id"] for table in tables] == [one.values["cpa_id"] for one in found.tables]


@pytest.mark.parametrize(
    "form",
    [
        lambda text: (
            text.replace("xmlns:c", "xmlns")
            .replace(" c:", " ")
            .replace("<c:", "<")
            .replace("</c:", "</")
            .encode()
        ),
        lambda text: text.replace("UTF-8", "ISO-8859-1").encode("latin-1"),
        lambda text: text.replace("UTF-8", "UTF-16").encode("utf-16"),
        lambda text: f"\ufeff{text}".encode(),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace(' encoding="UTF-8"', "").encode(),
    ],
    ids=["no prefix", "latin-1", "utf-16", "byte order mark", "CRLF", "no encoding"],
)
def test_the_form_of_the_file_is_free(form: Any) -> None:
    """Prefixes, qualified attributes, encodings and line ends: the tables are the same."""
    text = cpa(service="urn:services:Bestellungen-für-Müller").decode()
    wishes = Wishes(party="urn:duns:111111111")
    found = import_cpa(form(text), wishes, NOW_AT).tables
    assert found == import_cpa(text.encode(), wishes, NOW_AT).tables
