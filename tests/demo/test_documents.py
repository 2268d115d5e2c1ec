"""The sample documents are UBL whose totals add up; files of a directory go as they are."""

from decimal import Decimal
from hashlib import sha256

import pytest
from lxml import etree

from onceonly.demo import documents
from onceonly.demo.documents import SampleDocument, document_name, files_of, order, order_response
from onceonly.message.errors import LocalError

NUMBERS = range(1, 41)
NS = {
    "cac": "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
    "cbc": "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2",
}


def tree(document: SampleDocument):
    assert isinstance(document.source, bytes)
    return etree.fromstring(document.source)


def canonical(element) -> bytes:
    return etree.tostring(element, method="c14n", exclusive=True, with_tail=False)


def amounts(element, path: str) -> list[Decimal]:
    return [Decimal(found.text) for found in element.iterfind(path, NS)]


@pytest.mark.parametrize("number", NUMBERS)
def test_an_orders_totals_add_up(number):
    """Quantity times price makes a line, lines make the net, net and tax make what is payable."""
    root = tree(order(7, number))
    lines = amounts(root, "cac:OrderLine/cac:LineItem/cbc:LineExtensionAmount")
    prices = amounts(root, "cac:OrderLine/cac:LineItem/cac:Price/cbc:PriceAmount")
    quantities = amounts(root, "cac:OrderLine/cac:LineItem/cbc:Quantity")
    assert lines == [q * p for q, p in zip(quantities, prices, strict=True)]
    total = root.find("cac:AnticipatedMonetaryTotal", NS)
    (net,) = amounts(total, "cbc:LineExtensionAmount")
    (payable,) = amounts(total, "cbc:PayableAmount")
    (tax,) = amounts(root, "cac:TaxTotal/cbc:TaxAmount")
    (percent,) = amounts(root, ".//cac:TaxCategory/cbc:Percent")
    assert net == sum(lines)
    assert payable == net + tax
    assert abs(tax - net * percent / 100) <= Decimal("0.005")


@pytest.mark.parametrize("number", NUMBERS)
def test_a_response_refers_to_its_order(number):
    """The response names the order, its parties are the same, and it has as many lines."""
    ordered, replied = tree(order(7, number)), tree(order_response(7, number))
    assert replied.findtext("cac:OrderReference/cbc:ID", None, NS) == ordered.findtext(
        "cbc:ID", None, NS
    )
    for role in ("cac:BuyerCustomerParty", "cac:SellerSupplierParty"):
        assert canonical(replied.find(role, NS)) == canonical(ordered.find(role, NS))
    line = "cac:OrderLine"
    assert len(replied.findall(line, NS)) == len(ordered.findall(line, NS))


def test_the_documents_root_is_ubls():
    """Orders and responses are in the namespaces that UBL 2.1 gives them."""
    ubl = "urn:oasis:names:specification:ubl:schema:xsd:"
    assert tree(order(1, 1)).tag == f"{{{ubl}Order-2}}Order"
    assert tree(order_response(1, 1)).tag == f"{{{ubl}OrderResponse-2}}OrderResponse"


def test_same_seed_same_documents_and_no_two_alike():
    """Seed and number decide every byte, and no two documents of a run are equal."""
    first = [make(3, n) for n in NUMBERS for make in (order, order_response)]
    again = [make(3, n) for n in NUMBERS for make in (order, order_response)]
    assert first == again
    assert len({document.digest for document in first}) == len(first)
    assert order(4, 1).digest != order(3, 1).digest


def test_sizes_are_those_of_real_documents():
    """Most documents have 2 to 12 KB; one in forty is large."""
    sizes = [order(3, n).size_bytes for n in NUMBERS]
    large = [size for size in sizes if size > 12_000]
    assert len(large) == 1
    assert large[0] > 64 * 1024, "a large one must not fit into the database row"
    assert all(size > 2_000 for size in sizes)


def test_size_and_digest_describe_the_bytes():
    """What a document says about itself is true."""
    document = order(3, 1)
    assert document.size_bytes == len(document.source)
    assert document.digest == sha256(document.source).hexdigest()


def test_files_of_a_directory_are_taken_recursively_and_in_order(tmp_path):
    """Every file counts, of any type, empty ones too; links and directories do not."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "deep.bin").write_bytes(bytes(range(256)))
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "a.xml")
    found = list(files_of(tmp_path))
    assert [(d.name, d.size_bytes) for d in found] == [
        ("a.xml", 4),
        ("b/deep.bin", 256),
        ("empty", 0),
    ]
    assert found[0].content_type == "application/xml"
    assert found[1].content_type == "application/octet-stream"
    assert found[1].digest == sha256(bytes(range(256))).hexdigest()


def test_a_file_that_went_away_is_named(tmp_path):
    """Between the look at the directory and the look into the file."""
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    documents = files_of(tmp_path)
    assert next(documents).name == "a"
    (tmp_path / "b").unlink()
    with pytest.raises(LocalError, match="No such file") as refusal:
        next(documents)
    assert refusal.value.name == "UnreadableDocument"


def test_a_directory_without_files_is_refused(tmp_path):
    """Nothing to send is a mistake of the caller's, not a success."""
    with pytest.raises(LocalError) as refusal:
        list(files_of(tmp_path))
    assert refusal.value.name == "NoDocuments"


def test_a_file_past_the_limit_is_refused(tmp_path, monkeypatch):
    """A file that is too large is named before anything is sent."""
    monkeypatch.setattr(documents, "FILE_BYTES_MAX", 3)
    (tmp_path / "big").write_bytes(b"1234")
    with pytest.raises(LocalError) as refusal:
        list(files_of(tmp_path))
    assert refusal.value.name == "DocumentTooLarge"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.xml", "a/b.xml"),
        ("tab\there\n", "tab_here_"),
        (" spaced ", "spaced"),
        ("x" * 300 + ".pdf", "x" * 251 + ".pdf"),
        ("\udcff", "_"),
        (" ", "_"),
    ],
)
def test_names_become_one_line_of_text(path, name):
    """A file name may hold anything; a header may not."""
    assert document_name(path) == name
