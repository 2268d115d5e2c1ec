"""The shell: the one place where decisions, wire, store and transport meet.

Everything here reads a clock, draws an id, opens a socket or runs a transaction, and decides
nothing: what to do comes out of `onceonly.protocol`.
"""
