"""Webhooks: programs elsewhere that are told what happens, each event at least once."""
