"""What must hold in every world, judged from outside: the invariants as code.

Knows what an observer has: durable rows, bytes on the wire, what applications handed over and
were given, and the stores at the end. Must not look into a process. `case` sorts the evidence,
`letter` reads packages by their bytes, and each judge has its part:

| judge | invariants and rulings |
|---|---|
| `sender` | I13, I14, I17 to I20, I22 to I24, I26, I29, I30; R-05 to R-09, R-15 to R-17, R-49 |
| `copies` | I14, I17, I18, I22, I26 of packages and notices |
| `submissions` | I2, I8, I14, I31; R-41 |
| `sequence` | I7, I15, I16, I27, I28, I32 to I35; R-10, R-11 |
| `order` | O1 to O4; R-34 |
| `signatures` | R-30, R-31 |
| `receiver` | I1, I2, I7 to I12, I26; R-01, R-02, R-12, R-16, R-18, R-19 |
| `acknowledgements` | I3 to I6, I8; R-03, R-20 |
| `relay` | I36 to I39; R-13 |
| `inquiries` | R-21, I29 of reports, I44 of cancels |
| `responses` | R-21, level 5; I30 of responses |
| `answers` | I44: what is told of a message; R-08, seed 004 levels 3 and 5 |
| `operators` | R-21: what operators order is done |
| `debts` | L3 between machines; R-14 |
| `time_and_store` | I14, I27, I41 to I43, E3; R-28 |
| `trouble` | R-40: what operators hear of partners |
| `retention` | I10; R-19 |
| `liveness` | I21, I25, L1, L2, L4 to L6; R-17 |
| `evidence` | E1, E2: the truth, and that rows tell it |
| `authority` | R-44: who may say what, and what others are told |
| `processes` | R-43: only its store ends a process |
| `ration` | R-45: what strangers cost in rows and posts |

What no judge has a name for:

| invariant | where it is seen |
|---|---|
| I29 | as I30: an acknowledgement counts only if a word about it came from the next hop |
| I34 | as I7: 1 after 1 is stored where the id is unseen, and a known id never twice |
| I39 | as I36: whoever cannot send on has no acknowledgement to pass back |
| I40 | every judge judges under clocks that jump; I9 and I26 ask whether the clocks fit |
| I41, old versions | `tests/store/test_migration.py` |
| I42, exit code | `tests/nemesis`: real processes under real errors |
| I43, two processes | `tests/store/test_sqlite.py`, `tests/nemesis/test_two_processes.py` |
| L3, applications | as I22: a notice that is owed and not given is found at the end |
| L7 | as L1: every other pair has its verdicts |
| E2 to E4 over Parquet | `tests/lake` |

Known exceptions are written where they are checked, with their reason. The largest: worlds in
which a backup was restored or numbers were lost on purpose (faults C6, C7) are judged without the
invariants that speak of that machine's past, and an acknowledgement may become a failure on the
partner's own word (an accepting intermediary's notice, a confirmed cancel; I20).
"""

from onceonly.simulation.checkers.judgement import check, truth
from onceonly.simulation.checkers.violation import Truth, Violation

__all__ = ["Truth", "Violation", "check", "truth"]
