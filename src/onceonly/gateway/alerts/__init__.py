"""Alerts: what is wrong with this gateway is noted, and told to whom the configuration names."""
