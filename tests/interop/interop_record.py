"""What was exchanged with a foreign partner, kept in `docs/proof/interop.json`.

The record has a digest of the code that reads, writes and answers. While that is today's, a run of
long ago says the same as one of now would.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "docs" / "proof" / "interop.json"
GOLDEN = ROOT / "tests" / "golden" / "interop"
POM = Path(__file__).parent / "strict_msh" / "pom.xml"
CODE = ("src/onceonly/wire", "src/onceonly/steps")
MAVEN = "{http://maven.apache.org/POM/4.0.0}"


class Exchange(NamedTuple):
    """One row of the scorecard."""

    what: str
    case: str
    test: str
    result: str
    quirk: str
    key: str


def code_digest() -> str:
    """SHA-256 over the names and contents of the code that an exchange depends on."""
    digest = hashlib.sha256()
    for folder in CODE:
        for file in sorted((ROOT / folder).rglob("*.py")):
            digest.update(f"{file.relative_to(ROOT).as_posix()}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def partner() -> dict[str, Any]:
    """The strict MSH, with what it is made of and their versions."""
    parts = {
        one.findtext(f"{MAVEN}artifactId"): one.findtext(f"{MAVEN}version")
        for one in ET.parse(POM).getroot().iter(f"{MAVEN}dependency")
    }
    return {"product": "strict-msh", "version": "1", "parts": parts}


def read_record() -> dict[str, Any]:
    """The last run that was kept."""
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
    return found


def write_record(done: Sequence[Exchange]) -> None:
    """Keep a run. Raises `ValueError` for one in which something was skipped or failed."""
    bad = [one for one in done if one.result != "passed"]
    if bad or not done:
        raise ValueError(f"such a run is not kept: {bad or 'nothing was exchanged'}")
    record = {
        "date": datetime.now(UTC).date().isoformat(),
        "partner": partner(),
        "code": code_digest(),
        "exchanges": [one._asdict() for one in sorted(done)],
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def keep(packages: Mapping[str, bytes]) -> None:
    """Keep those of which none is kept, by kind, and say where they came from."""
    folder = GOLDEN / partner()["product"]
    folder.mkdir(parents=True, exist_ok=True)
    origin = folder / "origin.json"
    known = json.loads(origin.read_text("utf-8")) if origin.exists() else {}
    now = {"date": datetime.now(UTC).date().isoformat(), **partner()}
    for kind, package in sorted(packages.items()):
        if kind not in known:
            (folder / f"{kind}.http").write_bytes(package)
            known[kind] = now
    origin.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")
