"""Tables for data engineers: one file each, a frozen definition and a pure function.

Nothing here reads, writes or counts; every column comes from declared ones.
"""
