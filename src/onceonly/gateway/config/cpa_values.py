"""How the value of a key that only a CPA has is read."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from onceonly.gateway.config.values import Illegal, short_text
from onceonly.message.cpa import ServiceBinding
from onceonly.message.errors import RemoteError
from onceonly.message.identity import checked_text
from onceonly.message.instant import from_datetime

_PLACES: Final = re.compile(r"\{([^{}]*)\}")
_BINDING_KEYS: Final = frozenset({"id", "type", "send", "receive"})


def wire_text(value: Any) -> str:
    """A text of a header: one line of 1 to 255 characters, without a blank at either end."""
    try:
        given = checked_text(value, "it") if isinstance(value, str) else ""
    except RemoteError as error:
        raise Illegal(error.description) from error
    if not given:
        raise Illegal(f"{value!r} is not a text")
    return given


def short_texts(value: Any) -> tuple[str, ...]:
    """Short texts, each once."""
    if not isinstance(value, list) or not value:
        raise Illegal(f"{value!r} is not a list of texts")
    given = tuple(map(short_text, value))
    if len(set(given)) != len(given):
        raise Illegal("a text is there twice")
    return given


def services(value: Any) -> tuple[ServiceBinding, ...]:
    """Services with their actions, each service once."""
    if not isinstance(value, list) or not value:
        raise Illegal(f"{value!r} is not a list of services")
    given = tuple(map(_binding, value))
    if len({(one.id, one.type) for one in given}) != len(given):
        raise Illegal("a service is there twice")
    return given


def _binding(value: Any) -> ServiceBinding:
    if not isinstance(value, dict) or "id" not in value or not set(value) <= _BINDING_KEYS:
        raise Illegal(f"{value!r} is not a service")
    found = ServiceBinding(
        id=wire_text(value["id"]),
        type=wire_text(value["type"]) if "type" in value else None,
        send=_actions(value.get("send", [])),
        receive=_actions(value.get("receive", [])),
    )
    if not found.send and not found.receive:
        raise Illegal(f"service {found.id!r} has no action")
    return found


def _actions(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Illegal(f"{value!r} is not a list of actions")
    given = tuple(map(wire_text, value))
    if len(set(given)) != len(given):
        raise Illegal("an action is there twice")
    return given


def soap_action(value: Any) -> str:
    """A SOAPAction without its quotes, perhaps with `{service}` and `{action}`."""
    given = wire_text(value)
    if not given.isascii() or '"' in given or "\\" in given:
        raise Illegal(f"{value!r} does not fit between the quotes of a header field")
    unknown = sorted(set(_PLACES.findall(given)) - {"service", "action"})
    if unknown or _PLACES.sub("", given).strip("{}") != _PLACES.sub("", given):
        raise Illegal(f"{value!r} has braces around something else than service or action")
    return given


def one_of_numbers(*legal: int) -> Callable[[Any], int]:
    """One of these whole numbers."""

    def parse(value: Any) -> int:
        if isinstance(value, bool) or value not in legal:
            raise Illegal(f"{value!r} is none of them")
        return int(value)

    return parse


def instant(value: Any) -> int:
    """An instant in microseconds UTC: a date-time of TOML, or its text, with a time zone."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(moment, datetime):
            return from_datetime(moment)
    except ValueError as error:
        raise Illegal(f"{value!r} is not an instant: {error}") from error
    raise Illegal(f"{value!r} is not an instant")
