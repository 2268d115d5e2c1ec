"""What survives a crash. `contract/` is what is promised; `sqlite/` and `memory/` keep it.

Knows rows, transactions, files and fsync. It must not know why a row is written.
"""
