"""What is sent or awaited: deadlines, open questions, notices, exchanges held for a reply."""
