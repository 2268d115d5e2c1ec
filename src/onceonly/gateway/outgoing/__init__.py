"""What may leave and waits: deadlines, open questions, notices, exchanges held for a reply."""
