"""What a shell is offered in the place of a name that a running gateway knows.

A key press must neither wait nor say anything: the gateway has `PATIENCE_S` seconds, and without
one, without a key, or with anything else wrong there is nothing to offer. Partners choose names,
and a shell runs what is in a line: only what every shell takes for a word is offered (X16).
"""

import contextlib
import io
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)
from click.types import StringParamType

from onceonly.api.fields import PAGE_MAX
from onceonly.api.inbox import InboxQuery
from onceonly.api.jobs import JobsQuery
from onceonly.cli.caller_option import CallsAs, key_of
from onceonly.cli.gateway_option import open_client
from onceonly.client import Client
from onceonly.message.errors import OnceonlyError

PATIENCE_S: Final = 1.0
"""How long somebody waits for an offer."""
RECENT: Final = 200
"""Messages of which the names are offered."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:/+=%-]*")

Offer = tuple[str, str]
"""A name, and what is said of it."""


def _messages(client: Client, begun: str) -> Iterator[Offer]:
    for one in client.list(order="newest", limit=RECENT, id_prefix=begun or None).messages:
        yield one.message_id, one.state


def _items(client: Client, begun: str) -> Iterator[Offer]:
    query = InboxQuery(order="newest", limit=RECENT, id_prefix=begun or None)
    for one in client.inbox_page(query).items:
        yield one.message_id, one.processing


def _jobs(client: Client, begun: str) -> Iterator[Offer]:
    query = JobsQuery(order="newest", limit=RECENT, id_prefix=begun or None)
    for one in client.job_page(query).jobs:
        yield one.job, one.state


def _partners(client: Client, begun: str) -> Iterator[Offer]:
    del begun
    for one in client.partners():
        yield one.partner, one.partner_name or ""


def _agreements(client: Client, begun: str) -> Iterator[Offer]:
    """Those of the first page."""
    del begun
    for one in client.agreements(limit=PAGE_MAX).agreements:
        yield one.agreement, one.partner_name or one.partner


def _of_headers(member: str) -> Callable[[Client, str], Iterator[Offer]]:
    """What recent messages have in their headers."""

    def offers(client: Client, begun: str) -> Iterator[Offer]:
        del begun
        sent = client.list(order="newest", limit=RECENT).messages
        received = client.inbox_page(InboxQuery(order="newest", limit=RECENT)).items
        for one in (*sent, *received):
            yield getattr(one, member), ""

    return offers


def _reports(client: Client, begun: str) -> Iterator[Offer]:
    del begun
    for report in client.reports().reports:
        for file in report.files:
            yield file.path, report.kind


OFFERS: Final[dict[str, Callable[[Client, str], Iterator[Offer]]]] = {
    "message_id": _messages,
    "message_ids": _messages,
    "ref": _items,
    "to": _partners,
    "sender": _partners,
    "partner": _partners,
    "party": _partners,
    "agreement": _agreements,
    "agreements": _agreements,
    "agreement_id": _agreements,
    "service": _of_headers("service"),
    "action": _of_headers("action"),
    "conversation": _of_headers("conversation"),
    "inbox message_id": _items,
    "job name": _jobs,
    "report path": _reports,
}
"""By the name of the parameter, or by that of the group and the parameter."""


class KnownName(StringParamType):
    """A text for which a gateway knows names."""

    def __init__(self, offers: Callable[[Client, str], Iterator[Offer]]) -> None:
        self._offers = offers

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Names that begin so, each once."""
        del param
        found: list[Offer] = []
        asked = threading.Thread(
            target=_ask, args=(self._offers, ctx.params, incomplete, found), daemon=True
        )
        # What is wrong is told by the command itself, and not while it is being written.
        with contextlib.redirect_stderr(io.StringIO()):
            asked.start()
            asked.join(PATIENCE_S)
        return [CompletionItem(name, help=said) for name, said in _fitting(found, incomplete)]


def _ask(
    offers: Callable[[Client, str], Iterator[Offer]],
    given: dict[str, Any],
    begun: str,
    found: list[Offer],
) -> None:
    """Adds to `found` at once or not at all, since nobody may be waiting any more."""
    with contextlib.suppress(OnceonlyError, click.ClickException, OSError):
        key = given.get("token") or key_of(given.get("key_file"))
        calls_as = CallsAs(
            key, given.get("ca"), given.get("certificate"), given.get("certificate_key")
        )
        with open_client(given.get("config"), given.get("api"), calls_as) as client:
            found.extend(list(offers(client, begun)))


def _fitting(offers: Iterable[Offer], begun: str) -> Iterator[Offer]:
    seen = set()
    for name, said in list(offers):
        if name not in seen and name.startswith(begun) and _PLAIN.fullmatch(name):
            seen.add(name)
            yield name, said


def _offer_names(root: click.Command, words: list[str]) -> None:
    """Let the command that these words begin with offer names where it takes one."""
    command, above = root, ""
    for word in words:
        if not isinstance(command, click.Group) or word not in command.commands:
            break
        above, command = command.name or "", command.commands[word]
    for parameter in command.params:
        own = OFFERS.get(f"{above} {parameter.name}")
        offers = own or OFFERS.get(parameter.name or "")
        if offers is not None and type(parameter.type) is StringParamType:
            parameter.type = KnownName(offers)


class _OfNames(ShellComplete):
    """Completion, also of names."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        _offer_names(self.cli, args)
        return super().get_completions(args, incomplete)


class InZsh(_OfNames, ZshComplete):
    """Completion in Zsh."""


class InFish(_OfNames, FishComplete):
    """Completion in fish."""


class InBash(_OfNames, BashComplete):
    """Completion in Bash, also of words with a colon or an @, at which Bash begins new words."""

    source_template = BashComplete.source_template.replace(
        "COMP_CWORD=$COMP_CWORD ",
        'COMP_CWORD=$COMP_CWORD COMP_LINE="${COMP_LINE:0:COMP_POINT}" '
        'COMP_WORDBREAKS="$COMP_WORDBREAKS" ',
    )

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._known = ""
        """What is before the word that Bash replaces."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words as the line has them."""
        line = os.environ.get("COMP_LINE", "")
        if not line:
            return super().get_completion_args()
        words = split_arg_string(line)
        last = "" if line[-1].isspace() else words.pop()
        breaks = os.environ.get("COMP_WORDBREAKS", "")
        value = last.partition("=")[2] if last.startswith("--") else last
        end = max((n + 1 for n, sign in enumerate(value) if sign in breaks), default=0)
        self._known = value[:end]
        return words[1:], last

    def format_completion(self, item: CompletionItem) -> str:
        """The item without what the line has already."""
        item.value = item.value.removeprefix(self._known)
        return super().format_completion(item)


for in_shell in (InBash, InZsh, InFish):
    add_completion_class(in_shell)
