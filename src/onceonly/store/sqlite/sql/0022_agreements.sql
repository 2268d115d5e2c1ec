-- What was agreed, from when on, and who had it read. The terms are one JSON object of texts.

CREATE TABLE agreement_change (
  number INTEGER PRIMARY KEY,
  agreement_id TEXT NOT NULL,
  change TEXT NOT NULL CHECK (change = 'added' OR change = 'changed' OR change = 'removed'),
  at INTEGER NOT NULL,
  by TEXT NOT NULL,
  digest TEXT NOT NULL,
  terms TEXT NOT NULL
) STRICT;

CREATE INDEX agreement_change_of ON agreement_change (agreement_id, number);
