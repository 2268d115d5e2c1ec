"""What the demonstration sends: sample orders and order responses, or the files of a directory.

Knows UBL 2.1 orders and order responses well enough to write valid ones whose totals add up; a
purchase is a pure function of seed and number. It must not know who sends a document or how.
"""

import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from hashlib import file_digest, sha256
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from lxml import etree
from lxml.etree import _Element  # the only name that lxml has for it

from onceonly.message.errors import LocalError

FILE_BYTES_MAX: Final = 100 * 1024 * 1024
"""Largest file that the demonstration takes from a directory."""

FILES_MAX: Final = 10_000
"""Most files of a directory; more is likely the wrong directory."""

NAME_LENGTH_MAX: Final = 255
"""Longest name of a document on its way."""

LARGE_ONE_IN: Final = 40
"""One purchase in so many is a large one, so that payloads outside the database are met too."""

LARGE_LINES: Final = 280
"""Lines of a large purchase: about 200 KB as an order."""

_UBL: Final = "urn:oasis:names:specification:ubl:schema:xsd:"
_CAC: Final = f"{_UBL}CommonAggregateComponents-2"
_CBC: Final = f"{_UBL}CommonBasicComponents-2"
_CENT: Final = Decimal("0.01")
_CUSTOMIZATION: Final = "urn:onceonly:demo:ordering"


@dataclass(frozen=True, slots=True)
class SampleDocument:
    """One document to send; `source` is its bytes, or the file that has them."""

    name: str
    content_type: str
    source: bytes | Path
    size_bytes: int
    digest: str
    """Hexadecimal SHA-256 of the bytes."""


class Company(NamedTuple):
    """A party of a purchase, as a UBL document describes it."""

    name: str
    gln: str
    vat_id: str
    street: str
    city: str
    postal_zone: str
    country: str


class PurchaseLine(NamedTuple):
    """One line of a purchase; prices in the purchase's currency, without tax."""

    item: str
    article: str
    quantity: int
    unit: str
    price: Decimal

    @property
    def amount(self) -> Decimal:
        """What the line costs without tax."""
        return self.quantity * self.price


class Purchase(NamedTuple):
    """What an order and its response are about."""

    number: int
    issued: datetime
    wanted: datetime
    buyer: Company
    seller: Company
    currency: str
    tax_percent: int
    lines: tuple[PurchaseLine, ...]

    @property
    def net(self) -> Decimal:
        """Sum of the lines."""
        return sum((line.amount for line in self.lines), Decimal(0))

    @property
    def tax(self) -> Decimal:
        """Tax on the sum, rounded half up to the cent."""
        return _cents(self.net * self.tax_percent / 100)


BUYER: Final = Company(
    "Nordlicht Werften GmbH", "4012345000009", "DE111111111", "Kaistrasse 8", "Kiel", "24103", "DE"
)
SELLER: Final = Company(
    "Fjordblad Verktøy AS",
    "7080000111114",
    "NO222222222MVA",
    "Havnegata 21",
    "Bergen",
    "5003",
    "NO",
)

_GOODS: Final = (
    ("Ball valve, bronze, DN 25", "C62", 2_450, 9_900),
    ("Mooring rope, 24 mm", "MTR", 390, 640),
    ("Anti-fouling paint, dark red", "LTR", 1_850, 3_120),
    ("Cable gland M32, brass", "C62", 240, 410),
    ("Shackle & pin, 6.5 t", "C62", 1_990, 3_550),
    ("Marine plywood, 18 mm", "MTK", 3_300, 5_200),
    ("Zinc anode, 2.1 kg", "C62", 1_150, 1_780),
    ("Hydraulic oil <ISO 46>", "LTR", 310, 495),
    ("Förderband-Rolle 89 x 200", "C62", 2_100, 2_890),
    ("Stainless bolt M12 x 60, A4", "CEN", 3_900, 6_150),
    ("Navigation lamp, LED, 12 V", "C62", 5_450, 12_900),
    ("Insulating mat, 50 mm", "MTK", 880, 1_420),
)
_REMARKS: Final = (
    "Deliver to gate 3, between 7 and 15 o'clock.",
    "Partial deliveries are welcome.",
    "Please print our order number on every parcel.",
    "Pallets will be exchanged.",
    "Bitte Prüfzeugnis 3.1 beilegen.",
)
_REPLIES: Final = (
    ("AP", "Accepted as ordered."),
    ("AP", "Accepted; the goods leave our house on the day before."),
    ("CA", "Accepted with changes, see the lines."),
    ("RE", "Rejected: not available in this quantity."),
)


def purchase(seed: int, number: int) -> Purchase:
    """The purchase with this number; a pure function of both."""
    random = Random(f"{seed}/documents/{number}")  # noqa: S311 - because samples must repeat
    is_large = number % LARGE_ONE_IN == LARGE_ONE_IN // 2
    count = LARGE_LINES if is_large else random.randint(1, 7)
    issued = datetime(2026, 1, 5, 8, tzinfo=UTC) + timedelta(minutes=random.randrange(300_000))
    return Purchase(
        number=number,
        issued=issued,
        wanted=issued + timedelta(days=random.randint(3, 45)),
        buyer=BUYER,
        seller=SELLER,
        currency="EUR",
        tax_percent=random.choice((0, 19, 25)),
        lines=tuple(_line(random) for _ in range(count)),
    )


def _line(random: Random) -> PurchaseLine:
    item, unit, lowest, highest = random.choice(_GOODS)
    price = Decimal(random.randint(lowest, highest)) / 100
    return PurchaseLine(
        item, f"FB-{random.randrange(10**6):06d}", random.randint(1, 480), unit, price
    )


def order(seed: int, number: int) -> SampleDocument:
    """The sample order with this number."""
    deal = purchase(seed, number)
    remark = Random(f"{seed}/remark/{number}").choice(_REMARKS)  # noqa: S311 - because it repeats
    root = _root("Order", f"PO-{deal.number:06d}", deal)
    _text(root, "Note", remark)
    _text(root, "DocumentCurrencyCode", deal.currency)
    _company(root, "BuyerCustomerParty", deal.buyer)
    _company(root, "SellerSupplierParty", deal.seller)
    period = _group(_group(root, "Delivery"), "RequestedDeliveryPeriod")
    _text(period, "EndDate", deal.wanted.date().isoformat())
    _tax(root, deal)
    _total(root, deal)
    for position, line in enumerate(deal.lines, start=1):
        _order_line(root, position, line, deal)
    return _document(root, f"order-{deal.number:06d}.xml")


def order_response(seed: int, number: int) -> SampleDocument:
    """The sample response to the order with this number."""
    deal = purchase(seed, number)
    random = Random(f"{seed}/reply/{number}")  # noqa: S311 - because it must repeat
    code, reply = random.choice(_REPLIES)
    root = _root("OrderResponse", f"OR-{deal.number:06d}", deal)
    _text(root, "OrderResponseCode", code)
    _text(root, "Note", reply)
    _text(root, "DocumentCurrencyCode", deal.currency)
    _text(_group(root, "OrderReference"), "ID", f"PO-{deal.number:06d}")
    _company(root, "SellerSupplierParty", deal.seller)
    _company(root, "BuyerCustomerParty", deal.buyer)
    for position, line in enumerate(deal.lines, start=1):
        changed = code == "CA" and random.random() < 1 / 3
        _response_line(root, position, line, deal, changed=changed)
    return _document(root, f"order-response-{deal.number:06d}.xml")


def files_of(directory: Path) -> Iterator[SampleDocument]:
    """Every file of the directory and of its subdirectories, sorted by path.

    Named by their path below the directory. Symbolic links are not followed, other things than
    files are left out. Raises `LocalError` (NoDocuments, TooManyDocuments, DocumentTooLarge,
    UnreadableDocument).
    """
    paths = sorted(p for p in directory.rglob("*") if p.is_file() and not p.is_symlink())
    if not paths:
        raise LocalError("NoDocuments", f"{directory} has no files")
    if len(paths) > FILES_MAX:
        raise LocalError("TooManyDocuments", f"{directory} has more than {FILES_MAX} files")
    for path in paths:
        yield _file(path, directory)


def _file(path: Path, directory: Path) -> SampleDocument:
    try:
        with path.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
            size_bytes = file.tell()
    except OSError as error:
        raise LocalError("UnreadableDocument", f"{path}: {error.strerror}") from error
    if size_bytes > FILE_BYTES_MAX:
        limit = FILE_BYTES_MAX // 1024**2
        raise LocalError("DocumentTooLarge", f"{path} is larger than {limit} MiB")
    content_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    name = document_name(path.relative_to(directory).as_posix())
    return SampleDocument(name, content_type, path, size_bytes, digest)


def document_name(path: str) -> str:
    """`path` as one line of text that a header can carry; its end if it is too long."""
    printable = "".join(c if c.isprintable() else "_" for c in path).strip()
    return printable[-NAME_LENGTH_MAX:].strip() or "_"


def _root(kind: str, identifier: str, deal: Purchase) -> _Element:
    namespace = f"{_UBL}{kind}-2"
    nsmap = {None: namespace, "cac": _CAC, "cbc": _CBC}
    root = etree.Element(f"{{{namespace}}}{kind}", nsmap=nsmap)  # type: ignore[arg-type]  # because the stubs lack None, the default namespace
    _text(root, "UBLVersionID", "2.1")
    _text(root, "CustomizationID", f"{_CUSTOMIZATION}:{kind.lower()}")
    _text(root, "ID", identifier)
    _text(root, "IssueDate", deal.issued.date().isoformat())
    _text(root, "IssueTime", deal.issued.time().isoformat())
    return root


def _group(parent: _Element, tag: str) -> _Element:
    return etree.SubElement(parent, f"{{{_CAC}}}{tag}")


def _text(parent: _Element, tag: str, text: str, **attributes: str) -> None:
    etree.SubElement(parent, f"{{{_CBC}}}{tag}", attributes).text = text


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(_CENT, ROUND_HALF_UP)


def _amount(parent: _Element, tag: str, amount: Decimal, deal: Purchase) -> None:
    _text(parent, tag, str(_cents(amount)), currencyID=deal.currency)


def _company(parent: _Element, role: str, company: Company) -> None:
    party = _group(_group(parent, role), "Party")
    _text(party, "EndpointID", company.gln, schemeID="GLN")
    _text(_group(party, "PartyName"), "Name", company.name)
    address = _group(party, "PostalAddress")
    _text(address, "StreetName", company.street)
    _text(address, "CityName", company.city)
    _text(address, "PostalZone", company.postal_zone)
    _text(_group(address, "Country"), "IdentificationCode", company.country)
    scheme = _group(party, "PartyTaxScheme")
    _text(scheme, "CompanyID", company.vat_id)
    _text(_group(scheme, "TaxScheme"), "ID", "VAT")


def _tax(root: _Element, deal: Purchase) -> None:
    tax_total = _group(root, "TaxTotal")
    _amount(tax_total, "TaxAmount", deal.tax, deal)
    subtotal = _group(tax_total, "TaxSubtotal")
    _amount(subtotal, "TaxableAmount", deal.net, deal)
    _amount(subtotal, "TaxAmount", deal.tax, deal)
    category = _group(subtotal, "TaxCategory")
    _text(category, "ID", "S" if deal.tax_percent else "Z")
    _text(category, "Percent", str(deal.tax_percent))
    _text(_group(category, "TaxScheme"), "ID", "VAT")


def _total(root: _Element, deal: Purchase) -> None:
    total = _group(root, "AnticipatedMonetaryTotal")
    _amount(total, "LineExtensionAmount", deal.net, deal)
    _amount(total, "TaxExclusiveAmount", deal.net, deal)
    _amount(total, "TaxInclusiveAmount", deal.net + deal.tax, deal)
    _amount(total, "PayableAmount", deal.net + deal.tax, deal)


def _order_line(root: _Element, position: int, line: PurchaseLine, deal: Purchase) -> None:
    item = _group(_group(root, "OrderLine"), "LineItem")
    _text(item, "ID", str(position))
    _text(item, "Quantity", str(line.quantity), unitCode=line.unit)
    _amount(item, "LineExtensionAmount", line.amount, deal)
    _price_and_goods(item, line, deal)


def _response_line(
    root: _Element, position: int, line: PurchaseLine, deal: Purchase, *, changed: bool
) -> None:
    item = _group(_group(root, "OrderLine"), "LineItem")
    _text(item, "ID", str(position))
    _text(item, "LineStatusCode", "Revised" if changed else "NoStatus")
    quantity = max(1, line.quantity // 2) if changed else line.quantity
    _text(item, "Quantity", str(quantity), unitCode=line.unit)
    _price_and_goods(item, line, deal)


def _price_and_goods(item: _Element, line: PurchaseLine, deal: Purchase) -> None:
    price = _group(item, "Price")
    _amount(price, "PriceAmount", line.price, deal)
    _text(price, "BaseQuantity", "1", unitCode=line.unit)
    goods = _group(item, "Item")
    _text(goods, "Description", f"{line.item}; article {line.article}, as in the price list")
    _text(goods, "Name", line.item)
    _text(_group(goods, "SellersItemIdentification"), "ID", line.article)


def _document(root: _Element, name: str) -> SampleDocument:
    content = etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)
    return SampleDocument(
        name, "application/xml", content, len(content), sha256(content).hexdigest()
    )
