"""Plans out of seeds: who is there, what they agreed, what they want, and what goes wrong."""
