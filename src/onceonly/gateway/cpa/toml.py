"""Values as TOML: the one place that writes them, so that nothing in a value is syntax (S36).

Writes what a configuration has and no more: texts, whole numbers, flags, lists, inline tables.
"""

from typing import Any, Final

_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


_LINE_MAX: Final = 90
"""A longer list has one line for each of its values."""


def text(value: str) -> str:
    """A basic string (TOML 1.0 §String); what cannot be seen is escaped."""
    return f'"{"".join(map(_sign, value))}"'


def _sign(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if sign.isprintable():
        return sign
    code = ord(sign)
    return f"\\u{code:04X}" if code < 0x1_0000 else f"\\U{code:08X}"


def written(value: Any) -> str:
    """Any value that a configuration has."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {written(one)}" for key, one in value.items()) + "}"
    assert isinstance(value, list | tuple), value
    inside = ", ".join(map(written, value))
    if len(inside) > _LINE_MAX:
        lines = "".join(f"  {written(one)},\n" for one in value)
        return f"[\n{lines}]"
    return f"[{inside}]"


def _key(key: str) -> str:
    is_bare = key.isascii() and key.replace("_", "a").isalnum()
    return key if is_bare else text(key)


def table(heading: str, values: dict[str, Any]) -> str:
    """A table of a list of tables, one key in each line."""
    lines = [f"[[{heading}]]", *(f"{_key(key)} = {written(one)}" for key, one in values.items())]
    return "\n".join(lines) + "\n"


def comment(line: str) -> str:
    """One line that is no value. Nothing in it can end the line."""
    visible = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in line)
    return f"# {visible}".rstrip() + "\n"


def commented_out(lines: str) -> str:
    """The same lines, none of which counts."""
    return "".join(f"# {line}".rstrip() + "\n" for line in lines.splitlines())
