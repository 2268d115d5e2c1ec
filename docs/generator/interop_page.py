"""Reference: what was exchanged with which foreign software, and with what result.

Knows `docs/proof/interop.json`, which `make interop` keeps from a run, and which products could not
be had for one. It runs nothing.
"""

import json
from pathlib import Path
from typing import Any

from generator.words import table

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "docs" / "proof" / "interop.json"
NOT_HAD = ROOT / "tests" / "interop" / "not_had.json"

INTRODUCTION = """# Interoperability

What a gateway of profile `ebms-2.0` exchanged with software that has none of our code. `make
interop` makes the run and keeps its results; this page is made of them. The tests fail where the
run cannot be made and the code that reads, writes and answers is not the code of the kept run.

"""

PARTNER = """## The strict MSH

No product: its rules were written for this project, after what deployed gateways were seen to
refuse. It wants `SOAPAction: "ebXML"` to the letter, Roles in business messages, a RefToMessageId
that it knows, PartyIds that are the CPA's, flags that are the CPA's, the acknowledgement in the
answer where SyncReply asks for it and by itself elsewhere; it knows neither `nextMSH` nor
MessageOrder; it posts a signal once. Everything below these rules is other people's, and of the
kind that Java gateways are built on: it reads packages by Apache James mime4j, parses and checks
them against the OASIS schemas by the JDK, signs and verifies by Apache Santuario, and keeps what it
has in H2, over which it is killed and started again.

So it shows that packages, documents, schemas and signatures are understood by others, and that the
promise holds over another implementation's kills. That the *rules* are understood alike by someone
who never saw ours, it cannot show.
"""

NOT_THERE = """## Products that could not be had

Asked for as ordinary dependencies, and not there. What is known of the first by its samples and its
source is what the strict MSH was made after.

"""

ELSEWHERE = """## What else speaks for it

| What | Where |
| --- | --- |
| XML signatures of the JDK, both ways | `tests/wire/ebms2/test_signature_oracles.py` |
| XML signatures of libxmlsec, both ways | `tests/wire/ebms2/test_signature_oracles.py` |
| Messages of an adaptor of the NHS, and of its Spine | `tests/wire/ebms2/test_other_products.py` |
| Messages of ebms-core | `tests/wire/ebms2/test_other_products.py` |
| The OASIS schemas, over everything that is written | `tests/wire/ebms2/` |
| Packages that the strict MSH wrote, read without it | `tests/interop/test_kept_packages.py` |
"""


def page() -> str:
    """The page."""
    record = json.loads(RECORD.read_text("utf-8"))
    sections = (
        INTRODUCTION,
        PARTNER,
        _facts(record),
        _exchanges(record),
        _quirks(record),
        NOT_THERE + _not_had(),
        ELSEWHERE,
    )
    return "\n".join(sections)


def _facts(record: dict[str, Any]) -> str:
    partner = record["partner"]
    parts = ", ".join(f"{name} {version}" for name, version in partner["parts"].items())
    passed = sum(one["result"] == "passed" for one in record["exchanges"])
    rows = [
        ("Last kept run", record["date"]),
        ("Partner", f"{partner['product']} {partner['version']}"),
        ("Made of", parts),
        ("Code, SHA-256 of `wire/` and `steps/`", f"`{record['code'][:16]}`"),
        ("Exchanges passed", f"{passed} of {len(record['exchanges'])}"),
    ]
    return table(("", ""), rows)


def _exchanges(record: dict[str, Any]) -> str:
    rows = [
        (one["what"], one["case"], one["result"], f"`{one['test']}`") for one in record["exchanges"]
    ]
    return "### What was exchanged\n\n" + table(("What", "How", "Result", "Test"), rows)


def _quirks(record: dict[str, Any]) -> str:
    quirks = sorted({(one["quirk"], one["key"]) for one in record["exchanges"] if one["quirk"]})
    rows = [
        (quirk, ", ".join(f"`{name}`" for name in key.split(", ")) if key else "none is needed")
        for quirk, key in quirks
    ]
    return "### Quirks, and the keys for them\n\n" + table(("Quirk", "Key"), rows)


def _not_had() -> str:
    rows = [
        (f"`{one['product']}`", one["date"], one["asked"], "; ".join(one["answers"]))
        for one in json.loads(NOT_HAD.read_text("utf-8"))
    ]
    return table(("Product", "When", "What was asked", "Answer"), rows)
