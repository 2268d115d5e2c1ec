-- Counters over time, folded from the journal beside everything else (`counters`).

CREATE TABLE counter (
  span TEXT NOT NULL CHECK (span = 'minute' OR span = 'hour' OR span = 'total'),
  agreement_id TEXT NOT NULL,
  begins_at INTEGER NOT NULL,
  counts TEXT NOT NULL,
  PRIMARY KEY (span, agreement_id, begins_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX counter_by_time ON counter (span, begins_at);

-- Up to which row the journal is counted.
CREATE TABLE counted (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  seq INTEGER NOT NULL
) STRICT;

INSERT INTO counted VALUES (1, 0);

-- When a partner was last heard on a pair, and since when the pair has its state.
CREATE TABLE pair_time (
  from_party TEXT NOT NULL,
  to_party TEXT NOT NULL,
  heard_at INTEGER,
  changed_at INTEGER,
  PRIMARY KEY (from_party, to_party)
) STRICT, WITHOUT ROWID;

-- Rows of the journal that are rare and asked for. No index of the journal itself, which every row
-- would have to pass.
CREATE TABLE listed (
  seq INTEGER PRIMARY KEY,
  event TEXT NOT NULL,
  at INTEGER NOT NULL,
  from_party TEXT,
  to_party TEXT
) STRICT;

CREATE INDEX listed_by_event ON listed (event, seq, at, from_party, to_party);
