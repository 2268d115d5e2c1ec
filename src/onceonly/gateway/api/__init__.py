"""The application API over HTTP: what it takes, what it shows, who may call it."""
