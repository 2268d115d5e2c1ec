"""Asking partners, being asked, and what follows from the answers (seed 004, R-21)."""
