"""What happens inside one transaction: read, decide by the protocol, write, say what is due.

Every step is a function of the transaction and of a `Ground`, which says who this gateway is, what
time it is, and which random digits this run has. It is synchronous and keeps nothing, so it may be
run again on a store that rolled it back: with the same `Ground` it has the same result. A step
sends nothing: it returns as a value what is to be sent, and the desk sends it after the commit.
"""
