"""The root command, and where each command below it is.

A command is imported when it is asked for: what another one needs, a start does not wait for.
"""

import os
import sys
from collections import UserDict
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, cast

import click

from onceonly import __version__
from onceonly.cli.exits import MEANINGS, Exit
from onceonly.cli.output import complain, complain_of_bug, put

COMMANDS: Final = {
    "agreement": "agreement.agreement",
    "alert": "alert.alert",
    "backup": "backup.backup",
    "bulk": "bulk.bulk",
    "certificate": "certificate.certificate",
    "check": "serve.check",
    "completion": "completion.completion",
    "conversation": "conversation.conversation",
    "counters": "counters.counters",
    "demo": "demo.demo",
    "doctor": "doctor.doctor",
    "doubt": "doubt.doubt",
    "duplicates": "counters.duplicates",
    "errors": "errors.errors",
    "exceptions": "counters.exceptions",
    "folder": "folder.folder",
    "inbox": "inbox.inbox",
    "incident": "incident.incident",
    "job": "job.job",
    "journal": "journal.journal",
    "key": "key.key",
    "lake": "lake.lake",
    "message": "message.message",
    "migrate": "migrate.migrate",
    "notice": "notice.notice",
    "package": "package.package",
    "partner": "partner.partner",
    "probe": "probe.probe",
    "purge": "purge.purge",
    "reload": "reload.reload",
    "report": "report.report",
    "restore": "backup.restore",
    "security": "counters.security",
    "send": "message.send",
    "serve": "serve.serve",
    "simulate": "simulate.simulate",
    "webhook": "webhook.webhook",
}
"""The module of each command, and its name there."""

BELOW: Final = {
    "inbox": {"export": "export.export_inbox"},
    "journal": {"export": "export.export_journal"},
    "lake": {
        "advise": "lake_advise.advise",
        "class-archive": "lake_class_archive.class_archive",
        "pack": "lake_packs.pack",
        "runs": "lake_runs.runs",
        "take-over": "lake_take_over.take_over",
        "verify": "lake_packs.verify",
    },
    "message": {
        "evidence": "message_evidence.evidence",
        "export": "export.export_messages",
        "header": "message_sent.header",
        "payload": "message_sent.payload",
        "settle": "doubt.settle",
    },
}
"""Of a group, the commands that are in other modules than the group."""


class _OnDemand(UserDict[str, click.Command]):
    """Commands by name, each imported when somebody asks for it."""

    data: dict[str, Any]
    """Texts are not imported yet."""

    def __init__(self, places: Mapping[str, str | click.Command]) -> None:
        super().__init__()
        self.data.update(places)

    def __getitem__(self, name: str) -> click.Command:
        if isinstance(self.data[name], str):
            self.data[name] = _imported(name, self.data[name])
        return cast("click.Command", self.data[name])


def _imported(name: str, place: str) -> click.Command:
    module, _, attribute = place.partition(".")
    command: click.Command = getattr(import_module(f"onceonly.cli.{module}"), attribute)
    if isinstance(command, click.Group):
        command.commands = _OnDemand({**command.commands, **BELOW.get(name, {})})
    return command


_EXIT_CODES = "  ".join(f"{code.value} {meaning}\n" for code, meaning in MEANINGS.items())


@click.group(
    commands=_OnDemand(COMMANDS),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"\b\nExit codes:\n  {_EXIT_CODES}",
)
@click.version_option(__version__, message="%(version)s", help="Print the version and exit.")
def cli() -> None:
    """Deliver business documents once and only once, and prove it.

    \b
    onceonly demo                                  see it work
    onceonly serve -c gateway.toml                 run a gateway
    onceonly send order.xml -c gateway.toml --to urn:duns:222222222 --service Ordering --action New
    onceonly lake reconcile buyer/lake seller/lake find every difference
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart


@cli.command()
def version() -> None:
    """Print the version."""
    put(__version__)


CLOSED_TO_OTHERS = 0o027
"""Of the umask: documents, journals, evidence and reports are nobody else's, whatever the shell
allows. Spark, its Java and its workers have it from us."""


def main() -> None:
    """Entry point: the root command, with a documented exit code for Ctrl-C."""
    os.umask(os.umask(CLOSED_TO_OTHERS) | CLOSED_TO_OTHERS)
    sys.excepthook = complain_of_bug
    if "_ONCEONLY_COMPLETE" in os.environ:
        import_module("onceonly.cli.completing")
    try:
        cli(standalone_mode=False, prog_name="onceonly")
    except click.Abort:
        sys.exit(Exit.INTERRUPTED)
    except click.ClickException as error:
        complain(error)
        sys.exit(error.exit_code)
