"""The store of simulations: everything in memory. `store.py` keeps the contract."""
