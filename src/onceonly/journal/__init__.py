"""The shape of history: one record per event in the life of a message, hash-chained.

Knows what a journal row is and how rows become a segment. It must not know who writes them, where
they are kept, or what they prove.
"""
