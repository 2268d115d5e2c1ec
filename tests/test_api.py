"""The declared types of the API: equal to what they stand for, and to what the document says."""

import json
from enum import StrEnum
from typing import Any, get_args

import msgspec
import pytest

from onceonly.api import words
from onceonly.api.fields import ROW_NUMBER_BITS, FullLine, Identifier, JobName, Line
from onceonly.api.history import JournalRow
from onceonly.api.operation import JSON, Nothing, Operation
from onceonly.api.operations import OPERATIONS
from onceonly.api.refusals import EVERYWHERE, REFUSALS
from onceonly.gateway.api.application import Api
from onceonly.gateway.api.declared import fields_of, from_members
from onceonly.gateway.api.openapi import openapi_document
from onceonly.gateway.api.serving import calls_of
from onceonly.journal.record import COLUMNS
from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.identity import (
    checked_identifier,
    checked_key,
    checked_text,
    is_job_name,
)
from onceonly.message.word import Word
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.events import Outcome, Settlement
from onceonly.protocol.outbound import OutboundStatus
from onceonly.protocol.pairing import PairStatus
from onceonly.protocol.receiving import ProcessingState
from onceonly.protocol.recovering import RecoveryPhase, ResponseStatus
from onceonly.steps.places import NUMBER_BITS
from onceonly.store.contract.bulk import BulkAction, BulkState, ItemOutcome
from onceonly.store.contract.entries import Role
from onceonly.store.contract.jobs import RowOutcome


@pytest.mark.parametrize(
    ("declared", "shown"),
    [
        (words.MessageState, OutboundStatus),
        (words.ErrorWord, ErrorCode),
        (words.PairState, PairStatus),
        (words.Role, Role),
        (words.RecoveryPhase, RecoveryPhase),
        (words.ResponseState, ResponseStatus),
        (words.ProcessingState, ProcessingState),
        (words.TransmissionOutcome, Outcome),
        (words.NoticeKind, NoticeKind),
        (words.RowOutcome, RowOutcome),
        (words.BulkAction, BulkAction),
        (words.BulkState, BulkState),
        (words.Settlement, Settlement),
        (words.ItemOutcome, ItemOutcome),
    ],
)
def test_the_words_of_the_api_are_those_of_the_gateway(declared: Any, shown: type[StrEnum]) -> None:
    """Style rule 7: an Enum that gets one more word makes the API say so."""
    assert set(get_args(declared)) == {one.value for one in shown}


def test_a_journal_row_has_every_column() -> None:
    """In the order of the record; and after them the partner's name, which no row has."""
    assert JournalRow.__struct_fields__ == (*COLUMNS, "partner_name")


def test_a_row_number_has_as_many_bits_as_the_steps_allow() -> None:
    """The bound of the document is the one of the steps."""
    assert ROW_NUMBER_BITS == NUMBER_BITS


class Texts(Word, kw_only=True):
    """One of each text that has a form."""

    identifier: Identifier = "x"
    line: Line = "x"
    key: FullLine = "x"
    job: JobName = "x"


def is_read(name: str, text: str) -> bool:
    """Whether the declared type lets it in."""
    try:
        from_members(Texts, {name: text})
    except LocalError:
        return False
    return True


def is_taken(check: Any, text: str) -> bool:
    """Whether the core would take it."""
    try:
        return check(text) is not False
    except RemoteError:
        return False


SIGNS = ["a", " ", "\t", "\n", "\r", "\x00", "\x1c", "\x1f", "\x7f", "\x85", "\xa0", ".", "/", "é"]
SIGNS += ["\u2028", "\u2029", "\u3000", "\ufeff", "\ufffe", "\uffff", "\U0001f4a3", "%", '"']
TEXTS = ["", *SIGNS, *(one + two for one in SIGNS for two in SIGNS)]
TEXTS += [f"a{one}b" for one in SIGNS] + ["..", "...", "a" * 255, "a" * 256, " " * 255]


def test_the_declared_form_of_a_text_is_the_one_that_the_core_checks() -> None:
    """Pattern and length of each, against the function that guards the store."""
    for text in TEXTS:
        assert is_read("identifier", text) == is_taken(lambda it: checked_identifier(it, ""), text)
        assert is_read("line", text) == is_taken(lambda it: checked_text(it, ""), text), text
        assert is_read("key", text) == is_taken(checked_key, text), text
        assert is_read("job", text) == is_taken(is_job_name, text), text


# --- Operations and their document ----------------------------------------------------------------


def test_an_operation_is_named_once_and_its_refusals_exist() -> None:
    """operationIds are names for generated clients; a refusal has a status and a meaning."""
    names = [one.name for one in OPERATIONS]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)
    assert {name for one in OPERATIONS for name in (*one.refusals, *EVERYWHERE)} <= REFUSALS.keys()


def test_two_schemas_have_two_names() -> None:
    """A generated client has a class for each; two of one name would become one."""
    bodies = {kind for one in OPERATIONS for kind in (one.body_type, one.answer_type)}
    names = [kind.__name__ for kind in bodies]
    assert len(set(names)) == len(names)


def test_no_route_is_without_a_declaration() -> None:
    """Routes are made of the declared operations; each has one method that serves it."""
    served = [operation.name for operation, _ in calls_of(Api)]
    assert sorted(served) == sorted(one.name for one in OPERATIONS)


def described(operation: Operation[Any, Any, Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = openapi_document(needs_key=True)["paths"][operation.path]
    return found[operation.method]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_the_document_has_of_a_call_what_is_declared(operation: Any) -> None:
    """Its name, every parameter with the bounds by which it is read, bodies, answers, security."""
    found = described(operation)
    assert found["operationId"] == operation.name
    kinds = [("path", operation.path_type), ("query", operation.query_type)]
    kinds += [("header", kind) for kind in operation.head_types]
    there = {(one["in"], one["name"]): one for one in found["parameters"]}
    fields = [(where, fields_of(kind)) for where, kind in kinds]
    declared = {(where, name): one for where, found in fields for name, one in found.items()}
    assert there.keys() == declared.keys()
    for place, one in there.items():
        field = declared[place]
        for bound, word in (("ge", "minimum"), ("le", "maximum"), ("pattern", "pattern")):
            assert one["schema"].get(word) == getattr(field.kind, bound, None)
        assert one["required"] == field.is_required
    assert ("requestBody" in found) == (operation.body_type is not Nothing)
    answers = [found["responses"][str(status)]["content"] for status in operation.statuses]
    assert all(set(operation.media) <= set(one) for one in answers)
    assert ("security" in found) == (not operation.is_open)


def test_every_schema_is_of_a_type_and_every_reference_is_there() -> None:
    """Nothing in the document is written by hand, and nothing dangles."""
    document = openapi_document(needs_key=False)
    text = json.dumps(document)
    schemas = document["components"]["schemas"]
    referred = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert referred == schemas.keys()
    assert "securitySchemes" not in document["components"]


def test_every_refusal_of_a_call_is_in_its_document() -> None:
    """By status, and by name in words."""
    for operation in OPERATIONS:
        responses = described(operation)["responses"]
        for name in operation.refusals:
            response = responses[str(REFUSALS[name].status)]
            assert f"`{name}`" in response["description"]
            assert JSON in response["content"]


def test_an_answer_is_read_as_its_type_says() -> None:
    """What a client of this version cannot read is no answer: a word that is none of the API's."""
    operation = next(one for one in OPERATIONS if one.name == "listPartners")
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"partners": [{"role": "guest"}]}', type=operation.answer_type)
