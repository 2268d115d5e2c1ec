"""Folders: their files are sent as messages, and received messages become files."""
