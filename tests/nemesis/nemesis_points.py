"""Who passes which failpoint, and on what occasion: every point has somebody who dies at it."""

ORDINARY = {
    "before-commit": ("sender", "receiver"),
    "after-commit": ("sender", "receiver"),
    "before-transmit": ("sender",),
    "after-transmit": ("sender",),
    "before-verdict": ("sender",),
    "after-verdict": ("sender",),
    "before-acknowledge": ("receiver",),
    "after-acknowledge": ("receiver",),
    "before-hand-over": ("receiver",),
    "after-hand-over": ("receiver",),
    "before-publish": ("sender",),
    "after-publish": ("receiver",),
}
"""In an exchange; publishing is the same on both sides."""

RECOVERY = (
    ("before-inquire", "sender"),
    ("after-inquire", "sender"),
    ("before-verdict", "sender"),
    ("after-verdict", "sender"),
    ("before-report", "receiver"),
    ("after-report", "receiver"),
)
"""When a message was given up: the question, the answer, and what is made of it."""

RECEIPT = ("before-receipt", "after-receipt")
"""At the receiver, after the hand-over."""

NOTICE = ("before-notice", "after-notice")
"""At the receiver whose application refuses a message."""

FOLDERS = (
    ("before-claim", "sender"),
    ("after-claim", "sender"),
    ("after-take-in", "sender"),
    ("before-settle", "sender"),
    ("before-drop", "receiver"),
    ("after-drop", "receiver"),
)
"""When a file becomes a message, and a message files."""

WEBHOOKS = ("before-post", "after-post")
"""On the side that tells somebody what happens."""

PURGE = ("before-purge", "after-purge", "after-clear")
"""On both sides, when what is over is forgotten."""

BULK = ("before-bulk-item", "after-bulk-item")
"""At the sender, in an action on many messages."""
