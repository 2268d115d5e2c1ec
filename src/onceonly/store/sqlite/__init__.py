"""The store that ships: one SQLite file. `store.py` keeps the contract."""
