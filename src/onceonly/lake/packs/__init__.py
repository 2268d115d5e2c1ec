"""The evidence pack: what two parties' journals say of one another, to be verified by either.

`contents` chooses what is about the pair, and nothing else; `agreement` computes everything again
and names what does not agree. `summary` is the page that people read, `seal` the digests and the
signature over them.
"""
