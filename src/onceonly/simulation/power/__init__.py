"""The power goes at every operation of the disk under real SQLite: what then must be there."""
