"""A list as a file: what each form has of a row, and what a stranger's text cannot do in it."""

import csv
import io
import json
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceonly import export
from onceonly.api.history import JournalRow
from onceonly.api.inbox import InboxItem, Payload
from onceonly.export import FORMS, FORMULA_SIGNS, columns_of, csv_cell, exporter
from onceonly.message.event import Event
from onceonly.message.message import DeliverySemantics

AT = "2026-11-25T08:00:00.123456Z"


def item(number: int = 1, **more: Any) -> InboxItem:
    given = {
        "message_id": f"m-{number}",
        "from_ids": ("urn:duns:1", "urn:duns:2"),
        "to_ids": ("urn:duns:3",),
        "agreement": "tpa-1",
        "conversation": "c-1",
        "service": "Orders",
        "action": "New",
        "ref": None,
        "semantics": DeliverySemantics.ONCE_AND_ONLY_ONCE,
        "timestamp": AT,
        "size_bytes": 5,
        "offset": number,
        "digest": "d",
        "header_digest": None,
        "processing": "not-started",
        "received_at": AT,
        "handed_over_at": AT,
        "partner_name": "Seller",
        "payloads": (
            Payload(n=0, name="", content_type="a/b", size_bytes=5, digest="d", href="/"),
        ),
        **more,
    }
    return InboxItem(**given)


def written(form: Any, rows: list[Any], row_type: Any = InboxItem, size: int = 1000) -> bytes:
    made = exporter(form, row_type)
    pieces = [made.begin()]
    pieces += [made.rows(rows[at : at + size]) for at in range(0, len(rows), size)]
    return b"".join([*pieces, made.end()])


@pytest.mark.parametrize("listed", [export.MESSAGES, export.INBOX, export.JOURNAL])
def test_every_member_of_a_row_is_a_column_or_an_object(listed):
    """So that a new member of the API is in the files too."""
    columns = {column.name for column in columns_of(listed.row_type)}
    members = {field.encode_name for field in msgspec.structs.fields(listed.row_type)}
    assert members - columns <= {"pair", "recovery", "response"}


def test_the_three_forms_say_the_same():
    """With names together, and of payloads the number."""
    rows = [item(1), item(2, ref="m-1")]
    read = list(csv.DictReader(io.StringIO(written("csv", rows).decode(), newline="")))
    lines = [json.loads(line) for line in written("ndjson", rows).splitlines()]
    table = pq.read_table(io.BytesIO(written("parquet", rows)))
    for number, (cells, line, row) in enumerate(zip(read, lines, table.to_pylist(), strict=True)):
        assert line == json.loads(msgspec.json.encode(rows[number]))
        assert cells["from"] == row["from"] == "urn:duns:1 urn:duns:2"
        assert (cells["ref"] or None) == row["ref"] == line["ref"]
        assert (int(cells["payloads"]), row["payloads"]) == (1, 1)
        assert cells["received_at"] == line["received_at"] == AT
        assert row["received_at"].isoformat() == AT.replace("Z", "+00:00")
    assert table.schema.field("received_at").type == pa.timestamp("us", tz="UTC")


def test_a_row_of_the_journal_has_its_enums_as_words():
    """In every form."""
    row = JournalRow(
        party="p",
        event=Event.SUBMITTED,
        at=AT,
        monotonic_ns=1,
        schema_version=1,
        seq=1,
        store_epoch=1,
        chain_hash="h",
    )
    assert b"Submitted" in written("csv", [row], JournalRow)
    table = pq.read_table(io.BytesIO(written("parquet", [row], JournalRow)))
    assert (table["event"].to_pylist(), table["reason"].to_pylist()) == (["Submitted"], [None])


@pytest.mark.parametrize("form", FORMS)
def test_nothing_found_is_a_whole_file(form):
    """With the columns, where the form has a place for them."""
    found = written(form, [])
    if form == "parquet":
        assert pq.read_table(io.BytesIO(found)).num_rows == 0
    else:
        assert found.count(b"\r\n") == (form == "csv")


@pytest.mark.parametrize("form", FORMS)
def test_what_waits_in_memory_is_bounded(form, monkeypatch):
    """A group of rows leaves as soon as it is full."""
    monkeypatch.setattr(export, "GROUP_ROWS", 10)
    made = exporter(form, InboxItem)
    made.begin()
    rows = [item(number) for number in range(25)]
    first = made.rows(rows)
    assert len(first) > 500
    rest = made.end()
    if form == "parquet":
        whole = pq.ParquetFile(
            io.BytesIO(first + rest) if first[:4] == b"PAR1" else io.BytesIO(b"PAR1" + first + rest)
        )
        sizes = [whole.metadata.row_group(n).num_rows for n in range(whole.num_row_groups)]
        assert sizes == [10, 10, 5]
    else:
        assert rest == b""


@given(st.text(max_size=20))
def test_no_cell_is_a_formula_and_nothing_in_it_is_invisible(text):
    """Whatever a partner wrote (attack R15)."""
    cell = csv_cell(text)
    assert not cell.lstrip().startswith(FORMULA_SIGNS)
    assert "\n" not in cell
    assert "\r" not in cell
    assert "\t" not in cell


@pytest.mark.parametrize(
    "text",
    ["=1+1", " =1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\u200b=1", "\uff1d1", "\u3000=1"],
)
def test_a_formula_is_a_text(text):
    """Also with what a spreadsheet passes over before it."""
    cell = csv_cell(text)
    assert cell.startswith(("'", "\\"))


@pytest.mark.parametrize("form", FORMS)
def test_half_a_surrogate_pair_ends_no_file(form):
    """It has no UTF-8, and so an escape."""
    assert b"ud800" in written(form, [item(1, service="\ud800")])


def test_numbers_are_no_formulas():
    """A negative number stays one."""
    assert [csv_cell(value) for value in (-1, True, None)] == ["-1", "true", ""]
