"""A captured package explained: what it is, part by part, and what a gateway would answer.

Reads with the gateway's own code and decides nothing by itself; what a gateway would answer it
learns from a gateway, joined over a store in memory and a transport that sends nothing. Whatever
is in a capture, the outcome is an explanation and never an error.
"""
