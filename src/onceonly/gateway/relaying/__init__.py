"""Messages that pass through: this gateway as an intermediary (R-13)."""
