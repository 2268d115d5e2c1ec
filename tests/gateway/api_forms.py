"""What schemathesis is told of the API beside its document; it loads this as its hooks.

A media type that it does not know, and the few rules between two values that a document cannot say.
"""

import json
from typing import Any
from urllib.parse import unquote

import schemathesis

from onceonly.message.identity import is_job_name
from onceonly.steps.places import is_identifier


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> bytes:
    """One line, whatever it is."""
    del context
    return json.dumps(value).encode()


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Rules between two values, which no schema of one value says: here they are kept."""
    del context, kwargs
    query, body, path = case.query or {}, case.body, case.operation.path
    if isinstance(query.get("wait"), int | float) and query["wait"] > 0:
        # A long poll of sixty seconds would be all that a run has time for.
        query["wait"] = 0.01
    if not case.meta.generation.mode.is_positive:
        return
    _keep_names(case.path_parameters or {})
    if "attempt" in query:
        # An attempt is one of a named run, and its row has a number.
        query.setdefault("run", "r")
        if path.endswith("{message_id}"):
            query.setdefault("row", 1)
        elif isinstance(body, dict) and body.get("row") is None:
            body["row"] = 1
    if path.endswith("/resend") and isinstance(body, dict):
        _keep_resend(body)
    said = body.get("message") if isinstance(body, dict) else None
    if isinstance(said, dict):
        # What is said in the JSON and outside of it is the same.
        for name in ("key", "message_id"):
            said.pop(name, None)


def _keep_names(named: dict[str, Any]) -> None:
    """What one call was asked for, another is asked for too, in its escaped form.

    That fits the pattern, whatever it is the escape of.
    """
    for name, is_legal in (("job", is_job_name), ("message_id", is_identifier)):
        if isinstance(named.get(name), str) and not is_legal(unquote(named[name])):
            named[name] = "0"


def _keep_resend(body: dict[str, Any]) -> None:
    """With `anyway` there is a reason, and no new version; without it, the reason is one line."""
    if body.get("anyway") is True:
        body["new_version"] = False if body.get("new_version") is True else body.get("new_version")
        if body["new_version"] is None:
            del body["new_version"]
    is_text = isinstance(body.get("reason"), str) or body.get("reason") is None
    if is_text and (body.get("anyway") is True or body.get("reason") is not None):
        body["reason"] = "a reason"
