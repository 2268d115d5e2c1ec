"""Packages over HTTP, both ways: `client.py` sends, `server.py` listens."""
