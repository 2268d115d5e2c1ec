"""The demonstration: two real gateways, a faulty link between them, hard kills, and the proof.

It knows the products from outside, as their operators do: configuration files, processes, the
application API, the lake's jobs. It must not know the gateway's inside. Design, `onceonly demo`.
"""

from onceonly.demo.options import DemoOptions

__all__ = ["DemoOptions"]
