"""What is sent and awaited: deadlines, open questions, notices, exchanges held for a reply."""
