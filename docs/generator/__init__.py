"""Makes the reference pages and the figures of the documentation from the code they describe."""
