"""Moves opaque bytes between MSHs. `transport.py` is the contract.

`http/`, `mail/` and `broker/` keep it, and `loopback.py`, a network inside the process.

Knows connections, limits and timeouts. It must not know what the bytes mean.
"""
