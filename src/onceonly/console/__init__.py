"""The console: pages for operators, at the address of the application API.

It is a client of that API in the same process. A page asks declared operations and shows their
typed answers, so it has a JSON twin and a command by construction, and what a person may see or do
is decided at one place, the API. It knows no part of the gateway's inside.

Everything is rendered here; the one script only makes pages quicker to use (`static/console.js`).
"""
