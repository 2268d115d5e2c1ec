"""Reports for operators and auditors: pure functions to small frames, and a page that shows them.

Nothing here reads, writes or counts; `jobs` carries the frames' rows to the page.
"""
