"""What happens inside one transaction: read, decide by the protocol, write, say what is due.

Every step is a function of the transaction and of a `Ground`, which says who this gateway is, what
time it is, and which chance this run has. It is synchronous and keeps nothing, so it may be run
again on a store that rolled it back: on the same ground it has the same result. Nothing leaves the
house here: what is to leave is the value that a step returns, and the desk releases it after the
commit.
"""
