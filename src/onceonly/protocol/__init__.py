"""The decisions: `step(state, event, now) -> (state, effects)`, and nothing else.

Knows the rules of the seeds and the rulings. It must not know XML, SQL, sockets, clocks or
chance: instants and ids come in as arguments, the next deadline goes out as a value.
"""
