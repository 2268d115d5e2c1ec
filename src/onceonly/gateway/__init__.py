"""The shell: the one place where decisions, wire, store and transport meet.

Everything here reads a clock, makes an id, opens a socket or runs a transaction, and decides
nothing: `onceonly.protocol` decides what to do.
"""
