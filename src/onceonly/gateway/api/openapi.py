"""The OpenAPI 3.1 description of the application API, made of the declared types.

Nothing of it is written by hand: schemas come from `msgspec`, parameters and their bounds from the
types that the calls are read by, statuses from the operations and the names of their refusals.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from onceonly import __version__
from onceonly.api.operation import ANY, ARROW, BYTES, EVENTS, FORM, LINES, TEXT, Nothing, Operation
from onceonly.api.operations import OPERATIONS
from onceonly.api.refusals import EVERYWHERE, REFUSALS, Refused
from onceonly.gateway.api.answers import ascii_json
from onceonly.message.word import Word

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TEMPLATE: Final = "#/components/schemas/{name}"
_TOKEN: Final = "token"  # noqa: S105 - because it is the name of a scheme
GUARDED: Final = ("Forbidden", "Unauthorized")
"""What a call can be refused for that needs a key."""
_BEARER: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key of `onceonly key create`. Each call names the scope that the key must "
    "have; `admin` is all of them.",
}
_BINARY: Final = {"type": "string", "format": "binary"}


def openapi_document(*, needs_key: bool) -> dict[str, Any]:
    """The document, as JSON-ready values."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        described = _operation(operation, needs_key=needs_key)
        paths.setdefault(operation.path, {})[operation.method] = described
    components: dict[str, Any] = {"schemas": _schemas()}
    if needs_key:
        components["securitySchemes"] = {_TOKEN: dict(_BEARER)}
    return {
        "openapi": "3.1.0",
        "jsonSchemaDialect": DIALECT,
        "info": {
            "title": "onceonly application API",
            "version": __version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": components,
    }


@cache
def openapi_json(*, needs_key: bool) -> bytes:
    """The document as it is answered: made when somebody first asks, and once."""
    return ascii_json(openapi_document(needs_key=needs_key))


def _schemas() -> dict[str, Any]:
    """The schema of every word that a call reads or answers."""
    named: list[Any] = [Refused]
    for one in OPERATIONS:
        bodies = (one.body_type, one.answer_type)
        named += [kind for kind in bodies if _is_word(kind) and kind is not Nothing]
    _, schemas = msgspec.json.schema_components(named, ref_template=_TEMPLATE)
    return schemas


def _is_word(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Word)


def _operation(operation: Operation[Any, Any, Any, Any], *, needs_key: bool) -> dict[str, Any]:
    is_guarded = needs_key and not operation.is_open
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [
            *_parameters(operation.path_type, "path"),
            *_parameters(operation.query_type, "query"),
            *(one for kind in operation.head_types for one in _parameters(kind, "header")),
        ],
        "responses": _responses(operation, is_guarded=is_guarded),
    }
    if operation.body_type is not Nothing:
        described["requestBody"] = _body(operation)
    if is_guarded:
        described["security"] = [{_TOKEN: [operation.right.scope]}]
    return described


def _parameters(declared: type[Word], where: str) -> Iterable[dict[str, Any]]:
    """One parameter for each field of the type."""
    _, found = msgspec.json.schema_components([declared], ref_template=_TEMPLATE)
    schema = found[declared.__name__]
    for name, described in schema["properties"].items():
        yield {
            "name": name,
            "in": where,
            "required": name in schema["required"],
            "schema": _without_null(described),
        }


def _without_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a parameter is where it is there: a text has no null."""
    options = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    found = options[0] if options else dict(schema)
    return {name: value for name, value in found.items() if (name, value) != ("default", None)}


def _body(operation: Operation[Any, Any, Any, Any]) -> dict[str, Any]:
    name = operation.body_type.__name__
    schema: dict[str, Any] = {"$ref": _TEMPLATE.format(name=name)}
    content: dict[str, Any] = {"schema": schema}
    is_required = bool(_required(operation.body_type)) or operation.body_media != "application/json"
    if operation.body_media == FORM:
        content = _form(schema)
    described: dict[str, Any] = {
        "required": is_required,
        "content": {operation.body_media: content},
    }
    if operation.body_media == LINES:
        described["description"] = "one such object per line"
    return described


def _form(header: dict[str, Any]) -> dict[str, Any]:
    """A submission: the header as JSON, and documents of any type."""
    payloads = {"type": "array", "items": _BINARY}
    return {
        "schema": {
            "type": "object",
            "properties": {"message": header, "payload": payloads},
            "required": ["message"],
            "additionalProperties": False,
        },
        "encoding": {
            "message": {"contentType": "application/json"},
            "payload": {"contentType": "*/*"},
        },
    }


def _required(declared: type[Word]) -> list[str]:
    return [one.name for one in msgspec.structs.fields(declared) if one.required]


def _responses(
    operation: Operation[Any, Any, Any, Any], *, is_guarded: bool
) -> dict[str, dict[str, Any]]:
    answers = {str(status): _answer(operation) for status in operation.statuses}
    names = sorted({*EVERYWHERE, *operation.refusals, *(GUARDED if is_guarded else ())})
    for name in names:
        status = str(REFUSALS[name].status)
        refused = answers.setdefault(status, _refused())
        line = f"`{name}`: {REFUSALS[name].meaning}"
        refused["description"] = "\n\n".join(filter(None, (refused["description"], line)))
        _allow_refusal(refused)
    return dict(sorted(answers.items()))


def _answer(operation: Operation[Any, Any, Any, Any]) -> dict[str, Any]:
    return {
        "description": "Done",
        "content": {media: {"schema": _content(operation, media)} for media in operation.media},
    }


def _content(operation: Operation[Any, Any, Any, Any], media: str) -> dict[str, Any]:
    kind = operation.answer_type
    if media in (ARROW, ANY, BYTES):
        return dict(_BINARY)
    if media == EVENTS:
        return {"type": "string"}
    if _is_word(kind):
        return {"$ref": _TEMPLATE.format(name=kind.__name__)}
    return {"type": "string"} if media == TEXT else {"type": "object"}


_REFUSED: Final = {"$ref": _TEMPLATE.format(name=Refused.__name__)}


def _refused() -> dict[str, Any]:
    return {"description": "", "content": {"application/json": {"schema": dict(_REFUSED)}}}


def _allow_refusal(response: dict[str, Any]) -> None:
    """A status that says something without being a refusal can be one as well (503)."""
    schema = response["content"]["application/json"]["schema"]
    if schema != _REFUSED and _REFUSED not in schema.get("anyOf", ()):
        response["content"]["application/json"]["schema"] = {"anyOf": [schema, dict(_REFUSED)]}
