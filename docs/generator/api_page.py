"""Reference: the application API, its JSON shapes, and every name a refusal can have."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import to_builtins

import onceonly
from generator.words import attribute_docs, table
from onceonly.api.fields import PAGE_MAX
from onceonly.api.operation import JSON, Nothing
from onceonly.api.operations import OPERATIONS, AnyOperation
from onceonly.api.refusals import REFUSALS, Refusal, Refused
from onceonly.gateway import shapes
from onceonly.gateway.api import bounds, endpoint, reading
from onceonly.gateway.api.declared import Field, fields_of
from onceonly.gateway.api.job_calls import BULK_BYTES_MAX, ROWS_MAX
from onceonly.gateway.outgoing.questions import Availability
from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.identity import Pair, PartyId
from onceonly.message.message import DeliverySemantics, Message, Payload
from onceonly.message.profile import Profile
from onceonly.message.signals import MessageStatus, ReportedProcessing
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.events import Outcome, Transmission
from onceonly.protocol.outlook import outlook
from onceonly.protocol.pairing import PairStatus
from onceonly.protocol.receiving import ProcessingState
from onceonly.protocol.recovering import Recovery, ResponseStatus
from onceonly.protocol.sending import Outbound, OutboundStatus
from onceonly.protocol.transmitting import NO_ACKNOWLEDGEMENT
from onceonly.protocol.verdict import with_last
from onceonly.steps.places import NUMBER_BITS
from onceonly.store.contract.entries import (
    InboxItem,
    Incident,
    Notice,
    OutboundView,
    PairView,
    Role,
)
from onceonly.store.contract.jobs import Job, JobRow, RowOutcome
from onceonly.wire.header_digest import digests_of

INTRODUCTION = f"""# Application API

HTTP and JSON at the address `[gateway] api`. The same description, for programs, is at
`/openapi.json` (OpenAPI 3.1): every request and answer has a schema there, and every call an
operationId that stays, so that a client can be generated from it. It is made of the same types by
which the gateway reads and answers (`onceonly.api`), and so is the table below.

* Instants are RFC 3339 in UTC with microseconds; sizes are bytes.
* From the first [key](../how-to/keys.md) on, every call except `/healthz` and `/readyz` needs
  `Authorization: Bearer KEY`, and the key needs the scope of the call. Calls with *own* beside it
  may be made by an application, which sees only its own.
* No web page may call: a request with a foreign `Origin` is refused (403), and one whose `Host` is
  a name that is not ours (421). Ours are the host of `api`, `localhost` and the names in
  `api_hosts`. An IP address is always accepted, so load balancers and tunnels need no setting.
* A request's head has {endpoint.HEAD_BYTES_MAX} bytes at most, the body of a call without documents
  {bounds.BODY_BYTES_MAX}, JSON is nested {reading.DEPTH_MAX} deep at most.
* Answers are JSON in ASCII: all other characters are written as `\\uXXXX`.
* A MessageId or PartyId in a path is one segment, percent-encoded: a slash in it is `%2F`, which
  does not separate segments.
* An item of the inbox is addressed by its `offset`, or by its MessageId if no other item has the
  same. Two partners may use the same MessageId, and a BestEffort message may have come twice: then
  the answer is 409 `Ambiguous`, with the `offsets` as a member of the error.
* Query parameters, members of JSON and parts of a form that a call does not know are refused by
  name, and so is everything that is there twice.
* Pages have at most {PAGE_MAX} items; go on with `after`.
* Every call may be repeated. A submission is repeated safely when it has a `message_id`, a `key`
  or an `Idempotency-Key`: the same content returns the first one (200 instead of 201, and
  `"replayed": true`), other content under the same name is refused.
* A refusal is `{{"error": {{"name": …, "text": …}}}}`; the [names](errors.md) stay, the texts may
  improve. If one value is to blame, `field`, `seen` and `expected` say which, what came, and what
  is legal.
* A path with another method than it has is answered 405, and `Allow` has its methods.

## Calls

"""

SUBMISSION = f"""
## Submitting

`multipart/form-data` with one part `message` (the JSON object below) and one part `payload` per
document, each with its own `Content-Type` and a `filename`, which may be empty. The content is the
same if bytes, types and names of the payloads are the same.

| Field of `message` | Meaning |
|---|---|
| `to` | **required** PartyId of the partner |
| `service` | **required** what the message is for |
| `action` | **required** what the partner should do |
| `agreement` | TPAId, if there are several agreements with the partner |
| `message_id` | the MessageId to use; chosen by the gateway if absent |
| `key` | business key, a line of 1-255 characters; the same again returns the first submission |
| `conversation` | ConversationId to join; if absent, a new one, which is the MessageId |
| `ref` | MessageId that this message answers |

## Many at once

A *job* is a named group of messages. Its rows are staged: durable, and not sent. A release sends
them, in the order of their numbers; a drop forgets what is not released.

```sh
curl http://127.0.0.1:8411/v1/jobs/orders-2026-01-01/messages \\
  -H 'content-type: application/x-ndjson' --data-binary @orders.ndjson
curl -X POST http://127.0.0.1:8411/v1/jobs/orders-2026-01-01/release
```

A line of `orders.ndjson` is one message:

```json
{{"row": 0, "message_id": "PO-1", "to": "urn:duns:222222222", "service": "Ordering",
 "action": "NewOrder", "payload": "<Order/>", "content_type": "application/xml"}}
```

One request has at most {ROWS_MAX} rows and {BULK_BYTES_MAX >> 20} MiB, and is one commit. The
answer says for each row whether it is `accepted`, `replayed` (its message was known before; nothing
was added) or `rejected`, with an `error`. With a `row` number a repeat is the same row: a caller
that got no answer can send the request again, and every count stays right. Without a number the
next one is given. If two messages have the same number, one of them gets a number above
2^{NUMBER_BITS}, and is sent last. Several documents are in `payloads`, a list of `payload`,
`payload_base64`, `content_type` and `name`.

Without `run`, release and drop apply to everything that is staged in the job. A caller that may die
and start again, or has tasks that may be late, names each start: `?run=NAME` with every call, and a
new name for every start.

* Only the newest of the named runs of a job may stage. Earlier ones are refused (`RunOver`), and so
  is one that was dropped or released.
* What the new run stages replaces what an earlier run has staged under the same MessageId, whatever
  its content: nothing of that was sent.
* A release sends only what the run has staged. If `staged`, the number of its accepted rows, is
  given and some of these rows are gone, the release is refused (`JobChanged`) before anything is
  sent.
* A drop forgets what the run has staged. Without `run` it ends every run of the job.
* The numbers of a run are in blocks of 2^32, one block per task. Every attempt of a task stages its
  rows in rising order. If an attempt has them in another order, each row is recognized by itself,
  and for each number what was staged last is sent.
* If several attempts of a task may run at once, they are numbered, later ones higher: `&attempt=N`.
  Only the latest attempt that has staged in a block may go on there; an earlier one is refused
  (`AttemptOver`).

A release answers before anything is counted; `GET /v1/jobs/{{job}}` counts.
`rows` is `accepted` + `rejected` + `replayed`, and `accepted` is the sum of the states after it.

Inbox and journal come as an Arrow stream to callers that send `Accept:
application/vnd.apache.arrow.stream`. `last_offset` and `last_seq` are the last numbers in the
store, however small the page is. `store_id` names the store that the numbers belong to: another one
means that the gateway has a new store, whose numbers begin again.

## Shapes

Generated by the gateway's code from one example message.

"""

ERRORS = """# Error codes

There are two kinds: a **refusal** is about what the caller asked of its own gateway, an **error on
the wire** is about what a partner sent.

## On the wire

Codes of an ErrorList between gateways, in their wire spelling. `Severity` is `Warning` or
`Error`. They are also in the column `error_code` of the [journal](journal.md) and in notices.

"""

REFUSALS_BEGIN = """
## Refusals of the API

`error.name` of an answer of the [application API](api.md), its HTTP status, and what to do. The
command line prints the name in front of the text and ends with exit code 3 for what is not
found, 2 otherwise.

"""


def page() -> str:
    """The calls and the shapes."""
    calls = table(
        ("Call", "Does", "Reads", "Answers", "Scope"), (_call_row(one) for one in OPERATIONS)
    )
    shapes = "\n".join(
        f"### {name}\n\n```json\n{json.dumps(to_builtins(shape), indent=2)}\n```\n"
        for name, shape in _shapes().items()
    )
    return INTRODUCTION + calls + SUBMISSION + shapes


def _call_row(operation: AnyOperation) -> tuple[str, str, str, str, str]:
    """One call: its name, what it reads beside the path, and the schemas of its body and answer."""
    texts = (operation.query_type, *operation.head_types)
    reads = [f"`{name}`{_words(one)}" for kind in texts for name, one in fields_of(kind).items()]
    if operation.body_type is not Nothing:
        reads.append(f"{operation.body_media}: {operation.body_type.__name__}")
    statuses = ", ".join(map(str, sorted(operation.statuses)))
    answer = operation.answer_type.__name__ if operation.media[0] == JSON else operation.media[0]
    call = f"`{operation.method.upper()} {operation.path}`<br>{operation.name}"
    right = operation.right
    scope = "none" if operation.is_open else f"`{right.scope}`{', own' if right.is_own else ''}"
    return call, operation.summary, "<br>".join(reads), f"{statuses}: {answer}", scope


def _words(field: Field) -> str:
    return f" ({field.expected})"


def errors() -> str:
    """Codes on the wire, and names of refusals."""
    docs = attribute_docs(ErrorCode)
    codes = table(("Code", "Meaning"), ((f"`{code.value}`", docs[code.name]) for code in ErrorCode))
    rows = ((f"`{name}`", kind.status, kind.meaning) for name, kind in sorted(REFUSALS.items()))
    return ERRORS + codes + REFUSALS_BEGIN + table(("Name", "Status", "Meaning"), rows)


def raised_names() -> set[str]:
    """Every name that the gateway's code gives to a refusal of the API."""
    package = Path(onceonly.__file__).parent
    rings = ("gateway", "steps", "protocol")
    files = [file for ring in rings for file in (package / ring).rglob("*.py")]
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8"))))
    return {name for node in nodes for name in _named_in(node)}


def _named_in(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(
            func=ast.Name(id="LocalError" | "refusal"), args=[ast.Constant(value=str(name)), *_]
        ):
            yield name
        case ast.Call(func=ast.Name(id="wrong")):
            yield "InvalidField"
        case ast.Call(
            func=ast.Attribute(attr="get", value=ast.Dict(values=values)),
            args=[_, ast.Constant(value=str(name))],
        ):
            yield name
            yield from (one.value for one in values if isinstance(one, ast.Constant))


def _shapes() -> dict[str, Any]:
    at = 1_767_225_600_000_000
    payload = Payload("order", "application/xml", 4096, "3f" * 32, "order.xml")
    message = Message(
        message_id="PO-4711@buyer.example",
        from_ids=(PartyId("urn:duns:111111111"),),
        to_ids=(PartyId("urn:duns:222222222"),),
        agreement_id="tpa-ab-1",
        conversation_id="PO-4711",
        service="Ordering",
        action="NewOrder",
        timestamp_at=at,
        semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
        payloads=(payload,),
    )
    pair = PairView(Role.SENDER, message.pair, PairStatus.OPEN, None, 17, (), 0)
    state = Outbound(OutboundStatus.ACKNOWLEDGED, attempt=1, sequence_number=17)
    found = digests_of(message, Profile.RM_2000)
    digests = (found.payloads, found.header)
    view = OutboundView(message, state, at, at + 41_000, *digests)
    item = InboxItem(17, message, at + 20_000, at + 40_000, ProcessingState.NOT_STARTED, *digests)
    recovery = Recovery(
        response=ResponseStatus.AWAITED,
        response_due_at=at + 3_600_000_000,
        status=MessageStatus.RECEIVED,
        processing=ReportedProcessing.IN_PROGRESS,
        reported_at=at + 90_000_000,
    )
    agreement = Agreement(
        id=message.agreement_id,
        profile=Profile.RM_2000,
        our_ids=message.from_ids,
        their_ids=message.to_ids,
        send_to="http://seller.example/msh",
        error_to=None,
        receiver_uri="http://seller.example/msh",
        terms=DeliveryTerms(),
        name="Smith & Co",
    )
    seen = Availability(Outcome.ACCEPTED, is_available=True)
    last = Transmission(Outcome.UNKNOWN, bytes_left=True, status_code=502, detail="502 Bad Gateway")
    reason = with_last(NO_ACKNOWLEDGEMENT, (last,))
    notice = Notice(
        message.message_id,
        NoticeKind.DELIVERY_FAILURE,
        Severity.WARNING,
        ErrorCode.DELIVERY_FAILURE,
        reason,
        0,
        at,
    )
    incident = Incident(1, Role.SENDER, Pair(*message.pair), reason, at, None, is_trouble=True)
    record = Record(
        party="urn:duns:111111111",
        event=Event.SUBMITTED,
        at=at,
        monotonic_ns=12_345_678,
        direction=Direction.OUT,
        message_id=message.message_id,
        seq=42,
        store_epoch=3,
        chain_hash="a1" * 32,
    )
    transmitted = changed(
        record,
        event=Event.TRANSMITTED,
        endpoint=agreement.send_to,
        attempt=1,
        outcome=Outcome.ACCEPTED.value,
        status_code=204,
        seq=43,
    )
    return {
        "Outbound message": shapes.detail_shape(
            shapes.message_shape(view, pair, recovery, {"urn:duns:222222222": "Smith & Co"}.get),
            [record, transmitted],
            message.payloads,
            outlook(state, None, agreement.terms, lambda due_ns: due_ns),
            None,
        ),
        "Job": shapes.job_shape(
            Job(7, "orders-2026-01-01", at, at, 1, at + 60_000_000),
            {"acknowledged": 940, "sending": 1, "queued": 49, "rejected": 3, "replayed": 7},
        ),
        "Rejected row of a job": shapes.reject_shape(
            JobRow(
                17, 1, RowOutcome.REJECTED, "PO-9", "", "UnknownPartner", "no agreement is with 'x'"
            )
        ),
        "Inbox item": shapes.inbox_shape(item, {"urn:duns:111111111": "Smith & Co"}.get),
        "Notice": shapes.notice_shape(1, notice, agreement),
        "Pair with a partner": shapes.partner_shape(
            pair, agreement.terms, [transmitted], "Smith & Co"
        ),
        "Ping": shapes.ping_shape(agreement, seen, at),
        "Incident": shapes.incident_shape(incident, {"in_doubt": 1, "queued": 12}, "Smith & Co"),
        "Journal row": shapes.record_shape(record),
        "Refusal": Refused(
            error=Refusal(
                name="InvalidField",
                text="limit '-1' is not a whole number",
                field="limit",
                seen="'-1'",
                expected="a whole number",
            )
        ),
    }
