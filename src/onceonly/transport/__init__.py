"""Moves opaque bytes between MSHs. `transport.py` is the contract; HTTP and loopback keep it.

Knows connections, limits and timeouts. It must not know what the bytes mean.
"""
