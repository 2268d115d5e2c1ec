"""onceonly: a business document handed over is delivered once and only once, provably."""

__version__ = "0.1.0"
