"""What can be known without Spark is said without it: nobody waits for a JVM to correct a typo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import x25519
from journals import healthy, publish

from onceonly.lake import jobs
from onceonly.lake.manifest import MANIFEST_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

CASES = {
    "ingest, no source": ("NoLake", "ingest {root}/typo"),
    "ingest, no source, for ever": ("NoLake", "ingest {root}/typo --trigger 30s"),
    "ingest, one source of two": ("NoLake", "ingest {root}/lake {root}/typo --into {root}/new"),
    "ingest, a URL without a lake": ("NoLake", "ingest sftp://partner.example/lake"),
    "ingest, into what nobody knows": ("NoLake", "ingest {root}/lake --into s4://bucket/lake"),
    "ingest, HTTP": ("NoSource", "ingest http://partner.example/lake --into {root}/new"),
    "ingest, trigger": ("BadTrigger", "ingest {root}/lake --trigger often"),
    "ingest, busy": ("LakeBusy", "lease:{root}/lake/ingested ingest {root}/lake"),
    "ingest, newer": ("NewerLake", "ingest {root}/newer"),
    "ingest, no place": ("is no folder", "ingest {root}/lake --into {root}/file/lake"),
    "distrust, reason": ("NoReason", "distrust {root}/empty segment --reason="),
    "distrust, segment": ("NotCounted", "distrust {root}/empty segment --reason false"),
    "distrust, busy": (
        "LakeBusy",
        "lease:{root}/counted/ingested distrust {root}/counted {segment} --reason false",
    ),
    "compact, no lake": ("NoLake", "compact {root}/typo"),
    "compact, newer": ("NewerLake", "compact {root}/newer"),
    **{
        f"{job}, {what}": (name, f"{job} {rest}")
        for job in ("reconcile", "report", "advise", "pack")
        for what, name, rest in (
            ("no lake", "NoLake", "{root}/typo"),
            ("a scheme that nobody knows", "NoLake", "s4://bucket/lake"),
            ("forgotten ingest", "NothingIngested", "{root}/forgotten"),
            ("newer", "NewerLake", "{root}/newer"),
        )
    },
    **{
        f"{job}, {what}": ("NotMicroseconds", f"{job} {{root}}/empty --as-of {as_of}")
        for job in ("reconcile", "report", "pack")
        for what, as_of in (("seconds", 10**9), ("nanoseconds", 10**18))
    },
    "reconcile, busy": ("LakeBusy", "tables:{root}/empty reconcile {root}/empty"),
    **{
        f"{job}, no run": ("NoRun", f"{job} {{root}}/empty --evidence 20260101-000000-00000000")
        for job in ("reconcile", "report")
    },
    "take over, no lake": ("NoLake", "take-over {root}/typo"),
    "take over, newer": ("NewerLake", "take-over {root}/newer"),
    "take over, busy": ("LakeBusy", "lease:{root}/lake/ingested take-over {root}/lake"),
    "reconcile, table": ("UnknownTable", "reconcile {root}/empty --table typo"),
    "reconcile, catalog": ("BadTarget", "reconcile {root}/empty --catalog lake.onceonly"),
    "reconcile, iceberg": ("BadTarget", "reconcile {root}/empty --table-format iceberg"),
    "reconcile, out": ("NotEmpty", "reconcile {root}/empty --out {root}/empty"),
    "reconcile, no place": ("is no folder", "reconcile {root}/empty --out {root}/file/ledger"),
    "report, no place": ("is no folder", "report {root}/empty --out {root}/file/page.html"),
    "pack, no place": ("is no folder", "pack {root}/empty --out {root}/file/pack"),
    "pack, a key of X25519": ("BadKey", "pack {root}/empty --sign {root}/x25519.pem"),
    "pack, a comment of nobody": ("--by", "pack {root}/empty --comment fine"),
    "reconcile, no views": ("--register", "reconcile {root}/empty --database audit"),
    "reconcile, not a number": ("'nan' is no number", "reconcile {root}/empty --grace nan"),
    "compact, too great": ("'1e308' is no number", "compact {root}/empty --keep 1e308"),
    "runs, no lake": ("NoLake", "runs {root}/typo"),
    "runs, a scheme that nobody knows": ("NoLake", "runs s4://bucket/lake"),
    "runs, a table, no lake": ("NoLake", "runs {root}/typo --table sla"),
    "runs, no lake, a run": (
        "NoLake",
        "runs {root}/typo --table sla --run 20260101-000000-00000000",
    ),
    "runs, a run of no table": ("--table", "runs {root}/empty --run 20260101-000000-00000000"),
    "pack, not empty": ("NotEmpty", "pack {root}/empty --out {root}/empty"),
}
"""What each is refused with, and the command."""

_OF_A_PACK = ("--between", "urn:duns:1", "urn:duns:2")


def command(text: str, root: Path, segment: str) -> list[str]:
    words = [word.format(root=root, segment=segment) for word in text.split()]
    held = [words.pop(0)] if words[0].startswith(("lease:", "tables:")) else []
    if words[0] == "pack":
        words += [*_OF_A_PACK, *(() if "--out" in words else ("--out", f"{root}/pack"))]
    return [*held, "lake", *words]


@pytest.fixture(scope="module")
def outcomes(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, tuple[int, str, bool]]:
    """What every command came to, one after the other in a process where Java leaves a mark."""
    assert spark.version, "the ingest below finds this session"
    root = tmp_path_factory.mktemp("refusals")
    there, _ = healthy(seed=1, messages=2)
    publish(root / "lake", there.sender)
    publish(root / "forgotten", there.sender)
    (root / "empty" / "ingested").mkdir(parents=True)
    (root / "file").write_text("no folder")
    [folder] = (root / "lake" / "journal").iterdir()
    publish(root / "newer", there.sender)
    shelf = root / "newer" / "ingested" / folder.name
    shelf.mkdir(parents=True)
    (shelf / "manifest.json").write_text(json.dumps({"version": MANIFEST_VERSION + 1}))
    publish(root / "counted", there.sender)
    jobs.ingest(str(root / "counted"))
    [segment] = (root / "counted" / "journal").rglob("*.parquet")
    mark = root / "mark"
    (root / "x25519.pem").write_bytes(
        x25519.X25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    program = root / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n: > '{mark}'\nexit 1\n")
    program.chmod(0o755)
    counted = str(segment.relative_to(root / "counted"))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("without_java.py")), str(mark)],
        input=json.dumps([command(text, root, counted) for _, text in CASES.values()]),
        env={**os.environ, "JAVA_HOME": str(root / "java"), "PATH": str(program.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    made = [name for name in ("typo", "pack") if (root / name).exists()]
    assert not made, "what does not exist was not made"
    return dict(zip(CASES, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_a_refusal_needs_no_java(case: str, outcomes: Mapping[str, tuple[int, str, bool]]):
    """By its name, with an exit code that says so, and before any Java was even asked for."""
    code, said, was_started = outcomes[case]
    assert CASES[case][0] in said
    assert code in (1, 2)
    assert not was_started, "a Java was started"
