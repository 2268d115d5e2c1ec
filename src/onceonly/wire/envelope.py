"""The two public functions of the wire: `encode` and `decode`.

`encode` turns a value into a `Package`; `Decoder` turns the pieces of a package into a value,
while the payloads run past it into sinks of the caller's. Everything that a peer can send yields
an `Envelope` or a `RemoteError`, nothing else (ruling R-25).
"""
