"""The vocabulary: frozen, self-validating values that every other part speaks.

This package knows the words of the seeds (Party, MessageId, Acknowledgment, DeliverySemantics).
It must not know bytes, stores, sockets or clocks.
"""
