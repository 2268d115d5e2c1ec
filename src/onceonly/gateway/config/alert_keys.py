"""The keys of `[[alert]]`: who is told when something is wrong."""

from typing import Any

from onceonly.api.looks import RULES
from onceonly.gateway.config import values as read
from onceonly.gateway.config.folder_keys import NAME_TEXT, name
from onceonly.gateway.config.key import Key, table_of
from onceonly.gateway.config.webhook_keys import keys_of
from onceonly.store.contract.alerts import AlertLevel

ARGUMENTS_MAX = 100


def _rules(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or len(set(map(str, value))) < len(value):
        raise read.Illegal(f"{value!r} is not a list of rules, each once")
    for one in value:
        if one not in RULES:
            raise read.Illegal(f"{one!r} is no rule")
    return tuple(value)


def _command(value: Any) -> tuple[str, ...]:
    is_list = isinstance(value, list) and 0 < len(value) <= ARGUMENTS_MAX
    if not is_list or not all(isinstance(one, str) and one and "\0" not in one for one in value):
        raise read.Illegal(f"{value!r} is not a list of a program and its arguments")
    return tuple(value)


def _severity(value: Any) -> AlertLevel:
    try:
        return AlertLevel(value)
    except ValueError as error:
        raise read.Illegal(f"{value!r} is neither warning nor critical") from error


ALERT_KEYS = table_of(
    Key("id", name, NAME_TEXT, "Our name for it.", is_required=True, section="ours"),
    Key(
        "mail",
        read.mailbox,
        "a mailbox such as ops@our.example",
        "Who gets a mail, by way of `relay` in `[smtp]`. One of `mail`, `url` and `command`.",
        section="ours",
    ),
    Key(
        "url",
        read.http_uri,
        "an http or https URI",
        "Where alerts are posted, signed as a webhook's events are.",
        section="ours",
    ),
    Key(
        "secret",
        keys_of,
        "as a webhook's",
        "The key of the signature, with `url`.",
        is_secret=True,
        section="ours",
    ),
    Key(
        "trusted",
        read.text,
        "a path",
        "PEM file with the certificates that the receiver's, or the relay's, must chain to.",
        default_text="the system's",
        section="ours",
    ),
    Key(
        "command",
        _command,
        "a list of a program and its arguments",
        "A program that is started, without a shell, and reads the alerts as JSON from its "
        "standard input; an exit code that is not 0 means that it could not tell them.",
        section="ours",
    ),
    Key(
        "rules",
        _rules,
        "a list of " + ", ".join(RULES),
        "What it is told of.",
        default=tuple(RULES),
        default_text="all",
        section="ours",
    ),
    Key(
        "severity",
        _severity,
        "warning, critical",
        "Nothing is told that is not so bad.",
        default=AlertLevel.WARNING,
        default_text="`warning`",
        section="ours",
    ),
    Key(
        "repeat",
        read.duration_s,
        "an ISO 8601 duration such as PT4H",
        "After which time it is told again of what lasts.",
        default_text="never",
        unit="duration",
        section="ours",
    ),
    Key(
        "timeout",
        read.whole(1, 300),
        "whole seconds, 1 to 300",
        "How long one attempt may take; then a command is killed.",
        default=30,
        default_text="`30`",
        unit="seconds",
        section="ours",
    ),
)
