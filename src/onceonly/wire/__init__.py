"""Bytes to values and back, per profile, without I/O.

Knows MIME, XML and the profiles' documents. It must not know stores, sockets or decisions.
"""
