"""Incoming packages: from the first byte to the part that takes the content."""
