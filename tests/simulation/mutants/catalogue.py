"""Every mutant, in one list."""

from receiving_mutants import MUTANTS as RECEIVING
from recovery_mutants import MUTANTS as RECOVERY
from relaying_mutants import MUTANTS as RELAYING
from sending_mutants import MUTANTS as SENDING
from store_mutants import MUTANTS as STORE
from turn_mutants import MUTANTS as TURNS
from wire_mutants import MUTANTS as WIRE

MUTANTS = (*SENDING, *TURNS, *RECEIVING, *STORE, *RELAYING, *RECOVERY, *WIRE)
