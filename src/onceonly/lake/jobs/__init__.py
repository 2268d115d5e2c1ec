"""The lake's jobs: ordinary functions and ordinary scripts, one file each.

Here frames become numbers, and the clock is read; the rules are in the pure modules around.
"""

from onceonly.lake import activity
from onceonly.lake.advice import Goal
from onceonly.lake.formats import target
from onceonly.lake.jobs.advice import TodaysTerms, advise
from onceonly.lake.jobs.class_archive import make_class_archive, remove_class_archive
from onceonly.lake.jobs.compaction import compact
from onceonly.lake.jobs.distrust import distrust
from onceonly.lake.jobs.findings import DIFFERENCES_SHOWN, EVIDENCE_SHOWN, PAIRS_SHOWN
from onceonly.lake.jobs.ingestion import AVAILABLE_NOW, IngestSummary, ingest
from onceonly.lake.jobs.packs import Signing, Verification, pack, verify
from onceonly.lake.jobs.page import report
from onceonly.lake.jobs.reading import run, runs, table, tables
from onceonly.lake.jobs.reconciliation import ReconcileSummary, reconcile
from onceonly.lake.jobs.registration import register
from onceonly.lake.jobs.script import main
from onceonly.lake.jobs.session import APP_NAME, NOT_THE_CALLERS, Lakes
from onceonly.lake.jobs.taking_over import TakeOverSummary, take_over
from onceonly.lake.jvm import told_why
from onceonly.lake.packs.contents import PackScope
from onceonly.lake.reports.sla import SlaTarget
from onceonly.lake.verdicts import Policy

__all__ = [
    "APP_NAME",
    "AVAILABLE_NOW",
    "DIFFERENCES_SHOWN",
    "EVIDENCE_SHOWN",
    "NOT_THE_CALLERS",
    "PAIRS_SHOWN",
    "Goal",
    "IngestSummary",
    "Lakes",
    "PackScope",
    "Policy",
    "ReconcileSummary",
    "Signing",
    "SlaTarget",
    "TakeOverSummary",
    "TodaysTerms",
    "Verification",
    "activity",
    "advise",
    "compact",
    "distrust",
    "ingest",
    "main",
    "make_class_archive",
    "pack",
    "reconcile",
    "register",
    "remove_class_archive",
    "report",
    "run",
    "runs",
    "table",
    "tables",
    "take_over",
    "target",
    "told_why",
    "verify",
]
