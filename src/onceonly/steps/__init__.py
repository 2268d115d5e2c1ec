"""What happens inside one transaction: read, decide by the protocol, write, say what is due.

Every step is a function of the transaction and of a `Ground`, which says who this gateway is, what
time it is, and which chance this run has. It is synchronous, keeps nothing, and may be run again
on a store that rolled it back, with the same result. Nothing leaves the house here: what is to
leave is the value that a step returns, and whoever ran the step releases it after the commit.
"""
