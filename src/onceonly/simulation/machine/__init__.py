"""One machine of a world: its clocks, disk, store and process, and the people who use it."""
