"""The journal's format: one record per event in the life of a message, in a hash chain.

Knows what a journal row is and how rows become a segment. It must not know who writes them, where
they are stored, or what they prove.
"""
