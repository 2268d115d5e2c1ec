"""Reports for operators and auditors: one table per file, each a pure function to a small frame.

Nothing here reads, writes or counts. `lake.page` shows their rows.
"""
