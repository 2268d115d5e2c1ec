"""Packages by mail, both ways: `client.py` sends through a relay, `server.py` takes mail."""
