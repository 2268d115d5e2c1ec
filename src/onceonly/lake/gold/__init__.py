"""Gold: the life of every message, merged, judged, and kept by day.

A run folds only the rows that it has not seen, into the days that they touch, and judges only these
days and those whose verdicts time has turned. What it finds is equal, row for row, to what all rows
give when they are folded at once (invariant E4).
"""
