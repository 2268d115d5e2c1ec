"""The most that one message of 4 KB may take, both sides together, one message at a time.

Whoever makes a message cheaper writes what `pytest tests/bench/test_budgets.py` says into this
table, in the same commit: the test fails as well where a bound has become loose. A bound is raised
only with a line in the changelog that says what is bought with it.
"""

BUDGETS = {
    "rm-2000": {
        "statements": 35,
        "steps": 5,
        "commits": 4,
        "tasks": 4,
        "pages_written": 49,
        "python_calls": 1120,
    },
    "rm-2001": {
        "statements": 35,
        "steps": 5,
        "commits": 4,
        "tasks": 4,
        "pages_written": 48,
        "python_calls": 1133,
    },
    "ebms-2.0": {
        "statements": 37,
        "steps": 5,
        "commits": 4,
        "tasks": 4,
        "pages_written": 49,
        "python_calls": 1185,
    },
    "ebms-2.0 signs messages": {
        "statements": 39,
        "steps": 5,
        "commits": 4,
        "tasks": 4,
        "pages_written": 54,
        "python_calls": 3283,
    },
    "ebms-2.0 signs receipts": {
        "statements": 45,
        "steps": 5,
        "commits": 4,
        "tasks": 4,
        "pages_written": 62,
        "python_calls": 5645,
    },
}
"""As counted; what may be counted at most is this and the room. What is signed stands beside the
profile, in the words of `bench.workload.SIGNED`."""

ROOM = {
    "statements": 0.5,
    "steps": 0.05,
    "commits": 0.25,
    "tasks": 0.05,
    "pages_written": 2,
    "python_calls": 30,
}
"""How far from its bound a figure may be. Steps and tasks are the same in every run. By how fast
the other side answers two steps share a commit or miss each other now and then: a commit is three
statements and some pages. Pages also differ since ids are random, and with them when a page of an
index is split. Calls differ where a package comes out of its socket in two pieces."""
