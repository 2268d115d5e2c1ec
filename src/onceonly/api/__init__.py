"""The application API as types: every request, every answer, every call, each defined once.

The gateway reads and answers by these types, `onceonly.client` returns them, and `/openapi.json` is
made of them. Knows JSON's shape and its bounds; must not know HTTP, the store, or what a call does.
"""
