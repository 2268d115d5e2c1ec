"""Reference: every configuration key, from the tables that the reader itself uses."""

from collections.abc import Mapping

from generator.words import table
from onceonly.gateway.config_keys import AGREEMENT_KEYS, DRILL_KEYS, GATEWAY_KEYS, Key

INTRODUCTION = """# Configuration

One TOML file per gateway. Paths in it are relative to the file. A key that is not listed here, a
value of the wrong type, and a combination that cannot work are refused at start with the file,
the line, the reason and what is legal. `onceonly check -c FILE` does the same without starting
anything, and prints how long a message can stay without a verdict under each agreement.

```toml
[gateway]
party  = ["urn:duns:111111111"]
listen = "http://127.0.0.1:8401/msh"
api    = "http://127.0.0.1:8411"
store  = "buyer.db"
lake   = "lake"

[[agreement]]
id      = "tpa-ab-1"
with    = ["urn:duns:222222222"]
send_to = "http://127.0.0.1:8402/msh"
```

`seed 000 §…` is a section of the text behind the profile `rm-2000`, the ebXML Reliable Messaging
Specification, working draft v0-080; `R-…` is one of the project's own rulings where that text
contradicts itself or leaves a hole.
"""

AGREEMENT = """## `[[agreement]]`

Once per agreement with a partner. Durations of the protocol are whole seconds, as in the draft.
"""

DRILL = """
For demonstrations and tests. A gateway with a drill says so at start, in `/healthz` and in its
journal: what it does under a drill proves nothing about real time.

A failpoint `POINT:N` kills the process, as hard as `kill -9`, at the N-th time that the point is
reached.
"""


def page() -> str:
    """The whole page."""
    return "\n".join(
        [
            INTRODUCTION,
            "## `[gateway]`\n\nOne table, required.\n",
            _keys(GATEWAY_KEYS),
            AGREEMENT,
            _keys(AGREEMENT_KEYS),
            "## `[drill]`\n",
            DRILL,
            _keys(DRILL_KEYS),
        ]
    )


def _keys(keys: Mapping[str, Key]) -> str:
    return table(
        ("Key", "Legal values", "Default", "Meaning"), (_row(key) for key in keys.values())
    )


def _row(key: Key) -> tuple[str, str, str, str]:
    default = "**required**" if key.is_required else key.default_text
    return f"`{key.name}`", key.legal, default, key.meaning
