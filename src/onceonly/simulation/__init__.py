"""The world in which the real gateway is tried: virtual time, seeded faults, checkers.

A *plan* says what a world is and what happens in it; `workload` makes one from a seed. A `World`
runs it: real gateways on virtual event loops, a network, disks and clocks that fail as planned.
The *history* is what an observer saw; `checkers` judge it.
"""
