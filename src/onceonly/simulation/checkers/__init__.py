"""What must hold in every world, judged from outside: the invariants as code.

Knows what an observer has: durable rows, bytes on the wire, what applications handed over and
were given, and the stores at the end. Must not look into a process.
"""

from onceonly.simulation.checkers.judgement import check, truth
from onceonly.simulation.checkers.violation import Truth, Violation

__all__ = ["Truth", "Violation", "check", "truth"]
