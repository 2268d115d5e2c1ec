"""From the first byte of a package that comes in to whoever takes what is in it."""
