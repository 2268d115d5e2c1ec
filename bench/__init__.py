"""Ratios against the floor of this machine, measured side by side in one run."""
