"""What survives a crash. `store.py` is the contract; `sqlite` and `memory` both keep it.

Knows rows, transactions, files and fsync. It must not know why a row is written.
"""
